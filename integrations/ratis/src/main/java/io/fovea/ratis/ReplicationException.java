package io.fovea.ratis;

import org.jspecify.annotations.Nullable;

/**
 * Replication could not do what was asked for.
 *
 * @since 0.1.0
 */
public final class ReplicationException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Why. */
  public enum Reason {
    /** No majority or no leader answered in time. A command may be applied later, once. */
    TIMEOUT,
    /** A request came again so late that what became of it is forgotten. It was not applied now. */
    EXPIRED,
    /** This peer has not applied in time what a read asked for. */
    BEHIND,
    /** Too many requests wait; this one was not sent. */
    BUSY,
    /** This peer was closed or has stopped; {@link ReplicatedDatabase#health} says why. */
    STOPPED,
    /** A change of the members was refused or did not end in time. */
    MEMBERSHIP
  }

  /** Why. */
  private final Reason reason;

  /** Whether a command may be applied. */
  private final boolean mayBeApplied;

  ReplicationException(
      Reason reason, boolean mayBeApplied, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.reason = reason;
    this.mayBeApplied = mayBeApplied;
  }

  /**
   * Why.
   *
   * @return the reason
   */
  public Reason reason() {
    return reason;
  }

  /**
   * Whether the command may have been applied, or may be applied later. Who submits it again does
   * so with the same {@link io.fovea.replication.RequestId}, and it is applied once.
   *
   * @return false where it is certain that it is not applied
   */
  public boolean mayBeApplied() {
    return mayBeApplied;
  }
}
