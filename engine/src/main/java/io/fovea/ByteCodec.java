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
   * {@return the encoding of an object, in a new array}
   *
   * @param object the object
   */
  byte[] encode(T object);

  /**
   * {@return a new object}
   *
   * @param bytes its encoding; may be kept or changed
   */
  T decode(byte[] bytes);
}
