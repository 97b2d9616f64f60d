package io.fovea.error;

/**
 * Thrown when a file is not a Fovea database or has another format or page size, or when its
 * companion files belong to another database or to another state of this database.
 *
 * @since 0.1.0
 */
public final class IncompatibleFormatException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message the file, what was found and expected in it, and what can be done
   */
  public IncompatibleFormatException(String message) {
    super(message);
  }
}
