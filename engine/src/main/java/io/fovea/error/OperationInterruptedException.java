package io.fovea.error;

/**
 * The thread was interrupted while it built or dropped an index, dropped a table, or waited to do
 * so; nothing has changed. Transactions are not ended by interrupts. The thread's flag is set.
 *
 * @since 0.1.0
 */
public final class OperationInterruptedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes one.
   *
   * @param what what was interrupted, as in {@code build index by_name of table people}
   */
  public OperationInterruptedException(String what) {
    super("The thread was interrupted and did not " + what + ": nothing has changed.");
  }
}
