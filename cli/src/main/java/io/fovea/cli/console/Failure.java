package io.fovea.cli.console;

/** Ends a request with an HTTP status and a message for the user. */
public final class Failure extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The HTTP status. */
  private final int status;

  /**
   * Creates the failure.
   *
   * @param status the HTTP status, 400 or above
   * @param message what is wrong
   */
  public Failure(int status, String message) {
    super(message, null, false, false);
    this.status = status;
  }

  /** {@return the HTTP status} */
  public int status() {
    return status;
  }
}
