package io.fovea.schema;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.UUID;

/**
 * A key that is being built, part by part: {@code set(...)} begins a new key, the other methods
 * append.
 *
 * <p>Not thread-safe. Only decimals allocate.
 *
 * @since 0.1.0
 */
public interface KeyWriter {
  /** {@return the specification of the key} */
  KeySpec spec();

  /**
   * Removes all parts.
   *
   * @return this
   */
  KeyWriter clear();

  /**
   * Sets a key of one integer.
   *
   * @param a the first part, of either integer type
   * @return this
   * @throws io.fovea.error.InvalidUseException if the part is not an integer
   */
  KeyWriter set(int a);

  /**
   * Sets a key of two integers.
   *
   * @param a the first part
   * @param b the second part
   * @return this
   * @throws io.fovea.error.InvalidUseException if there are fewer parts or they are not integers
   */
  KeyWriter set(int a, int b);

  /**
   * Sets a key of one integer.
   *
   * @param a the first part
   * @return this
   * @throws io.fovea.error.InvalidUseException if the part is not an integer or too small for the
   *     value
   */
  KeyWriter set(long a);

  /**
   * Sets a key of two integers.
   *
   * @param a the first part
   * @param b the second part
   * @return this
   * @throws io.fovea.error.InvalidUseException if there are fewer parts, or they are not integers
   *     or too small for the values
   */
  KeyWriter set(long a, long b);

  /**
   * Sets a key of one text part.
   *
   * @param a the first part
   * @return this
   * @throws io.fovea.error.InvalidUseException if the part is not of type text
   * @throws io.fovea.error.ValueTooLargeException if the text is too long for the part
   */
  KeyWriter set(CharSequence a);

  /**
   * Appends a 4-byte integer.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part has another type or all parts are
   *     set
   */
  KeyWriter int32(int value);

  /**
   * Appends an 8-byte integer.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part has another type or all parts are
   *     set
   */
  KeyWriter int64(long value);

  /**
   * Appends text.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part has another type, all parts are
   *     set, or the text contains an unpaired surrogate
   * @throws io.fovea.error.ValueTooLargeException if its UTF-8 is too long for the part
   */
  KeyWriter text(CharSequence value);

  /**
   * Appends a byte string.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part has another type or all parts are
   *     set
   * @throws io.fovea.error.ValueTooLargeException if it is too long for the part
   */
  KeyWriter bytes(byte[] value);

  /**
   * Appends a byte string.
   *
   * @param value contains the value
   * @param offset the index of its first byte
   * @param len its number of bytes
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part has another type or all parts are
   *     set
   * @throws io.fovea.error.ValueTooLargeException if it is too long for the part
   * @throws IndexOutOfBoundsException if the array is too short
   */
  KeyWriter bytes(byte[] value, int offset, int len);

  /**
   * Appends a boolean.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part has another type or all parts are
   *     set
   */
  KeyWriter bool(boolean value);

  /**
   * Appends a {@code double}. Each NaN is the same key, above infinity; -0.0 is below 0.0.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part has another type or all parts are
   *     set
   */
  KeyWriter float64(double value);

  /**
   * Appends a UUID.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part has another type or all parts are
   *     set
   */
  KeyWriter uuid(UUID value);

  /**
   * Appends an instant.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part has another type or all parts are
   *     set
   */
  KeyWriter instant(Instant value);

  /**
   * Appends a decimal. Equal numbers are the same key, whatever their scales.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part has another type, all parts are
   *     set, or the value has too many digits before or after the point
   */
  KeyWriter decimal(BigDecimal value);

  /**
   * Appends null, which is below all values.
   *
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is not nullable or all parts are
   *     set
   */
  KeyWriter nullValue();
}
