package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Counts the records in a range of a tree, leaf by leaf, without copying. The result is exact if
 * the tree does not change meanwhile; each leaf is read consistently in any case.
 *
 * <pre>
 *   without bytes    two numbers of each leaf's header                      tens of nanoseconds a leaf
 *   with bytes       the slot and the length field of each record           nanoseconds a record
 * </pre>
 *
 * <p>If two consecutive counts have the same {@link #fingerprint}, no leaf has changed between the
 * end of the first and the beginning of the second.
 *
 * <p>Used by one thread.
 */
public final class RangeCount {
  private static final int TRIES = 8;
  private static final long MIX = 0x9E37_79B9_7F4A_7C15L;

  private final BTree tree;
  private final KeyRange range;
  private final Descent descent;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final KeyBuffer boundary;
  private final KeyBuffer next;
  private final Position p = new Position();
  private final ReadAhead ahead = new ReadAhead();

  private long records;
  private long bytes;
  private long leaves;
  private long fingerprint;
  private long pageLsn;
  private boolean holdsLong;

  // State of the last leaf.
  private boolean fresh;
  private boolean last;
  private boolean deep;
  private long hint;
  private long leafRecords;
  private long leafBytes;
  private long leafPrint;
  private long leafLsn;
  private boolean leafWhole;
  private boolean leafLong;

  /** Prepares a count. */
  public RangeCount(BTree tree, KeyRange range) {
    this.tree = tree;
    this.range = range.truncatedTo(tree.maxKeySize());
    this.descent = tree.descent();
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.boundary = new KeyBuffer(tree.maxKeySize());
    this.next = new KeyBuffer(tree.maxKeySize());
  }

  /**
   * Returns false if the inner nodes above both ends show that fewer than {@code leaves} leaves lie
   * within the range, as is the case for most ranges. Allocates little.
   */
  public static boolean mayHave(BTree tree, KeyRange range, int leaves) {
    if (leaves == 0 || range.highLength() < 0) {
      return true;
    }
    KeyRange of = range.truncatedTo(tree.maxKeySize());
    Position low = new Position();
    Position high = new Position();
    Descent descent = tree.descent();
    descent.descendTo(of.low(), of.lowOffset(), Math.max(0, of.lowLength()), false, 1, low);
    descent.descendTo(of.high(), of.highOffset(), of.highLength(), false, 1, high);
    if (low.frame < 0 || high.frame < 0) {
      return false; // the root is a leaf
    }
    return low.pid != high.pid || high.slot - low.slot > leaves - 2;
  }

  /** Returns the number of records found by the last count. */
  public long records() {
    return records;
  }

  /**
   * Returns the bytes of their keys and values, if the last count was with bytes and {@link
   * #holdsLong} is false.
   */
  public long bytes() {
    return bytes;
  }

  /** Returns the number of leaves that contain records of the range and no others. */
  public long leaves() {
    return leaves;
  }

  /** Returns a fingerprint that almost certainly differs if a leaf of the range has changed. */
  public long fingerprint() {
    return fingerprint;
  }

  /** Returns the largest LSN of the leaves. */
  public long pageLsn() {
    return pageLsn;
  }

  /**
   * Returns whether a long value was found, which requires a count with bytes or a tree that may
   * contain long values.
   */
  public boolean holdsLong() {
    return holdsLong;
  }

  /**
   * Counts the records, or returns false once there are more than {@code max}. Calls {@code more},
   * which may throw, now and then with nothing latched.
   *
   * @throws CorruptionException if a page is damaged
   */
  public boolean run(boolean withBytes, long max, Runnable more) {
    records = 0;
    bytes = 0;
    leaves = 0;
    fingerprint = 0;
    pageLsn = 0;
    holdsLong = false;
    fresh = true;
    last = false;
    deep = withBytes || tree.mayHaveLongValues();
    hint = 0;
    ahead.clear();
    p.clear();
    for (long n = 1; !last; n++) {
      leaf();
      records += leafRecords;
      bytes += leafBytes;
      leaves += leafWhole ? 1 : 0;
      fingerprint = (fingerprint ^ leafPrint) * MIX;
      pageLsn = Math.max(pageLsn, leafLsn);
      holdsLong |= leafLong;
      fresh = false;
      if (records > max) {
        return false;
      }
      if ((n & 0xFF) == 0) {
        more.run();
      }
    }
    return true;
  }

  /** Reads the next leaf consistently. */
  private void leaf() {
    for (int i = 0; ; i++) {
      boolean held = i >= TRIES;
      find(held);
      boolean valid = false;
      try {
        read();
        valid = held || tree.valid(p);
      } catch (IndexOutOfBoundsException e) {
        if (held) {
          throw TreeDamage.offsets(pool, p.pid, e);
        }
        TreeDamage.requireTorn(pool, p.frame, p.version, p.pid, pages, 0, 0, e);
      } finally {
        if (held) {
          tree.releaseShared(p);
        }
      }
      if (valid) {
        advance();
        return;
      }
      hint = 0;
      Pause.after(i);
    }
  }

  private void find(boolean held) {
    if (held) {
      if (fresh) {
        descent.findShared(range.low(), range.lowOffset(), lowLength(), false, p);
      } else {
        descent.findShared(boundary.segment(), 0, boundary.length(), true, p);
      }
    } else if (fresh) {
      descent.descendTo(range.low(), range.lowOffset(), lowLength(), false, 0, p);
    } else {
      ahead.find(descent, hint, boundary, true, p);
    }
  }

  private int lowLength() {
    return Math.max(0, range.lowLength());
  }

  /** Reads a leaf that may change meanwhile; the caller validates. */
  private void read() {
    MemorySegment s = pages;
    long base = pool.base(p.frame);
    int count = BTreeNode.leafCount(s, base, pageSize);
    boolean includes = fresh && (range.lowInclusive() || range.lowLength() < 0);
    int from = Math.min(count, p.slot + (p.found && !includes ? 1 : 0));
    int fence = BTreeNode.high(s, base);
    last = fence == BTreeNode.NONE;
    if (!last) {
      int length = BTreeNode.fenceBytes(fence, pageSize);
      next.set(s, base + BTreeNode.highAt(s, base, pageSize), Math.min(length, tree.maxKeySize()));
      last = !range.endsAbove(next.segment(), 0, next.length());
    }
    int to = count;
    if (last && range.highLength() >= 0) {
      int found =
          NodeSearch.searchLeaf(
              s, base, pageSize, range.high(), range.highOffset(), range.highLength());
      to = Math.min(count, (found >>> 1) + (range.highInclusive() ? found & 1 : 0));
    }
    leafRecords = Math.max(0, to - from);
    leafWhole = leafRecords > 0 && leafRecords == count;
    leafBytes = 0;
    leafLong = false;
    leafLsn = PageHeader.pageLsn(s, base);
    leafPrint = p.pid * MIX + (leafLsn == 0 ? p.version : leafLsn) + ((long) from << 48 ^ to);
    hint = BTreeNode.next(s, base);
    if (deep) {
      sum(s, base, from, to);
    }
  }

  private void sum(MemorySegment s, long base, int from, int to) {
    int prefix = BTreeNode.prefix(s, base);
    long sum = 0;
    for (int i = from; i < to; i++) {
      long slot = BTreeNode.leafSlot(s, base, i);
      int field = BTreeNode.field(s, base, pageSize, slot);
      if (field == BTreeNode.OVERFLOW) {
        leafLong = true;
      }
      sum += prefix + BTreeNode.suffixLength(slot) + (long) field;
    }
    leafBytes = sum;
  }

  /** Moves the boundary past a validated leaf. */
  private void advance() {
    if (last) {
      return;
    }
    if (!fresh
        && Mem.compare(next.segment(), 0, next.length(), boundary.segment(), 0, boundary.length())
            <= 0) {
      // The fences of a damaged leaf might make this loop forever.
      throw TreeDamage.of(pool, p.pid, "order of the fences of a leaf", 1, 0);
    }
    boundary.set(next.segment(), 0, next.length());
  }
}
