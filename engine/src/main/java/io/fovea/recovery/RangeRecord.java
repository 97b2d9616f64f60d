package io.fovea.recovery;

import io.fovea.btree.KeyRange;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * The format of a RANGE record: a part of a commit, which removes all keys of an interval of a
 * tree.
 *
 * <pre>
 *   0    8         12      14           16            18     20
 *   +----+---------+-------+------------+-------------+------+-----------+-----------+
 *   | id | tree id | ends  | low length | high length | zero | low bytes | high bytes |
 *   | 64 | 32      | 16    | 16         | 16          | 16   |           |           |
 *   +----+---------+-------+------------+-------------+------+-----------+-----------+
 * </pre>
 *
 * <p>The id is the start of the commit's CATALOG record, which is its first part. Bits of
 * <i>ends</i>: 0 means that there is a lower end, 1 that it is inclusive; 2 and 3 mean the same for
 * the upper end. A missing end has length 0.
 *
 * <p>An instance reads one record after the other, and validates each. Used by one thread.
 */
public final class RangeRecord {
  private static final int HEADER = 20;
  private static final int LOW = 1;
  private static final int LOW_INCLUSIVE = 2;
  private static final int HIGH = 4;
  private static final int HIGH_INCLUSIVE = 8;

  private long id;
  private int treeId;
  private KeyRange range =
      new KeyRange(MemorySegment.NULL, 0, -1, false, MemorySegment.NULL, 0, -1, false);

  /** Creates a reader without a record. */
  public RangeRecord() {}

  /**
   * Appends a record.
   *
   * @param log a session that has begun; no latch is held
   * @param id the start of the commit's CATALOG record
   */
  public static void append(LogSession log, long id, int treeId, KeyRange range) {
    int low = Math.max(0, range.lowLength());
    int high = Math.max(0, range.highLength());
    int bytes = HEADER + low + high;
    log.grant(LogSession.space(bytes));
    long at = log.reserve(RecordType.RANGE, bytes);
    boolean put = false;
    try {
      MemorySegment s = log.buffer();
      Mem.putLong(s, at, id);
      Mem.putInt(s, at + 8, treeId);
      int ends =
          (range.lowLength() < 0 ? 0 : LOW | (range.lowInclusive() ? LOW_INCLUSIVE : 0))
              | (range.highLength() < 0 ? 0 : HIGH | (range.highInclusive() ? HIGH_INCLUSIVE : 0));
      Mem.putShort(s, at + 12, (short) ends);
      Mem.putShort(s, at + 14, (short) low);
      Mem.putShort(s, at + 16, (short) high);
      Mem.putShort(s, at + 18, (short) 0);
      Mem.copy(range.low(), range.lowOffset(), s, at + HEADER, low);
      Mem.copy(range.high(), range.highOffset(), s, at + HEADER + low, high);
      put = true;
    } finally {
      if (!put) {
        log.cancel();
      }
    }
    log.complete();
  }

  /**
   * Moves to a record.
   *
   * @param s the memory with the body
   * @param at the offset of the body
   * @param length the length of the body
   * @param lsn the start of the record, for messages
   * @throws CorruptionException if it is malformed
   */
  public void open(MemorySegment s, long at, int length, long lsn) {
    if (length < HEADER) {
      throw damaged("length", lsn, HEADER, length);
    }
    id = Mem.getLong(s, at);
    treeId = Mem.getInt(s, at + 8);
    int ends = Mem.getUnsignedShort(s, at + 12);
    int low = Mem.getUnsignedShort(s, at + 14);
    int high = Mem.getUnsignedShort(s, at + 16);
    if (length != HEADER + low + high) {
      throw damaged("length", lsn, HEADER + low + high, length);
    }
    if (id <= 0 || id >= lsn) {
      throw damaged("first part", lsn, lsn, id);
    }
    if (treeId <= 0) {
      throw damaged("tree id", lsn, 1, treeId);
    }
    if (Mem.getUnsignedShort(s, at + 18) != 0) {
      throw damaged("reserved bytes", lsn, 0, Mem.getUnsignedShort(s, at + 18));
    }
    if (ends > 15
        || (ends & (LOW | LOW_INCLUSIVE)) == LOW_INCLUSIVE
        || (ends & (HIGH | HIGH_INCLUSIVE)) == HIGH_INCLUSIVE
        || (ends & LOW) == 0 && low > 0
        || (ends & HIGH) == 0 && high > 0) {
      throw damaged("ends", lsn, LOW | HIGH, ends);
    }
    range =
        new KeyRange(
            s,
            at + HEADER,
            (ends & LOW) == 0 ? -1 : low,
            (ends & LOW_INCLUSIVE) != 0,
            s,
            at + HEADER + low,
            (ends & HIGH) == 0 ? -1 : high,
            (ends & HIGH_INCLUSIVE) != 0);
  }

  private static CorruptionException damaged(String what, long lsn, long expected, long found) {
    return new CorruptionException(
        what + " of a RANGE record of the log at LSN " + lsn, -1, -1, expected, found);
  }

  /** Returns the start of the first part of its commit. */
  public long id() {
    return id;
  }

  public int treeId() {
    return treeId;
  }

  /** Returns the keys that it removes; the ends refer to the record's memory. */
  public KeyRange range() {
    return range;
  }
}
