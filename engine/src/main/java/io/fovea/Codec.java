package io.fovea;

/**
 * Converts Java objects to rows and back, for {@link Table}. Must be thread-safe, and may be called
 * at any time, including by transactions that will be aborted.
 *
 * @param <V> the class of the objects
 * @since 0.1.0
 */
public interface Codec<V> {
  /**
   * Encodes an object.
   *
   * @param object the object
   * @param row the target, initially all zero
   */
  void encode(V object, Row row);

  /**
   * Decodes an object.
   *
   * @param row its encoding; belongs to the caller and is reused
   * @return a new object
   */
  V decode(Row row);
}
