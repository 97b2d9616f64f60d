package io.fovea.error;

/**
 * Thrown when a stored table differs from its specification and no evolution step of the
 * specification leads from one to the other. Nothing was changed.
 *
 * <p>The message names the table and the difference.
 *
 * @since 0.1.0
 */
public final class IncompatibleSchemaException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message the table and file, what is stored, what is specified, and what can be done
   */
  public IncompatibleSchemaException(String message) {
    super(message);
  }
}
