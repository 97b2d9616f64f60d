package io.fovea.config;

/**
 * What a load does with two records of the same key, both from its source or one already in the
 * table.
 *
 * @since 0.1.0
 */
public enum Duplicates {
  /** The load fails with {@link io.fovea.error.DuplicateKeyException}, which names the key. */
  FAIL,
  /** The later record stays: a loaded record replaces an existing one. */
  REPLACE,
  /** The earlier record stays: an existing record is kept. */
  KEEP
}
