package io.fovea.config;

/**
 * What a load does with two records of the same key: two that it loads, or one of them and one that
 * the table has.
 *
 * @since 0.1.0
 */
public enum Duplicates {
  /** The load fails with {@link io.fovea.error.DuplicateKeyException}, which names the key. */
  FAIL,
  /** The later one stays: a record that is loaded takes the place of one that is there. */
  REPLACE,
  /** The earlier one stays: a record that is there is kept. */
  KEEP
}
