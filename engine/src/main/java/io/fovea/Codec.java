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
   * {@return a new object}
   *
   * @param row its encoding; belongs to the caller and is reused
   */
  V decode(Row row);
}
