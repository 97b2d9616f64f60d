package io.fovea.recovery;

import io.fovea.error.CorruptionException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * The format of a catalog change in the log.
 *
 * <pre>
 *   0           2         4     6      8         12         16
 *   +-----------+---------+-----+------+---------+----------+-----------+---------+-----+---------+----------+
 *   | published | dropped | ops | zero | adopted | released | published | dropped | ops | adopted | released |
 *   | 16        | 16      | 16  | 16   | 32      | 32       | ids, 32   | id 32,  |     | pids 64 | pids 64  |
 *   |           |         |     |      |         |          |           | root 64 |     |         |          |
 *   +-----------+---------+-----+------+---------+----------+-----------+---------+-----+---------+----------+
 * </pre>
 *
 * <p>All numbers are little-endian and unaligned. Operations are those of {@link
 * io.fovea.txn.CommitRecord}, on the catalog's tree. <i>Published</i> trees enter the catalog.
 * <i>Dropped</i> trees leave it, and their pages are freed next, until a DROPPED record says that
 * all are free. Adopted and released pages are those of the catalog's long values, as in a commit.
 *
 * <p>An instance reads one record after the other, and validates each: counts are checked against
 * the body's length. Used by one thread.
 */
public final class SchemaRecord {
  /** The size of the header before the ids of published trees. */
  public static final int HEADER = 16;

  private static final int ID_BYTES = 4;
  private static final int DROPPED_BYTES = 12;
  private static final int PID_BYTES = 8;

  private MemorySegment segment = MemorySegment.NULL;
  private int published;
  private int dropped;
  private int ops;
  private long adopted;
  private long released;
  private long ids;
  private long opsAt;
  private long pids;

  /** Creates a reader without a record. */
  public SchemaRecord() {}

  // ------------------------------------------------------------------------------------- writing

  public static int bytes(int published, int dropped, int opBytes, int adopted, int released) {
    return HEADER
        + published * ID_BYTES
        + dropped * DROPPED_BYTES
        + opBytes
        + (adopted + released) * PID_BYTES;
  }

  /**
   * Writes everything before the operations.
   *
   * @return the offset of the operations
   */
  public static long put(
      MemorySegment to,
      long at,
      int[] published,
      int[] droppedIds,
      long[] droppedRoots,
      int ops,
      int adopted,
      int released) {
    Mem.putShort(to, at, (short) published.length);
    Mem.putShort(to, at + 2, (short) droppedIds.length);
    Mem.putShort(to, at + 4, (short) ops);
    Mem.putShort(to, at + 6, (short) 0);
    Mem.putInt(to, at + 8, adopted);
    Mem.putInt(to, at + 12, released);
    long next = at + HEADER;
    for (int id : published) {
      Mem.putInt(to, next, id);
      next += ID_BYTES;
    }
    for (int i = 0; i < droppedIds.length; i++) {
      Mem.putInt(to, next, droppedIds[i]);
      Mem.putLong(to, next + ID_BYTES, droppedRoots[i]);
      next += DROPPED_BYTES;
    }
    return next;
  }

  /**
   * Writes page ids, which follow the operations: adopted pages, then released ones.
   *
   * @return the offset after them
   */
  public static long putPids(MemorySegment to, long at, LongList pages) {
    for (int i = 0; i < pages.size(); i++) {
      Mem.putLong(to, at + (long) i * PID_BYTES, pages.get(i));
    }
    return at + (long) pages.size() * PID_BYTES;
  }

  // ------------------------------------------------------------------------------------- reading

  /**
   * Moves to a record.
   *
   * @param s the memory with the body
   * @param at the offset of the body
   * @param length the length of the body
   * @param lsn the start of the record, for messages
   * @throws CorruptionException if its counts do not fit into it
   */
  public void open(MemorySegment s, long at, int length, long lsn) {
    if (length < HEADER) {
      throw damaged(lsn, HEADER, length);
    }
    segment = s;
    published = Mem.getUnsignedShort(s, at);
    dropped = Mem.getUnsignedShort(s, at + 2);
    ops = Mem.getUnsignedShort(s, at + 4);
    adopted = Mem.getInt(s, at + 8) & 0xFFFF_FFFFL;
    released = Mem.getInt(s, at + 12) & 0xFFFF_FFFFL;
    ids = at + HEADER;
    opsAt = ids + (long) published * ID_BYTES + (long) dropped * DROPPED_BYTES;
    long needed = opsAt - at + (adopted + released) * PID_BYTES;
    if (needed > length) {
      throw damaged(lsn, needed, length);
    }
    pids = at + length - (adopted + released) * PID_BYTES;
  }

  private static CorruptionException damaged(long lsn, long expected, long found) {
    return new CorruptionException(
        "length of a record of the catalog at LSN " + lsn, -1, -1, expected, found);
  }

  /** Returns the number of trees that it publishes. */
  public int published() {
    return published;
  }

  /** Returns the id of a tree that it publishes. */
  public int published(int i) {
    return Mem.getInt(segment, ids + (long) i * ID_BYTES);
  }

  /** Returns the number of trees that it drops. */
  public int dropped() {
    return dropped;
  }

  /** Returns the id of a tree that it drops. */
  public int droppedId(int i) {
    return Mem.getInt(segment, droppedAt(i));
  }

  /** Returns the root of a tree that it drops. */
  public long droppedRoot(int i) {
    return Mem.getLong(segment, droppedAt(i) + ID_BYTES);
  }

  private long droppedAt(int i) {
    return ids + (long) published * ID_BYTES + (long) i * DROPPED_BYTES;
  }

  /** Returns the number of operations. */
  public int ops() {
    return ops;
  }

  /** Returns the start of the operations. */
  public long opsBegin() {
    return opsAt;
  }

  /** Returns the end of the operations. */
  public long opsEnd() {
    return pids;
  }

  /** Returns the number of pages of new long values that it publishes. */
  public long adopted() {
    return adopted;
  }

  /** Returns a page that it publishes. */
  public long adopted(long i) {
    return Mem.getLong(segment, pids + i * PID_BYTES);
  }

  /** Returns the number of pages of old long values that it releases. */
  public long released() {
    return released;
  }

  /** Returns a page that it releases. */
  public long released(long i) {
    return Mem.getLong(segment, pids + (adopted + i) * PID_BYTES);
  }
}
