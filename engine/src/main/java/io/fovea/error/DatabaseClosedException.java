package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * Thrown on use of an object whose database is closed or closing.
 *
 * @since 0.1.0
 */
public final class DatabaseClosedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** Creates the exception. */
  public DatabaseClosedException() {
    this("The database is closed.");
  }

  /**
   * Creates the exception.
   *
   * @param message the object that was used
   */
  public DatabaseClosedException(String message) {
    super(message);
  }

  /**
   * Creates the exception for a database that stopped because of an error.
   *
   * @param message the object that was used
   * @param cause why the database stopped, or null
   */
  public DatabaseClosedException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
