package io.fovea.error;

/**
 * Why a transaction was aborted.
 *
 * <p>The causes are those that the statistics count, so a constant here is also a line there.
 *
 * @since 0.1.0
 */
public enum AbortCause {
  /** Something that the transaction read was changed by another before it could commit. */
  VALIDATION(true, "a record that it read was changed by another transaction"),
  /**
   * Another transaction had locked something that this one reads or writes: for its commit, or,
   * under two-phase locking and strict timestamp ordering, until its end.
   */
  LOCK(true, "another transaction was using a record that it uses, and had locked it"),
  /** A range that the transaction scanned gained or lost a record, or may have. */
  PHANTOM(true, "a range that it scanned was changed by another transaction"),
  /**
   * A transaction that comes later in the order of timestamps was faster. Only with protocols whose
   * order is that of the begins.
   */
  ORDER(true, "a transaction that began later has already used a record that it uses"),
  /**
   * More was committed since it began than the engine remembers. Only with protocols that remember
   * what was committed.
   */
  HISTORY(true, "so much was committed since it began that it can't be checked any more"),
  /**
   * Another transaction has created, dropped or renamed a table that this one has used or looked
   * for, or is about to.
   */
  CATALOG(true, "a table that it uses or has looked for was created, dropped or renamed"),
  /**
   * The transaction did not begin within its limit on time, because as many ran as may. It waited
   * its turn; doing it again would begin at the end of the queue.
   */
  ADMISSION(false, "it could not begin in time, because as many transactions ran as may"),
  /** The transaction took longer than its limit on time. Doing it again would take as long. */
  TIMEOUT(false, "it took longer than its time limit"),
  /** The transaction reads or writes more than its limit on size. */
  TOO_LARGE(false, "it is larger than the limit on the size of a transaction"),
  /** The user's code asked for it, or threw an exception out of the transaction's body. */
  USER(false, "its own code rolled it back");

  private final boolean retryable;
  private final String explanation;

  AbortCause(boolean retryable, String explanation) {
    this.retryable = retryable;
    this.explanation = explanation;
  }

  /**
   * Whether the same work may well succeed when it is done again.
   *
   * @return true for conflicts with other transactions
   */
  public boolean retryable() {
    return retryable;
  }

  /**
   * The cause in words, as the end of a sentence that begins with "the transaction was aborted:".
   *
   * @return a constant text
   */
  public String explanation() {
    return explanation;
  }
}
