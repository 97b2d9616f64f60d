package io.fovea.tpcc;

/** Exit codes; scripts rely on them, so they never change. */
final class Exit {
  /** The run and the check after it were clean. */
  static final int OK = 0;

  /** Options that make no sense. */
  static final int USAGE = 1;

  /** A consistency condition does not hold. */
  static final int INCONSISTENT = 2;

  /** An error of the engine, of the device or of the driver. */
  static final int ERROR = 3;

  /** The database is not there, is in use, or is not the one that the options ask for. */
  static final int UNUSABLE = 4;

  /** Stopped by a signal before the end. */
  static final int INTERRUPTED = 130;

  private Exit() {}
}
