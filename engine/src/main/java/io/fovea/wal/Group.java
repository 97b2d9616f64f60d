package io.fovea.wal;

import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.UUID;

/**
 * The header of a group: what one write and one sync make durable.
 *
 * <pre>
 *   0       4          8         12                  16          24
 *   | magic | checksum | payload | incarnation (low) | start LSN | segment number |   32 bytes
 *   then the payload: whole records; then zeros to the end of the block of 4 KiB
 * </pre>
 *
 * <p>The checksum covers the header and nothing else (bytes 0..4 and 8..32, seeded with the
 * database): records have their own. So it can be told how far a group that was torn is whole.
 *
 * <p>The start LSN is a watermark. The writer syncs a group before it writes the next, so that a
 * group that starts at S is proof that everything before S was durable.
 *
 * <p>The segment's number keeps apart what a recycled slot held before: numbers are never used
 * twice.
 */
final class Group {
  static final int HEADER = 32;
  static final int BLOCK = 4096;
  static final int PAYLOAD = 8;
  static final int START = 16;

  /** More than that is in no group: a quarter of the largest ring. */
  static final int PAYLOAD_MAX = 1 << 28;

  private static final int MAGIC = 0x4752_5646; // "FVRG"
  private static final int CHECKSUM = 4;
  private static final int INCARNATION = 12;
  private static final int NUMBER = 24;

  private Group() {}

  /** How many bytes of the file a group with so much payload takes. */
  static long fileBytes(long payload) {
    return HEADER + payload + BLOCK - 1 & -BLOCK;
  }

  static void put(
      MemorySegment seg,
      long off,
      UUID database,
      long incarnation,
      long number,
      long start,
      int payload) {
    Mem.putInt(seg, off, MAGIC);
    Mem.putInt(seg, off + PAYLOAD, payload);
    Mem.putInt(seg, off + INCARNATION, (int) incarnation);
    Mem.putLong(seg, off + START, start);
    Mem.putLong(seg, off + NUMBER, number);
    Mem.putInt(seg, off + CHECKSUM, sum(seg, off, database));
  }

  /** Whether there is the header of a group of some segment of the database. */
  static boolean isValid(MemorySegment seg, long off, UUID database) {
    return Mem.getInt(seg, off) == MAGIC
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

  private static int sum(MemorySegment seg, long off, UUID database) {
    return Checksum.crc32c(
        database.getMostSignificantBits(),
        database.getLeastSignificantBits(),
        seg,
        off + PAYLOAD,
        HEADER - PAYLOAD);
  }
}
