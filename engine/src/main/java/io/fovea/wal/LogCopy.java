package io.fovea.wal;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Copies a part of a log from a file that is being appended to. The copy is a log that ends at a
 * given position.
 *
 * <pre>
 *   source   | segment 7 | segment 5 | segment 6 | spare |     slots in any order
 *                  ▲ from 5's start ...  to, in 7
 *   copy     | segment 5 | segment 6 | segment 7, cut |        needed ones only, in order
 * </pre>
 *
 * <p><b>Concurrent writes.</b> A block with durable records is not written again while a pin keeps
 * its segment, and everything copied was durable before the copy began: groups that start before
 * {@code to}.
 *
 * <p><b>The cut.</b> A group may be read while only half of it is written, and a later group, begun
 * when that one was durable, may be read whole. The half group would then look like damage below
 * the position that the later group names. So the copy contains zeros in place of all groups that
 * start at or after {@code to}, and in place of any {@link Watermark} of the source beyond the end
 * of the copy.
 *
 * <p>Used by one thread.
 */
public final class LogCopy {
  /** Receives the bytes of the copy, from beginning to end. */
  public interface Sink {
    /** Receives the next bytes. */
    void write(MemorySegment seg, long off, int len) throws IOException;
  }

  private final BlockDevice device;
  private final UUID database;
  private final long from;
  private final long to;
  private final long segmentBytes;
  private final List<SegmentScan.Found> segments = new ArrayList<>();

  /**
   * Finds the segments, which the caller protects from recycling, for example by {@link Log#pin}.
   *
   * @param device the log
   * @param database the database it belongs to
   * @param from the copy begins here or earlier
   * @param to the end of the copy; the log is durable up to here
   * @throws CorruptionException if segments are missing
   */
  public LogCopy(BlockDevice device, UUID database, long from, long to) {
    this.device = device;
    this.database = database;
    this.from = from;
    this.to = to;
    SegmentScan scan = SegmentScan.of(device, database);
    this.segmentBytes = scan.segmentBytes();
    for (SegmentScan.Found found : scan.segments()) {
      if (found.startLsn() <= from) {
        segments.clear(); // the earlier ones end here
      }
      if (found.startLsn() <= to) {
        segments.add(found);
      }
    }
    if (segments.isEmpty() || segments.getFirst().startLsn() > from) {
      throw new CorruptionException(
          "the start of the log",
          -1,
          0,
          from,
          segments.isEmpty() ? -1 : segments.getFirst().startLsn());
    }
  }

  public long bytes() {
    return segments.size() * segmentBytes;
  }

  /**
   * Copies.
   *
   * @param sink receives the copy
   * @param buffer a scratch buffer; a whole number of blocks
   * @throws CorruptionException if the log ends too early
   */
  public void run(Sink sink, MemorySegment buffer) throws IOException {
    for (int i = 0; i < segments.size(); i++) {
      boolean last = i + 1 == segments.size();
      copy(segments.get(i), last ? to : segments.get(i + 1).startLsn(), sink, buffer);
    }
  }

  /** Copies a segment up to the start of the next one; the last one up to the cut. */
  private void copy(SegmentScan.Found segment, long limit, Sink sink, MemorySegment buffer)
      throws IOException {
    long covered = segment.startLsn();
    long at = segment.offset();
    long end = at + segmentBytes - Group.BLOCK;
    device.read(at, buffer, 0, Group.BLOCK);
    sink.write(buffer, 0, Group.BLOCK);
    at += Group.BLOCK;
    while (at < end) {
      device.read(at, buffer, 0, Group.BLOCK);
      if (!Group.isValid(
              buffer, 0, database, segment.header().incarnation(), segment.header().number())
          || Group.start(buffer, 0) >= limit) {
        break;
      }
      int payload = Group.payload(buffer, 0);
      long bytes = Group.fileBytes(Group.header(buffer, 0), payload);
      if (payload < 0 || at + bytes > end) {
        throw new CorruptionException("length of a group of the log", -1, at, end - at, bytes);
      }
      covered = Math.max(covered, Group.start(buffer, 0) + payload);
      at = through(at, at + bytes, sink, buffer);
    }
    if (covered < limit) {
      throw new CorruptionException("the end of a segment of the log", -1, at, limit, covered);
    }
    Mem.zero(buffer, 0, buffer.byteSize());
    while (at < end) {
      int n = (int) Math.min(buffer.byteSize(), end - at);
      sink.write(buffer, 0, n);
      at += n;
    }
    // The whole copy is durable before it is used. With this watermark recovery can write pages of
    // the last group with a small pool.
    new Watermark(to, lastNumber()).put(buffer, 0, database);
    sink.write(buffer, 0, Group.BLOCK);
  }

  private long lastNumber() {
    return segments.getLast().header().number();
  }

  private long through(long from, long end, Sink sink, MemorySegment buffer) throws IOException {
    for (long at = from; at < end; ) {
      int n = (int) Math.min(buffer.byteSize(), end - at);
      device.read(at, buffer, 0, n);
      sink.write(buffer, 0, n);
      at += n;
    }
    return end;
  }
}
