package io.fovea.ratis;

import org.jspecify.annotations.Nullable;

/**
 * How a peer is.
 *
 * @param state what it can do
 * @param reason why it can't do more, in words; empty where it is UP
 * @param role LEADER, FOLLOWER, CANDIDATE or STARTING
 * @param leader the name of the leader; null if none is known
 * @param appliedIndex the last entry of the log that it has applied
 * @param committedIndex the last entry that it knows a majority to have
 * @since 0.1.0
 */
public record Health(
    State state,
    String reason,
    String role,
    @Nullable String leader,
    long appliedIndex,
    long committedIndex) {
  /** What a peer can do. */
  public enum State {
    /** Commands and all reads. */
    UP,
    /** Local reads: no leader is known to it. */
    NO_LEADER,
    /** Nothing but local reads of what it has applied, until it is started again. */
    DOWN
  }
}
