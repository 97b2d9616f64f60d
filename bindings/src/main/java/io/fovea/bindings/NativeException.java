package io.fovea.bindings;

/**
 * Thrown when a system call fails and the caller cannot continue without it, such as the setup of a
 * ring. Calls whose failures are ordinary return the negated error number instead.
 *
 * @since 0.1.0
 */
public final class NativeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The call that failed. */
  private final String call;

  /** Its error number, positive. */
  private final int errno;

  /**
   * Creates the exception.
   *
   * @param call the function that was called, for example {@code "io_uring_queue_init_params"}
   * @param errno the error number, positive or negated
   * @since 0.1.0
   */
  public NativeException(String call, int errno) {
    super(call + " failed: " + Errno.describe(errno));
    this.call = call;
    this.errno = Math.abs(errno);
  }

  /**
   * Returns the name of the C function that failed.
   *
   * @return the name of the C function
   * @since 0.1.0
   */
  public String call() {
    return call;
  }

  /**
   * Returns the error number.
   *
   * @return the error number, positive
   * @since 0.1.0
   */
  public int errno() {
    return errno;
  }
}
