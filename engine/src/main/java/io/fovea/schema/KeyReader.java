package io.fovea.schema;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.UUID;

/**
 * The parts of a key, for code that only reads it.
 *
 * <p>Used by one thread at a time. Reading numbers of 4 and 8 bytes and booleans allocates nothing.
 *
 * @since 0.1.0
 */
public interface KeyReader {
  /**
   * The specification of the key.
   *
   * @return the specification
   */
  KeySpec spec();

  /**
   * How many parts are set.
   *
   * @return 0 to the number of parts of the specification
   */
  int parts();

  /**
   * Whether all parts are set.
   *
   * @return false for a prefix
   */
  boolean isComplete();

  /**
   * Reads an integer of 4 bytes.
   *
   * @param part its place, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if there is no such part, or it is not set, or of
   *     another type
   */
  int getInt(int part);

  /**
   * Reads an integer.
   *
   * @param part its place, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if there is no such part, or it is not set, or is no
   *     integer
   */
  long getLong(int part);

  /**
   * Reads a text.
   *
   * @param part its place, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if there is no such part, or it is not set, or of
   *     another type
   */
  String getText(int part);

  /**
   * Reads a byte string, or the UTF-8 of a text.
   *
   * @param part its place, from 0
   * @return a new array
   * @throws io.fovea.error.InvalidUseException if there is no such part, or it is not set, or is an
   *     integer
   */
  byte[] getBytes(int part);

  /**
   * Reads an integer of 4 bytes.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is no such part, or not set, or null, or of
   *     another type
   */
  int getInt(Field part);

  /**
   * Reads an integer.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is no such part, or not set, or is no integer
   */
  long getLong(Field part);

  /**
   * Reads a text.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is no such part, or not set, or null, or of
   *     another type
   */
  String getText(Field part);

  /**
   * Reads false or true.
   *
   * @param part its place, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if there is no such part, or it is not set, or null,
   *     or of another type
   */
  boolean getBoolean(int part);

  /**
   * Reads a {@code double}.
   *
   * @param part its place, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if there is no such part, or it is not set, or null,
   *     or of another type
   */
  double getDouble(int part);

  /**
   * Reads a UUID.
   *
   * @param part its place, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if there is no such part, or it is not set, or null,
   *     or of another type
   */
  UUID getUuid(int part);

  /**
   * Reads an instant.
   *
   * @param part its place, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if there is no such part, or it is not set, or null,
   *     or of another type
   * @throws io.fovea.error.CorruptionException if what the key has is no instant
   */
  Instant getInstant(int part);

  /**
   * Reads a decimal.
   *
   * @param part its place, from 0
   * @return its value
   * @throws io.fovea.error.InvalidUseException if there is no such part, or it is not set, or null,
   *     or of another type
   */
  BigDecimal getDecimal(int part);

  /**
   * Reads false or true.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is no such part, or not set, or null, or of
   *     another type
   */
  boolean getBoolean(Field part);

  /**
   * Reads a {@code double}.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is no such part, or not set, or null, or of
   *     another type
   */
  double getDouble(Field part);

  /**
   * Reads a UUID.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is no such part, or not set, or null, or of
   *     another type
   */
  UUID getUuid(Field part);

  /**
   * Reads an instant.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is no such part, or not set, or null, or of
   *     another type
   * @throws io.fovea.error.CorruptionException if what the key has is no instant
   */
  Instant getInstant(Field part);

  /**
   * Reads a decimal.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws io.fovea.error.InvalidUseException if it is no such part, or not set, or null, or of
   *     another type
   */
  BigDecimal getDecimal(Field part);

  /**
   * Whether a part has no value. Only keys of indexes have such parts.
   *
   * @param part its place, from 0
   * @return true if it is null; false for each part that is not nullable
   * @throws io.fovea.error.InvalidUseException if there is no such part, or it is not set
   */
  boolean isNull(int part);

  /**
   * Whether a part has no value. Only keys of indexes have such parts.
   *
   * @param part a part of this key's specification
   * @return true if it is null; false for each part that is not nullable
   * @throws io.fovea.error.InvalidUseException if it is no such part, or not set
   */
  boolean isNull(Field part);
}
