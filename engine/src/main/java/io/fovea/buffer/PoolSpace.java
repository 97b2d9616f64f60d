package io.fovea.buffer;

import io.fovea.memory.OperationLock;
import io.fovea.memory.Waits;
import io.fovea.wal.LogSession;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import java.util.function.LongConsumer;

/**
 * The free pages as a whole, and the length of the file: {@link PoolCheckpoint#space}.
 *
 * <pre>
 *   |.used.|free|.used.|free|.used.|free free free|  free space     |
 *                                  ▲ the mark      ▲ the old mark   ▲ the file's end
 *
 *         1  {@link #cut}: TRUNCATED; afterwards the pages are free space
 *         2  a checkpoint: a superblock with the new mark is durable
 *         3  {@link #shrink}: the file is shortened, down to the durable mark and the reservations
 * </pre>
 *
 * <p>2 precedes 3: while a superblock is valid, the file contains all pages below its mark.
 *
 * <p>Thread-safe. Changes are made one at a time. A checkpoint does not wait for the walk of a long
 * list: {@link #cut} then does nothing.
 *
 * @since 0.1.0
 */
public final class PoolSpace {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** Stands for the redo point if there is no log: nothing is ever replayed. */
  public static final long UNLOGGED = Long.MAX_VALUE;

  /** The fraction of the file that must be free at its end. */
  private static final int WORTH_PART = 32;

  /** In a small pool, limits are lowered to fractions of the pool, which are derived from this. */
  private static final int SMALL_PART = 4;

  private final Frames frames;
  private final Loader loader;
  private final PageAllocator allocator;
  private final FreeListWalk walk;
  private final FreeRuns runs;
  private final OperationLock lock = new OperationLock("the lock of free pages");
  private final LongAdder pagesCut = new LongAdder();
  private final LongAdder pagesMoved = new LongAdder();
  private final LongAdder pagesPunched = new LongAdder();
  private volatile boolean punchUnsupported;

  /** Returned by {@link #raise} if it has found no such page yet; the next call continues. */
  public static final int MORE = FreeListWalk.MORE;

  PoolSpace(
      Frames frames,
      Loader loader,
      PageAllocator allocator,
      Resolver resolver,
      WriteBack writeBack) {
    this.frames = frames;
    this.allocator = allocator;
    this.loader = loader;
    ExtentReader file = new ExtentReader(frames, loader, allocator);
    this.walk = new FreeListWalk(frames, allocator, resolver, writeBack, file);
    this.runs = new FreeRuns(allocator, resolver, walk, frames.headers);
  }

