package io.fovea;

/**
 * Converts Java objects to byte strings and back, for tables of byte strings. Must be thread-safe.
 * A codec for keys determines their order: unsigned, byte by byte.
 *
 * @param <T> the class of the objects
 * @since 0.1.0
 */
public interface ByteCodec<T> {
  /**
   * Encodes an object.
   *
   * @param object the object
   * @return a new array
   */
  byte[] encode(T object);

  /**
   * Decodes an object.
   *
   * @param bytes its encoding; may be kept or changed
   * @return a new object
   */
  T decode(byte[] bytes);
}
