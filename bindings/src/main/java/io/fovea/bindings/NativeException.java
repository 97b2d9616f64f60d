package io.fovea.bindings;

/**
 * A call into the system failed and its caller cannot go on without it: a ring could not be set up,
 * for example. Calls that fail in the ordinary course return the negated error number instead.
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
   * Makes the exception.
   *
   * @param call what was called, for example {@code "io_uring_queue_init_params"}
   * @param errno the error number, positive or negated
   * @since 0.1.0
   */
  public NativeException(String call, int errno) {
    super(call + " failed: " + Errno.describe(errno));
    this.call = call;
    this.errno = Math.abs(errno);
  }

  /**
   * What was called.
   *
   * @return the name of the C function
   * @since 0.1.0
   */
  public String call() {
    return call;
  }

  /**
   * Why it failed.
   *
   * @return the error number, positive
   * @since 0.1.0
   */
  public int errno() {
    return errno;
  }
}
