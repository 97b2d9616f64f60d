package io.fovea.recovery;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeCounts;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The format of COUNTS: the record counts of trees, and the commits included in them.
 *
 * <pre>
 *   0       8        12     16
 *   +-------+--------+------+-------+
 *   | from  | trees  | zero | trees |
 *   +-------+--------+------+-------+
 *   a tree
 *   0       4          8         16      24
 *   +-------+----------+---------+-------+----------+       a context
 *   | tree  | contexts | records | bytes | contexts |       | context (4) | LSN (8) |
 *   +-------+----------+---------+-------+----------+
 * </pre>
 *
 * <p>All numbers are little-endian and unaligned. The counts of a tree include all commits that
 * begin before <i>from</i>, and the commits of a <i>context</i> that begin at or before its LSN; no
 * others. Contexts without a commit after <i>from</i> are omitted. If the trees do not fit, there
 * are several records, each valid on its own.
 *
 * <p>An instance reads one record after the other, and validates each. Used by one thread.
 */
public final class CountsRecord {
  static final int HEADER = 16;
  static final int TREE_BYTES = 24;
  static final int CONTEXT_BYTES = 12;

  private MemorySegment segment = MemorySegment.NULL;
  private long from;
  private long trees;
  private long done;
  private long at;
  private long end;
  private int treeId;
  private long records;
  private long bytes;
  private long contextsAt;
  private long contexts;

  /** Creates a reader without a record. */
  public CountsRecord() {}

  // -------------------------------------------------------------------------------------- writing

  /** The counts of a tree that are to be written. */
  static final class Captured implements TreeCounts.Visitor {
    private final int treeId;
    private final long from;
    private long records;
    private long bytes;
    private int[] contexts = new int[4];
    private long[] lsns = new long[4];
    private int size;

    private Captured(int treeId, long from) {
      this.treeId = treeId;
      this.from = from;
    }

    /** Captures the current counts of a tree; returns null if they are not known. */
    static @Nullable Captured of(BTree tree, long from) {
      if (!tree.counts().isKnown()) {
        return null;
      }
      Captured c = new Captured(tree.treeId(), from);
      tree.counts().visit(c);
      return c;
    }

    @Override
    public void cell(int context, long lsn, long more, long moreBytes) {
      records += more;
      bytes += moreBytes;
      if (context >= 0 && lsn >= from) {
        if (size == contexts.length) {
          contexts = Arrays.copyOf(contexts, 2 * size);
          lsns = Arrays.copyOf(lsns, 2 * size);
        }
        contexts[size] = context;
        lsns[size++] = lsn;
      }
    }

    int bytes() {
      return TREE_BYTES + size * CONTEXT_BYTES;
    }

    long put(MemorySegment to, long at) {
      Mem.putInt(to, at, treeId);
      Mem.putInt(to, at + 4, size);
      Mem.putLong(to, at + 8, records);
      Mem.putLong(to, at + 16, bytes);
      long next = at + TREE_BYTES;
      for (int i = 0; i < size; i++) {
        Mem.putInt(to, next, contexts[i]);
        Mem.putLong(to, next + 4, lsns[i]);
        next += CONTEXT_BYTES;
      }
      return next;
    }
  }

  /** Writes the start of a record; returns the offset of the trees. */
  static long put(MemorySegment to, long at, long from, int trees) {
    Mem.putLong(to, at, from);
    Mem.putInt(to, at + 8, trees);
    Mem.putInt(to, at + 12, 0);
    return at + HEADER;
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Positions the reader before the first tree of a record.
   *
   * @param s the memory with the body
   * @param body the offset of the body
   * @param length the length of the body
   * @param lsn the start of the record, for messages
   * @throws CorruptionException if it is malformed
   */
  public void open(MemorySegment s, long body, int length, long lsn) {
    if (length < HEADER) {
      throw damaged(lsn, HEADER, length);
    }
    segment = s;
    from = Mem.getLong(s, body);
    trees = Mem.getInt(s, body + 8) & 0xFFFF_FFFFL;
    done = 0;
    at = body + HEADER;
    end = body + length;
    if (from < 0 || from > lsn) {
      throw damaged(lsn, lsn, from);
    }
  }

  /** Moves to the next tree; returns false after the last. */
  public boolean next() {
    if (done == trees) {
      return false;
    }
    done++;
    if (end - at < TREE_BYTES) {
      throw damaged(from, TREE_BYTES, end - at);
    }
    treeId = Mem.getInt(segment, at);
    contexts = Mem.getInt(segment, at + 4) & 0xFFFF_FFFFL;
    records = Mem.getLong(segment, at + 8);
    bytes = Mem.getLong(segment, at + 16);
    contextsAt = at + TREE_BYTES;
    at = contextsAt + contexts * CONTEXT_BYTES;
    if (at > end) {
      throw damaged(from, at, end);
    }
    return true;
  }

  private static CorruptionException damaged(long lsn, long expected, long found) {
    return new CorruptionException(
        "length of a record of counts, at or after LSN " + lsn, -1, -1, expected, found);
  }

  /** Returns the position before which all commits are in the counts. */
  public long from() {
    return from;
  }

  public int treeId() {
    return treeId;
  }

  public long records() {
    return records;
  }

  /** Returns the bytes of their keys and values. */
  public long bytes() {
    return bytes;
  }

  /** Returns the number of contexts whose commits after {@link #from} are in the counts. */
  public int contexts() {
    return (int) contexts;
  }

  public int context(int i) {
    return Mem.getInt(segment, contextsAt + (long) i * CONTEXT_BYTES);
  }

  /** Returns the start of a context's last commit in the counts. */
  public long lsn(int i) {
    return Mem.getLong(segment, contextsAt + (long) i * CONTEXT_BYTES + 4);
  }
}
