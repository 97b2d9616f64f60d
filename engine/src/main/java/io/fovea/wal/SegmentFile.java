package io.fovea.wal;

import io.fovea.error.CorruptionException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The log's file, in slots of equal size: opens it, and moves the writer from segment to segment.
 *
 * <pre>
 *   slot     0            1            2            3
 *        | segment 7 | segment 5  | segment 6  |  spare   |      any order
 *           live,        free:        live        free
 *           current    recycled
 *
 *   SegmentFile ──► SegmentSlots   which slots are live or free; recycling, pins, shrinking
 *               ──► SegmentSpace    the space this makes, and the threads that wait for more
 *               ──► SlotFile       slots on the device: zeros, truncation, syncs
 * </pre>
 *
 * <p>The segment's number distinguishes it from earlier contents of the slot. The file grows ahead
 * of need on a separate thread ({@link SegmentPreallocator}).
 *
 * <p><b>Watermarks.</b> A group proves that everything before it is durable. Nothing proves the
 * last groups, or a segment that is lost as a whole. So from time to time a group is written
 * together with a {@link Watermark} in the trailer of another slot: with the second group of each
 * segment, then after every MiB or 256 groups. That costs a block of 4 KiB and no sync. Watermarks
 * alternate between slots 0 and 1, which are never cut off, or go to the only slot.
 *
 * <p>Threads: only the writer opens segments and moves the current position.
 */
final class SegmentFile {
  private static final long ASK_NANOS = 20_000_000;

  /** The bytes of log, or the number of groups below, after which a watermark is due. */
  private static final long MARK_BYTES = 1 << 20;

  private static final int MARK_GROUPS = 256;

  final LogStart start;
  final long segmentBytes;
  private final BlockDevice device;
  private final SlotFile file;
  private final SegmentSpace space;
  private final SegmentSlots slots;

  // Used by the writer only.
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

