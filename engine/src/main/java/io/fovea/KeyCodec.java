package io.fovea;

/**
 * Converts Java objects to keys and back, for a {@link Table}.
 *
 * <p>Must be thread-safe. It may be called at any time, including by transactions that will be
 * aborted.
 *
 * @param <K> the class of the objects
 * @since 0.1.0
 */
public interface KeyCodec<K> {
  /**
   * Writes a key.
   *
   * @param object the object
   * @param key receives the parts; empty when passed, and every part must be set
   */
  void encode(K object, Key key);

  /**
   * Reads a key.
   *
   * @param key the key; owned by the caller and reused
   * @return a new object
   */
  K decode(Key key);
}
