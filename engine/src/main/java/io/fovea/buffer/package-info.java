/**
 * The buffer pool: pages of a file in frames of memory.
 *
 * <pre>
 *   BufferPool (facade)
 *     Frames        memory: pages, FrameHeader lines, FreeFrames    MemoryPlan: the budget
 *     Latch         optimistic, shared, exclusive: one word          Backoff: how waiting is done
 *     Translator    page id → frame: Predictive-, Hashed-, Optimistic-, Chained-, Latched-,
 *                   VirtualTranslation
 *     Resolver      the slow path ─► Loader (misses), PagePromoter
 *     GroupLoader   many misses of one thread: PageGroup at once, PageReads as many as may be always
 *     Residency     where the memory of pages comes from: FrameResidency, ResidencyBudget
 *     FrameAllocator  which page makes room ◄─ BackgroundWriter ─► WriteBack ◄─ Flusher
 *       │             ReplacementPolicy:      WriterPace,           └► DoubleWrite, DataSync
 *       └►            SecondChance, Sampling  ReadyFrames, FrameWaits
 *     PageAllocator page ids, the free list, the length of the file; AllocatorRecord
 *     PageImages    pages in log records                  PoolLog: what the pool wants of the log
 * </pre>
 *
 * <p>Purpose: to find a page in memory for the cost of reading it, and to bring it there otherwise.
 *
 * <p>May import: {@code io.fovea.config}, {@code io.fovea.error}, {@code io.fovea.memory}, {@code
 * io.fovea.io}, {@code io.fovea.wal}.
 *
 * <p>Threading: everything may be called by any thread, platform or virtual, and at the same time,
 * unless a method says otherwise. One background thread writes; another may touch memory ahead.
 *
 * <p>Latch order: at most one of the locks of {@code WriteBack} (a batch) and {@code PageAllocator}
 * (growing) → that of {@code DataSync} → page latches → one or two bucket latches, or the latch of
 * the free frames, or that of the page allocator. The last three are spin latches held for some
 * instructions, by threads that wait for nothing; log space may be reserved under them, for that
 * never waits. Several page latches are taken by trying (moves), or in the order of the room above.
 * Nobody waits for a frame, for the device or for the log with a page latch held, except the thread
 * that loads that very page, or those very pages: which waits for the device and for no frame. The
 * lock of {@code WriteBack} may be held while the log becomes durable; the log never waits for a
 * page.
 */
@NullMarked
package io.fovea.buffer;

import org.jspecify.annotations.NullMarked;
