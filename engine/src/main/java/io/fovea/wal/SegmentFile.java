package io.fovea.wal;

import io.fovea.error.CorruptionException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The slots of the log's file: which hold segments that are needed, which are free, and how much
 * room that makes.
 *
 * <pre>
 *   slot     0            1            2            3
 *        | segment 7 | segment 5  | segment 6  |  spare   |      any order
 *           live,        free:        live        free
 *           current    recycled
 *   room = rest of the current segment + free slots
 * </pre>
 *
 * <p>A slot is filled with zeros once, when it is made, so that a later write changes no metadata
 * and can't run out of space; then it goes round: free, live, free again when the redo point and
 * all pins are beyond its end. What it held before is told apart by the segment's number. The
 * lowest free slot is used first, so that a file that has become too large empties from its end.
 *
 * <p><b>Watermarks.</b> A group proves that what was before it is durable; of the last groups, and
 * of a segment that is lost as a whole, nothing is left that does. So now and then a group is
 * written together with a {@link Watermark}, in the trailer of another slot than its own: with the
 * second group of each segment, and from then on for each MiB, or 256 groups. It costs a block of
 * 4096 bytes then, and no sync. Slots 0 and 1 take turns to have it, and are never cut off. Where
 * there is one slot only, that has it.
 *
 * <p>The file grows ahead of need, on a thread of its own ({@link SegmentMaker}): whenever less
 * than that and a quarter of a segment is left. {@code low} is what must be left for an operation
 * to begin, so that those that have begun find room for what they log. Where the storage is full,
 * nobody may begin ({@link #requireRoom}) until there is room, by a recycled segment or a larger
 * file. Half of it ({@link #hasReserve}) is for those that can't go back any more, and for the
 * groups that make durable what is in the ring: a large operation does not use up what a checkpoint
 * needs to recycle segments.
 *
 * <p><b>It shrinks.</b> What something held back for long (a backup, checkpoints that failed) has
 * made it large, and no longer does. The maker cuts off free slots at its end, down to the number
 * that the log needs as a rule; never those in between. Where the current segment is among them the
 * writer begins another in the lowest free slot, though there is room in this one.
 *
 * <p>Threads: the writer is the only one that opens segments and moves the current position;
 * everything else is under the lock. Nothing is written to the device under the lock.
 */
final class SegmentFile {
  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final int ZEROS = 1 << 20;
  private static final int SYNC_EVERY = 8 << 20;
  private static final long ASK_NANOS = 20_000_000;

  /** So much of the log, or so many groups, and another watermark is due. */
  private static final long MARK_BYTES = 1 << 20;

  private static final int MARK_GROUPS = 256;

  /** A segment that is needed. */
  private record Live(int slot, long number, long startLsn) {}

  final BlockDevice device;
  final LogStart start;
  final long segmentBytes;

  /** What must be left for an operation to begin, without the sessions' blocks; and with them. */
  private final long lowAlone;

  /** How many slots the file has for good, once it had them. */
  private final int slotsKept;

  private volatile long low;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Under the lock.
  private final ArrayDeque<Live> live = new ArrayDeque<>();
  private final TreeSet<Integer> free = new TreeSet<>();
  private final List<Long> pins = new ArrayList<>();
  private long keepFrom;
  private long nextNumber = 1;
  private long asked;
  private long answered;
  private boolean ended;
  private @Nullable StorageFullException full;

  /** How many there are. Written while the log is opened, and by the maker. */
  private volatile int slots;

  private final ReentrantLock syncing = new ReentrantLock();

  /** Under the lock {@code syncing}. */
  private @Nullable DurabilityLostException syncFailure;

  // The writer's.
  private long segmentEnd;
  private long position;
  private long number;
  private int current;

  // When the next watermark is due.
  private boolean fresh;
  private boolean due;
  private long markedAt;
  private int unmarked;

  /** The newest segment whose header is durable. */
  private volatile long durableNumber;

  /** In which segment the maker was told that room gets scarce. */
  private long toldOf;

  private volatile boolean far;
  private volatile long rest;
  private volatile int freeSlots;

  private SegmentFile(
      BlockDevice device, LogStart start, long segmentBytes, long low, long keepBytes) {
    this.device = device;
    this.start = start;
    this.segmentBytes = segmentBytes;
    this.lowAlone = low;
    this.low = low;
    // What is needed, in segments whose first and last may be needed in part, and what is ready.
    long keep = keepBytes / SegmentHeader.capacity(segmentBytes) + 2 + ready();
    this.slotsKept = (int) Math.min(keep, Integer.MAX_VALUE);
    this.keepFrom = start.redoLsn();
  }

  /** The largest group that a log with such a ring may write, in bytes of payload. */
  static int payloadMax(long bufferBytes) {
    return (int) (bufferBytes / 4);
  }

  /** The size of the segments that a log would have: that of the file, where there is one. */
  static long segmentBytes(SegmentScan scan, LogConfig config, LogStart start) {
    return scan.segmentBytes() == 0 || isLeftOver(scan, start)
        ? config.segmentBytes()
        : scan.segmentBytes();
  }

  /** Whether the file is what another database has left where a new one is made. */
  private static boolean isLeftOver(SegmentScan scan, LogStart start) {
    return scan.foreign()
        && scan.segments().isEmpty()
        && start.startLsn() == Log.FIRST_LSN
        && start.redoLsn() == Log.FIRST_LSN;
  }

  /**
   * Takes over a file: what is there from the redo point on stays, everything else is free. Makes
   * the first segment of this incarnation, durably, and what was found before it as well.
   */
  static SegmentFile open(
      BlockDevice device,
      SegmentScan scan,
      long segmentBytes,
      long bufferBytes,
      long keepBytes,
      LogStart start) {
    if (isLeftOver(scan, start)) {
      device.resize(0);
      scan = SegmentScan.EMPTY;
    }
    if (scan.foreign()) {
      throw new CorruptionException(
          "log: it has segments of another database; these are expected and found",
          -1,
          -1,
          start.database().getMostSignificantBits(),
          0);
    }
    long group = Group.fileBytes(payloadMax(bufferBytes));
    long low = bufferBytes + bufferBytes / 2 + 2 * group;
    SegmentFile file = new SegmentFile(device, start, segmentBytes, low, keepBytes);
    file.adopt(scan);
    file.takeSlot();
    if (start.redoLsn() < start.startLsn()) {
      try (LastGroup last = LastGroup.find(device, scan, start.database(), start.startLsn())) {
        file.carry(last);
      }
    } else {
      file.begin(start.startLsn());
    }
    try {
      while (file.room() < low) {
        file.free(file.make(() -> false));
      }
    } catch (StorageFullException e) {
      // Who reads needs no room; who begins to write is told.
    }
    return file;
  }

  /** The header of the first segment is durable only after the group that it begins with. */
  private void carry(LastGroup last) {
    int bytes = last.bytes();
    try (Arena arena = Arena.ofShared()) {
      MemorySegment group = arena.allocate(bytes, Group.BLOCK);
      last.put(group, start, number);
      device.write(position, group, 0, bytes);
      device.sync();
    }
    begin(last.start());
    position += bytes;
    rest = segmentEnd - position;
  }

  private void begin(long startLsn) {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment block = arena.allocate(Group.BLOCK, Group.BLOCK);
      header(startLsn).put(block, 0);
      device.write(position - Group.BLOCK, block, 0, Group.BLOCK);
      device.sync();
    }
    durableNumber = number;
    markedAt = start.startLsn();
  }

  private void adopt(SegmentScan scan) {
    slots = scan.slots();
    nextNumber = scan.lastNumber() + 1;
    free.addAll(scan.spares());
    List<SegmentScan.Found> segments = scan.segments();
    for (int i = 0; i < segments.size(); i++) {
      SegmentScan.Found found = segments.get(i);
      long end = i + 1 < segments.size() ? segments.get(i + 1).startLsn() : start.startLsn();
      if (found.startLsn() < start.startLsn() && end > start.redoLsn()) {
        live.add(new Live(found.slot(), found.header().number(), found.startLsn()));
      } else {
        free.add(found.slot());
      }
    }
    for (SegmentScan.Found found : scan.superseded()) {
      free.add(found.slot());
    }
    // What is at the end of the file was not made to its end, and is made anew when it is needed.
    free.removeIf(slot -> slot >= slots);
    List<Integer> unreadable = new ArrayList<>(scan.unreadable());
    unreadable.removeIf(slot -> slot >= slots);
    while (!unreadable.isEmpty() && unreadable.getLast() == slots - 1) {
      slots--;
      unreadable.removeLast();
    }
    for (int slot : unreadable) {
      fill(slot, () -> false);
      free.add(slot);
    }
    freeSlots = free.size();
    if (free.isEmpty()) {
      free(make(() -> false));
    }
  }

  // ----------------------------------------------------------------------------- the writer's side

  /** How many bytes of the current segment are left. */
  long rest() {
    return segmentEnd - position;
  }

  /** Where the next group goes. */
  long position() {
    return position;
  }

  /** The number of the current segment. */
  long number() {
    return number;
  }

  /** A group was put at {@link #position}, and is durable. */
  void advance(long bytes) {
    position += bytes;
    rest = segmentEnd - position;
    durableNumber = number;
    unmarked++;
    due |= fresh;
    fresh = false;
    if (toldOf != number && isScarce()) {
      // Once a segment: the maker looks by itself only now and then.
      toldOf = number;
      tell();
    }
  }

  private boolean isScarce() {
    return room() < low + segmentBytes / 4;
  }

  private void tell() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Asks for another slot where there is too little room, and does not wait for the answer. */
  void ask() {
    lock.lock();
    try {
      if (room() < low && answered >= asked && full == null) {
        asked++;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** The number of the newest segment that is durable; any thread. */
  long durableNumber() {
    return durableNumber;
  }

  /**
   * Puts a watermark, where one is due, into memory, to be written with the next group.
   *
   * @param durable up to where the log is durable
   * @param seg gets a block
   * @param off where
   * @return where in the file it is to go; -1 where none is due
   */
  long mark(long durable, MemorySegment seg, long off) {
    if (!due && unmarked < MARK_GROUPS && durable - markedAt < MARK_BYTES) {
      return -1;
    }
    due = false;
    unmarked = 0;
    markedAt = durable;
    new Watermark(durable, durableNumber).put(seg, off, start.database());
    int slot = current == 0 && slots > 1 ? 1 : 0;
    return (slot + 1) * segmentBytes - Group.BLOCK;
  }

  /**
   * Goes to another segment; waits until there is one. Its header has to be written, in front of
   * {@link #position}.
   *
   * @param startLsn where it begins
   * @param stop whether to wait no longer
   * @return its header; null where the log ended meanwhile
   */
  @Nullable SegmentHeader next(long startLsn, Stop stop) {
    lock.lock();
    try {
      while (free.isEmpty()) {
        long mine = ++asked;
        changed.signalAll();
        // First the answer, then a pause: a full disk is not asked at every signal.
        long again = System.nanoTime() + ASK_NANOS;
        while (free.isEmpty() && (answered < mine || System.nanoTime() < again)) {
          if (ended || stop.now()) {
            return null;
          }
          await(20);
        }
      }
      takeSlot();
      return header(startLsn);
    } finally {
      lock.unlock();
    }
  }

  /** The first free slot becomes the current one. */
  private void takeSlot() {
    int slot = free.removeFirst();
    freeSlots = free.size();
    number = nextNumber++;
    position = slot * segmentBytes + Group.BLOCK;
    segmentEnd = (slot + 1) * segmentBytes - Group.BLOCK;
    rest = segmentEnd - position;
    current = slot;
    fresh = true;
  }

  private SegmentHeader header(long startLsn) {
    live.add(new Live(current, number, startLsn));
    return new SegmentHeader(start.database(), number, start.incarnation(), startLsn, segmentBytes);
  }

  // --------------------------------------------------------------------------------------- room

  /** How many bytes can be written before another slot must be made. */
  long room() {
    return rest + freeSlots * SegmentHeader.capacity(segmentBytes);
  }

  /** Whether there is room for those that have begun and can still give up. */
  boolean hasReserve() {
    return room() >= low >> 1;
  }

  /** There are so many sessions: each of them may need a block of its own for a short record. */
  void sessions(int n) {
    low = lowAlone + (long) n * Group.BLOCK;
  }

  /**
   * Returns when there is room for an operation to begin.
   *
   * @throws StorageFullException where there is none and the file can't be made larger
   */
  void requireRoom() {
    if (room() >= low) {
      return;
    }
    lock.lock();
    try {
      while (room() < low && !ended) {
        long mine = ++asked;
        changed.signalAll();
        while (answered < mine && room() < low && !ended) {
          await(1000);
        }
        if (room() < low && full != null) {
          throw isFull(full);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** Why the file can't be made larger, if it is too small and can't. */
  @Nullable StorageFullException whyFull() {
    lock.lock();
    try {
      return room() < low && full != null ? isFull(full) : null;
    } finally {
      lock.unlock();
    }
  }

  private StorageFullException isFull(StorageFullException why) {
    StorageFullException e =
        new StorageFullException(
            "another segment of " + segmentBytes + " bytes", "the log", fileBytes(), "no space");
    e.initCause(why);
    return e;
  }

  /** Waits a while, or until something changed; the interrupt flag is kept. */
  private void await(long millis) {
    boolean interrupted = Thread.interrupted();
    try {
      changed.await(millis, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      interrupted = true;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Nobody waits any more. */
  void end() {
    lock.lock();
    try {
      ended = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  // ------------------------------------------------------------------------------- making slots

  /** What asks whether to stop. */
  interface Stop {
    boolean now();
  }

  /** The maker: waits until there is something to do; false at the end. */
  boolean awaitNeed() {
    lock.lock();
    try {
      while (!ended) {
        if (isShort() || excess() > 0) {
          return true;
        }
        await(1000);
        full = null; // another attempt from time to time
      }
      return false;
    } finally {
      lock.unlock();
    }
  }

  private boolean isShort() {
    return answered < asked || (isScarce() && full == null);
  }

  /** The maker: whether another slot is needed, or somebody waits for an answer. */
  boolean isShort(long questions) {
    lock.lock();
    try {
      return answered < questions || isShort();
    } finally {
      lock.unlock();
    }
  }

  /** How many free slots there should be: one more than the maker would make. */
  private long ready() {
    return (low + segmentBytes / 4) / SegmentHeader.capacity(segmentBytes) + 2;
  }

  /** How many slots at the end of the file are free, and beyond those that are kept. */
  private int excess() {
    long most = Math.min(slots - slotsKept, free.size() - ready());
    int n = 0;
    while (n < most && free.contains(slots - n - 1)) {
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
      for (int slot = slots - n; slot < slots; slot++) {
        free.remove(slot);
      }
      slots -= n;
      freeSlots = free.size();
    } finally {
      lock.unlock();
    }
    try {
      device.resize(slots * segmentBytes);
    } catch (StorageException e) {
      LOG.log(Level.DEBUG, "the log's file stays larger than it need be", e);
      return;
    }
    sync();
  }

  /** How many questions there are; what is made now answers them. */
  long asked() {
    lock.lock();
    try {
      return asked;
    } finally {
      lock.unlock();
    }
  }

  /** The maker: there is another slot, or why there is none. */
  void answer(long questions, int slot, @Nullable StorageFullException why) {
    lock.lock();
    try {
      full = why;
      answered = Math.max(answered, questions);
      if (slot >= 0) {
        free(slot);
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void free(int slot) {
    lock.lock();
    try {
      free.add(slot);
      freeSlots = free.size();
    } finally {
      lock.unlock();
    }
  }

  /** Makes a slot at the end of the file; -1 where it was stopped. One thread at a time. */
  int make(Stop stop) {
    int slot = slots;
    long end = (slot + 1) * segmentBytes;
    if (device.size() < end) {
      device.resize(end);
    }
    if (!fill(slot, stop)) {
      return -1;
    }
    slots = slot + 1;
    return slot;
  }

  /** Fills a slot with zeros; then, durably later, gives it the header of a spare. */
  private boolean fill(int slot, Stop stop) {
    long at = slot * segmentBytes;
    try (Arena arena = Arena.ofShared()) {
      int chunk = (int) Math.min(ZEROS, segmentBytes);
      MemorySegment zeros = arena.allocate(chunk, Group.BLOCK);
      for (long done = 0; done < segmentBytes; done += chunk) {
        if (stop.now()) {
          return false;
        }
        device.write(at + done, zeros, 0, (int) Math.min(chunk, segmentBytes - done));
        if ((done + chunk) % SYNC_EVERY == 0) {
          sync();
        }
      }
      sync();
      new SegmentHeader(start.database(), 0, 0, 0, segmentBytes).put(zeros, 0);
      device.write(at, zeros, 0, Group.BLOCK);
      sync();
      return true;
    }
  }

  private void sync() {
    syncing.lock();
    try {
      device.sync();
    } catch (FoveaException e) {
      // Final, whatever the reason; lack of space included.
      syncFailure = new DurabilityLostException("The log could not be synced.", e);
      throw syncFailure;
    } finally {
      syncing.unlock();
    }
  }

  /**
   * The writer, after a sync that succeeded and before anybody is told.
   *
   * <p>An operating system may tell of a failed write only once, to whoever syncs the file first.
   * If that was the maker, about a write of the writer's, the writer's own sync says nothing. The
   * maker's sync began before the writer's ended then; so it is over when the lock can be had, and
   * its failure is seen.
   */
  void confirm() {
    syncing.lock();
    try {
      if (syncFailure != null) {
        throw syncFailure;
      }
    } finally {
      syncing.unlock();
    }
  }

  // ----------------------------------------------------------------------------------- recycling

  /** Records below a position are not needed any more. */
  void recycleBelow(long lsn) {
    lock.lock();
    try {
      keepFrom = Math.max(keepFrom, lsn);
      recycle();
    } finally {
      lock.unlock();
    }
  }

  /**
   * A segment is needed while something of it is; and while the next one may not be there.
   *
   * <p>The next one may begin at the very position from which on the log is needed: nothing lies
   * between. Then it is in memory first and in the file later, and until its header is durable a
   * crash leaves this one only, to be read from its end. So it is kept until then. Who has pinned
   * that position may have looked at the headers before the next one had its own, and reads this
   * one: for a pin it is kept until the end of the pin.
   */
  private void recycle() {
    long pinned = Long.MAX_VALUE;
    for (long pin : pins) {
      pinned = Math.min(pinned, pin);
    }
    while (live.size() > 1) {
      Live first = live.remove();
      Live second = live.element();
      boolean over = second.startLsn <= keepFrom && second.number <= durableNumber;
      if (!over || second.startLsn >= pinned) {
        live.addFirst(first);
        break;
      }
      free.add(first.slot);
    }
    freeSlots = free.size();
    far = !live.isEmpty() && live.getLast().slot >= slotsKept && isFreeBelow(slotsKept);
    changed.signalAll();
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
   * The writer: begins a segment without a group, durably, where the current one is too far.
   *
   * @param startLsn where it begins: everything before is durable
   * @param seg memory for a block
   * @return whether the current segment is another one now
   */
  boolean moveNearer(long startLsn, MemorySegment seg) {
    lock.lock();
    try {
      far = false;
      if (!isFreeBelow(slotsKept) || current < slotsKept) {
        return false;
      }
      takeSlot();
      header(startLsn).put(seg, 0);
    } finally {
      lock.unlock();
    }
    device.write(position - Group.BLOCK, seg, 0, Group.BLOCK);
    sync();
    durableNumber = number;
    recycleBelow(0); // what was current may be free now
    return true;
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

  void unpin(long lsn) {
    lock.lock();
    try {
      pins.remove((Object) lsn);
      recycle();
    } finally {
      lock.unlock();
    }
  }

  /** How large the file is. */
  long fileBytes() {
    return device.size();
  }
}
