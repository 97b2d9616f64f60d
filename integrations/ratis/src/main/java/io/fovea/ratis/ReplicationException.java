package io.fovea.ratis;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a replicated operation fails; {@link #reason} says why.
 *
 * @since 0.1.0
 */
public final class ReplicationException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Why an operation failed. */
  public enum Reason {
    /** No majority or no leader answered in time. A command may still be applied later, once. */
    TIMEOUT,
    /**
     * A request was repeated so late that its outcome is no longer stored. It was not applied now.
     */
    EXPIRED,
    /** This peer did not apply, in time, the entries that a read requires. */
    BEHIND,
    /** Too many requests are waiting; this one was not sent. */
    BUSY,
    /** This peer was closed or has stopped; {@link ReplicatedDatabase#health} says why. */
    STOPPED,
    /** A change of the members was refused or did not complete in time. */
    MEMBERSHIP
  }

  /** Why the operation failed. */
  private final Reason reason;

  /** Whether the command may be applied. */
  private final boolean mayBeApplied;

  ReplicationException(
      Reason reason, boolean mayBeApplied, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.reason = reason;
    this.mayBeApplied = mayBeApplied;
  }

  /** {@return why the operation failed} */
  public Reason reason() {
    return reason;
  }

  /**
   * Returns whether the command may have been applied, or may be applied later. To retry, submit it
   * again with the same {@link io.fovea.replication.RequestId}: it is applied once.
   *
   * @return false if it is certain that the command is not applied
   */
  public boolean mayBeApplied() {
    return mayBeApplied;
  }
}
