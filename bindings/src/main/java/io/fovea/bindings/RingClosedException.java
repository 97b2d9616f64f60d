package io.fovea.bindings;

/**
 * A {@link Ring} was used after it was closed. Its memory is gone by then, so the check stands
 * before every access to it.
 *
 * @since 0.1.0
 */
public final class RingClosedException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @since 0.1.0
   */
  public RingClosedException() {
    super("The ring is closed.");
  }
}
