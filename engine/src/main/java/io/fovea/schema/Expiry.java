package io.fovea.schema;

import java.time.Duration;
import java.util.Objects;

/**
 * The expiry of a table's records: a duration after the time that each record contains.
 *
 * <p>The time is an instant, or milliseconds since 1970-01-01T00:00Z as in {@link
 * System#currentTimeMillis}. A record whose time is null, or not after 1970-01-01T00:00Z, never
 * expires.
 *
 * <p>Immutable. Created by {@code TableSpec.expireAfter}.
 *
 * @since 0.1.0
 */
public sealed interface Expiry {
  /** The name of the index on the time that a specification adds. */
  String INDEX = "expires";

  /**
   * Returns the duration from a record's time to its expiry.
   *
   * @return whole milliseconds, zero or more
   */
  Duration after();

  /**
   * The expiry of rows, by a field.
   *
   * @param field an INSTANT field of the row, or an INT64 field in milliseconds
   * @param after the duration from that time to the expiry, truncated to milliseconds
   * @since 0.1.0
   */
  record OfRows(Field field, Duration after) implements Expiry {
    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if the field is a part of the key, or can't hold a time, or
     *     the duration is negative or has more milliseconds than a {@code long} holds
     */
    public OfRows {
      Objects.requireNonNull(field, "field");
      if (field.key()) {
        throw new IllegalArgumentException(
            "Rows can't expire by "
                + field.name()
                + ", which is a part of the key: add a field with the time to the row.");
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

    /** Returns text such as {@code rows expire PT1H after at}. */
    @Override
    public String toString() {
      return "rows expire " + after + " after " + field.name();
    }
  }

  /**
   * The expiry of objects, by a component.
   *
   * @param component its path, with dots before the components of nested records. It is an {@link
   *     java.time.Instant}, or a {@code long} in milliseconds; it may be nullable or {@link
   *     java.util.Optional}
   * @param after the duration from that time to the expiry, truncated to milliseconds
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

    /** Returns text such as {@code objects expire PT1H after at}. */
    @Override
    public String toString() {
      return "objects expire " + after + " after " + component;
    }
  }

  /**
   * The expiry of byte strings, by milliseconds in 8 of their bytes, big-endian.
   *
   * @param offset the offset of these bytes in a value
   * @param after the duration from that time to the expiry, truncated to milliseconds
   * @since 0.1.0
   */
  record OfBytes(int offset, Duration after) implements Expiry {
    /** The maximum offset. */
    public static final int OFFSET_MAX = 65_535;

    /** The key of the index on the time. */
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
     * Returns the offset after the bytes of the time.
     *
     * @return the minimum length of a value
     */
    public int end() {
      return offset + Long.BYTES;
    }

    /** Returns text such as {@code byte strings expire PT1H after the time at byte 8}. */
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
