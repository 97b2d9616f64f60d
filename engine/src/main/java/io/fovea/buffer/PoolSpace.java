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
 *   |.used.|free|.used.|free|.used.|free free free|  room           |
 *                                  ▲ the mark      ▲ the mark before ▲ the file's end
 *         1  {@link #cut}: TRUNCATED; from here on the pages are room
 *         2  a checkpoint: a superblock with the new mark is durable
 *         3  {@link #shrink}: the file gets shorter, down to the durable mark and what is promised
 * </pre>
 *
 * <p>2 comes before 3: as long as a superblock counts, the file has all pages below its mark.
 *
 * <p>Any thread. Changes are made one at a time. A walk along a long list takes its time, so a
 * checkpoint does not wait for another one: {@link #cut} does nothing then.
 *
 * @since 0.1.0
 */
public final class PoolSpace {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** Instead of a redo point, where there is no log: nothing is ever replayed. */
  public static final long UNLOGGED = Long.MAX_VALUE;

  /** Which part of the file has to be free at its end. */
  private static final int WORTH_PART = 32;

  /** Where the pool is small, less than a MiB counts: such a part of it. */
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
  private volatile boolean punchless;

  /** Of {@link #raise}: what was walked so far has no such page, and the next call goes on. */
  public static final int GOES_ON = FreeListWalk.GOES_ON;

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
   * Takes free pages at the end of the file out of the free list: the high-water mark goes back.
   * Does nothing while somebody {@linkplain #keep keeps} pages, or is at the list.
   *
   * @param log has nothing begun
   * @param least how many are worth it
   * @param max how many at most
   * @param stop says that it is to end early
   * @return how many it were
   * @throws io.fovea.error.CorruptionException if the free list is damaged
   * @throws io.fovea.error.StorageException if a page could not be read or written
   */
  public long cut(LogSession log, long least, long max, BooleanSupplier stop) {
    if (!lock.tryLock("cut free pages off the file")) {
      return 0;
    }
    try {
      return walked(log, least, max, stop);
    } finally {
      lock.unlock();
    }
  }

  /**
   * The same for all free pages at the end, however many or few, and however long that takes; waits
   * for whoever is at the list.
   *
   * @param log has nothing begun
   * @param stop says that it is to end early
   * @return how many it were
   * @throws io.fovea.error.CorruptionException if the free list is damaged
   * @throws io.fovea.error.StorageException if a page could not be read or written
   */
  public long cutAll(LogSession log, BooleanSupplier stop) {
    if (!lock.lock("cut free pages off the file", stop)) {
      return 0;
    }
    try {
      return walked(log, 1, Long.MAX_VALUE, stop);
    } finally {
      lock.unlock();
    }
  }

  private long walked(LogSession log, long least, long max, BooleanSupplier stop) {
    frames.checkOpen();
    try {
      long cut = walk.cut(log, least, max, stop);
      pagesCut.add(cut);
      return cut;
    } finally {
      walk.forget();
    }
  }

  /**
   * Does something while the free list stays as it is, but for pages that are given out and taken
   * back.
   *
   * @param what for messages: who waits may be interrupted
   * @param check ends the wait for whoever is at the list
   * @param work is done
   * @throws io.fovea.error.OperationInterruptedException if the thread was interrupted; nothing was
   *     done
   */
  public void whileStill(String what, Waits.Check check, Runnable work) {
    lock.lock(what, check);
    try {
      work.run();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Puts free pages with low ids on top of the free list, the lowest first.
   *
   * @param log has nothing begun
   * @param below which ids are low
   * @param max how many are wanted
   * @param stop says that it is to end early
   * @return how many are on top now; 0 if there are none, or another thread was faster; {@link
   *     #GOES_ON} if it has walked along many pages without one: the next call goes on there
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

  /** Ends what {@link #raise} has begun, and gives its memory back. */
  public void endRaise() {
    if (lock.tryLock("raise free pages")) {
      unlockAndForget();
    }
  }

  /** Releases the lock, and the memory of a walk that nobody continues. */
  private void unlockAndForget() {
    try {
      walk.forget();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Puts runs of free pages in order at the end of the free list, so that {@link #punch} can give
   * their space back.
   *
   * @param log has nothing begun
   * @param max about how many pages at most
   * @param stop says that it is to end early
   * @return how many; 0 if there are no more, the file system can't punch, or others were faster
   * @throws io.fovea.error.CorruptionException if the free list is damaged
   */
  public long gather(LogSession log, long max, BooleanSupplier stop) {
    if (punchless || !lock.lock("gather free pages", stop)) {
      return 0;
    }
    try {
      frames.checkOpen();
      return runs.gather(log, max, stop);
    } finally {
      unlockAndForget();
    }
  }

  /**
   * Looks which trees have pages of long values behind some place of the file. Others write
   * meanwhile: there may be more or fewer.
   *
   * @param from such pages have this id or a higher one
   * @param visitor gets the id of the tree of each such page
   * @param stop says that it is to end early
   * @throws io.fovea.error.StorageException if a page could not be read
   */
  public void longValues(long from, IntConsumer visitor, BooleanSupplier stop) {
    frames.checkOpen();
    walk.longValues(from, new ExtentReader(frames, loader, allocator), visitor, stop);
  }

  /** From now on free pages may be holes: the superblock of the next checkpoint says so. */
  public void allowHoles() {
    allocator.extent().allowHoles();
  }

  /**
   * Gives the space of free pages back that {@link #gather} has put in order. Does nothing while
   * somebody {@linkplain #keep keeps} pages, or where the file system can't.
   *
   * @param redo {@link #UNLOGGED}, or where replay begins, as a superblock says that is durable and
   *     was made after {@link #allowHoles}
   * @param stop says that it is to end early
   * @return how many pages
   * @throws io.fovea.error.CorruptionException if the free list is damaged
   * @throws io.fovea.error.StorageException if the file system refuses; nothing is lost
   */
  public long punch(long redo, BooleanSupplier stop) {
    if (punchless || !lock.lock("give space of free pages back", stop)) {
      return 0;
    }
    long before = runs.punched();
    try {
      frames.checkOpen();
      if (runs.punch(redo, stop) == FreeRuns.Outcome.IMPOSSIBLE) {
        punchless = true;
        LOG.log(
            Level.INFO,
            "The file system can't give the space of free pages in the middle of a file back.");
      }
      return runs.punched() - before;
    } finally {
      try {
        pagesPunched.add(runs.punched() - before);
      } finally {
        unlockAndForget();
      }
    }
  }

  /**
   * Names all free pages, or more: those that are given out meanwhile may be among them. While
   * somebody {@linkplain #keep keeps} pages no other becomes a hole.
   *
   * @param visitor gets each page
   * @param stop says that it is to end early
   * @return false if it did not come to the end
   * @throws io.fovea.error.CorruptionException if the free list is damaged
   */
  public boolean freePages(LongConsumer visitor, BooleanSupplier stop) {
    if (!lock.lock("name the free pages", stop)) {
      return false;
    }
    try {
      frames.checkOpen();
      return runs.visit(visitor, stop);
    } finally {
      unlockAndForget();
    }
  }

  /**
   * Makes the file shorter, where it has more room than is needed and than it grows by at a time.
   *
   * @param durableMark the high-water mark of the superblock that counts; 0 where none does
   * @param all whether any room is too much
   * @return whether it is shorter now
   * @throws io.fovea.error.StorageException if that failed; nothing is lost
   */
  public boolean shrink(long durableMark, boolean all) {
    long chunk =
        all ? 0 : Math.min(allocator.extent().slack(), frames.residency.capacity() / SMALL_PART);
    return roomAbove(durableMark) > chunk && allocator.shrink(durableMark, chunk / 2);
  }

  /** How many pages the file has behind the high-water mark, and behind one that is durable. */
  private long roomAbove(long durableMark) {
    return allocator.extent().pages() - Math.max(durableMark, allocator.highWater());
  }

  private long pagesOfMib() {
    return (1L << 20) >>> frames.pageShift;
  }

  /**
   * Whether the file has so much more room than is needed now that a database that rests should
   * give it back: a part of the file, and a MiB. Any thread.
   *
   * @return whether it has
   */
  public boolean hasRoomAhead() {
    return roomAbove(0) > Math.max(pagesOfMib(), allocator.highWater() / WORTH_PART);
  }

  /**
   * How many free pages at the end are worth being cut off: a part of the file, and a MiB, or a
   * part of a small pool.
   *
   * @return the number; {@link Long#MAX_VALUE} if there are not as many free pages at all
   */
  public long worthCutting() {
    AllocatorState state = allocator.state();
    long few = Math.min(pagesOfMib(), 1 + frames.residency.capacity() / (8 * SMALL_PART));
    long least = Math.max(few, state.highWater() / WORTH_PART);
    return state.freePages() < least ? Long.MAX_VALUE : least;
  }

  /**
   * From here until {@link #release} no page is cut off that {@link PoolCheckpoint#snapshot} counts
   * from now on: a cut that is under way is before that, by the allocator's latch.
   */
  public void keep() {
    allocator.keepers.incrementAndGet();
  }

  /**
   * Waits until each page below the present high-water mark has been in a frame: from then on, one
   * that is in no frame was written, and zeros in its place are damage, or a hole. Nothing is
   * latched.
   *
   * @throws io.fovea.error.DatabaseClosedException if the pool has stopped
   */
  public void awaitEntered() {
    allocator.awaitEntered();
  }

  /** Ends a {@link #keep}. */
  public void release() {
    allocator.keepers.decrementAndGet();
  }

  /** Pages were moved to others with lower ids. */
  public void moved(long pages) {
    pagesMoved.add(pages);
  }

  /** How many pages were moved to others with lower ids since the pool was opened. */
  public long pagesMoved() {
    return pagesMoved.sum();
  }

  /** The space of how many free pages was given back since the pool was opened. */
  public long pagesPunched() {
    return pagesPunched.sum();
  }

  /** How many pages were cut off since the pool was opened. */
  public long pagesCut() {
    return pagesCut.sum();
  }
}
