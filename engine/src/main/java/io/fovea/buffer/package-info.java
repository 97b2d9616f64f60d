/**
 * The buffer pool: keeps pages of a file in frames of native memory.
 *
 * <pre>
 *   BufferPool (facade)
 *     Frames        memory: pages, FrameHeader lines, FreeFrames    MemoryPlan: the budget
 *     Latch         optimistic, shared, exclusive: one word          Backoff: spin, yield, sleep
 *     Translator    page id → frame: Predictive-, Hashed-, Optimistic-, Chained-, Latched-,
 *                   VirtualTranslation                               Swizzling
 *     Resolver      the slow path ─► Loader (misses), PagePromoter
 *     GroupLoader   many misses of one thread: PageGroup (one batch), PageReads (a window)
 *     Residency     memory for pages: FrameResidency, ResidencyBudget
 *     FrameAllocator  eviction ◄─ BackgroundWriter ─► WriteBack ◄─ Flusher
 *      │             ReplacementPolicy:      WriterPace,           └► DoubleWrite, DataSync
 *      └►            SecondChance, Sampling  ReadyFrames, FrameWaits
 *     PageAllocator page ids, the free list, the length of the file; AllocatorRecord
 *     PageImages    pages in log records                  PoolLog: the pool's view of the log
 * </pre>
 *
 * <p>May import: {@code io.fovea.config}, {@code io.fovea.error}, {@code io.fovea.memory}, {@code
 * io.fovea.io}, {@code io.fovea.wal}.
 *
 * <p>Threading: all methods may be called by any thread, platform or virtual, concurrently, unless
 * they say otherwise. One background thread writes pages; another may touch memory ahead of its
 * use.
 *
 * <p>Latch order: at most one of the locks of {@code WriteBack} (a batch) and {@code PageAllocator}
 * (growing) → that of {@code DataSync} → page latches → one or two bucket latches, or the latch of
 * the free frames, or that of the page allocator. The last three are spin latches, held for a few
 * instructions by threads that wait for nothing; log space may be reserved under them, because that
 * never waits. Several page latches are taken by single attempts (moves), or in the order of the
 * layer above. No thread waits for a frame, the device or the log with a page latch held, except
 * that a thread that loads pages holds their latches while it waits for the device. The lock of
 * {@code WriteBack} may be held while the log becomes durable; the log never waits for a page.
 */
@NullMarked
package io.fovea.buffer;

import org.jspecify.annotations.NullMarked;
