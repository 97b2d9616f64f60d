package io.fovea.wal;

import io.fovea.io.BlockDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;

/**
 * For tests of other packages: what lies where in the file of a whole log.
 *
 * @param slotBytes the size of a slot
 * @param groups the groups of all segments that are still to be read, in their order
 * @param watermark how far the trailers say that the log was durable
 */
public record LogMap(long slotBytes, List<Grp> groups, Watermark watermark) {
  /**
   * A group.
   *
   * @param offset where it begins in the file
   * @param bytes how much of the file it takes
   * @param start the position of its first record
   * @param end where the last one ends
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

  /** The newest group. */
  public Grp last() {
    return groups.getLast();
  }

  /** How many groups the newest segment has. */
  public long newest() {
    return groups.stream().filter(g -> g.segment() == last().segment()).count();
  }

  /** Where the trailer of a slot is. */
  public long trailer(int slot) {
    return (slot + 1) * slotBytes - Group.BLOCK;
  }
}
