package io.fovea.config;

/**
 * What a load does with two records that have the same key: two from its source, or one from its
 * source and one already in the table.
 *
 * @since 0.1.0
 */
public enum Duplicates {
  /** The load fails with {@link io.fovea.error.DuplicateKeyException}, which names the key. */
  FAIL,
  /** The later record wins: a loaded record replaces an existing one. */
  REPLACE,
  /** The earlier record wins: an existing record is kept. */
  KEEP
}
