package io.fovea.txn;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * The bytes of a COMMIT that say by how much it changes the counts of trees, and who reads them.
 *
 * <pre>
 *   context · for each tree: tree id · records, signed · bytes, signed
 * </pre>
 *
 * <p>Each number has 7 bits a byte, the lowest first; the highest bit of a byte says that there is
 * another. Signed numbers are zigzag: 0, -1, 1, -2, 2 are 0, 1, 2, 3, 4. So an insert into a tree
 * takes about five bytes.
 *
 * <p>The context is the number of the appender: its commits lie in the log in the order in which it
 * has made them, so a position tells which of them a checkpoint has counted. One thread at a time.
 */
public final class CommitCounts {
  /** How much a tree takes at most. */
  static final int TREE_BYTES_MAX = 5 + 5 + 10;

  /** How much the context takes at most. */
  static final int CONTEXT_BYTES_MAX = 5;

  private MemorySegment segment = MemorySegment.NULL;
  private long at;
  private long end;
  private int context;
  private int treeId;
  private long records;
  private long bytes;

  /** Makes a reader that stands nowhere. */
  public CommitCounts() {}

  // -------------------------------------------------------------------------------------- writing

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

  // -------------------------------------------------------------------------------------- reading

  /**
   * Goes before the first tree of a commit.
   *
   * @return false where it changes no counts
   * @throws CorruptionException if it makes no sense
   */
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

  /** Goes to the next tree; false behind the last. */
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

  /** The appender. */
  public int context() {
    return context;
  }

  /** The tree. */
  public int treeId() {
    return treeId;
  }

  /** How many records more it has. */
  public long records() {
    return records;
  }

  /** How many bytes of keys and values more it has. */
  public long bytes() {
    return bytes;
  }
}
