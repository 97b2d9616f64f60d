package io.fovea.error;

/**
 * A table of the file is another one than its specification says, and no step of the specification
 * leads from the one to the other. Nothing was changed.
 *
 * <p>The message names the table, what differs, and both sides of it.
 *
 * @since 0.1.0
 */
public final class IncompatibleSchemaException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes one.
   *
   * @param message which table of which file, what is in the file, what is in the specification,
   *     and what can be done
   */
  public IncompatibleSchemaException(String message) {
    super(message);
  }
}
