package io.fovea.copies;

import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Keeps pages as they were when open snapshots were taken: a page is copied before its first change
 * after the newest snapshot.
 *
 * <pre>
 *   a writer                                     a reader of snapshot s
 *     latches the page exclusively                 reads the page: from its frame, validated,
 *     {@link #beforeChange}: newest open snapshot n,         or from the device
 *       and no copy with label n: copies           {@link #read}: a copy for s? then that one
 *     changes the page, releases the latch         otherwise the page it has read
 * </pre>
 *
 * <p><b>Why a reader gets the right page.</b> If the page was changed since the snapshot, the first
 * writer had put a copy with a label of at least s into the table before its change, under the
 * page's latch. A reader that sees any change by such a writer (it reads the latch version with
 * acquire, and the device was written after that) finds the copy when it checks after its read. If
 * the page is unchanged, there is no such copy, or one with the same contents.
 *
 * <p><b>Which writers must know the snapshot.</b> All that change pages reachable from the
 * snapshot. A snapshot is taken at a quiescent point: no commit is between its decision and its
 * last change, and a thread that decides later knows the snapshot ({@link #open} is called in
 * between: see {@code CommitGate} in the transaction package). Pages that are not reachable from
 * the snapshot's catalog may be changed at any time, with or without a copy.
 *
 * <p><b>Cost.</b> Without a snapshot, each exclusive latch costs a read of one field. With a
 * snapshot, it costs a check of the frame's entry, and the first change of a page costs a copy.
 *
 * <p><b>If space runs out</b>, the oldest snapshot is evicted so that writers continue; its readers
 * are notified. A page is never changed without a copy while a snapshot may need it.
 *
 * <p>Safe for use by any thread.
 */
public final class PageCopies {
  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final long CHECK_NANOS = 5_000_000;
  private static final long IDLE_NANOS = 500_000_000;
  private static final long LINGER_NANOS = 10_000_000_000L;
  private static final int KNOWN = 16;

  private final int frames;
  private final int pageSize;
  private final PageSeal seal;
  private final Blocks blocks = new Blocks("which pages have copies for snapshots");
  private final CopyTable table;

  /** Held to open, close or evict a snapshot, and to move copies. */
  private final ReentrantLock lock = new ReentrantLock();

  /** The open snapshots that were not evicted, oldest first. Guarded by the lock. */
  private final List<PageSnapshot> open = new ArrayList<>();

  private long count;

  /**
   * For each frame: a page, and the label up to which the page needs no copy. Guarded by the
   * frame's latch.
   */
  private @Nullable MemorySegment known;

  private @Nullable NativeRegion knownRegion;

  /**
   * Created for the first snapshot and kept: without snapshots it has neither memory nor a file.
   */
  private volatile @Nullable CopyArea area;

  private @Nullable Thread spiller;
  private long preparedNanos;
  private boolean ended;

  /** The number of the newest open snapshot; 0 for none. */
  private volatile long newest;

  /** Pages at or above this id are newer than the newest snapshot. Never decreases. */
  private volatile long youngFrom;

  private final LongAdder evicted = new LongAdder();
  private final LongAdder copied = new LongAdder();

  /**
   * Creates an instance, which takes no memory before the first snapshot.
   *
   * @param frames the number of frames of the pool
   * @param pageSize the size of a page in bytes
   * @param seal sets the checksum of a page
   */
  public PageCopies(int frames, int pageSize, PageSeal seal) {
    this.frames = frames;
    this.pageSize = pageSize;
    this.seal = seal;
    this.table = new CopyTable(blocks);
  }

  // ------------------------------------------------------------------------------------- snapshots

  /**
   * Prepares space for copies, so that {@link #open} is quick.
   *
   * @param limits the limits of copies; those of the first call are used
   */
  public void prepare(CopyLimits limits) {
    lock.lock();
    try {
      if (known == null) {
        NativeRegion region =
            NativeRegion.reserve((long) frames * KNOWN, false, "copy labels of frames");
        knownRegion = region;
        known = region.segment();
      }
      if (area == null) {
        area = new CopyArea(limits, pageSize, seal);
      }
      preparedNanos = System.nanoTime();
      if (spiller == null && !ended) {
        spiller = Threads.start("fovea-copies", this::spill);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Opens a snapshot. No thread may be changing pages that it can reach. Requires {@link #prepare};
   * neither waits nor fails.
   *
   * @param pidLimit above every allocated page id
   */
  public PageSnapshot open(long pidLimit) {
    lock.lock();
    try {
      PageSnapshot s = new PageSnapshot(++count, pidLimit);
      open.add(s);
      youngFrom = pidLimit;
      newest = s.number;
      return s;
    } finally {
      lock.unlock();
    }
  }

  /** Closes a snapshot that is no longer read. Idempotent. */
  public void close(PageSnapshot s) {
    lock.lock();
    try {
      if (!s.isClosed()) {
        s.close();
        remove(s);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Evicts the oldest snapshot, if there is one. Even after a failure it is no longer open. */
  private void evictOldest() {
    lock.lock();
    try {
      if (!open.isEmpty()) {
        PageSnapshot oldest = open.get(0);
        oldest.evict();
        remove(oldest);
        evicted.increment();
        LOG.log(
            System.Logger.Level.WARNING,
            "The oldest snapshot was evicted: copies of pages changed since it was opened exceed"
                + " SnapshotOptions.memoryBytes and fileBytes.");
      }
    } finally {
      lock.unlock();
    }
  }

  /** Called under the lock: removes a snapshot and the copies that only it needed. */
  private void remove(PageSnapshot s) {
    open.remove(s);
    newest = open.isEmpty() ? 0 : open.get(open.size() - 1).number;
    CopyArea a = area;
    if (a != null) {
      // A thread that locks a stripe later sees the new value of newest.
      table.sweep(open.stream().mapToLong(o -> o.number).toArray(), a::release);
      if (open.isEmpty()) {
        a.releaseStorage();
        if (knownRegion != null) {
          knownRegion.clear(); // concurrent writers enter labels that no snapshot will have
        }
      }
    }
  }

  // ------------------------------------------------------------------------------------- writers

  /**
   * Copies a page before it is changed, if an open snapshot needs it. Does not fail.
   *
   * @param frame its frame, latched exclusively by the caller
   * @param pid the page
   * @param pages the memory of the page
   * @param base its offset
   */
  public void beforeChange(int frame, long pid, MemorySegment pages, long base) {
    if (newest != 0) {
      copy(frame, pid, pages, base);
    }
  }

  /** Returns whether a snapshot may need a page: then {@link #beforeChange} must be called. */
  public boolean isWatched(long pid) {
    return newest != 0 && pid < youngFrom;
  }

  private void copy(int frame, long pid, MemorySegment pages, long base) {
    MemorySegment k = known;
    if (k == null) {
      return; // there was no snapshot yet
    }
    long at = (long) frame * KNOWN;
    for (long label = newest; label != 0; label = newest) {
      if (Mem.getLong(k, at) == pid && Mem.getLong(k, at + 8) >= label) {
        return;
      }
      boolean kept = pid >= youngFrom;
      try {
        kept = kept || keep(pid, pages, base);
      } catch (Throwable t) {
        LOG.log(System.Logger.Level.DEBUG, "Could not copy page " + pid, t);
      }
      if (kept) {
        Mem.putLong(k, at, pid);
        Mem.putLong(k, at + 8, label);
        return;
      }
      try {
        evictOldest();
      } catch (Throwable t) {
        LOG.log(System.Logger.Level.DEBUG, "Unneeded page copies could not be removed.", t);
      }
    }
  }

  /** Makes sure there is a copy for the newest snapshot; returns false if there is no space. */
  private boolean keep(long pid, MemorySegment pages, long base) {
    CopyTable.Stripe stripe = table.stripe(pid);
    stripe.lock.lock();
    try {
      // Under the lock of the stripe: a snapshot is closed before the stripe is swept.
      long label = newest;
      CopyArea a = area;
      if (label == 0 || a == null || stripe.newest(pid) >= label) {
        return true;
      }
      long location = a.put(pages, base, pid, label);
      if (location == CopyTable.NONE) {
        return false;
      }
      boolean added = false;
      try {
        stripe.add(pid, label, location);
        added = true;
      } finally {
        if (!added) {
          a.release(location);
        }
      }
      copied.increment();
      return true;
    } finally {
      stripe.lock.unlock();
    }
  }

  // ------------------------------------------------------------------------------------- readers

  /**
   * Reads the copy of a page that a snapshot sees.
   *
   * @param to native memory for the copy
   * @param at its offset there
   * @return false if there is none: the snapshot sees the page itself, as read before this call
   */
  public boolean read(PageSnapshot s, long pid, MemorySegment to, long at) {
    CopyTable.Stripe stripe = table.stripe(pid);
    CopyArea a;
    long location;
    stripe.lock.lock();
    try {
      a = area;
      location = a == null ? CopyTable.NONE : stripe.find(pid, s.number);
      if (a == null || location == CopyTable.NONE) {
        return false;
      }
      if (location > 0) {
        Mem.copy(a.memory(), a.offset(location), to, at, pageSize);
      }
    } finally {
      stripe.lock.unlock();
    }
    if (location < 0) {
      a.read(location, to, at); // stays valid while the snapshot is open
    } else {
      seal.seal(to, at);
    }
    return true;
  }

  /** Returns whether a snapshot sees a copy of a page rather than the page itself. */
  public boolean has(PageSnapshot s, long pid) {
    CopyTable.Stripe stripe = table.stripe(pid);
    stripe.lock.lock();
    try {
      return stripe.find(pid, s.number) != CopyTable.NONE;
    } finally {
      stripe.lock.unlock();
    }
  }

  // ----------------------------------------------------------------------------------- the spiller

  private void spill() {
    CopySpiller moves = null;
    while (isWanted()) {
      boolean idle = true;
      try {
        Threads.beginIteration();
        CopyArea a = area;
        if (moves == null && a != null) {
          moves = new CopySpiller(a, table, seal, pageSize);
        }
        idle = moves != null && !moved(moves);
      } catch (Throwable t) {
        // The thread continues: it is recorded as running, so no other would be started.
        Threads.logSafely(
            LOG,
            System.Logger.Level.DEBUG,
            "page copies could not be spilled and stay in memory",
            "",
            "",
            t);
      }
      Waits.sleep(idle ? IDLE_NANOS : CHECK_NANOS);
    }
  }

  /** Moves copies while necessary; returns false if that was not possible. */
  private boolean moved(CopySpiller moves) {
    while (newest != 0 && moves.isDue()) {
      lock.lock();
      try {
        if (newest == 0 || !moves.spill()) {
          return false;
        }
      } finally {
        lock.unlock();
      }
    }
    return true;
  }

  /** Returns whether the spiller continues, which it does for a while after the last snapshot. */
  private boolean isWanted() {
    lock.lock();
    try {
      boolean wanted = !ended && (newest != 0 || System.nanoTime() - preparedNanos < LINGER_NANOS);
      if (!wanted) {
        spiller = null;
      }
      return wanted;
    } finally {
      lock.unlock();
    }
  }

  // ------------------------------------------------------------------------------------- counters

  /** Returns the number of open snapshots. */
  public int snapshots() {
    lock.lock();
    try {
      return open.size();
    } finally {
      lock.unlock();
    }
  }

  /** Returns the number of evicted snapshots. */
  public long evicted() {
    return evicted.sum();
  }

  /** Returns the number of pages copied. */
  public long copied() {
    return copied.sum();
  }

  /** Returns the number of copies kept. */
  public long entries() {
    return table.size();
  }

  /** Returns the memory used by copies, in bytes. */
  public long memoryBytes() {
    CopyArea a = area;
    return a == null ? 0 : a.memoryBytes();
  }

  /** Returns the file space used by copies, in bytes. */
  public long fileBytes() {
    CopyArea a = area;
    return a == null ? 0 : a.fileBytes();
  }

  /** Releases everything. The pool is closed: no thread reads or changes pages any more. */
  public void end() {
    lock.lock();
    try {
      for (PageSnapshot s : open) {
        s.evict();
      }
      open.clear();
      newest = 0;
      ended = true;
      CopyArea a = area;
      if (a != null) {
        table.sweep(new long[0], a::release);
        a.end();
      }
      if (knownRegion != null) {
        knownRegion.release();
      }
      blocks.close();
    } finally {
      lock.unlock();
    }
  }
}
