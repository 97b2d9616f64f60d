package io.fovea.tpcc.bench;

/** Exit codes. Scripts rely on them; do not change them. */
public final class Exit {
  /** The run and its check succeeded. */
  public static final int OK = 0;

  /** Invalid options. */
  public static final int USAGE = 1;

  /** A consistency condition is violated. */
  public static final int INCONSISTENT = 2;

  /** The engine, the device or the driver failed. */
  public static final int ERROR = 3;

  /** The database is missing, in use, or not the one asked for. */
  public static final int UNUSABLE = 4;

  /** Stopped by a signal. */
  public static final int INTERRUPTED = 130;

  private Exit() {}
}
