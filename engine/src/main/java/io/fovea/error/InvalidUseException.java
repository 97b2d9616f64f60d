package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when the API is misused: a transaction is used by a thread that does not own it or after
 * its end, a cursor is used after the end of its transaction, an object belongs to another
 * database, or an argument is invalid.
 *
 * <p>This always indicates a bug in the application; a retry does not help.
 *
 * @since 0.1.0
 */
public final class InvalidUseException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message what was done, and what is allowed instead
   */
  public InvalidUseException(String message) {
    super(message);
  }

  /**
   * Creates the exception.
   *
   * @param message what was done, and what is allowed instead
   * @param cause the underlying exception, or null
   */
  public InvalidUseException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
