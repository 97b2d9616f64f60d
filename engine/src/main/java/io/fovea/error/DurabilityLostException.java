package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a sync of the storage failed, so that preceding writes may or may not be durable.
 *
 * <p>The failure is final: a later sync that succeeds proves nothing, because the operating system
 * may have dropped the pages that it could not write. The database accepts no more commits. Reopen
 * it: it then contains all commits acknowledged before the failure.
 *
 * @since 0.1.0
 */
public final class DurabilityLostException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** Whether the outcome of the transaction is unknown. */
  private final boolean mayHaveCommitted;

  /**
   * Creates the exception.
   *
   * @param message what failed, and the consequence for the caller
   * @param cause the failure that ended durability, or null
   */
  public DurabilityLostException(String message, @Nullable Throwable cause) {
    this(message, cause, false);
  }

  /**
   * Creates the exception.
   *
   * @param message what failed, and the consequence for the caller
   * @param cause the failure that ended durability, or null
   * @param mayHaveCommitted whether the transaction was already in the log when the sync failed
   */
  public DurabilityLostException(
      String message, @Nullable Throwable cause, boolean mayHaveCommitted) {
    super(message, cause);
    this.mayHaveCommitted = mayHaveCommitted;
  }

  /**
   * Returns whether the outcome of the transaction is unknown.
   *
   * @return true if the transaction may have committed: the next opening of the database determines
   *     whether it has; false if it has changed nothing
   */
  public boolean mayHaveCommitted() {
    return mayHaveCommitted;
  }
}
