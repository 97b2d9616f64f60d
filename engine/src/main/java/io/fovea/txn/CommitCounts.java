package io.fovea.txn;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * The format and the reader of the changes to tree counts in a COMMIT.
 *
 * <pre>
 *   context · for each tree: tree id · records, signed · bytes, signed
 * </pre>
 *
 * <p>Numbers are stored 7 bits per byte, lowest first; a set high bit means that another byte
 * follows. Signed numbers are zigzag: 0, -1, 1, -2, 2 are 0, 1, 2, 3, 4. The context is the number
 * of the appender. Its commits are in the log in the order in which it made them, so an LSN tells
 * which of them a checkpoint has counted. Used by one thread at a time.
 */
public final class CommitCounts {
  static final int TREE_BYTES_MAX = 5 + 5 + 10;

  static final int CONTEXT_BYTES_MAX = 5;

  private MemorySegment segment = MemorySegment.NULL;
  private long at;
  private long end;
  private int context;
  private int treeId;
  private long records;
  private long bytes;

  /** Creates a reader without a position. */
  public CommitCounts() {}

  static int length(long unsigned) {
    return (70 - Long.numberOfLeadingZeros(unsigned | 1)) / 7;
  }

  private static long zigzag(long n) {
    return n << 1 ^ n >> 63;
  }

  static int length(int treeId, long records, long bytes) {
    return length(treeId) + length(zigzag(records)) + length(zigzag(bytes));
  }

  static long put(MemorySegment to, long at, long unsigned) {
    long rest = unsigned;
    long next = at;
    for (; (rest & ~0x7FL) != 0; rest >>>= 7) {
      Mem.putByte(to, next++, (byte) (rest | 0x80));
    }
    Mem.putByte(to, next++, (byte) rest);
    return next;
  }

  static long put(MemorySegment to, long at, int treeId, long records, long bytes) {
    return put(to, put(to, put(to, at, treeId), zigzag(records)), zigzag(bytes));
  }

  /** Positions before the first tree of a commit; returns false if it changes no counts. */
  public boolean open(CommitCursor commit) {
    long length = commit.countsLength();
    if (length == 0) {
      return false;
    }
    segment = commit.segment();
    at = commit.countsAt();
    end = at + length;
    context = id(0);
    return true;
  }

  /** Advances to the next tree; returns false after the last. */
  public boolean next() {
    if (at == end) {
      return false;
    }
    treeId = id(1);
    records = signed();
    bytes = signed();
    return true;
  }

  private int id(int min) {
    long id = unsigned();
    if (id < min || id > Integer.MAX_VALUE) {
      throw new CorruptionException("tree or context in counts of the log", -1, -1, min, id);
    }
    return (int) id;
  }

  private long signed() {
    long n = unsigned();
    return n >>> 1 ^ -(n & 1);
  }

  private long unsigned() {
    long n = 0;
    for (int shift = 0; at < end && shift < 70; shift += 7) {
      int b = Mem.getByte(segment, at++);
      n |= (b & 0x7FL) << shift;
      if (b >= 0) {
        return n;
      }
    }
    throw new CorruptionException("end of a number in counts of the log", -1, -1, end, at);
  }

  /** Returns the number of the appender. */
  public int context() {
    return context;
  }

  /** Returns the tree id. */
  public int treeId() {
    return treeId;
  }

  /** Returns the change in the number of records. */
  public long records() {
    return records;
  }

  /** Returns the change in the bytes of keys and values. */
  public long bytes() {
    return bytes;
  }
}
