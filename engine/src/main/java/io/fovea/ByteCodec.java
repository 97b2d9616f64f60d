package io.fovea;

/**
 * Turns Java objects into byte strings and back, for tables of byte strings.
 *
 * <p>Must be safe for every thread. A codec of keys decides their order: unsigned, byte by byte.
 *
 * @param <T> the class of the objects
 * @since 0.1.0
 */
public interface ByteCodec<T> {
  /**
   * Writes an object.
   *
   * @param object what to write
   * @return a new array
   */
  byte[] encode(T object);

  /**
   * Reads an object.
   *
   * @param bytes what to read; belongs to the callee
   * @return a new object
   */
  T decode(byte[] bytes);
}
