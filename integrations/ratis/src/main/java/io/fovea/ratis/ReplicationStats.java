package io.fovea.ratis;

/**
 * Counters of a peer since it started, and its position in the log.
 *
 * @param submitted commands submitted here
 * @param acknowledged submitted commands whose results arrived
 * @param failed submitted commands that ended in any other way
 * @param submitNanos the total time until the results arrived, in nanoseconds
 * @param tries repeated attempts of requests
 * @param applied entries applied here
 * @param retriesFound applied entries whose request had been applied before, and was not applied
 *     again
 * @param copiesTaken copies of the database that were installed
 * @param copyBytes bytes received of such copies
 * @param appliedIndex the last entry that was applied
 * @param committedIndex the last entry known to be on a majority
 * @since 0.1.0
 */
public record ReplicationStats(
    long submitted,
    long acknowledged,
    long failed,
    long submitNanos,
    long tries,
    long applied,
    long retriesFound,
    long copiesTaken,
    long copyBytes,
    long appliedIndex,
    long committedIndex) {}
