package io.fovea.wal;

import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A position up to which a log is known to have been durable. It is stored apart from the end of
 * the log, so that an end before it is distinguished from a group torn by a crash.
 *
 * <pre>
 *   superblock        the log was durable up to 90000, segment 6 had begun      each checkpoint
 *   trailer of a slot the log was durable up to 93000, segment 7 had begun      {@link SegmentFile}
 *   the log's end     91500, in segment 7                                       damage: 93000 was acknowledged
 * </pre>
 *
 * <p>What was durable once stays durable, so an old watermark remains true wherever it is found; a
 * newer one only says more. The highest one counts. The end of a log never goes back below it,
 * whatever a crash tears off.
 *
 * <p>In the last block of a slot:
 *
 * <pre>
 *   0       8          12     16    24        32
 *   | magic | checksum | zero | LSN | segment |      one sector: a crash leaves the old one or the new one
 *             of 16 to 31, seeded with the database
 * </pre>
 *
 * @param lsn everything before it was durable; 0 if not known
 * @param segment this segment had a durable header; 0 if not known
 */
public record Watermark(long lsn, long segment) {
  /** The watermark that says nothing. */
  public static final Watermark NONE = new Watermark(0, 0);

  private static final long MAGIC = 0x4B52_4D41_4556_4F46L; // "FOVEAMRK"
  private static final int CHECKSUM = 8;
  private static final int LSN = 16;
  private static final int SEGMENT = 24;
  private static final int END = 32;

  /** Returns the higher position and the higher segment of the two. */
  public Watermark max(Watermark other) {
    return new Watermark(Math.max(lsn, other.lsn), Math.max(segment, other.segment));
  }

  /** Writes a block with the watermark. */
  void put(MemorySegment seg, long off, UUID database) {
    Mem.zero(seg, off, Group.BLOCK);
    Mem.putLong(seg, off, MAGIC);
    Mem.putLong(seg, off + LSN, lsn);
    Mem.putLong(seg, off + SEGMENT, segment);
    Mem.putInt(seg, off + CHECKSUM, sum(seg, off, database));
  }

  /** Reads a watermark; returns null if there is none of this database. */
  static @Nullable Watermark parse(MemorySegment seg, long off, UUID database) {
    return Mem.getLong(seg, off) == MAGIC
            && Mem.getInt(seg, off + CHECKSUM) == sum(seg, off, database)
        ? new Watermark(Mem.getLong(seg, off + LSN), Mem.getLong(seg, off + SEGMENT))
        : null;
  }

  private static int sum(MemorySegment seg, long off, UUID database) {
    return Checksum.crc32c(
        database.getMostSignificantBits(),
        database.getLeastSignificantBits(),
        seg,
        off + LSN,
        END - LSN);
  }
}
