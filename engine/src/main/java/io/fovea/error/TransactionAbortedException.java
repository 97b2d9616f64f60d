package io.fovea.error;

/**
 * Thrown when a transaction was aborted. It has changed nothing.
 *
 * <p>Conflicts are normal and can occur thousands of times a second, so a {@linkplain #retryable
 * retryable} abort carries no stack trace. Code inside a transaction must let this exception
 * propagate: the transaction is lost even if the exception is caught.
 *
 * @since 0.1.0
 */
public final class TransactionAbortedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The reason for the abort. */
  private final AbortCause abortCause;

  /**
   * Creates the exception with the explanation of the cause.
   *
   * @param abortCause the reason for the abort
   */
  public TransactionAbortedException(AbortCause abortCause) {
    this(abortCause, "");
  }

  /**
   * Creates the exception with further detail.
   *
   * @param abortCause the reason for the abort
   * @param detail what was found and what can be done; may be empty
   */
  public TransactionAbortedException(AbortCause abortCause, String detail) {
    super(
        "The transaction was aborted: "
            + abortCause.explanation()
            + (detail.isEmpty() ? "." : ". " + detail),
        null,
        !abortCause.retryable());
    this.abortCause = abortCause;
  }

  /**
   * Returns the reason for the abort.
   *
   * @return the cause under which the statistics count this abort
   */
  public AbortCause abortCause() {
    return abortCause;
  }

  /**
   * Returns whether the same work is likely to succeed when it is retried. {@code Database.run} and
   * similar methods retry automatically.
   *
   * @return true for conflicts with other transactions
   */
  public boolean retryable() {
    return abortCause.retryable();
  }
}
