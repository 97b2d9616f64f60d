package io.fovea.wal;

/** For tests of other packages: the space of a log. */
public final class TestSpace {
  private TestSpace() {}

  /** How many bytes operations have of it: 0 where there is none, if nothing was lost. */
  public static long held(Log log) {
    return log.space().held();
  }
}
