package io.fovea.wal;

import io.fovea.io.BlockDevice;
import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Damages a log while keeping its checksums valid, for tests of other packages. */
public final class Forger {
  /** A part of a log with a checksum. */
  public sealed interface Part {
    /** Returns its offset in the file. */
    long offset();

    /** Returns its length in bytes. */
    int length();

    /** Makes the checksum valid; the memory contains exactly this part. */
    void seal(MemorySegment bytes);
  }

  private record Header(long offset) implements Part {
    @Override
    public int length() {
      return SegmentHeader.BYTES;
    }

    @Override
    public void seal(MemorySegment bytes) {
      Mem.putInt(
          bytes, 12, Checksum.crc32c(Mem.getInt(bytes, 8), bytes, 16, SegmentHeader.BYTES - 16));
    }
  }

  private record GroupHeader(long offset, UUID database) implements Part {
    @Override
    public int length() {
      return Group.HEADER;
    }

    @Override
    public void seal(MemorySegment bytes) {
      long most = database.getMostSignificantBits();
      long least = database.getLeastSignificantBits();
      Mem.putInt(bytes, 4, Checksum.crc32c(most, least, bytes, 8, Group.HEADER - 8));
    }
  }

  private record Rec(long offset, int length, long start, long incarnation) implements Part {
    @Override
    public void seal(MemorySegment bytes) {
      // Uses the length of the file: a forged one would only look like the end of the log.
      int sum = Record.sum(new Checksum.Reusable(bytes), 0, start, incarnation, length);
      Mem.putLong(bytes, 0, Record.word(length, sum));
    }
  }

  private Forger() {}

  /** Returns all parts with checksums of a whole log. */
  public static List<Part> parts(BlockDevice device, UUID database) {
    List<Part> parts = new ArrayList<>();
    SegmentScan scan = SegmentScan.of(device, database);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment block = arena.allocate(scan.segmentBytes(), Group.BLOCK);
      for (SegmentScan.Found found : scan.segments()) {
        parts.add(new Header(found.offset()));
        device.read(found.offset(), block, 0, (int) scan.segmentBytes());
        long at = Group.BLOCK;
        SegmentHeader h = found.header();
        while (at + 2 * Group.BLOCK <= scan.segmentBytes()
            && Group.isValid(block, at, database, h.incarnation(), h.number())) {
          parts.add(new GroupHeader(found.offset() + at, database));
          long record = at + Group.HEADER;
          long start = Group.start(block, at);
          long end = Math.min(record + Group.payload(block, at), scan.segmentBytes() - Group.BLOCK);
          while (record < end) {
            int length = Record.length(Mem.getLong(block, record));
            if (length < Record.WORD || length > end - record) {
              break; // left over from an earlier forgery, or from the slot's previous use
            }
            if (length >= Record.HEADER) {
              parts.add(new Rec(found.offset() + record, length, start, h.incarnation()));
            }
            record += Record.aligned(length);
            start += Record.aligned(length);
          }
          at += Math.max(Group.BLOCK, Group.fileBytes(Group.payload(block, at)));
        }
      }
    }
    return parts;
  }
}
