package io.fovea.buffer;

/**
 * The activity of a pool since it was opened. Hits are not counted, because counting would cost
 * more than a hit.
 *
 * @param frames the number of frames
 * @param framesFree frames that hold no page
 * @param framesDirty frames whose page is newer than the file's copy
 * @param misses pages read from the device
 * @param preferredFrameSlowHits slow searches that found the page in its preferred frame: it was
 *     latched, or had just arrived
 * @param slowElsewhere slow searches that found the page in another frame: mispredictions
 * @param promotions pages moved to their preferred frame
 * @param demotions pages displaced by a promotion
 * @param evictionsClean pages evicted without first being written
 * @param evictionsDirty pages evicted after being written for that purpose
 * @param pagesWritten pages written
 * @param batchesWritten batches of writes
 * @param frameWaits waits for a frame because all cold pages were dirty
 * @param frameWaitNanos their total time, in nanoseconds
 * @param latchWaits waits for a page latch in a slow search: a page being read, or a writer
 * @param readFailures pages that could not be read, or were damaged
 * @param writeFailures pages that could not be written, and stay dirty
 * @param hintsNone child entries that a descent found without a frame hint
 * @param hintsStale child entries whose hint named a frame that the page had left
 * @param hintRepairs frame hints stored
 * @param hintRepairsAbandoned frame hints not stored, because the entry's page was latched or had
 *     changed
 * @param unswizzled references cleared so that the page could leave: {@link Swizzling}
 * @param unswizzlingsRefused pages that stayed in memory because of a child, or because of their
 *     parent's latch
 * @param bytes the native memory of the pool
 * @since 0.1.0
 */
public record PoolStats(
    int frames,
    long framesFree,
    long framesDirty,
    long misses,
    long preferredFrameSlowHits,
    long slowElsewhere,
    long promotions,
    long demotions,
    long evictionsClean,
    long evictionsDirty,
    long pagesWritten,
    long batchesWritten,
    long frameWaits,
    long frameWaitNanos,
    long latchWaits,
    long readFailures,
    long writeFailures,
    long hintsNone,
    long hintsStale,
    long hintRepairs,
    long hintRepairsAbandoned,
    long unswizzled,
    long unswizzlingsRefused,
    long bytes) {}
