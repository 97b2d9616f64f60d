package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * Something was used whose database is closed, or is closing.
 *
 * @since 0.1.0
 */
public final class DatabaseClosedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** Makes one. */
  public DatabaseClosedException() {
    this("The database is closed.");
  }

  /**
   * Makes one.
   *
   * @param message what was used
   */
  public DatabaseClosedException(String message) {
    super(message);
  }

  /**
   * Makes one for a database that had to stop by itself.
   *
   * @param message what was used
   * @param cause why the database stopped, or null
   */
  public DatabaseClosedException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
