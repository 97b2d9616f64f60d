package io.fovea.error;

/**
 * A transaction was aborted and has changed nothing.
 *
 * <p>Conflicts between transactions are everyday events: sixteen threads on one warehouse make
 * thousands of them a second. So an abort that is worth a retry carries no stack trace (which is
 * what an exception mostly costs), and the transaction that catches one must let it pass: a
 * swallowed abort dooms the transaction all the same.
 *
 * @since 0.1.0
 */
public final class TransactionAbortedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** Why it was aborted. */
  private final AbortCause abortCause;

  /**
   * Makes one with the cause's own words.
   *
   * @param abortCause why
   */
  public TransactionAbortedException(AbortCause abortCause) {
    this(abortCause, "");
  }

  /**
   * Makes one with more to say.
   *
   * @param abortCause why
   * @param detail what was found and what can be done; empty for nothing more
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
   * Why the transaction was aborted.
   *
   * @return the cause that the statistics count this abort under
   */
  public AbortCause abortCause() {
    return abortCause;
  }

  /**
   * Whether the same work may well succeed when it is done again. The lambda forms of a transaction
   * do that by themselves.
   *
   * @return true for conflicts with other transactions
   */
  public boolean retryable() {
    return abortCause.retryable();
  }
}
