package io.fovea.wal;

import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The slots of the log's file: which hold segments that are needed, and which are free.
 *
 * <p>A slot is free, then live, then free again once the redo point and all pins are beyond its
 * end. The lowest free slot is used first, so an oversized file empties from its end.
 *
 * <p><b>Shrinking.</b> If something has held back recycling for a long time (a backup, failed
 * checkpoints), the file is too large. The preallocator cuts off free slots at its end, down to the
 * number that the log normally needs. If the current segment is among them, the writer begins
 * another in the lowest free slot ({@link #blocksTruncation}), although this one has space.
 *
 * <p><b>Idle logs.</b> If nothing was logged for a while, the same is done with a smaller number:
 * the two slots that watermarks alternate between, and the slots needed until the next one would be
 * made ({@link #trimIdle}). This ends when the next segment is full ({@link #busy}): then slots are
 * kept as before, since making one takes as long as hundreds of groups. Slots made for a refused
 * claim are cut off in the same way.
 *
 * <p><b>Change subscribers.</b> A configured amount of log stays live beyond the needs of recovery.
 * Its start is in the superblock before older segments are freed ({@link #retainable}, {@link
 * #recycleBelow}), so after a crash it is known which segments in the file were never reused.
 *
 * <p>Threads: any, under the lock of {@link SegmentSpace}. One thread at a time makes or cuts off
 * slots: the thread that opens the log, then the preallocator. Nothing is written to the device
 * under the lock.
 */
final class SegmentSlots {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /**
   * A segment that is needed.
   *
   * @param slot its slot
   * @param number its number
   * @param incarnation the incarnation of its records
   * @param startLsn the start of its first record
   */
  record Live(int slot, long number, long incarnation, long startLsn) {}

  /** Watermarks alternate between the first two slots, which are never cut off. */
  private static final int SLOTS_MIN = 2;

  /** How many more slots retained changes may occupy than they would fill, in sparse segments. */
  private static final int SPARSE = 16;

  private final SlotFile file;
  private final SegmentSpace space;
  private final ReentrantLock lock;

  /** The number of slots that the file keeps while it is in use, once it has grown to them. */
  private final int kept;

  /** The number of slots retained for change subscribers while the log is idle. */
  private final int followed;

  // Under the lock.
  private final ArrayDeque<Live> live = new ArrayDeque<>();
  private final TreeSet<Integer> free = new TreeSet<>();
  private final List<Long> pins = new ArrayList<>();
  private long keepFrom;

  /**
   * Segments that end at or before this position are not retained. Without subscribers it is above
   * all positions.
   */
  private long changesFrom;

  /** The number of slots. Written while the log is opened, and by the preallocator. */
  private volatile int count;

  /** The newest segment whose header is durable. Written by the writer. */
  private volatile long durableNumber;

  private volatile boolean blocksTruncation;

  /** The number of slots not cut off now: {@link #kept}, or fewer while the log is idle. */
  private int retainedSlots;

  /**
   * Creates an empty set of slots.
   *
   * @param kept the number of slots that are not cut off
   * @param followed how many of these are for change subscribers
   * @param keepFrom the position from which recovery needs records
   * @param changesFrom the position from which records are retained for change subscribers
   */
  SegmentSlots(
      SlotFile file, SegmentSpace space, int kept, int followed, long keepFrom, long changesFrom) {
    this.file = file;
    this.space = space;
    this.lock = space.lock;
    this.kept = kept;
    this.followed = followed;
    this.retainedSlots = kept;
    this.keepFrom = keepFrom;
    this.changesFrom = changesFrom;
  }

  /** Takes over the slots of a file. Unreadable slots are initialized again. */
  void adopt(SegmentScan scan, LogStart start) {
    int slots = scan.slots();
    free.addAll(scan.spares());
    List<SegmentScan.Found> segments = scan.segments();
    for (int i = 0; i < segments.size(); i++) {
      SegmentScan.Found found = segments.get(i);
      long end = i + 1 < segments.size() ? segments.get(i + 1).startLsn() : start.startLsn();
      // A segment without records, of an opening that wrote nothing, is not retained for changes.
      if (found.startLsn() < start.startLsn()
          && end > start.keepLsn()
          && (end > found.startLsn() || end > start.redoLsn())) {
        SegmentHeader h = found.header();
        live.add(new Live(found.slot(), h.number(), h.incarnation(), found.startLsn()));
      } else {
        free.add(found.slot());
      }
    }
    for (SegmentScan.Found found : scan.superseded()) {
      free.add(found.slot());
    }
    // An incomplete slot at the end of the file is initialized again when it is needed.
    int all = slots;
    free.removeIf(slot -> slot >= all);
    List<Integer> unreadable = new ArrayList<>(scan.unreadable());
    unreadable.removeIf(slot -> slot >= all);
    while (!unreadable.isEmpty() && unreadable.getLast() == slots - 1) {
      slots--;
      unreadable.removeLast();
    }
    count = slots;
    for (int slot : unreadable) {
      file.fill(slot, () -> false);
      free.add(slot);
    }
    space.freeSlots(free.size());
    if (free.isEmpty()) {
      add(make(() -> false));
    }
  }

  /** Returns the number of slots; any thread. */
  int count() {
    return count;
  }

  // ----------------------------------------------------------------------------- taken and freed

  /** Takes the lowest free slot; under the lock, or while the log is opened. */
  int take() {
    int slot = free.removeFirst();
    space.freeSlots(free.size());
    return slot;
  }

  /** Records a slot as holding a live segment; under the lock, or while the log is opened. */
  void addLive(int slot, long number, long incarnation, long startLsn) {
    live.add(new Live(slot, number, incarnation, startLsn));
  }

  /** Adds a free slot. */
  void add(int slot) {
    lock.lock();
    try {
      free.add(slot);
      space.freeSlots(free.size());
    } finally {
      lock.unlock();
    }
  }

  /** Makes a slot at the end of the file; returns -1 if stopped. Used by one thread at a time. */
  int make(SlotFile.Stop stop) {
    int slot = count;
    if (!file.make(slot, stop)) {
      return -1;
    }
    count = slot + 1;
    return slot;
  }

  // ----------------------------------------------------------------------------- the preallocator

  /** Waits, in the preallocator, until there is something to do; returns false at the end. */
  boolean awaitNeed() {
    lock.lock();
    try {
      while (!space.hasEnded()) {
        if (space.isShort() || excess() > 0) {
          return true;
        }
        space.awaitRequests();
      }
      return false;
    } finally {
      lock.unlock();
    }
  }

  /** Answers, in the preallocator, with another slot or the reason why there is none. */
  void answer(long questions, int slot, @Nullable StorageFullException why) {
    lock.lock();
    try {
      space.completeRequests(questions, why);
      if (slot >= 0) {
        add(slot);
      }
      space.signalWaiters();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Claims space; see {@link SegmentSpace#claim}. Slots made for a refused claim are removed, since
   * the data file may need the space.
   *
   * @param payload the number of bytes of records
   * @return the number of bytes of the file
   */
  long claim(long payload) {
    int had = count;
    boolean done = false;
    try {
      long bytes = space.claim(payload);
      done = true;
      return bytes;
    } finally {
      if (!done) {
        backTo(had);
      }
    }
  }

  private void backTo(int had) {
    lock.lock();
    try {
      retainedSlots = Math.min(retainedSlots, Math.max(least(), had));
      space.signalWaiters();
    } finally {
      lock.unlock();
    }
  }

  /** Returns the number of free slots at the end of the file beyond those that are kept. */
  private int excess() {
    long spare = retainedSlots < kept ? space.spare() : free.size() - space.ready();
    long max = Math.min(count - retainedSlots, spare);
    int n = 0;
    while (n < max && free.contains(count - n - 1)) {
      n++;
    }
    return n;
  }

  /**
   * Cuts off surplus slots, in the preallocator. Durable on return, so that a slot made later in
   * the same location is never half old and half new on the medium.
   */
  void trim() {
    lock.lock();
    try {
      int n = excess();
      if (n == 0) {
        return;
      }
      for (int slot = count - n; slot < count; slot++) {
        free.remove(slot);
      }
      count -= n;
      space.freeSlots(free.size());
    } finally {
      lock.unlock();
    }
    try {
      file.cut(count);
    } catch (StorageException e) {
      LOG.log(
          Level.DEBUG, "The log file could not be truncated and stays larger than necessary.", e);
      return;
    }
    file.sync();
  }

  // ----------------------------------------------------------------------------------- idle logs

  /** Returns the number of slots of an idle log, if nothing holds it back. */
  private int least() {
    return Math.min(kept, Math.max(SLOTS_MIN, space.least()) + followed);
  }

  /**
   * Returns whether the file has more slots than that of an idle log. Safe for use by any thread.
   */
  boolean isLarge() {
    lock.lock();
    try {
      return count > least();
    } finally {
      lock.unlock();
    }
  }

  /** From now on, keeps only the slots that an idle log needs. Safe for use by any thread. */
  void trimIdle() {
    lock.lock();
    try {
      retainedSlots = least();
      recycle();
    } finally {
      lock.unlock();
    }
  }

  /** Called by the writer under the lock: a segment is full, so the log is in use. */
  void busy() {
    retainedSlots = kept;
  }

  // ----------------------------------------------------------------------------------- recycling

  /** Called by the writer: the header of a segment is durable. */
  void durable(long number) {
    durableNumber = number;
  }

  /** Returns the number of the newest segment that is durable; any thread. */
  long durableNumber() {
    return durableNumber;
  }

  /** Allows records below a position to be recycled. */
  void recycleBelow(long lsn) {
    recycleBelow(lsn, 0);
  }

  /**
   * Allows records below a position to be recycled.
   *
   * @param lsn the position
   * @param changes change subscribers find nothing below it; it only grows, and is durable
   *     elsewhere
   */
  void recycleBelow(long lsn, long changes) {
    lock.lock();
    try {
      keepFrom = Math.max(keepFrom, lsn);
      changesFrom = Math.max(changesFrom, changes);
      recycle();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Returns the start of the records that can be retained for change subscribers, once recovery
   * needs none below a position: the start of the oldest segment that ends less than the given
   * number of bytes before it. In a file with many nearly empty segments it is later, and on full
   * storage nothing is retained.
   *
   * @param redo the position
   * @param bytes the number of bytes to retain
   */
  long retainable(long redo, long bytes) {
    lock.lock();
    try {
      Live[] all = live.toArray(Live[]::new);
      int first = all.length - 1;
      while (first > 0 && all[first].startLsn > redo) {
        first--; // recovery needs this segment
      }
      if (space.whyFull() == null) {
        long slots = bytes / SegmentHeader.capacity(file.segmentBytes) + SPARSE;
        for (; first > 0 && slots > 0 && all[first].startLsn > redo - bytes; slots--) {
          first--;
        }
      }
      return all[first].startLsn;
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether the storage is full while segments are kept only for change subscribers. */
  boolean mustReleaseRetention() {
    lock.lock();
    try {
      return live.element().startLsn < keepFrom
          && changesFrom < keepFrom
          && space.whyFull() != null;
    } finally {
      lock.unlock();
    }
  }

  /** Returns the start of the oldest live segment. */
  long firstLsn() {
    lock.lock();
    try {
      return live.element().startLsn;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Finds the segment of a durable record.
   *
   * @param lsn the start of the record
   * @param out receives the segment, and the one after it if there is one
   * @return false if the record is no longer there
   */
  boolean find(long lsn, @Nullable Live[] out) {
    lock.lock();
    try {
      out[0] = null;
      out[1] = null;
      for (Live segment : live) {
        if (segment.startLsn <= lsn) {
          out[0] = segment; // the last one that begins here: the others are empty
        } else {
          out[1] = segment;
          break;
        }
      }
      return out[0] != null;
    } finally {
      lock.unlock();
    }
  }

  /** Keeps everything after a position until {@link #unpin}; returns false if it is gone. */
  boolean pin(long lsn) {
    lock.lock();
    try {
      if (live.element().startLsn > lsn) {
        return false;
      }
      pins.add(lsn);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Frees segments that are not needed. A segment is needed while any of its records is, and while
   * the next segment may not be on the medium.
   *
   * <p>The next segment may begin exactly at the position from which the log is needed. It then
   * exists in memory first and in the file later; until its header is durable, a crash leaves only
   * the previous segment, which is read from its end. So the previous segment is kept until then. A
   * reader that pinned that position may have read the headers before the next segment had one, and
   * then reads the previous segment, so it is also kept until the pin ends.
   */
  private void recycle() {
    long pinned = Long.MAX_VALUE;
    for (long pin : pins) {
      pinned = Math.min(pinned, pin);
    }
    while (live.size() > 1) {
      Live first = live.remove();
      Live second = live.element();
      boolean over =
          second.startLsn <= keepFrom
              && second.startLsn <= changesFrom
              && second.number <= durableNumber;
      if (!over || second.startLsn >= pinned) {
        live.addFirst(first);
        break;
      }
      free.add(first.slot);
    }
    space.freeSlots(free.size());
    blocksTruncation =
        !live.isEmpty() && live.getLast().slot >= retainedSlots && isFreeBelow(retainedSlots);
    space.signalWaiters();
  }

  private boolean isFreeBelow(int slot) {
    return !free.isEmpty() && free.first() < slot;
  }

  /**
   * Returns whether the current segment is what keeps the file too large, and there is a free slot
   * nearer to its start, in which the writer continues. Safe for use by any thread.
   */
  boolean blocksTruncation() {
    return blocksTruncation;
  }

  /**
   * Called by the writer under the lock after {@link #blocksTruncation}: returns whether that still
   * holds.
   *
   * @param current the slot of the current segment
   */
  boolean stillBlocksTruncation(int current) {
    blocksTruncation = false;
    return isFreeBelow(retainedSlots) && current >= retainedSlots;
  }

  /** Pins the segments needed now; returns their start. */
  long pin() {
    lock.lock();
    try {
      pins.add(keepFrom);
      return keepFrom;
    } finally {
      lock.unlock();
    }
  }

  /** Releases a pin. */
  void unpin(long lsn) {
    lock.lock();
    try {
      pins.remove((Object) lsn);
      recycle();
    } finally {
      lock.unlock();
    }
  }
}
