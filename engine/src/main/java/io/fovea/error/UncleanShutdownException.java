package io.fovea.error;

/**
 * Thrown when a database without a log was not closed: its process or the machine stopped while the
 * database was open for writing.
 *
 * @since 0.1.0
 */
public final class UncleanShutdownException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param path the file
   */
  public UncleanShutdownException(String path) {
    super(
        path
            + " was not closed cleanly, and it has no log to recover from, "
            + "so its pages may date from different times. Restore it from a "
            + "backup or load it again.");
  }
}
