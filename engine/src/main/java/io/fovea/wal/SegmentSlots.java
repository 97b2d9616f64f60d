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
 * Which slots of the log's file hold segments that are needed, and which are free.
 *
 * <p>A slot goes round: free, live, free again when the redo point and all pins are beyond its end.
 * The lowest free slot is used first, so that a file that has become too large empties from its
 * end.
 *
 * <p><b>It shrinks.</b> What something held back for long (a backup, checkpoints that failed) has
 * made it large, and no longer does. The maker cuts off free slots at its end, down to the number
 * that the log needs as a rule; never those in between. Where the current segment is among them the
 * writer begins another in the lowest free slot ({@link #isFar}), though there is room in this one.
 *
 * <p><b>It rests.</b> Where nothing was logged for a while the same is done with another number of
 * slots that stay: the two that watermarks take turns in, and what is needed until the next one
 * would be made ({@link #rest}). It is over when the next segment is full ({@link #busy}): from
 * then on the slots that are made stay as before, for to make one takes as long as hundreds of
 * groups. The same is done where slots were made for a claim that was refused.
 *
 * <p><b>For who follows changes</b> segments stay live that no recovery needs, so many bytes of
 * them. From where on they do is in the superblock before the older ones are free ({@link
 * #retainable}, {@link #recycleBelow}), so after a crash it is known which of the segments in the
 * file were never used again in between.
 *
 * <p>Threads: any, under the lock of {@link SegmentRoom}. One thread at a time makes slots or cuts
 * them off: any thread that opens the log, then the maker. Nothing is written to the device under
 * the lock.
 */
final class SegmentSlots {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /**
   * A segment that is needed.
   *
   * @param slot where it lies
   * @param number which it is
   * @param incarnation of its records
   * @param startLsn of its first record
   */
  record Live(int slot, long number, long incarnation, long startLsn) {}

  /** Watermarks take turns in the first two slots, which are never cut off. */
  private static final int SLOTS_MIN = 2;

  /** How many more slots may hold what is kept for changes than it would fill. */
  private static final int SPARSE = 16;

  private final SlotFile file;
  private final SegmentRoom room;
  private final ReentrantLock lock;

  /** How many slots the file has for good while it is in use, once it had them. */
  private final int kept;

  /** How many are not free while the log rests: what is kept for who follows changes. */
  private final int followed;

  // Under the lock.
  private final ArrayDeque<Live> live = new ArrayDeque<>();
  private final TreeSet<Integer> free = new TreeSet<>();
  private final List<Long> pins = new ArrayList<>();
  private long keepFrom;

  /** Segments that end at or before it are kept for nobody; above all where nobody follows. */
  private long changesFrom;

  /** How many there are. Written while the log is opened, and by the maker. */
  private volatile int count;

  /** The newest segment whose header is durable. Written by the writer. */
  private volatile long durableNumber;

  private volatile boolean far;

  /** How many slots are not cut off now: {@link #kept}, or fewer while the log rests. */
  private int stay;

  /**
   * Without any slot.
   *
   * @param kept how many slots are not cut off
   * @param followed how many of these are for who follows changes
   * @param keepFrom the position from which on records are needed
   * @param changesFrom the position from which on they are kept all the same
   */
  SegmentSlots(
      SlotFile file, SegmentRoom room, int kept, int followed, long keepFrom, long changesFrom) {
    this.file = file;
    this.room = room;
    this.lock = room.lock;
    this.kept = kept;
    this.followed = followed;
    this.stay = kept;
    this.keepFrom = keepFrom;
    this.changesFrom = changesFrom;
  }

  /** Takes over what was found in a file. Slots that can't be read are made anew. */
  void adopt(SegmentScan scan, LogStart start) {
    int slots = scan.slots();
    free.addAll(scan.spares());
    List<SegmentScan.Found> segments = scan.segments();
    for (int i = 0; i < segments.size(); i++) {
      SegmentScan.Found found = segments.get(i);
      long end = i + 1 < segments.size() ? segments.get(i + 1).startLsn() : start.startLsn();
      // One without any record, of an opening that wrote nothing, is not kept for changes either.
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
    // What is at the end of the file was not made to its end, and is made anew when it is needed.
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
    room.freeSlots(free.size());
    if (free.isEmpty()) {
      add(make(() -> false));
    }
  }

  /** How many there are; any thread. */
  int count() {
    return count;
  }

  // ------------------------------------------------------------------------------ taken, given
  // back

  /** Takes the lowest free slot; under the lock, or while the log is opened. */
  int take() {
    int slot = free.removeFirst();
    room.freeSlots(free.size());
    return slot;
  }

  /** A slot holds a segment that is needed; under the lock, or while the log is opened. */
  void used(int slot, long number, long incarnation, long startLsn) {
    live.add(new Live(slot, number, incarnation, startLsn));
  }

  /** Another slot is free. */
  void add(int slot) {
    lock.lock();
    try {
      free.add(slot);
      room.freeSlots(free.size());
    } finally {
      lock.unlock();
    }
  }

  /** Makes a slot at the end of the file; -1 where it was stopped. One thread at a time. */
  int make(SlotFile.Stop stop) {
    int slot = count;
    if (!file.make(slot, stop)) {
      return -1;
    }
    count = slot + 1;
    return slot;
  }

  // ----------------------------------------------------------------------------------- the maker's

  /** The maker: waits until there is something to do; false at the end. */
  boolean awaitNeed() {
    lock.lock();
    try {
      while (!room.hasEnded()) {
        if (room.isShort() || excess() > 0) {
          return true;
        }
        room.awaitQuestions();
      }
      return false;
    } finally {
      lock.unlock();
    }
  }

  /** The maker: there is another slot, or why there is none. */
  void answer(long questions, int slot, @Nullable StorageFullException why) {
    lock.lock();
    try {
      room.answered(questions, why);
      if (slot >= 0) {
        add(slot);
      }
      room.tell();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Claims room; see {@link SegmentRoom#claim}. What was made for it in vain goes again: who has
   * pages to write may need the space.
   *
   * @param payload how many bytes of records
   * @return how many bytes of the file
   */
  long claim(long payload) {
    int had = count;
    boolean done = false;
    try {
      long bytes = room.claim(payload);
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
      stay = Math.min(stay, Math.max(least(), had));
      room.tell();
    } finally {
      lock.unlock();
    }
  }

  /** How many slots at the end of the file are free, and beyond those that are kept. */
  private int excess() {
    long spare = stay < kept ? room.spare() : free.size() - room.ready();
    long most = Math.min(count - stay, spare);
    int n = 0;
    while (n < most && free.contains(count - n - 1)) {
      n++;
    }
    return n;
  }

  /**
   * The maker: cuts off what is too much. Durable on return, so that no slot is made in its place
   * of which the medium has half the old and half the new.
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
      room.freeSlots(free.size());
    } finally {
      lock.unlock();
    }
    try {
      file.cut(count);
    } catch (StorageException e) {
      LOG.log(Level.DEBUG, "the log's file stays larger than it need be", e);
      return;
    }
    file.sync();
  }

  // ----------------------------------------------------------------------------------- resting

  /** How many slots there are while the log rests, if nobody holds anything back. */
  private int least() {
    return Math.min(kept, Math.max(SLOTS_MIN, room.least()) + followed);
  }

  /** Whether the file has more slots than one that rests. Any thread. */
  boolean isLarge() {
    lock.lock();
    try {
      return count > least();
    } finally {
      lock.unlock();
    }
  }

  /** Nothing is logged now: only what a log that rests needs is kept from here on. Any thread. */
  void rest() {
    lock.lock();
    try {
      stay = least();
      recycle();
    } finally {
      lock.unlock();
    }
  }

  /** The writer, under the lock: a segment is full, so the log is in use. */
  void busy() {
    stay = kept;
  }

  // ----------------------------------------------------------------------------------- recycling

  /** The writer: the header of a segment is durable. */
  void durable(long number) {
    durableNumber = number;
  }

  /** The number of the newest segment that is durable; any thread. */
  long durableNumber() {
    return durableNumber;
  }

  /** Records below a position are not needed any more. */
  void recycleBelow(long lsn) {
    recycleBelow(lsn, 0);
  }

  /**
   * Records below a position are not needed any more.
   *
   * @param lsn the position
   * @param changes who follows changes does not find those below this one; it only grows, and is
   *     durable elsewhere
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
   * From where on records can be kept for who follows changes, once recovery needs none below a
   * position: the start of the oldest segment that ends less than so many bytes before it. In a
   * file with many segments that are nearly empty it is less, and where the storage is full nothing
   * is kept.
   *
   * @param redo the position
   * @param bytes how many
   */
  long retainable(long redo, long bytes) {
    lock.lock();
    try {
      Live[] all = live.toArray(Live[]::new);
      int first = all.length - 1;
      while (first > 0 && all[first].startLsn > redo) {
        first--; // this one has what recovery needs
      }
      if (room.whyFull() == null) {
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

  /** Whether the storage is full, and segments are kept that no recovery needs. */
  boolean mustReleaseRetention() {
    lock.lock();
    try {
      return live.element().startLsn < keepFrom && changesFrom < keepFrom && room.whyFull() != null;
    } finally {
      lock.unlock();
    }
  }

  /** Where what is there begins. */
  long firstLsn() {
    lock.lock();
    try {
      return live.element().startLsn;
    } finally {
      lock.unlock();
    }
  }

  /**
   * The segment that has a record, which is durable.
   *
   * @param lsn where it begins
   * @param out gets two: the segment, and the one behind it if there is one
   * @return false where it is not there any more
   */
  boolean find(long lsn, @Nullable Live[] out) {
    lock.lock();
    try {
      out[0] = null;
      out[1] = null;
      for (Live segment : live) {
        if (segment.startLsn <= lsn) {
          out[0] = segment; // the last one of those that begin here: others have nothing
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

  /** Keeps what is there from a position on, until {@link #unpin}; false where it is not. */
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
   * A segment is needed while something of it is; and while the next one may not be there.
   *
   * <p>The next one may begin at the very position from which on the log is needed: nothing lies
   * between. Then it is in memory first and in the file later, and until its header is durable a
   * crash leaves this one only, to be read from its end. So it is kept until then. A thread that
   * has pinned that position may have looked at the headers before the next one had its own, and
   * reads this one: for a pin it is kept until the end of the pin.
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
    room.freeSlots(free.size());
    far = !live.isEmpty() && live.getLast().slot >= stay && isFreeBelow(stay);
    room.tell();
  }

  private boolean isFreeBelow(int slot) {
    return !free.isEmpty() && free.first() < slot;
  }

  /**
   * Whether the current segment is what keeps the file too large, and there is a place for another
   * nearer to its start: the writer goes on there. Any thread.
   */
  boolean isFar() {
    return far;
  }

  /**
   * The writer, under the lock, where {@link #isFar} said so: whether that still holds.
   *
   * @param current the slot of the current segment
   */
  boolean isStillFar(int current) {
    far = false;
    return isFreeBelow(stay) && current >= stay;
  }

  /** Keeps what is needed now; returns where that begins. */
  long pin() {
    lock.lock();
    try {
      pins.add(keepFrom);
      return keepFrom;
    } finally {
      lock.unlock();
    }
  }

  /** What a pin has kept is kept no longer. */
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
