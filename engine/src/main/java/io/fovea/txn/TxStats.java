package io.fovea.txn;

import io.fovea.error.AbortCause;

/**
 * Statistics of a {@link TxEngine} since its creation.
 *
 * @param commits committed transactions, read-only ones included
 * @param rollbacks transactions rolled back by their user
 * @param aborts aborted transactions, by the ordinal of {@link AbortCause}
 * @param durationNanos total time from begin to commit of committed transactions; one read-only
 *     transaction in seven is measured, and counts for those before it
 * @param pageAccesses page accesses by trees for transactions, retries included
 * @param childSteps steps from an inner node to a child in descents, without scans and batched
 *     lookups
 * @param positionHints accesses that started at a location in the read or write set
 * @param positionHintsStale of these, the accesses that had to descend from the root
 * @param cachedLocations lookups in the key location cache
 * @param cachedLocationsRight of these, the lookups whose result was right in all parts
 * @param durableWaits waits for the log after the end of a transaction
 * @param durableWaitNanos total time of these waits
 */
public record TxStats(
    long commits,
    long rollbacks,
    long[] aborts,
    long durationNanos,
    long pageAccesses,
    long childSteps,
    long positionHints,
    long positionHintsStale,
    long cachedLocations,
    long cachedLocationsRight,
    long durableWaits,
    long durableWaitNanos) {}
