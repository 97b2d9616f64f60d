package io.fovea.schema;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.UUID;

/**
 * A read-only view of the parts of a key.
 *
 * <p>Not thread-safe. Reads of integers, floating-point numbers and booleans do not allocate.
 *
 * @since 0.1.0
 */
public interface KeyReader {
  /** {@return the specification of the key} */
  KeySpec spec();

  /** {@return the number of parts that are set} */
  int parts();

  /** {@return whether all parts are set; false for a prefix} */
  boolean isComplete();

  /**
   * Reads a 4-byte integer.
   *
   * @param part its position, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is missing, unset, null or of another type
   */
  int getInt(int part);

  /**
   * Reads an integer.
   *
   * @param part its position, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is missing, unset, null or not an integer
   */
  long getLong(int part);

  /**
   * Reads text.
   *
   * @param part its position, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is missing, unset, null or of another type
   */
  String getText(int part);

  /**
   * Reads a byte string, or text as UTF-8 bytes.
   *
   * @param part its position, from 0
   * @return a new array
   * @throws io.fovea.error.InvalidUseException if it is missing, unset, null or an integer
   */
  byte[] getBytes(int part);

  /**
   * Reads a 4-byte integer.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is unset, null, of another key or type
   */
  int getInt(Field part);

  /**
   * Reads an integer.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is unset, null, of another key or not an
   *     integer
   */
  long getLong(Field part);

  /**
   * Reads text.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is unset, null, of another key or type
   */
  String getText(Field part);

  /**
   * Reads a boolean.
   *
   * @param part its position, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is missing, unset, null or of another type
   */
  boolean getBoolean(int part);

  /**
   * Reads a {@code double}.
   *
   * @param part its position, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is missing, unset, null or of another type
   */
  double getDouble(int part);

  /**
   * Reads a UUID.
   *
   * @param part its position, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is missing, unset, null or of another type
   */
  UUID getUuid(int part);

  /**
   * Reads an instant.
   *
   * @param part its position, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is missing, unset, null or of another type
   * @throws io.fovea.error.CorruptionException if the bytes of the key are not an instant
   */
  Instant getInstant(int part);

  /**
   * Reads a decimal.
   *
   * @param part its position, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is missing, unset, null or of another type
   */
  BigDecimal getDecimal(int part);

  /**
   * Reads a boolean.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is unset, null, of another key or type
   */
  boolean getBoolean(Field part);

  /**
   * Reads a {@code double}.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is unset, null, of another key or type
   */
  double getDouble(Field part);

  /**
   * Reads a UUID.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is unset, null, of another key or type
   */
  UUID getUuid(Field part);

  /**
   * Reads an instant.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is unset, null, of another key or type
   * @throws io.fovea.error.CorruptionException if the bytes of the key are not an instant
   */
  Instant getInstant(Field part);

  /**
   * Reads a decimal.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is unset, null, of another key or type
   */
  BigDecimal getDecimal(Field part);

  /**
   * Returns whether a part is null, which only parts of index keys may be.
   *
   * @param part its position, from 0
   * @return true if it is null; always false for a part that is not nullable
   * @throws io.fovea.error.InvalidUseException if it is missing or unset
   */
  boolean isNull(int part);

  /**
   * Returns whether a part is null, which only parts of index keys may be.
   *
   * @param part a part of this key's specification
   * @return true if it is null; always false for a part that is not nullable
   * @throws io.fovea.error.InvalidUseException if it is unset or of another key
   */
  boolean isNull(Field part);
}
