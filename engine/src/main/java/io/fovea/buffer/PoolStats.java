package io.fovea.buffer;

/**
 * What a pool has done since it was opened. Hits are not counted here: that would cost more than
 * they do.
 *
 * @param frames how many frames there are
 * @param framesFree how many hold no page
 * @param framesDirty how many hold a page that is newer than the file's
 * @param misses pages that were read from the device
 * @param preferredFrameSlowHits slow searches that found the page in its preferred frame after all:
 *     it was latched, or has just arrived
 * @param slowElsewhere slow searches that found the page in another frame: mispredictions
 * @param promotions pages that were moved to their preferred frame
 * @param demotions pages that had to make room for one
 * @param evictionsClean pages that were dropped
 * @param evictionsDirty pages that were dropped after they had been written for it
 * @param pagesWritten pages that were written
 * @param batchesWritten batches of writes
 * @param frameWaits waits for a frame because all pages that were cold were dirty
 * @param frameWaitNanos how long, together
 * @param latchWaits waits for a page latch in a slow search: a page on its way in, or a writer
 * @param readFailures pages that could not be read, or were damaged
 * @param writeFailures pages that could not be written, and stay dirty
 * @param hintsNone child entries that a descent found without a frame hint
 * @param hintsStale child entries whose frame hint led elsewhere: the page had left, or had moved
 * @param hintRepairs frame hints that were stored
 * @param hintRepairsGivenUp frame hints that were not stored, because the entry's page was latched
 *     or had changed
 * @param unswizzled references that a page was taken out of, so that it could leave: {@link
 *     Swizzling}
 * @param unswizzlingsRefused pages that stayed in memory for a child, or because of their parent's
 *     latch
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
    long hintRepairsGivenUp,
    long unswizzled,
    long unswizzlingsRefused,
    long bytes) {}
