package io.fovea.schema;

import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.UUID;

/**
 * The fields of a row, for code that only reads it.
 *
 * <p>Used by one thread at a time. Reading numbers of 4 and 8 bytes and booleans allocates nothing.
 *
 * @since 0.1.0
 */
public interface RowReader {
  /**
   * The layout of the row.
   *
   * @return the layout
   */
  Layout layout();

  /**
   * Reads an integer of 4 bytes.
   *
   * @param field a field of the layout
   * @return its value
   * @throws io.fovea.error.InvalidUseException if the field is another layout's or of another type,
   *     or null, or was not read, or the transaction that the row was read in has ended or belongs
   *     to another thread
   */
  int getInt(Field field);

  /**
   * Reads an integer of 8 bytes.
   *
   * @param field a field of the layout
   * @return its value
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  long getLong(Field field);

  /**
   * Reads false or true.
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
   * @throws io.fovea.error.CorruptionException if what the row has is no instant
   */
  Instant getInstant(Field field);

  /**
   * Reads a decimal.
   *
   * @param field a field of the layout
   * @return its value, of the field's scale
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  BigDecimal getDecimal(Field field);

  /**
   * Whether a field has no value. Its other methods throw then.
   *
   * @param field a field of the layout, of any type
   * @return true if it is null; false for each field that is not nullable
   * @throws io.fovea.error.InvalidUseException if the field is another layout's, or was not read,
   *     or the transaction that the row was read in has ended or belongs to another thread
   */
  boolean isNull(Field field);

  /**
   * Reads a text.
   *
   * @param field a field of the layout
   * @return a new string
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  String getText(Field field);

  /**
   * Compares a text without making a string.
   *
   * @param field a field of the layout
   * @param value what to compare it with
   * @return whether they are equal
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  boolean textEquals(Field field, CharSequence value);

  /**
   * The length of a text or byte string.
   *
   * @param field a field of the layout
   * @return bytes; of a text, those of its UTF-8
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  int length(Field field);

  /**
   * Reads a byte string, or the UTF-8 of a text.
   *
   * @param field a field of the layout
   * @param out where to, from index 0 on
   * @return how many bytes it has; as many as fit are copied
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  int getBytes(Field field, byte[] out);

  /**
   * Reads a byte string, or the UTF-8 of a text.
   *
   * @param field a field of the layout
   * @param out where to
   * @param offset from which index on
   * @return how many bytes it has; as many as fit are copied
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   * @throws IndexOutOfBoundsException if the offset lies outside the array
   */
  int getBytes(Field field, byte[] out, int offset);

  /**
   * Reads a byte string, or the UTF-8 of a text, and allocates nothing.
   *
   * @param field a field of the layout
   * @param out where to, in any memory
   * @param offset from which byte on
   * @return how many bytes it has; as many as fit are copied
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   * @throws IndexOutOfBoundsException if the offset lies outside the segment
   */
  int getBytes(Field field, MemorySegment out, long offset);

  /**
   * Reads a byte string, or the UTF-8 of a text.
   *
   * @param field a field of the layout
   * @return a new array
   * @throws io.fovea.error.InvalidUseException as {@link #getInt}
   */
  byte[] getBytes(Field field);
}
