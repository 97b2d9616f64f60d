package io.fovea.wal;

/** Access to the space accounting of a log, for tests of other packages. */
public final class TestSpace {
  private TestSpace() {}

  /** Returns the bytes granted to operations: 0 if there are none and nothing has leaked. */
  public static long held(Log log) {
    return log.space().held();
  }
}
