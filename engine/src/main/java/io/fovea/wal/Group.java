package io.fovea.wal;

import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.UUID;

/**
 * The header of a group: the unit that one write and one sync make durable.
 *
 * <pre>
 *   0       4          8         12                  16          24               32
 *   | magic | checksum | payload | incarnation (low) | start LSN | segment number | proven LSN |
 *   40 bytes, then the payload: whole records; then zeros to the end of the block of 4 KiB
 * </pre>
 *
 * <p>The checksum covers the header only (bytes 8..40, seeded with the database id). Records have
 * their own checksums, so the whole records of a torn group can be recognized.
 *
 * <p>The proven LSN is a watermark: everything before it was durable when the group was assembled.
 * It equals the start LSN if no other group was in flight ({@link InFlightGroups}) and is less
 * otherwise. A group therefore proves nothing about the groups written concurrently: after a crash
 * it may be present and they may be missing.
 *
 * <p>Groups of version 2 segments have a different magic number, a 32-byte header and no proven
 * LSN. They were written one after the other, so their start LSN is proven.
 *
 * <p>The segment number distinguishes a group from earlier contents of a recycled slot: numbers are
 * never reused.
 */
final class Group {
  static final int HEADER = 40;
  static final int BLOCK = 4096;
  static final int PAYLOAD = 8;
  static final int START = 16;

  /** The largest payload: a quarter of the largest ring. */
  static final int PAYLOAD_MAX = 1 << 28;

  private static final int MAGIC = 0x4652_5646; // "FVRF"
  private static final int MAGIC_ALONE = 0x4752_5646; // "FVRG"
  private static final int HEADER_ALONE = 32;
  private static final int CHECKSUM = 4;
  private static final int INCARNATION = 12;
  private static final int NUMBER = 24;
  private static final int PROVEN = 32;

  private Group() {}

  /** Returns the file space of a group, in bytes. */
  static long fileBytes(long payload) {
    return fileBytes(HEADER, payload);
  }

  /** Returns the file space of a group that was read, in bytes. */
  static long fileBytes(int header, long payload) {
    return header + payload + BLOCK - 1 & -BLOCK;
  }

  /** Returns the header size of the group that was read. */
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

  /** Returns whether there is a valid group header of this database, for any segment. */
  static boolean isValid(MemorySegment seg, long off, UUID database) {
    int magic = Mem.getInt(seg, off);
    return (magic == MAGIC || magic == MAGIC_ALONE)
        && Mem.getInt(seg, off + CHECKSUM) == sum(seg, off, database);
  }

  /** Returns whether there is a valid group header of this segment. */
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

  /** Returns the position up to which everything was durable; at most the group's start. */
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
