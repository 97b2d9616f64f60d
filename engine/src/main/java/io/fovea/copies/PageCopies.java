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
 * Keeps pages as they were at the moments of open snapshots: a page is copied before its first
 * change after the newest one.
 *
 * <pre>
 *   a writer                                     a reader of snapshot s
 *     latches the page exclusively                 reads the page: from its frame, validated,
 *     {@link #before}: newest open snapshot n,         or from the device
 *       and no copy with label n: copies           {@link #read}: a copy for s? then that one
 *     changes the page, releases the latch         else what it has read
 * </pre>
 *
 * <p><b>Why the reader gets the page of its moment.</b> If the page was changed since, the first
 * change was made under a latch whose holder had put a copy with a label of at least s into the
 * table before. Who reads what such a holder has released (the version in the latch is read with
 * acquire, and what is on the device was written after that) finds the copy when he looks after his
 * read. If the page was not changed since, there is no such copy, or one of the same content.
 *
 * <p><b>Who must have seen that a snapshot is open.</b> Whoever changes what a snapshot can reach.
 * Its moment is one at which no commit is between its decision and its last change, and who decides
 * later has seen the moment ({@link #open} is called in between: see {@code CommitGate} of the
 * transactions). Pages that the snapshot's catalog does not lead to may be changed by others at any
 * time, and be copied or not.
 *
 * <p><b>Cost.</b> Without a snapshot a look at a field for each exclusive latch. With one, a look
 * at what is known of the frame; the first change of a page costs a copy.
 *
 * <p><b>Without room</b> the oldest snapshot is given up, so that writers go on: its readers are
 * told. A page is never changed without its copy as long as anybody may ask for it.
 *
 * <p>Any thread.
 */
public final class PageCopies {
  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final long LOOK_NANOS = 5_000_000;
  private static final long TIRED_NANOS = 500_000_000;
  private static final long LINGER_NANOS = 10_000_000_000L;
  private static final int KNOWN = 16;

  private final int frames;
  private final int pageSize;
  private final PageSeal seal;
  private final Blocks blocks = new Blocks("which pages have copies for snapshots");
  private final CopyTable table;

  /** Held by who opens, closes or gives up a snapshot, and by who moves copies. */
  private final ReentrantLock lock = new ReentrantLock();

  /** Open and not given up, the oldest first. Under the lock. */
  private final List<PageSnapshot> open = new ArrayList<>();

  private long count;

  /** Of each frame: a page, and up to which label it needs no copy. Under the frame's latch. */
  private @Nullable MemorySegment known;

  private @Nullable NativeRegion knownRegion;

  /** Made for the first snapshot, and kept: without snapshots it has neither memory nor a file. */
  private volatile @Nullable CopyArea area;

  private @Nullable Thread spiller;
  private long preparedNanos;
  private boolean ended;

  /** The number of the newest open snapshot; 0 where there is none. */
  private volatile long newest;

  /** Pages from here on are younger than the newest snapshot. Never goes back. */
  private volatile long youngFrom;

  private final LongAdder givenUp = new LongAdder();
  private final LongAdder copied = new LongAdder();

  /**
   * None yet: takes no memory before the first snapshot.
   *
   * @param frames of the pool
   * @param pageSize in bytes
   * @param seal gives a page its checksum
   */
  public PageCopies(int frames, int pageSize, PageSeal seal) {
    this.frames = frames;
    this.pageSize = pageSize;
    this.seal = seal;
    this.table = new CopyTable(blocks);
  }

  // ------------------------------------------------------------------------------------- snapshots

  /**
   * Makes room for copies, before the first snapshot is opened; {@link #open} is then quick.
   *
   * @param limits what copies may take; the first ones count
   */
  public void prepare(CopyLimits limits) {
    lock.lock();
    try {
      if (known == null) {
        NativeRegion region =
            NativeRegion.reserve((long) frames * KNOWN, false, "what frames have copies of");
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
   * Opens a snapshot of this moment, at which nobody changes what it can reach. After {@link
   * #prepare}; neither waits nor fails.
   *
   * @param pidLimit above every page id that was given out
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

  /** Nobody reads a snapshot any more. A second call does nothing. */
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

  /** Gives the oldest snapshot up, if there is one; whatever fails, it is none that is open. */
  private void giveUpOldest() {
    lock.lock();
    try {
      if (!open.isEmpty()) {
        PageSnapshot oldest = open.get(0);
        oldest.giveUp();
        remove(oldest);
        givenUp.increment();
        LOG.log(
            System.Logger.Level.WARNING,
            "A snapshot was given up: copies of the pages that have changed since it was opened"
                + " take more than SnapshotOptions.memoryBytes and fileBytes allow.");
      }
    } finally {
      lock.unlock();
    }
  }

  /** Under the lock: copies that were for this one alone go. */
  private void remove(PageSnapshot s) {
    open.remove(s);
    newest = open.isEmpty() ? 0 : open.get(open.size() - 1).number;
    CopyArea a = area;
    if (a != null) {
      // Who holds a stripe later sees the new number of the newest.
      table.sweep(open.stream().mapToLong(o -> o.number).toArray(), a::give);
      if (open.isEmpty()) {
        a.rest();
        forgetKnown();
      }
    }
  }

  /** What a writer enters meanwhile is about labels that no snapshot will have. */
  private void forgetKnown() {
    NativeRegion region = knownRegion;
    if (region != null) {
      region.release();
    }
  }

  // ----------------------------------------------------------------------------------------
  // writers

  /**
   * Before a page is changed: copies it where an open snapshot needs it as it is. Does not fail.
   *
   * @param frame its frame, latched exclusively by the caller
   * @param pid the page
   * @param pages where it is
   * @param base its offset
   */
  public void before(int frame, long pid, MemorySegment pages, long base) {
    if (newest != 0) {
      copy(frame, pid, pages, base);
    }
  }

  /** Whether a snapshot is open: then {@link #before} wants to see a page as it was. */
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
        LOG.log(System.Logger.Level.DEBUG, "no copy of page " + pid, t);
      }
      if (kept) {
        Mem.putLong(k, at, pid);
        Mem.putLong(k, at + 8, label);
        return;
      }
      try {
        giveUpOldest();
      } catch (Throwable t) {
        LOG.log(System.Logger.Level.DEBUG, "copies that nobody needs stay", t);
      }
    }
  }

  /** Has a copy that the newest snapshot reads; false where there is no room for it. */
  private boolean keep(long pid, MemorySegment pages, long base) {
    CopyTable.Stripe stripe = table.stripe(pid);
    stripe.lock.lock();
    try {
      // Under the lock of the stripe: a snapshot that is closed is so before the stripe is swept.
      long label = newest;
      CopyArea a = area;
      if (label == 0 || a == null || stripe.newest(pid) >= label) {
        return true;
      }
      long place = a.put(pages, base, pid, label);
      if (place == CopyTable.NONE) {
        return false;
      }
      boolean added = false;
      try {
        stripe.add(pid, label, place);
        added = true;
      } finally {
        if (!added) {
          a.give(place);
        }
      }
      copied.increment();
      return true;
    } finally {
      stripe.lock.unlock();
    }
  }

  // ----------------------------------------------------------------------------------------
  // readers

  /**
   * Reads the copy of a page that a snapshot sees.
   *
   * @param to native memory, where it goes
   * @param at its offset there
   * @return false where there is none: the page itself, as it was read before this call, is what
   *     the snapshot sees
   */
  public boolean read(PageSnapshot s, long pid, MemorySegment to, long at) {
    CopyTable.Stripe stripe = table.stripe(pid);
    CopyArea a;
    long place;
    stripe.lock.lock();
    try {
      a = area;
      place = a == null ? CopyTable.NONE : stripe.find(pid, s.number);
      if (a == null || place == CopyTable.NONE) {
        return false;
      }
      if (place > 0) {
        Mem.copy(a.memory(), a.offset(place), to, at, pageSize);
      }
    } finally {
      stripe.lock.unlock();
    }
    if (place < 0) {
      a.read(place, to, at); // stays as long as the snapshot is open
    } else {
      seal.seal(to, at);
    }
    return true;
  }

  /** Whether a snapshot sees a copy of a page, and not the page itself. */
  public boolean has(PageSnapshot s, long pid) {
    CopyTable.Stripe stripe = table.stripe(pid);
    stripe.lock.lock();
    try {
      return stripe.find(pid, s.number) != CopyTable.NONE;
    } finally {
      stripe.lock.unlock();
    }
  }

  // ------------------------------------------------------------------------------------ the
  // spiller

  private void spill() {
    CopySpiller moves = null;
    while (isWanted()) {
      boolean tired = true;
      try {
        Threads.turn();
        CopyArea a = area;
        if (moves == null && a != null) {
          moves = new CopySpiller(a, table, seal, pageSize);
        }
        tired = moves != null && !moved(moves);
      } catch (Throwable t) {
        // The thread goes on: it is noted, so nobody would start another.
        Threads.tell(LOG, System.Logger.Level.DEBUG, "copies stay in memory", "", "", t);
      }
      Waits.sleep(tired ? TIRED_NANOS : LOOK_NANOS);
    }
  }

  /** Moves copies as long as that is due; false where it could not be done. */
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

  /** Whether the thread that moves copies goes on: for a while after the last snapshot, too. */
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

  // ---------------------------------------------------------------------------------------
  // counters

  /** How many snapshots are open. */
  public int snapshots() {
    lock.lock();
    try {
      return open.size();
    } finally {
      lock.unlock();
    }
  }

  /** How many snapshots were given up. */
  public long givenUp() {
    return givenUp.sum();
  }

  /** How many pages were copied. */
  public long copied() {
    return copied.sum();
  }

  /** How many copies are kept. */
  public long entries() {
    return table.size();
  }

  /** The memory that copies take, in bytes. */
  public long memoryBytes() {
    CopyArea a = area;
    return a == null ? 0 : a.memoryBytes();
  }

  /** What copies take of the file, in bytes. */
  public long fileBytes() {
    CopyArea a = area;
    return a == null ? 0 : a.fileBytes();
  }

  /** The pool is closed: nobody reads or changes pages any more. */
  public void end() {
    lock.lock();
    try {
      for (PageSnapshot s : open) {
        s.giveUp();
      }
      open.clear();
      newest = 0;
      ended = true;
      CopyArea a = area;
      if (a != null) {
        table.sweep(new long[0], a::give);
        a.rest();
      }
      forgetKnown();
      blocks.close();
    } finally {
      lock.unlock();
    }
  }
}
