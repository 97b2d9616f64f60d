package io.fovea.schema;

import java.time.Duration;
import java.util.Objects;

/**
 * When rows of a table expire: some time after the moment that a field of the row names.
 *
 * <p>A value; any thread. Made by {@link TableSpec#expireAfter}.
 *
 * @param field an INSTANT field of the row; or an INT64 one: milliseconds since 1970-01-01T00:00Z,
 *     as {@link System#currentTimeMillis} counts them. A row whose field is null, or no later than
 *     1970-01-01T00:00Z, never expires
 * @param after how long after that moment the row expires, in whole milliseconds; what is less is
 *     cut off
 * @since 0.1.0
 */
public record Expiry(Field field, Duration after) {
  /**
   * Checks the components.
   *
   * @throws IllegalArgumentException if the field is none of a row, or can't hold a time, or the
   *     duration is negative or has more milliseconds than a {@code long} holds
   */
  public Expiry {
    Objects.requireNonNull(field, "field");
    Objects.requireNonNull(after, "after");
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
    if (after.isNegative()) {
      throw new IllegalArgumentException("Rows expire after zero time or more, not " + after + ".");
    }
    try {
      after = Duration.ofMillis(after.toMillis());
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "Rows expire after " + Long.MAX_VALUE + " ms at most, not " + after + ".", e);
    }
  }

  /** As in {@code rows expire PT1H after at}. */
  @Override
  public String toString() {
    return "rows expire " + after + " after " + field.name();
  }
}
