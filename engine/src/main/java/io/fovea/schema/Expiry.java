package io.fovea.schema;

import java.time.Duration;
import java.util.Objects;

/**
 * When records of a table expire: some time after the moment that each of them names.
 *
 * <p>That moment is milliseconds since 1970-01-01T00:00Z, as {@link System#currentTimeMillis}
 * counts them, or an instant. A record in which it is null, or no later than 1970-01-01T00:00Z,
 * never expires.
 *
 * <p>A value; any thread. Made by {@code TableSpec.expireAfter}.
 *
 * @since 0.1.0
 */
public sealed interface Expiry {
  /** The name of the index by time that a specification adds. */
  String INDEX = "expires";

  /**
   * How long after its moment a record expires.
   *
   * @return whole milliseconds, none or more
   */
  Duration after();

  /**
   * Of rows, by a field.
   *
   * @param field an INSTANT field of the row, or an INT64 one: milliseconds
   * @param after how long after that moment the row expires, in whole milliseconds; what is less is
   *     cut off
   * @since 0.1.0
   */
  record OfRows(Field field, Duration after) implements Expiry {
    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if the field is none of a row, or can't hold a time, or the
     *     duration is negative or has more milliseconds than a {@code long} holds
     */
    public OfRows {
      Objects.requireNonNull(field, "field");
      if (field.key()) {
        throw new IllegalArgumentException(
            "Rows can't expire by "
                + field.name()
                + ", which is a part of the key: add a field to the row that has the time.");
      }
      if (field.type() != FieldType.INT64 && field.type() != FieldType.INSTANT) {
        throw new IllegalArgumentException(
            "Rows expire by an INSTANT field, or an INT64 one with milliseconds since"
                + " 1970-01-01T00:00Z; "
                + field
                + " can't hold that.");
      }
      after = checked("Rows", after);
    }

    /** As in {@code rows expire PT1H after at}. */
    @Override
    public String toString() {
      return "rows expire " + after + " after " + field.name();
    }
  }

  /**
   * Of objects, by a component.
   *
   * @param component its name; of a component of a record, behind the name of that and a dot. It is
   *     an {@link java.time.Instant}, or a {@code long}: milliseconds. It may be null or {@link
   *     java.util.Optional}
   * @param after how long after that moment the object expires, in whole milliseconds; what is less
   *     is cut off
   * @since 0.1.0
   */
  record OfObjects(String component, Duration after) implements Expiry {
    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if the duration is negative or has more milliseconds than a
     *     {@code long} holds
     */
    public OfObjects {
      Objects.requireNonNull(component, "component");
      after = checked("Objects", after);
    }

    /** As in {@code objects expire PT1H after at}. */
    @Override
    public String toString() {
      return "objects expire " + after + " after " + component;
    }
  }

  /**
   * Of byte strings, by the milliseconds in 8 of their bytes, the most significant one first.
   *
   * @param offset where in a value these bytes begin
   * @param after how long after that moment the value expires, in whole milliseconds; what is less
   *     is cut off
   * @since 0.1.0
   */
  record OfBytes(int offset, Duration after) implements Expiry {
    /** The most that an offset may be. */
    public static final int OFFSET_MAX = 65_535;

    /** The key of the index by time. */
    public static final KeySpec KEY = KeySpec.builder().int64("time").build();

    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if the offset is negative or above {@link #OFFSET_MAX}, or
     *     the duration is negative or has more milliseconds than a {@code long} holds
     */
    public OfBytes {
      if (offset < 0 || offset > OFFSET_MAX) {
        throw new IllegalArgumentException(
            "The time by which byte strings expire begins at byte 0 to "
                + OFFSET_MAX
                + ", not "
                + offset
                + ".");
      }
      after = checked("Byte strings", after);
    }

    /**
     * Where the bytes of the time end.
     *
     * @return the fewest bytes that a value has
     */
    public int end() {
      return offset + Long.BYTES;
    }

    /** As in {@code byte strings expire PT1H after the time at byte 8}. */
    @Override
    public String toString() {
      return "byte strings expire " + after + " after the time at byte " + offset;
    }
  }

  private static Duration checked(String what, Duration after) {
    if (Objects.requireNonNull(after, "after").isNegative()) {
      throw new IllegalArgumentException(
          what + " expire after zero time or more, not " + after + ".");
    }
    try {
      return Duration.ofMillis(after.toMillis());
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          what + " expire after " + Long.MAX_VALUE + " ms at most, not " + after + ".", e);
    }
  }
}
