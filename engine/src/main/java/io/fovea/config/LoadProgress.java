package io.fovea.config;

/**
 * The progress of a load.
 *
 * @param phase the current phase
 * @param done records or index entries processed in this phase
 * @param of the approximate total of this phase; -1 if unknown
 * @since 0.1.0
 */
public record LoadProgress(Phase phase, long done, long of) {
  /** A phase of a load. */
  public enum Phase {
    /** Records are read from the source. */
    READING,
    /** Sorted records are written. */
    WRITING,
    /** Index entries are written. */
    INDEXING,
    /** Everything is made durable and published. */
    PUBLISHING
  }
}