  /** The segment in which the preallocator was last notified that space is scarce. */
  private long notifiedIn;

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
    this.space = new SegmentSpace(file, segmentBytes, groupBytes, low);
    // The configured log, with a partial segment at each end, plus the slots made ahead.
    long capacity = SegmentHeader.capacity(segmentBytes);
    long keep = keepBytes / capacity + 2 + space.ready();
    long followed = (changeRetentionBytes + capacity - 1) / capacity;
    this.slots =
        new SegmentSlots(
            file,
            space,
            (int) Math.min(keep, Integer.MAX_VALUE),
            (int) Math.min(followed, Integer.MAX_VALUE / 2),
            start.redoLsn(),
            start.changesLsn());
  }

  /** Returns the slots: for the preallocator and for pins. */
  SegmentSlots slots() {
    return slots;
  }

  /** Returns the space accounting: for sessions and the preallocator. */
  SegmentSpace space() {
    return space;
  }

  /** Returns the largest payload of a group for a ring size, in bytes. */
  static int payloadMax(long bufferBytes) {
    return (int) (bufferBytes / 4);
  }

  /** Returns the segment size of a log: that of the file, if there is one. */
  static long segmentBytes(SegmentScan scan, LogConfig config, LogStart start) {
    return scan.segmentBytes() == 0 || isLeftOver(scan, start)
        ? config.segmentBytes()
        : scan.segmentBytes();
  }

  /** Returns whether the file is left over from another database where a new one is created. */
  private static boolean isLeftOver(SegmentScan scan, LogStart start) {
    return scan.foreign()
        && scan.segments().isEmpty()
        && start.startLsn() == Log.FIRST_LSN
        && start.redoLsn() == Log.FIRST_LSN;
  }

  /**
   * Takes over a file: keeps the segments that are needed after the redo point and frees all
   * others. Creates the first segment of this incarnation; it and everything before it are durable
   * on return.
   *
   * <p>The scanned contents are durable, including the file's length; see {@link Log#open}. If the
   * file is emptied here, the two syncs of its first slot come before the first header.
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
      while (file.space.available() < low) {
        file.slots.add(file.slots.make(() -> false));
      }
    } catch (StorageFullException e) {
      // A read-only use needs no space; an operation that begins to write gets the exception.
    }
    return file;
  }

  /** Writes the carried group durably before the header of the segment that begins with it. */
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
    space.currentRemaining(currentRemaining());
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

  /** Returns the rest of the current segment, in bytes. */
  long currentRemaining() {
    return segmentEnd - position;
  }

  /** Returns the file offset of the next group. */
  long position() {
    return position;
  }

  long number() {
    return number;
  }

  /** Moves the position past a group that is being written. */
  void advance(long bytes) {
    position += bytes;
    space.currentRemaining(currentRemaining());
    unmarked++;
    due |= fresh;
    fresh = false;
    if (notifiedIn != number && space.isScarce()) {
      // Once per segment: the preallocator checks on its own only from time to time.
      notifiedIn = number;
      space.signalWaiters();
    }
  }

  /** Called when the current segment contains a durable group, and hence has a durable header. */
  void durable() {
    slots.durable(number);
  }

  /** Returns whether a watermark is to be written with the group that starts at a position. */
  boolean isMarkDue(long start) {
    return due || unmarked >= MARK_GROUPS || start - markedAt >= MARK_BYTES;
  }

  /**
   * Puts a watermark, if one is due, into memory, to be written with the next group.
   *
   * @param durable the durable position: the start of the next group
   * @param seg receives a block
   * @param off the offset of the block
   * @return the file offset to write it to; -1 if none is due
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
   * Moves to another segment, and waits until there is a slot. The caller writes the header, in the
   * block before {@link #position}.
   *
   * @param startLsn the start of the segment
   * @param stop ends the wait
   * @return its header; null if the log ended first
   */
  @Nullable SegmentHeader next(long startLsn, SlotFile.Stop stop) {
    space.lock.lock();
    try {
      if (!space.awaitSlot(ASK_NANOS, stop)) {
        return null;
      }
      slots.busy();
      takeSlot();
      return header(startLsn);
    } finally {
      space.lock.unlock();
    }
  }

  /**
   * Durably begins a segment without a group if the current one is too far from the start of the
   * file; see {@link SegmentSlots#blocksTruncation}.
   *
   * @param startLsn the start of the segment: everything before is durable
   * @param seg memory for a block
   * @return whether the writer moved to another segment
   */
  boolean moveNearer(long startLsn, MemorySegment seg) {
    space.lock.lock();
    try {
      if (!slots.stillBlocksTruncation(current)) {
        return false;
      }
      takeSlot();
      header(startLsn).put(seg, 0);
    } finally {
      space.lock.unlock();
    }
    device.write(position - Group.BLOCK, seg, 0, Group.BLOCK);
    file.sync();
    slots.durable(number);
    slots.recycleBelow(0); // the previous segment may be free now
    return true;
  }

  /** Returns whether groups may be written concurrently; see {@link SlotFile#writesApart}. */
  boolean writesApart() {
    return file.writesApart();
  }

  /** Writes a group and syncs; see {@link SlotFile#write}. */
  void write(IoBatch group) {
    file.write(group);
  }

  /** Confirms a written group before it is acknowledged; see {@link SlotFile#confirm}. */
  void confirm() {
    file.confirm();
  }

  /** Makes the lowest free slot the current one. */
  private void takeSlot() {
    int slot = slots.take();
    number = nextNumber++;
    position = slot * segmentBytes + Group.BLOCK;
    segmentEnd = (slot + 1) * segmentBytes - Group.BLOCK;
    space.currentRemaining(currentRemaining());
    current = slot;
    fresh = true;
  }

  private SegmentHeader header(long startLsn) {
    slots.addLive(current, number, start.incarnation(), startLsn);
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
