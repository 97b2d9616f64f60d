package io.fovea;

/**
 * Turns Java objects into keys and back.
 *
 * <p>Used by {@link Table}. Must be safe for every thread and may be called at any time, also by
 * transactions that will be aborted.
 *
 * @param <K> the class of the objects
 * @since 0.1.0
 */
public interface KeyCodec<K> {
  /**
   * Writes a key.
   *
   * @param object what to write
   * @param key where to; empty when it is passed, every part must be set
   */
  void encode(K object, Key key);

  /**
   * Reads a key.
   *
   * @param key what to read; belongs to the caller and will change
   * @return a new object
   */
  K decode(Key key);
}
