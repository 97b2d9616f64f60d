package io.fovea.tpcc;

/** The end of the program, with a message for the user and an exit code. */
final class DriverException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  final int exitCode;

  DriverException(int exitCode, String message) {
    super(message);
    this.exitCode = exitCode;
  }

  DriverException(int exitCode, String message, Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }
}
