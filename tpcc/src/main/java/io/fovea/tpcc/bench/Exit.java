package io.fovea.tpcc.bench;

/** Exit codes; scripts rely on them, so they never change. */
public final class Exit {
  /** The run and the check after it were clean. */
  public static final int OK = 0;

  /** Options that make no sense. */
  public static final int USAGE = 1;

  /** A consistency condition does not hold. */
  public static final int INCONSISTENT = 2;

  /** An error of the engine, of the device or of the driver. */
  public static final int ERROR = 3;

  /** The database is not there, is in use, or is not the one that the options ask for. */
  public static final int UNUSABLE = 4;

  /** Stopped by a signal before the end. */
  public static final int INTERRUPTED = 130;

  private Exit() {}
}
