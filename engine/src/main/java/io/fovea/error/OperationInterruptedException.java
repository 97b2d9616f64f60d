package io.fovea.error;

/**
 * The thread was interrupted while it built or dropped an index, verified a database or its file,
 * restored a backup, or copied a database without a log, or while it waited to do so, to drop a
 * table, or for changes; nothing has changed. Transactions are not ended by interrupts. The
 * thread's flag is set.
 *
 * @since 0.1.0
 */
public final class OperationInterruptedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Throws where the calling thread is interrupted; its flag stays set.
   *
   * @param what what is given up then, as in {@link #OperationInterruptedException}
   * @throws OperationInterruptedException if it is
   */
  public static void check(String what) {
    if (Thread.currentThread().isInterrupted()) {
      throw new OperationInterruptedException(what);
    }
  }

  /**
   * Makes one.
   *
   * @param what what was interrupted, as in {@code build index by_name of table people}
   */
  public OperationInterruptedException(String what) {
    super("The thread was interrupted and did not " + what + ": nothing has changed.");
  }
}
