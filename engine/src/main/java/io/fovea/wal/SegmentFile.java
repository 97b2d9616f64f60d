package io.fovea.wal;

import io.fovea.error.CorruptionException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The log's file, in slots of one size: opens it, and moves the writer from segment to segment.
 *
 * <pre>
 *   slot     0            1            2            3
 *        | segment 7 | segment 5  | segment 6  |  spare   |      any order
 *           live,        free:        live        free
 *           current    recycled
 *
 *   SegmentFile ──► SegmentSlots   which slots are live or free; recycling, pins, shrinking
 *               ──► SegmentRoom    how much room that makes, and who waits for more
 *               ──► SlotFile       slots on the device: zeros, cutting off, syncs
 * </pre>
 *
 * <p>What a slot held before is told apart by the segment's number. The file grows ahead of need,
 * on a thread of its own ({@link SegmentPreallocator}).
 *
 * <p><b>Watermarks.</b> A group proves that what was before it is durable; of the last groups, and
 * of a segment that is lost as a whole, nothing is left that does. So now and then a group is
 * written together with a {@link Watermark}, in the trailer of another slot than its own: with the
 * second group of each segment, and from then on for each MiB, or 256 groups. It costs a block of
 * 4096 bytes then, and no sync. Slots 0 and 1 take turns to have it, and are never cut off. Where
 * there is one slot only, that has it.
 *
 * <p>Threads: the writer is the only one that opens segments and moves the current position.
 */
final class SegmentFile {
  private static final long ASK_NANOS = 20_000_000;

  /** So much of the log, or so many groups, and another watermark is due. */
  private static final long MARK_BYTES = 1 << 20;

  private static final int MARK_GROUPS = 256;

  final LogStart start;
  final long segmentBytes;
  private final BlockDevice device;
  private final SlotFile file;
  private final SegmentRoom room;
  private final SegmentSlots slots;

  // The writer's.
  private long nextNumber = 1;
  private long segmentEnd;
  private long position;
  private long number;
  private int current;

  // When the next watermark is due.
  private boolean fresh;
  private boolean due;
  private long markedAt;
  private int unmarked;

  /** In which segment the maker was told that room gets scarce. */
  private long toldOf;

  private SegmentFile(
      BlockDevice device,
      LogStart start,
      long segmentBytes,
      long groupBytes,
      long low,
      long keepBytes,
      long changeRetentionBytes) {
    this.device = device;
    this.start = start;
    this.segmentBytes = segmentBytes;
    this.file = new SlotFile(device, start, segmentBytes);
    this.room = new SegmentRoom(file, segmentBytes, groupBytes, low);
    // What is needed, in segments whose first and last may be needed in part, and what is ready.
    long capacity = SegmentHeader.capacity(segmentBytes);
    long keep = keepBytes / capacity + 2 + room.ready();
    long followed = (changeRetentionBytes + capacity - 1) / capacity;
    this.slots =
        new SegmentSlots(
            file,
            room,
            (int) Math.min(keep, Integer.MAX_VALUE),
            (int) Math.min(followed, Integer.MAX_VALUE / 2),
            start.redoLsn(),
            start.changesLsn());
  }

  /** Which slots are live or free: for the maker, and for who holds segments back. */
  SegmentSlots slots() {
    return slots;
  }

