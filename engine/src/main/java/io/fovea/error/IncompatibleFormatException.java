package io.fovea.error;

/**
 * The file is no Fovea database, or one of another format or of another page size than was asked
 * for; or the files beside it belong to another database, or to another state of this one.
 *
 * @since 0.1.0
 */
public final class IncompatibleFormatException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes one.
   *
   * @param message what was found, what was expected, in which file, and what can be done
   */
  public IncompatibleFormatException(String message) {
    super(message);
  }
}
