package io.fovea.ratis;

/**
 * Counters of a peer since it was started, and where it stands.
 *
 * @param submitted commands that were submitted here
 * @param acknowledged those among them whose receipts came
 * @param failed those among them that ended otherwise
 * @param submitNanos how long all receipts together took
 * @param tries tries of requests after the first ones
 * @param applied entries that were applied here
 * @param retriesFound those among them that had been applied before, and were not applied again
 * @param copiesTaken copies of the database that were taken in
 * @param copyBytes bytes of such copies that came
 * @param appliedIndex the last entry that was applied
 * @param committedIndex the last entry that a majority is known to have
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
