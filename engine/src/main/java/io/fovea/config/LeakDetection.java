package io.fovea.config;

/**
 * Which transactions and cursors record where they were created, so that a log message can identify
 * one that is never closed.
 *
 * @since 0.1.0
 */
public enum LeakDetection {
  /** None. */
  OFF,
  /** One in 64. The default. */
  SAMPLED,
  /** All; for tests, because each costs microseconds. */
  ALL
}
