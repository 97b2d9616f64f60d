package io.fovea.schema;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.UUID;

/**
 * A key that is being made, part by part: {@code set(...)} begins a new key, the other methods
 * append.
 *
 * <p>Used by one thread at a time. Setting all but decimals allocates nothing.
 *
 * @since 0.1.0
 */
public interface KeyWriter {
  /**
   * The specification of the key.
   *
   * @return the specification
   */
  KeySpec spec();

  /**
   * Removes all parts.
   *
   * @return this
   */
  KeyWriter clear();

  /**
   * Makes it a key of one integer.
   *
   * @param a the first part; of either integer type
   * @return this
   * @throws io.fovea.error.InvalidUseException if the part is no integer
   */
  KeyWriter set(int a);

  /**
   * Makes it a key of two integers.
   *
   * @param a the first part
   * @param b the second part
   * @return this
   * @throws io.fovea.error.InvalidUseException if there are fewer parts or they are no integers
   */
  KeyWriter set(int a, int b);

  /**
   * Makes it a key of one integer.
   *
   * @param a the first part
   * @return this
   * @throws io.fovea.error.InvalidUseException if the part is no integer, or of 4 bytes and the
   *     value does not fit
   */
  KeyWriter set(long a);

  /**
   * Makes it a key of two integers.
   *
   * @param a the first part
   * @param b the second part
   * @return this
   * @throws io.fovea.error.InvalidUseException if there are fewer parts, or they are no integers,
   *     or of 4 bytes and the value does not fit
   */
  KeyWriter set(long a, long b);

  /**
   * Makes it a key of one text.
   *
   * @param a the first part
   * @return this
   * @throws io.fovea.error.InvalidUseException if the part is no text
   * @throws io.fovea.error.ValueTooLargeException if the text is longer than the part may be
   */
  KeyWriter set(CharSequence a);

  /**
   * Appends an integer of 4 bytes.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is of another type, or all parts
   *     are set
   */
  KeyWriter int32(int value);

  /**
   * Appends an integer of 8 bytes.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is of another type, or all parts
   *     are set
   */
  KeyWriter int64(long value);

  /**
   * Appends a text.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is of another type, or all parts
   *     are set, or the text holds half a surrogate pair
   * @throws io.fovea.error.ValueTooLargeException if its UTF-8 is longer than the part may be
   */
  KeyWriter text(CharSequence value);

  /**
   * Appends a byte string.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is of another type, or all parts
   *     are set
   * @throws io.fovea.error.ValueTooLargeException if it is longer than the part may be
   */
  KeyWriter bytes(byte[] value);

  /**
   * Appends a byte string.
   *
   * @param value holds its value
   * @param offset where it begins
   * @param len how many bytes it has
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is of another type, or all parts
   *     are set
   * @throws io.fovea.error.ValueTooLargeException if it is longer than the part may be
   * @throws IndexOutOfBoundsException if there are not so many bytes
   */
  KeyWriter bytes(byte[] value, int offset, int len);

  /**
   * Appends false or true.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is of another type, or all parts
   *     are set
   */
  KeyWriter bool(boolean value);

  /**
   * Appends a {@code double}. Each NaN is the same key, above infinity; -0.0 is below 0.0.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is of another type, or all parts
   *     are set
   */
  KeyWriter float64(double value);

  /**
   * Appends a UUID.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is of another type, or all parts
   *     are set
   */
  KeyWriter uuid(UUID value);

  /**
   * Appends an instant.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is of another type, or all parts
   *     are set
   */
  KeyWriter instant(Instant value);

  /**
   * Appends a decimal. Equal numbers are the same key, whatever their scales.
   *
   * @param value its value
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is of another type, or all parts
   *     are set, or the value has more digits before or behind the point than the part
   */
  KeyWriter decimal(BigDecimal value);

  /**
   * Appends null, which is below all values.
   *
   * @return this
   * @throws io.fovea.error.InvalidUseException if the next part is not nullable, or all parts are
   *     set
   */
  KeyWriter nullValue();
}
