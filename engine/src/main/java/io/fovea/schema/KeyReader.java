package io.fovea.schema;

/**
 * The parts of a key, for code that only reads it.
 *
 * <p>Used by one thread at a time. Reading integers allocates nothing.
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
   * @throws io.fovea.error.InvalidUseException if it is no such part, or not set, or of another
   *     type
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
   * @throws io.fovea.error.InvalidUseException if it is no such part, or not set, or of another
   *     type
   */
  String getText(Field part);
}
