package io.fovea.catalog;

/**
 * How a table is loaded.
 *
 * @param memoryBytes the memory for sorting, about
 * @param ascending whether records come in the order of their keys
 * @param fill how full pages are made, above 0 up to 1
 * @param duplicates what becomes of records of the same key
 * @param progress is told
 */
public record LoadSettings(
    long memoryBytes, boolean ascending, double fill, Duplicates duplicates, Progress progress) {
  /** What becomes of records of the same key. */
  public enum Duplicates {
    /** The load fails. */
    FAIL,
    /** The one that comes last stays. */
    REPLACE,
    /** The one that was there first stays. */
    KEEP
  }

  /** What a load does. */
  public enum Phase {
    /** Takes records from its source. */
    READING,
    /** Writes the table. */
    WRITING,
    /** Writes the indexes. */
    INDEXING,
    /** Makes all of it durable, and publishes it. */
    PUBLISHING
  }

  /** Is told how far a load is, by its thread; may throw, which ends the load. */
  @FunctionalInterface
  public interface Progress {
    /**
     * So far it is.
     *
     * @param phase what it does
     * @param done how many records or entries it has done in this phase
     * @param of how many there are in this phase; -1 where that is not known
     */
    void at(Phase phase, long done, long of);
  }
}