  /** How much room there is: for sessions and the maker. */
  SegmentRoom room() {
    return room;
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
   *
   * <p>What the scan has seen is durable, the file's length included; see {@link Log#open}. Where
   * the file is emptied here, the two syncs of its first slot come before the first header.
   */
  static SegmentFile open(
      BlockDevice device,
      SegmentScan scan,
      long segmentBytes,
      long bufferBytes,
      long keepBytes,
      long changeRetentionBytes,
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
    SegmentFile file =
        new SegmentFile(device, start, segmentBytes, group, low, keepBytes, changeRetentionBytes);
    file.nextNumber = Math.max(scan.lastNumber(), start.lastSegment()) + 1;
    file.slots.adopt(scan, start);
    file.takeSlot();
    if (start.redoLsn() < start.startLsn()) {
      try (TailGroups last = TailGroups.find(device, scan, start.database(), start.startLsn())) {
        file.carry(last);
      }
    } else {
      file.begin(start.startLsn());
    }
    try {
      while (file.room.room() < low) {
        file.slots.add(file.slots.make(() -> false));
      }
    } catch (StorageFullException e) {
      // A thread that reads needs no room; one that begins to write is told.
    }
    return file;
  }

  /** The header of the first segment is durable only after the group that it begins with. */
  private void carry(TailGroups last) {
    int bytes = last.bytes();
    try (Arena arena = Arena.ofShared()) {
      MemorySegment group = arena.allocate(bytes, Group.BLOCK);
      last.put(group, start, number);
      device.write(position, group, 0, bytes);
      device.sync();
    }
    begin(last.start());
    position += bytes;
    room.rest(rest());
  }

  private void begin(long startLsn) {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment block = arena.allocate(Group.BLOCK, Group.BLOCK);
      header(startLsn).put(block, 0);
      device.write(position - Group.BLOCK, block, 0, Group.BLOCK);
      device.sync();
    }
    slots.durable(number);
    markedAt = start.startLsn();
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

  /** A group is being written to {@link #position}: the next one goes behind it. */
  void advance(long bytes) {
    position += bytes;
    room.rest(rest());
    unmarked++;
    due |= fresh;
    fresh = false;
    if (toldOf != number && room.isScarce()) {
      // Once a segment: the maker looks by itself only now and then.
      toldOf = number;
      room.tell();
    }
  }

  /** The current segment has a group that is durable, and so has it a header. */
  void durable() {
    slots.durable(number);
  }

  /** Whether a watermark is to be written with the next group, which starts at a position. */
  boolean isMarkDue(long start) {
    return due || unmarked >= MARK_GROUPS || start - markedAt >= MARK_BYTES;
  }

  /**
   * Puts a watermark, where one is due, into memory, to be written with the next group.
   *
   * @param durable up to where the log is durable: where the next group starts
   * @param seg gets a block
   * @param off where
   * @return where in the file it is to go; -1 where none is due
   */
  long mark(long durable, MemorySegment seg, long off) {
    if (!isMarkDue(durable)) {
      return -1;
    }
    due = false;
    unmarked = 0;
    markedAt = durable;
    new Watermark(durable, slots.durableNumber()).put(seg, off, start.database());
    int slot = current == 0 && slots.count() > 1 ? 1 : 0;
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
  @Nullable SegmentHeader next(long startLsn, SlotFile.Stop stop) {
    room.lock.lock();
    try {
      if (!room.awaitSlot(ASK_NANOS, stop)) {
        return null;
      }
      slots.busy();
      takeSlot();
      return header(startLsn);
    } finally {
      room.lock.unlock();
    }
  }

  /**
   * Begins a segment without a group, durably, where the current one is too far from the start of
   * the file; see {@link SegmentSlots#isFar}.
   *
   * @param startLsn where it begins: everything before is durable
   * @param seg memory for a block
   * @return whether the current segment is another one now
   */
  boolean moveNearer(long startLsn, MemorySegment seg) {
    room.lock.lock();
    try {
      if (!slots.isStillFar(current)) {
        return false;
      }
      takeSlot();
      header(startLsn).put(seg, 0);
    } finally {
      room.lock.unlock();
    }
    device.write(position - Group.BLOCK, seg, 0, Group.BLOCK);
    file.sync();
    slots.durable(number);
    slots.recycleBelow(0); // what was current may be free now
    return true;
  }

  /** Whether groups may be written at the same time; see {@link SlotFile#writesApart}. */
  boolean writesApart() {
    return file.writesApart();
  }

  /** Writes a group and syncs; see {@link SlotFile#write}. */
  void write(IoBatch group) {
    file.write(group);
  }

  /** A group was written, and nobody is told yet; see {@link SlotFile#confirm}. */
  void confirm() {
    file.confirm();
  }

  /** The lowest free slot becomes the current one. */
  private void takeSlot() {
    int slot = slots.take();
    number = nextNumber++;
    position = slot * segmentBytes + Group.BLOCK;
    segmentEnd = (slot + 1) * segmentBytes - Group.BLOCK;
    room.rest(rest());
    current = slot;
    fresh = true;
  }

  private SegmentHeader header(long startLsn) {
    slots.used(current, number, start.incarnation(), startLsn);
    return new SegmentHeader(
        start.database(),
        number,
        start.incarnation(),
        startLsn,
        segmentBytes,
        start.session(),
        start.previous(),
        start.base());
  }
}
