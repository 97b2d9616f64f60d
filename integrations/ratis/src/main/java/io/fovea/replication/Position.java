package io.fovea.replication;

/**
 * A position in the replicated log.
 *
 * @param term the term of the leader that appended the entry
 * @param index the entry's index, from 0 on; -1 before the first
 * @since 0.1.0
 */
public record Position(long term, long index) {
  /** Before the first entry. */
  public static final Position NONE = new Position(0, -1);
}
