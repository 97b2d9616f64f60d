package io.fovea.replication;

/**
 * A command was refused by its own code: the result is that nothing was changed, on every replica.
 *
 * @since 0.1.0
 */
public final class RefusedException extends Exception {
  private static final long serialVersionUID = 1L;

  /**
   * Refuses a command.
   *
   * @param message why; the same on every replica, as it is kept with the request
   */
  public RefusedException(String message) {
    super(message, null, false, false);
  }
}
