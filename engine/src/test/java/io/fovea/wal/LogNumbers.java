package io.fovea.wal;

import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;

/**
 * All segment numbers in the file of a log, valid or not, for tests of other packages. Segment
 * numbers must never be reused, since remnants would then look valid.
 *
 * @param headers of segments, by number
 * @param groups in file order, including those without a segment header
 */
public record LogNumbers(List<Numbered> headers, List<Numbered> groups) {
  /**
   * A header with numbers.
   *
   * @param offset its offset in the file
   * @param segment the number of the segment
   * @param incarnation its incarnation; of a group only the low half
   * @param start its position
   */
  public record Numbered(long offset, long segment, int incarnation, long start) {}

  /** Reads all blocks of a file. */
  public static LogNumbers of(BlockDevice device, UUID database) {
    List<Numbered> headers = new ArrayList<>();
    List<Numbered> groups = new ArrayList<>();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment block = arena.allocate(Group.BLOCK, Group.BLOCK);
      for (long at = 0; at + Group.BLOCK <= device.size(); at += Group.BLOCK) {
        device.read(at, block, 0, Group.BLOCK);
        SegmentHeader h = SegmentHeader.parse(block, 0);
        if (h != null) {
          boolean counts = h.number() > 0 && h.database().equals(database);
          if (!counts || at % h.segmentBytes() != 0) {
            continue;
          }
          headers.add(new Numbered(at, h.number(), (int) h.incarnation(), h.startLsn()));
        } else if (Group.isValid(block, 0, database)) {
          long number = Mem.getLong(block, 24); // see Group
          int incarnation = Mem.getInt(block, 12);
          groups.add(new Numbered(at, number, incarnation, Group.start(block, 0)));
        }
      }
    }
    headers.sort(Comparator.comparingLong(Numbered::segment));
    return new LogNumbers(headers, groups);
  }

  /**
   * Describes what is wrong with the numbers assigned since an earlier state; empty if they are
   * right.
   */
  public String faultSince(LogNumbers before) {
    Numbered last = headers.getLast();
    for (Numbered h : before.headers) {
      if (h.segment >= last.segment) {
        return "segment " + last + " was begun in place of " + h;
      }
    }
    for (Numbered g : before.groups) {
      if (g.segment == last.segment && g.incarnation == last.incarnation) {
        return "segment " + last + " was begun in place of group " + g;
      }
    }
    for (int i = 1; i < headers.size(); i++) {
      Numbered one = headers.get(i - 1);
      Numbered two = headers.get(i);
      if (one.segment == two.segment) {
        return "two segments with the same number: " + one + ", " + two;
      }
      if (one.incarnation > two.incarnation) {
        return "an incarnation number that decreases: " + one + ", " + two;
      }
    }
    return "";
  }
}
