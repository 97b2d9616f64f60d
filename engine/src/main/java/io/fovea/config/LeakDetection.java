package io.fovea.config;

/**
 * Which transactions and cursors remember where they were made, so that one that is never closed
 * can be named in the log.
 *
 * @since 0.1.0
 */
public enum LeakDetection {
  /** None. */
  OFF,
  /** One of 64. The default. */
  SAMPLED,
  /** Every one: for tests, it costs microseconds. */
  ALL
}
