package io.fovea;

/**
 * Which transactions and cursors remember where they were made, so that one that is never closed
 * can be named in the log.
 *
 * @since 0.1.0
 */
public enum LeakDetection {
  /** None. */
  OFF(0),
  /** One of 64. The default. */
  SAMPLED(64),
  /** Every one: for tests, it costs microseconds. */
  ALL(1);

  private final int oneOf;

  LeakDetection(int oneOf) {
    this.oneOf = oneOf;
  }

  /** Of so many one remembers; 0 for none. */
  int oneOf() {
    return oneOf;
  }
}
