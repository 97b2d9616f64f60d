package io.fovea.txn;

import io.fovea.error.AbortCause;

/**
 * Counts of a {@link TxEngine} since it was made.
 *
 * @param commits transactions that committed, read-only ones included
 * @param rollbacks transactions that their user rolled back
 * @param aborts transactions that were aborted, by the ordinal of {@link AbortCause}
 * @param durationNanos nanoseconds from begin to commit, of those that committed, summed; of those
 *     that wrote nothing, one in seven is measured, and counts for those before it
 * @param pageAccesses pages that trees looked at for transactions, retries included
 * @param childSteps children that descents of transactions went to, from the inner node above;
 *     those of scans and of keys that are looked for in groups are not counted
 * @param placesTried how often an access began where a record was seen before
 * @param placesStale how many of those went down from the root after all
 * @param cachedLocations how often the table of places was asked
 * @param cachedLocationsRight how often all that it said was right
 * @param durableWaits how often a transaction had to wait for the log after it had ended
 * @param durableWaitNanos nanoseconds of those waits, summed
 */
public record TxStats(
    long commits,
    long rollbacks,
    long[] aborts,
    long durationNanos,
    long pageAccesses,
    long childSteps,
    long placesTried,
    long placesStale,
    long cachedLocations,
    long rememberedRight,
    long durableWaits,
    long durableWaitNanos) {}
