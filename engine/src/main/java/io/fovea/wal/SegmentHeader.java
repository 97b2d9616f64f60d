package io.fovea.wal;

import io.fovea.error.IncompatibleFormatException;
import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The header of a segment: the first 92 bytes of its slot. The rest of the first block is zero. The
 * last block of the slot is not part of the segment: it may contain a {@link Watermark}.
 *
 * <pre>
 *   0       8         12         16           32       40            48          56
 *   | magic | version | checksum | database   | number | incarnation | start LSN | segment bytes |
 *
 *   64        72         80     88         92
 *   | session | previous | base | checksum |  zero: not known, as in segments of earlier releases
 * </pre>
 *
 * <p>Number 0 means a spare: an unused slot of zeros. The header is in one sector, so a crash
 * leaves the old one or the new one.
 *
 * @param database the database that the log belongs to
 * @param number counts the segments of a log; never reused; 0 for a spare
 * @param incarnation the incarnation of everything in the segment
 * @param startLsn the start of its first record, and the end of the previous segment
 * @param segmentBytes the size of a slot
 * @param session the session that wrote the segment; see {@link LogIdentity}
 * @param previous the session whose records come before those of this session
 * @param base the session that the data file named when it was opened
 */
record SegmentHeader(
    UUID database,
    long number,
    long incarnation,
    long startLsn,
    long segmentBytes,
    long session,
    long previous,
    long base) {
  static final int BYTES = 64;
  static final int VERSION = 4;

  /**
   * The oldest version that is read. Groups of version 2 have no proven LSN ({@link Group}). Commit
   * operations of version 3 and earlier name no leaf. The version was raised so that earlier
   * releases reject the new form instead of reporting damage.
   */
  static final int OLDEST = 2;

  private static final long MAGIC = 0x474F_4C41_4556_4F46L; // "FOVEALOG"
  private static final int CHECKSUM = 12;
  private static final int SESSION = 64;
  private static final int PREVIOUS = 72;
  private static final int BASE = 80;
  private static final int SESSION_CHECKSUM = 88;

  /** The largest segment size ({@code LogOptions.segmentBytes}). */
  private static final long SEGMENT_MAX = 1L << 30;

  /** Creates a header without sessions. */
  SegmentHeader(UUID database, long number, long incarnation, long startLsn, long segmentBytes) {
    this(database, number, incarnation, startLsn, segmentBytes, 0, 0, 0);
  }

  /** Returns the space for groups in a segment: all but the first and the last block. */
  static long capacity(long segmentBytes) {
    return segmentBytes - 2 * Group.BLOCK;
  }

  /** Writes a block with the header. */
  void put(MemorySegment seg, long off) {
    Mem.zero(seg, off, Group.BLOCK);
    Mem.putLong(seg, off, MAGIC);
    Mem.putInt(seg, off + 8, VERSION);
    Mem.putLong(seg, off + 16, database.getMostSignificantBits());
    Mem.putLong(seg, off + 24, database.getLeastSignificantBits());
    Mem.putLong(seg, off + 32, number);
    Mem.putLong(seg, off + 40, incarnation);
    Mem.putLong(seg, off + 48, startLsn);
    Mem.putLong(seg, off + 56, segmentBytes);
    Mem.putInt(seg, off + CHECKSUM, sum(seg, off));
    if (session != 0) {
      Mem.putLong(seg, off + SESSION, session);
      Mem.putLong(seg, off + PREVIOUS, previous);
      Mem.putLong(seg, off + BASE, base);
      Mem.putInt(seg, off + SESSION_CHECKSUM, sessionSum(seg, off));
    }
  }

  /** Computes the checksum of the sessions and of the header they belong to. */
  private static int sessionSum(MemorySegment seg, long off) {
    return Checksum.crc32c(Mem.getInt(seg, off + CHECKSUM), seg, off + SESSION, 24);
  }

  private static int sum(MemorySegment seg, long off) {
    return Checksum.crc32c(Mem.getInt(seg, off + 8), seg, off + 16, BYTES - 16);
  }

  /**
   * Reads a header.
   *
   * @return null if there is none, or a damaged one
   * @throws IncompatibleFormatException if it has an unsupported version
   */
  static @Nullable SegmentHeader parse(MemorySegment seg, long off) {
    if (Mem.getLong(seg, off) != MAGIC || Mem.getInt(seg, off + CHECKSUM) != sum(seg, off)) {
      return null;
    }
    int version = Mem.getInt(seg, off + 8);
    if (version < OLDEST || version > VERSION) {
      throw new IncompatibleFormatException(
          "The log has format version "
              + version
              + "; this release reads versions "
              + OLDEST
              + " to "
              + VERSION
              + ".");
    }
    boolean known = Mem.getInt(seg, off + SESSION_CHECKSUM) == sessionSum(seg, off);
    SegmentHeader header =
        new SegmentHeader(
            new UUID(Mem.getLong(seg, off + 16), Mem.getLong(seg, off + 24)),
            Mem.getLong(seg, off + 32),
            Mem.getLong(seg, off + 40),
            Mem.getLong(seg, off + 48),
            Mem.getLong(seg, off + 56),
            known ? Mem.getLong(seg, off + SESSION) : 0,
            known ? Mem.getLong(seg, off + PREVIOUS) : 0,
            known ? Mem.getLong(seg, off + BASE) : 0);
    return header.isSane() ? header : null;
  }

  private boolean isSane() {
    return segmentBytes >= 3 * Group.BLOCK
        && (segmentBytes & Group.BLOCK - 1) == 0
        && segmentBytes <= SEGMENT_MAX
        && number >= 0
        && startLsn >= 0
        && (startLsn & 7) == 0;
  }
}
