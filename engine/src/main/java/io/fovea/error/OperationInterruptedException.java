package io.fovea.error;

/**
 * Thrown when the thread is interrupted while it builds or drops an index, drops a table, verifies
 * a database or file, restores a backup, backs up a database without a log, or waits for changes.
 * Nothing has changed, and the interrupt flag of the thread is set. Interrupts do not end
 * transactions.
 *
 * @since 0.1.0
 */
public final class OperationInterruptedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Throws if the calling thread is interrupted. The flag stays set.
   *
   * @param what the operation, as in {@link #OperationInterruptedException}
   * @throws OperationInterruptedException if the thread is interrupted
   */
  public static void check(String what) {
    if (Thread.currentThread().isInterrupted()) {
      throw new OperationInterruptedException(what);
    }
  }

  /**
   * Creates the exception.
   *
   * @param what the operation, such as {@code build index by_name of table people}
   */
  public OperationInterruptedException(String what) {
    super("The thread was interrupted and did not " + what + ": nothing has changed.");
  }
}
