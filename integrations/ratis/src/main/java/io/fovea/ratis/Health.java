package io.fovea.ratis;

import org.jspecify.annotations.Nullable;

/**
 * The health of a peer.
 *
 * @param state what the peer can do
 * @param reason why it can't do more; empty if it is UP
 * @param role LEADER, FOLLOWER, CANDIDATE or STARTING
 * @param leader the name of the leader; null if none is known
 * @param appliedIndex the last log entry that it has applied
 * @param committedIndex the last log entry that it knows to be on a majority
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
    /** Local reads only: the peer knows no leader. */
    NO_LEADER,
    /** Local reads of the applied state only, until the peer is restarted. */
    DOWN
  }
}
