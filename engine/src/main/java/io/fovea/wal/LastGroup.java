package io.fovea.wal;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.UUID;

/**
 * The last group that was found in a log, for the first group of the next incarnation.
 *
 * <p>Everything before the last group was synced before that group was written. Of the group itself
 * nobody knows: its sync may have failed, and then reads may return, out of a cache, what is not on
 * the medium and what no later sync writes any more. To say that it is durable, it must be written
 * again; to write it in place could destroy what is there. So its records go into the new segment,
 * under the same positions:
 *
 * <pre>
 *   old   │ ... │ group from S: r1 r2 ‖ torn          r2 ends at X
 *   new   │ segment from S │ group from S: r1 r2 │ from X on what is appended
 * </pre>
 */
final class LastGroup implements AutoCloseable {
  private final ReadWindow window;
  private final SegmentScan.Found segment;
  private final long offset;
  private final long start;
  private final int payload;

  private LastGroup(
      ReadWindow window, SegmentScan.Found segment, long offset, long start, int payload) {
    this.window = window;
    this.segment = segment;
    this.offset = offset;
    this.start = start;
    this.payload = payload;
  }

  /**
   * Finds it.
   *
   * @param end where the log ends
   * @throws CorruptionException where it does not
   */
  static LastGroup find(BlockDevice device, SegmentScan scan, UUID database, long end) {
    int i = scan.segments().size() - 1;
    while (i >= 0 && scan.segments().get(i).startLsn() >= end) {
      i--;
    }
    if (i < 0) {
      throw new CorruptionException("end of the log", -1, -1, end, 0);
    }
    SegmentScan.Found segment = scan.segments().get(i);
    SegmentHeader header = segment.header();
    long segmentEnd = segment.offset() + header.segmentBytes() - Group.BLOCK;
    ReadWindow window = new ReadWindow(device);
    long at = segment.startLsn();
    long offset = segment.offset() + Group.BLOCK;
    while (offset + Group.BLOCK <= segmentEnd) {
      long group = window.at(offset, Group.HEADER, segmentEnd);
      MemorySegment memory = window.memory();
      if (!Group.isValid(memory, group, database, header.incarnation(), header.number())
          || Group.start(memory, group) != at) {
        break;
      }
      int payload = Group.payload(memory, group);
      if (at + payload >= end) {
        return new LastGroup(window, segment, offset, at, (int) (end - at));
      }
      at += payload;
      offset += Group.fileBytes(payload);
    }
    window.close();
    throw new CorruptionException("end of the log", -1, offset, end, at);
  }

  /** Where it starts. */
  long start() {
    return start;
  }

  /** How much space it takes. */
  int bytes() {
    return (int) Group.fileBytes(payload);
  }

  /** Puts it, as a group of another segment. */
  void put(MemorySegment target, LogStart as, long number) {
    Mem.zero(target, 0, bytes());
    Group.put(target, 0, as.database(), as.incarnation(), number, start, payload);
    long from = window.at(offset + Group.HEADER, payload, offset + bytes());
    MemorySegment.copy(window.memory(), from, target, Group.HEADER, payload);
    long incarnation = segment.header().incarnation();
    for (long done = 0; done < payload; ) {
      long word = Mem.getLong(window.memory(), from + done);
      int length = Record.length(word);
      if (length < Record.WORD
          || length > payload - done
          || Record.sum(window.sums(), from + done, start + done, incarnation, length)
              != Record.checksum(word)) {
        throw new CorruptionException(
            "log record at position " + (start + done), -1, offset + Group.HEADER + done, 0, 0);
      }
      int sum = Record.sum(window.sums(), from + done, start + done, as.incarnation(), length);
      Mem.putLong(target, Group.HEADER + done, Record.word(length, sum));
      done += Record.aligned(length);
    }
  }

  @Override
  public void close() {
    window.close();
  }
}
