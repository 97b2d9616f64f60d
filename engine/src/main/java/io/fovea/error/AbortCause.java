package io.fovea.error;

/**
 * The reason for the abort of a transaction. The statistics count aborts by these causes.
 *
 * @since 0.1.0
 */
public enum AbortCause {
  /** A record that the transaction had read was changed before it could commit. */
  VALIDATION(true, "a record that it read was changed by another transaction"),
  /**
   * A record that this transaction reads or writes was locked by another transaction: during that
   * transaction's commit or, under two-phase locking and strict timestamp ordering, until its end.
   */
  LOCK(true, "another transaction was using a record that it uses, and had locked it"),
  /** A range that the transaction had scanned may have gained or lost a record. */
  PHANTOM(true, "a range that it scanned was changed by another transaction"),
  /**
   * A transaction with a later timestamp used a record first. Occurs only under protocols that
   * order transactions by when they began.
   */
  ORDER(true, "a transaction that began later has already used a record that it uses"),
  /**
   * The transaction is older than the history of commits that the protocol keeps. Occurs only under
   * protocols that validate against such a history.
   */
  HISTORY(true, "too much was committed since it began, so it can no longer be checked"),
  /** A table that the transaction uses or has looked up was created, dropped or renamed. */
  CATALOG(true, "a table that it uses or looked up was created, dropped or renamed"),
  /**
   * The maximum number of transactions was active, and none ended within the time limit. A retry
   * would join the end of the queue again.
   */
  ADMISSION(
      false,
      "it could not begin in time, because the maximum number of " + "transactions was active"),
  /** The transaction exceeded its time limit. */
  TIMEOUT(false, "it took longer than its time limit"),
  /** The transaction exceeded the limit on the size of its reads and writes. */
  TOO_LARGE(false, "it is larger than the limit on the size of a transaction"),
  /** The application rolled back, or the body of the transaction threw an exception. */
  USER(false, "its own code rolled it back");

  private final boolean retryable;
  private final String explanation;

  AbortCause(boolean retryable, String explanation) {
    this.retryable = retryable;
    this.explanation = explanation;
  }

  /**
   * Returns whether the same work is likely to succeed when it is retried.
   *
   * @return true for conflicts with other transactions
   */
  public boolean retryable() {
    return retryable;
  }

  /**
   * Returns the cause in words.
   *
   * @return the end of a sentence that begins with "the transaction was aborted:"
   */
  public String explanation() {
    return explanation;
  }
}
