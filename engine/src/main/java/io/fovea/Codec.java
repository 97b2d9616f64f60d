package io.fovea;

/**
 * Turns Java objects into rows and back.
 *
 * <p>Used by {@link Table}. Must be safe for every thread and may be called at any time, also by
 * transactions that will be aborted.
 *
 * @param <V> the class of the objects
 * @since 0.1.0
 */
public interface Codec<V> {
  /**
   * Writes a record.
   *
   * @param object what to write
   * @param row where to; all zero when it is passed
   */
  void encode(V object, Row row);

  /**
   * Reads a record.
   *
   * @param row what to read; belongs to the caller and will change
   * @return a new object
   */
  V decode(Row row);
}
