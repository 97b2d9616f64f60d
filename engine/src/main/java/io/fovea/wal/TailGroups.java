package io.fovea.wal;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.UUID;

/**
 * The last groups found in a log, which become the first group of the next incarnation.
 *
 * <p>A group names the position that was durable when it was assembled. Nothing is known about
 * records beyond it: after a failed sync, reads may return bytes from a cache that are not on the
 * medium and that no later sync writes. To make these records durable they must be rewritten, and
 * rewriting in place could destroy them. So the records of all groups that were in flight at the
 * end ({@link InFlightGroups}) go into the new segment as one group, at the same positions:
 *
 * <pre>
 *   old   │ ... │ group from S: r1 │ group: r2 r3 ‖ torn │ group after the gap       r3 ends at X
 *   new   │ segment from S │ group from S: r1 r2 r3 │ from X on: new records
 * </pre>
 *
 * <p>They fit into one group, since the groups in flight together are limited to that size.
 */
final class TailGroups implements AutoCloseable {
  /** One of the groups: the file offset of its records, and their range of positions. */
  private record Piece(long offset, long start, int payload) {
    long end() {
      return start + payload;
    }
  }

  private final ReadWindow window;
  private final SegmentScan.Found segment;
  private final ArrayDeque<Piece> pieces;
  private final long start;
  private final int payload;

  private TailGroups(ReadWindow window, SegmentScan.Found segment, ArrayDeque<Piece> pieces) {
    this.window = window;
    this.segment = segment;
    this.pieces = pieces;
    this.start = pieces.getFirst().start;
    this.payload = (int) (pieces.getLast().end() - start);
  }

  /**
   * Finds the last groups.
   *
   * @param end the end of the log
   * @throws CorruptionException if the log does not end there, or more is unproven than can have
   *     been in flight
   */
  static TailGroups find(BlockDevice device, SegmentScan scan, UUID database, long end) {
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
    ArrayDeque<Piece> pieces = new ArrayDeque<>();
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
      int before = Group.header(memory, group);
      long proven = Group.proven(memory, group);
      while (!pieces.isEmpty() && pieces.getFirst().end() <= proven) {
        pieces.removeFirst();
      }
      pieces.add(new Piece(offset + before, at, (int) Math.min(payload, end - at)));
      if (at + payload >= end) {
        TailGroups last = new TailGroups(window, segment, pieces);
        if (end - last.start <= SegmentHeader.capacity(header.segmentBytes()) - Group.HEADER) {
          return last;
        }
        break;
      }
      at += payload;
      offset += Group.fileBytes(before, payload);
    }
    window.close();
    throw new CorruptionException("end of the log", -1, offset, end, at);
  }

  long start() {
    return start;
  }

  /** Returns the file space of the combined group. */
  int bytes() {
    return (int) Group.fileBytes(payload);
  }

  /** Writes the combined group, as a group of another segment. */
  void put(MemorySegment target, LogStart as, long number) {
    Mem.zero(target, 0, bytes());
    Group.put(target, 0, as.database(), as.incarnation(), number, start, start, payload);
    for (Piece piece : pieces) {
      copy(piece, target, Group.HEADER + piece.start - start, as.incarnation());
    }
  }

  private void copy(Piece piece, MemorySegment target, long to, long as) {
    long from = window.at(piece.offset, piece.payload, piece.offset + piece.payload);
    MemorySegment.copy(window.memory(), from, target, to, piece.payload);
    long incarnation = segment.header().incarnation();
    for (long done = 0; done < piece.payload; ) {
      long at = piece.start + done;
      long word = Mem.getLong(window.memory(), from + done);
      int length = Record.length(word);
      if (length < Record.WORD
          || length > piece.payload - done
          || Record.sum(window.sums(), from + done, at, incarnation, length)
              != Record.checksum(word)) {
        throw new CorruptionException(
            "log record at position " + at, -1, piece.offset + done, 0, 0);
      }
      int sum = Record.sum(window.sums(), from + done, at, as, length);
      Mem.putLong(target, to + done, Record.word(length, sum));
      done += Record.aligned(length);
    }
  }

  @Override
  public void close() {
    window.close();
  }
}
