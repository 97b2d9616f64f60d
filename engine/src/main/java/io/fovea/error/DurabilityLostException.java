package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * A sync of the storage failed, so that what was written before it may or may not be there.
 *
 * <p>Such a failure is final. A second sync that succeeds proves nothing, for the operating system
 * may have dropped the pages that it could not write. The database serves no more commits; what was
 * acknowledged before is there when it is opened again.
 *
 * @since 0.1.0
 */
public final class DurabilityLostException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** Whether the transaction may be there when the database is opened again. */
  private final boolean mayHaveCommitted;

  /**
   * Makes one.
   *
   * @param message what failed and what that means for the caller
   * @param cause the failure that ended durability, or null
   */
  public DurabilityLostException(String message, @Nullable Throwable cause) {
    this(message, cause, false);
  }

  /**
   * Makes one.
   *
   * @param message what failed and what that means for the caller
   * @param cause the failure that ended durability, or null
   * @param mayHaveCommitted whether a transaction was in the log already when it failed
   */
  public DurabilityLostException(
      String message, @Nullable Throwable cause, boolean mayHaveCommitted) {
    super(message, cause);
    this.mayHaveCommitted = mayHaveCommitted;
  }

  /**
   * Whether the outcome of the transaction that got this is not known.
   *
   * @return true if it has committed or has not, which only the next opening of the database tells;
   *     false if it has changed nothing
   */
  public boolean mayHaveCommitted() {
    return mayHaveCommitted;
  }
}
