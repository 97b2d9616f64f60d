package io.fovea.wal;

import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.UUID;

/**
 * The header of a group: what one write and one sync make durable.
 *
 * <pre>
 *   0       4          8         12                  16          24               32
 *   | magic | checksum | payload | incarnation (low) | start LSN | segment number | proven LSN |
 *   40 bytes, then the payload: whole records; then zeros to the end of the block of 4 KiB
 * </pre>
 *
 * <p>The checksum covers the header and nothing else (bytes 8..40, seeded with the database):
 * records have their own. So it can be told how far a group that was torn is whole.
 *
 * <p>The proven LSN is a watermark: everything before it was durable when the group was put
 * together. It is the start LSN where no other group was in the air ({@link InFlightGroups}), and
 * less where some were. So a group says nothing of those that were written at the same time: after
 * a crash it may be there, and they may not.
 *
 * <p>Groups of segments of version 2 have another magic, no proven LSN, and so 32 bytes. They were
 * written one after the other: what is proven is their start LSN.
 *
 * <p>The segment's number keeps apart what a recycled slot held before: numbers are never used
 * twice.
 */
final class Group {
  static final int HEADER = 40;
  static final int BLOCK = 4096;
  static final int PAYLOAD = 8;
  static final int START = 16;

  /** More than that is in no group: a quarter of the largest ring. */
  static final int PAYLOAD_MAX = 1 << 28;

  private static final int MAGIC = 0x4652_5646; // "FVRF"
  private static final int MAGIC_ALONE = 0x4752_5646; // "FVRG"
  private static final int HEADER_ALONE = 32;
  private static final int CHECKSUM = 4;
  private static final int INCARNATION = 12;
  private static final int NUMBER = 24;
  private static final int PROVEN = 32;

  private Group() {}

  /** How many bytes of the file a group with so much payload takes. */
  static long fileBytes(long payload) {
    return fileBytes(HEADER, payload);
  }

  /** The same, for one that was read. */
  static long fileBytes(int header, long payload) {
    return header + payload + BLOCK - 1 & -BLOCK;
  }

  /** How many bytes the header has that is there. */
  static int header(MemorySegment seg, long off) {
    return Mem.getInt(seg, off) == MAGIC_ALONE ? HEADER_ALONE : HEADER;
  }

  static void put(
      MemorySegment seg,
      long off,
      UUID database,
      long incarnation,
      long number,
      long start,
      long proven,
      int payload) {
    Mem.putInt(seg, off, MAGIC);
    Mem.putInt(seg, off + PAYLOAD, payload);
    Mem.putInt(seg, off + INCARNATION, (int) incarnation);
    Mem.putLong(seg, off + START, start);
    Mem.putLong(seg, off + NUMBER, number);
    Mem.putLong(seg, off + PROVEN, proven);
    Mem.putInt(seg, off + CHECKSUM, sum(seg, off, database));
  }

  /** Whether there is the header of a group of some segment of the database. */
  static boolean isValid(MemorySegment seg, long off, UUID database) {
    int magic = Mem.getInt(seg, off);
    return (magic == MAGIC || magic == MAGIC_ALONE)
        && Mem.getInt(seg, off + CHECKSUM) == sum(seg, off, database);
  }

  /** Whether there is the header of a group of this segment. */
  static boolean isValid(
      MemorySegment seg, long off, UUID database, long incarnation, long number) {
    return isValid(seg, off, database)
        && Mem.getInt(seg, off + INCARNATION) == (int) incarnation
        && Mem.getLong(seg, off + NUMBER) == number;
  }

  static int payload(MemorySegment seg, long off) {
    return Mem.getInt(seg, off + PAYLOAD);
  }

  static long start(MemorySegment seg, long off) {
    return Mem.getLong(seg, off + START);
  }

  /** Everything before it was durable when the group was put together; no more than its start. */
  static long proven(MemorySegment seg, long off) {
    long start = start(seg, off);
    return header(seg, off) == HEADER ? Math.min(start, Mem.getLong(seg, off + PROVEN)) : start;
  }

  private static int sum(MemorySegment seg, long off, UUID database) {
    return Checksum.crc32c(
        database.getMostSignificantBits(),
        database.getLeastSignificantBits(),
        seg,
        off + PAYLOAD,
        header(seg, off) - PAYLOAD);
  }
}