  /**
   * Removes free pages at the end of the file from the free list: lowers the high-water mark. Does
   * nothing while a caller {@linkplain #blockCuts keeps} pages or works on the list.
   *
   * @param log a session that has begun nothing
   * @param min the minimum number of pages worth the work
   * @param max the maximum number
   * @param stop returns true to end early
   * @return the number of pages removed
   * @throws io.fovea.error.CorruptionException if the free list is damaged
   * @throws io.fovea.error.StorageException if a page could not be read or written
   */
  public long cut(LogSession log, long min, long max, BooleanSupplier stop) {
    if (!lock.tryLock("cut free pages off the file")) {
      return 0;
    }
    try {
      return cutByWalk(log, min, max, stop);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Removes all free pages at the end of the file, whatever their number and the time it takes;
   * waits for other work on the list.
   *
   * @param log a session that has begun nothing
   * @param stop returns true to end early
   * @return the number of pages removed
   * @throws io.fovea.error.CorruptionException if the free list is damaged
   * @throws io.fovea.error.StorageException if a page could not be read or written
   */
  public long cutAll(LogSession log, BooleanSupplier stop) {
    if (!lock.lock("cut free pages off the file", stop)) {
      return 0;
    }
    try {
      return cutByWalk(log, 1, Long.MAX_VALUE, stop);
    } finally {
      lock.unlock();
    }
  }

  private long cutByWalk(LogSession log, long least, long max, BooleanSupplier stop) {
    frames.checkOpen();
    try {
      long cut = walk.cut(log, least, max, stop);
      pagesCut.add(cut);
      return cut;
    } finally {
      walk.clear();
    }
  }

  /**
   * Runs an action while the free list changes only by allocating and freeing pages.
   *
   * @param what names the operation in messages: the wait can be interrupted
   * @param check ends the wait for other work on the list
   * @param work the action
   * @throws io.fovea.error.OperationInterruptedException if the thread was interrupted; nothing was
   *     done
   */
  public void whileListStable(String what, Waits.Check check, Runnable work) {
    lock.lock(what, check);
    try {
      work.run();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Moves free pages with low ids to the top of the free list, the lowest first.
   *
   * @param log a session that has begun nothing
   * @param below the limit of low ids
   * @param max the maximum number of pages
   * @param stop returns true to end early
   * @return how many are on top now; 0 if there are none, or another thread changed the list first;
   *     {@link #MORE} if many pages of the list were walked without one: the next call continues
   *     there
   * @throws io.fovea.error.CorruptionException if the free list is damaged
   */
  public int raise(LogSession log, long below, int max, BooleanSupplier stop) {
    if (!lock.lock("raise free pages", stop)) {
      return 0;
    }
    try {
      frames.checkOpen();
      return walk.raise(log, below, max, stop);
    } finally {
      lock.unlock();
    }
  }

  /** Ends what {@link #raise} has begun, and releases its memory. */
  public void endRaise() {
    if (lock.tryLock("raise free pages")) {
      unlockAndClear();
    }
  }

  /** Releases the lock, and the memory of a walk that will not be continued. */
  private void unlockAndClear() {
    try {
      walk.clear();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Moves runs of free pages to the end of the free list, in order, so that {@link #punch} can
   * return their space.
   *
   * @param log a session that has begun nothing
   * @param max the approximate maximum number of pages
   * @param stop returns true to end early
   * @return the number of pages; 0 if there are no more, the file system can't punch, or other
   *     threads changed the list first
   * @throws io.fovea.error.CorruptionException if the free list is damaged
   */
  public long gather(LogSession log, long max, BooleanSupplier stop) {
    if (punchUnsupported || !lock.lock("gather free pages", stop)) {
      return 0;
    }
    try {
      frames.checkOpen();
      return runs.gather(log, max, stop);
    } finally {
      unlockAndClear();
    }
  }

  /**
   * Visits the trees with pages of long values above a position of the file. Concurrent writers may
   * add and remove such pages.
   *
   * @param from the lowest page id
   * @param visitor receives the id of the tree of each such page
   * @param stop returns true to end early
   * @throws io.fovea.error.StorageException if a page could not be read
   */
  public void longValues(long from, IntConsumer visitor, BooleanSupplier stop) {
    frames.checkOpen();
    walk.longValues(from, new ExtentReader(frames, loader, allocator), visitor, stop);
  }

  /** Allows free pages to become holes, as the superblock of the next checkpoint will say. */
  public void allowHoles() {
    allocator.extent().allowHoles();
  }

  /**
   * Returns the space of free pages arranged by {@link #gather} to the file system. Does nothing
   * while a caller {@linkplain #blockCuts keeps} pages, or if the file system can't punch holes.
   *
   * @param redo {@link #UNLOGGED}, or the start of replay in a durable superblock that was made
   *     after {@link #allowHoles}
   * @param stop returns true to end early
   * @return the number of pages
   * @throws io.fovea.error.CorruptionException if the free list is damaged
   * @throws io.fovea.error.StorageException if the file system fails; nothing is lost
   */
  public long punch(long redo, BooleanSupplier stop) {
    if (punchUnsupported || !lock.lock("return the space of free pages", stop)) {
      return 0;
    }
    long before = runs.punched();
    try {
      frames.checkOpen();
      if (runs.punch(redo, stop) == FreeRuns.Outcome.IMPOSSIBLE) {
        punchUnsupported = true;
        LOG.log(
            Level.INFO,
            "The file system can't punch holes: the space of free pages in the middle of the file is"
                + " not returned to it.");
      }
      return runs.punched() - before;
    } finally {
      try {
        pagesPunched.add(runs.punched() - before);
      } finally {
        unlockAndClear();
      }
    }
  }

  /**
   * Visits all free pages, and possibly pages that are allocated concurrently. While a caller
   * {@linkplain #blockCuts keeps} pages no other page becomes a hole.
   *
   * @param visitor receives each page
   * @param stop returns true to end early
   * @return false if it ended early
   * @throws io.fovea.error.CorruptionException if the free list is damaged
   */
  public boolean freePages(LongConsumer visitor, BooleanSupplier stop) {
    if (!lock.lock("list the free pages", stop)) {
      return false;
    }
    try {
      frames.checkOpen();
      return runs.visit(visitor, stop);
    } finally {
      unlockAndClear();
    }
  }

  /**
   * Shortens the file if it has more free space at its end than is needed, and more than it grows
   * by at a time.
   *
   * @param durableMark the high-water mark of the superblock that counts; 0 for none
   * @param all whether to release any free space
   * @return whether the file was shortened
   * @throws io.fovea.error.StorageException if that failed; nothing is lost
   */
  public boolean shrink(long durableMark, boolean all) {
    long chunk =
        all ? 0 : Math.min(allocator.extent().slack(), frames.residency.capacity() / SMALL_PART);
    return spaceAbove(durableMark) > chunk && allocator.shrink(durableMark, chunk / 2);
  }

  /** Returns the number of pages of the file above the high-water mark and a durable one. */
  private long spaceAbove(long durableMark) {
    return allocator.extent().pages() - Math.max(durableMark, allocator.highWater());
  }

  private long pagesOfMib() {
    return (1L << 20) >>> frames.pageShift;
  }

  /**
   * Returns whether an idle database should shorten the file: the free space at its end exceeds
   * both a fraction of the file and a MiB. Thread-safe.
   *
   * @return whether it should
   */
  public boolean shouldShorten() {
    return spaceAbove(0) > Math.max(pagesOfMib(), allocator.highWater() / WORTH_PART);
  }

  /**
   * Returns the number of free pages at the end that are worth cutting off: a fraction of the file,
   * but at least a MiB or, in a small pool, a fraction of the pool.
   *
   * @return the number; {@link Long#MAX_VALUE} if there are fewer free pages in total
   */
  public long worthCutting() {
    AllocatorState state = allocator.state();
    long few = Math.min(pagesOfMib(), 1 + frames.residency.capacity() / (8 * SMALL_PART));
    long min = Math.max(few, state.highWater() / WORTH_PART);
    return state.freePages() < min ? Long.MAX_VALUE : min;
  }

  /**
   * Keeps the pages that a later {@link PoolCheckpoint#snapshot} counts from being cut off, until
   * {@link #unblockCuts}. The allocator's latch orders this after a cut in progress.
   */
  public void blockCuts() {
    allocator.shrinkBlockers.incrementAndGet();
  }

  /**
   * Waits until each page below the current high-water mark has been in a frame. After that, a page
   * in no frame was written, and zeros in the file are damage or a hole. The caller holds no latch.
   *
   * @throws io.fovea.error.DatabaseClosedException if the pool has stopped
   */
  public void awaitEntered() {
    allocator.awaitEntered();
  }

  /** Ends a {@link #blockCuts}. */
  public void unblockCuts() {
    allocator.shrinkBlockers.decrementAndGet();
  }

  /** Counts pages that were moved to lower ids. */
  public void moved(long pages) {
    pagesMoved.add(pages);
  }

  /** Returns how many pages were moved to lower ids since the pool was opened. */
  public long pagesMoved() {
    return pagesMoved.sum();
  }

  /** Returns how many free pages were punched out of the file since the pool was opened. */
  public long pagesPunched() {
    return pagesPunched.sum();
  }

  /** Returns how many pages were cut off since the pool was opened. */
  public long pagesCut() {
    return pagesCut.sum();
  }
}
