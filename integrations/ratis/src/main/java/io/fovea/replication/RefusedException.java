package io.fovea.replication;

/**
 * Thrown by a command to refuse: nothing is changed, on every replica.
 *
 * @since 0.1.0
 */
public final class RefusedException extends Exception {
  private static final long serialVersionUID = 1L;

  /**
   * Creates a refusal.
   *
   * @param message the reason; must be the same on every replica, because it is stored with the
   *     request
   */
  public RefusedException(String message) {
    super(message, null, false, false);
  }
}
