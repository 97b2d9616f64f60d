package io.fovea.tpcc.bench;

/** Ends the program with a message for the user and an exit code. */
public final class DriverException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public final int exitCode;

  public DriverException(int exitCode, String message) {
    super(message);
    this.exitCode = exitCode;
  }

  public DriverException(int exitCode, String message, Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }
}
