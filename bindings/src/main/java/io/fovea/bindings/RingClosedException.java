package io.fovea.bindings;

/**
 * Thrown when a {@link Ring} is used after it was closed. Its memory is unmapped by then, so every
 * access checks first.
 *
 * @since 0.1.0
 */
public final class RingClosedException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @since 0.1.0
   */
  public RingClosedException() {
    super("The io_uring ring is closed.");
  }
}
