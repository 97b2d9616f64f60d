package io.fovea.schema;

import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.UUID;

/**
 * A read-only view of the fields of a row.
 *
 * <p>Not thread-safe. Reads of integers, floating-point numbers and booleans do not allocate.
 *
 * @since 0.1.0
 */
public interface RowReader {
  /** {@return the layout of the row} */
  Layout layout();

  /**
   * Reads a 4-byte integer.
   *
   * @param field a field of the layout
   * @return its value
   * @throws io.fovea.error.InvalidUseException if the field belongs to another layout, has another
   *     type, is null or was not read, or if the row's transaction has ended or belongs to another
   *     thread
   */
  int getInt(Field field);

  /**
   * Reads an 8-byte integer.
   *
   * @param field a field of the layout
   * @return its value
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  long getLong(Field field);

  /**
   * Reads a boolean.
   *
   * @param field a field of the layout
   * @return its value
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  boolean getBoolean(Field field);

  /**
   * Reads a {@code double}.
   *
   * @param field a field of the layout
   * @return its value
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  double getDouble(Field field);

  /**
   * Reads a UUID.
   *
   * @param field a field of the layout
   * @return its value
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  UUID getUuid(Field field);

  /**
   * Reads an instant.
   *
   * @param field a field of the layout
   * @return its value, to the nanosecond
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   * @throws io.fovea.error.CorruptionException if the bytes of the row are not an instant
   */
  Instant getInstant(Field field);

  /**
   * Reads a decimal.
   *
   * @param field a field of the layout
   * @return its value, with the field's scale
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  BigDecimal getDecimal(Field field);

  /**
   * Returns whether a field is null. The other methods throw if it is.
   *
   * @param field a field of the layout, of any type
   * @return true if it is null; always false for a field that is not nullable
   * @throws io.fovea.error.InvalidUseException if the field belongs to another layout or was not
   *     read, or if the row's transaction has ended or belongs to another thread
   */
  boolean isNull(Field field);

  /**
   * Reads a text field.
   *
   * @param field a field of the layout
   * @return a new string
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  String getText(Field field);

  /**
   * Compares a text field with text, without allocating a string.
   *
   * @param field a field of the layout
   * @param value the text to compare with
   * @return whether they are equal
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  boolean textEquals(Field field, CharSequence value);

  /**
   * Returns the length of a text or byte string.
   *
   * @param field a field of the layout
   * @return the length in bytes; for text, the length of its UTF-8
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  int length(Field field);

  /**
   * Reads a byte string, or the UTF-8 bytes of a text field.
   *
   * @param field a field of the layout
   * @param out receives the bytes, from index 0
   * @return its length in bytes; only those that fit are copied
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  int getBytes(Field field, byte[] out);

  /**
   * Reads a byte string, or the UTF-8 bytes of a text field.
   *
   * @param field a field of the layout
   * @param out receives the bytes
   * @param offset the index of the first byte in {@code out}
   * @return its length in bytes; only those that fit are copied
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   * @throws IndexOutOfBoundsException if the offset lies outside the array
   */
  int getBytes(Field field, byte[] out, int offset);

  /**
   * Reads a byte string, or the UTF-8 bytes of a text field, without allocating.
   *
   * @param field a field of the layout
   * @param out receives the bytes; any memory
   * @param offset the offset of the first byte in {@code out}
   * @return its length in bytes; only those that fit are copied
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   * @throws IndexOutOfBoundsException if the offset lies outside the segment
   */
  int getBytes(Field field, MemorySegment out, long offset);

  /**
   * Reads a byte string, or the UTF-8 bytes of a text field.
   *
   * @param field a field of the layout
   * @return a new array
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  byte[] getBytes(Field field);
}
