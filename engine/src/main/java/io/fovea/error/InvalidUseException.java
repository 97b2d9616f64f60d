package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * The API was used in a way that it does not allow: from another thread than the one that a
 * transaction belongs to, after a transaction's end, with a cursor that outlived its transaction,
 * with an object of another database, or with an argument that makes no sense.
 *
 * <p>Always a mistake in the program, never something that a retry mends.
 *
 * @since 0.1.0
 */
public final class InvalidUseException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes one.
   *
   * @param message what was done, what is allowed instead
   */
  public InvalidUseException(String message) {
    super(message);
  }

  /**
   * Makes one.
   *
   * @param message what was done, what is allowed instead
   * @param cause what showed it, or null
   */
  public InvalidUseException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
