package io.fovea.wal;

import io.fovea.io.BlockDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;

/**
 * The layout of a whole log's file, for tests of other packages.
 *
 * @param slotBytes the size of a slot
 * @param groups the readable groups of all segments, in order
 * @param watermark the durable position according to the trailers
 */
public record LogMap(long slotBytes, List<Grp> groups, Watermark watermark) {
  /**
   * A group.
   *
   * @param offset its offset in the file
   * @param bytes its size in the file
   * @param start the position of its first record
   * @param end the end of its last record
   * @param segment the number of its segment
   */
  public record Grp(long offset, long bytes, long start, long end, long segment) {}

  /** Reads the headers of a log, from a position on. */
  public static LogMap of(BlockDevice device, UUID database, long fromLsn) {
    SegmentScan scan = SegmentScan.of(device, database);
    List<Grp> groups = new ArrayList<>();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment block = arena.allocate(Group.BLOCK, Group.BLOCK);
      for (SegmentScan.Found found : scan.segments()) {
        SegmentHeader h = found.header();
        long expected = h.startLsn();
        for (long at = found.offset() + Group.BLOCK;
            at + 2 * Group.BLOCK <= found.offset() + scan.segmentBytes(); ) {
          device.read(at, block, 0, Group.BLOCK);
          if (!Group.isValid(block, 0, database, h.incarnation(), h.number())
              || Group.start(block, 0) != expected) {
            break;
          }
          int payload = Group.payload(block, 0);
          expected += payload;
          if (expected > fromLsn) {
            groups.add(
                new Grp(
                    at,
                    Group.fileBytes(Group.header(block, 0), payload),
                    expected - payload,
                    expected,
                    h.number()));
          }
          at += Group.fileBytes(Group.header(block, 0), payload);
        }
      }
    }
    groups.sort(Comparator.comparingLong(Grp::start).thenComparingLong(Grp::segment));
    return new LogMap(scan.segmentBytes(), groups, scan.watermark());
  }

  /** Returns the newest group. */
  public Grp last() {
    return groups.getLast();
  }

  /** Returns how many groups the newest segment has. */
  public long newest() {
    return groups.stream().filter(g -> g.segment() == last().segment()).count();
  }

  /** Returns the offset of a slot's trailer. */
  public long trailer(int slot) {
    return (slot + 1) * slotBytes - Group.BLOCK;
  }
}
