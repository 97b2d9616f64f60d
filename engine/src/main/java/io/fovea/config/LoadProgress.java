package io.fovea.config;

/**
 * How far a load is.
 *
 * @param phase what it does
 * @param done how many records, or entries of indexes, it has done in this phase
 * @param of how many there are in this phase, about; -1 where that is not known
 * @since 0.1.0
 */
public record LoadProgress(Phase phase, long done, long of) {
  /** What a load does. */
  public enum Phase {
    /** It takes records from its source. */
    READING,
    /** It writes records that were sorted. */
    WRITING,
    /** It writes the entries of indexes. */
    INDEXING,
    /** It makes all of it durable, and publishes it. */
    PUBLISHING
  }
}
