package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.LeafHints;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * Verifies all pages of a tree.
 *
 * <pre>
 *   each page     type, layout, level, tree id, page id; reached once, here and in other trees
 *   fences        equal the adjacent separators in the parent; prefix = what the fences share
 *   space         slots, gap, records, fences add up; no two records overlap
 *   keys          ascend, lie within the fences; heads are padded with zeros, sampled heads match
 *   chains        type, owner, index, lengths; as many pages as the length needs
 *   hints         stale sibling hints are allowed and counted
 * </pre>
 *
 * <p>The tree should not change meanwhile. Each page is copied under a shared latch and then
 * checked. Damage is reported as problems, not exceptions; subtrees that cannot be trusted are
 * skipped.
 */
public final class TreeVerifier {
  /** The kind of broken rule. */
  public enum Kind {
    /** The page cannot be read. */
    UNREADABLE,
    /** Wrong type, layout, level, tree id or page id. */
    HEADER,
    /** An invalid page id, or a page that was reached before. */
    REFERENCE,
    /** A fence differs from its separator, or the prefix from what the fences share. */
    FENCE,
    /** Slots and records do not add up. */
    SPACE,
    /** Keys do not ascend, or are outside the fences. */
    ORDER,
    /** A head does not match. */
    HEAD,
    /** The pages of a long value do not add up. */
    OVERFLOW
  }

  /**
   * A broken rule.
   *
   * @param kind the kind of rule
   * @param pid the page
   * @param slot the entry in the page, or -1
   * @param detail what was found and expected
   */
  public record Problem(Kind kind, long pid, int slot, String detail) {
    @Override
    public String toString() {
      return kind + " page " + pid + (slot < 0 ? "" : " slot " + slot) + ": " + detail;
    }
  }

  /**
   * The result of a verification.
   *
   * @param keys the number of keys
   * @param bytes the bytes of keys and values
   * @param leafPages the number of leaves
   * @param innerPages the number of inner nodes, including the root
   * @param overflowPages the number of pages of long values
   * @param height the number of levels
   * @param usedBytes the bytes of slots and records in leaves
   * @param staleHints the number of stale sibling hints, in both directions
   * @param problems the problems, up to a limit
   */
  public record Report(
      long keys,
      long bytes,
      long leafPages,
      long innerPages,
      long overflowPages,
      int height,
      long usedBytes,
      long staleHints,
      List<Problem> problems) {
    /** Returns whether there are no problems. */
    public boolean isClean() {
      return problems.isEmpty();
    }

    /** Returns the number of pages. */
    public long pages() {
      return leafPages + innerPages + overflowPages;
    }

    /**
     * Returns this, or throws {@link CorruptionException} with the first problem and the number of
     * others.
     */
    public Report throwIfDamaged() {
      if (!problems.isEmpty()) {
        throw new CorruptionException(
            problems.get(0) + " (and " + (problems.size() - 1) + " more)",
            problems.get(0).pid(),
            -1,
            0,
            problems.size());
      }
      return this;
    }
  }

  private static final int PROBLEMS_MAX = 1000;
  private static final int LEVELS_MAX = 64;

  private final BTree tree;
  private final BufferPool pool;
  private final int pageSize;
  private final PageSet reached;
  private final boolean followChains;
  private final List<Problem> problems = new ArrayList<>();
  private final List<MemorySegment> scratch = new ArrayList<>();
  private final MemorySegment part;
  private final KeyBuffer key;
  private final KeyBuffer before;
  private long keys;
  private long bytes;
  private long leafPages;
  private long innerPages;
  private long overflowPages;
  private long usedBytes;
  private long staleHints;
  private long lastLeaf;
  private long lastNext;
  private int leafLayout = -1;

  private TreeVerifier(BTree tree, PageSet reached, boolean followChains) {
    this.followChains = followChains;
    this.tree = tree;
    this.pool = tree.pool();
    this.pageSize = pool.pageSize();
    this.reached = reached;
    this.part = Arena.ofAuto().allocate(pageSize + BTreeNode.SLACK, 8);
    this.key = new KeyBuffer(tree.maxKeySize());
    this.before = new KeyBuffer(tree.maxKeySize());
  }

  /** Verifies a tree. */
  public static Report verify(BTree tree) {
    return verify(tree, new PageSet());
  }

  /**
   * Verifies one of several trees of a file; {@code reached} contains the pages of trees verified
   * before and receives those of this one.
   */
  public static Report verify(BTree tree, PageSet reached) {
    return new TreeVerifier(tree, reached, true).run();
  }

  /** Verifies the nodes of a tree, without following stubs. */
  static Report verifyNodes(BTree tree) {
    return new TreeVerifier(tree, new PageSet(), false).run();
  }

  private Report run() {
    long root = tree.rootPid();
    int height = 0;
    MemorySegment page = load(root, 0);
    if (page != null) {
      height = PageHeader.level(page, 0) + 1;
      if (height > LEVELS_MAX) {
        add(Kind.HEADER, root, -1, "the root has invalid level " + (height - 1));
      } else {
        node(root, page, height - 1, 0, new KeyBuffer(0), BTreeNode.NONE, before, BTreeNode.NONE);
        if (lastNext != 0) {
          staleHints++;
        }
      }
    }
    return new Report(
        keys,
        bytes,
        leafPages,
        innerPages,
        overflowPages,
        height,
        usedBytes,
        staleHints,
        List.copyOf(problems));
  }

  private void add(Kind kind, long pid, int slot, String detail) {
    if (problems.size() < PROBLEMS_MAX) {
      problems.add(new Problem(kind, pid, slot, detail));
    }
  }

  private @org.jspecify.annotations.Nullable MemorySegment load(long pid, int depth) {
    if (pid <= 0 || !reached.add(pid)) {
      add(Kind.REFERENCE, pid, -1, pid <= 0 ? "invalid page id" : "referenced twice");
      return null;
    }
    while (scratch.size() <= depth) {
      scratch.add(Arena.ofAuto().allocate(pageSize + BTreeNode.SLACK, 8));
    }
    MemorySegment page = scratch.get(depth);
    return copy(pid, page) ? page : null;
  }

  private boolean copy(long pid, MemorySegment page) {
    try {
      OperationInterruptedException.check("verify a tree");
      int frame = pool.fixShared(pid);
      try {
        Mem.copy(pool.pages(), pool.base(frame), page, 0, pageSize);
        String inexact = pool.swizzling().problem(frame);
        if (inexact != null) {
          add(Kind.REFERENCE, pid, -1, inexact);
        }
      } finally {
        pool.releaseShared(frame);
      }
      return true;
    } catch (CorruptionException e) {
      add(Kind.UNREADABLE, pid, -1, String.valueOf(e.getMessage()));
      return false;
    }
  }

  // --------------------------------------------------------------------------------------- nodes

  /** Checks a node and all below it; the fences are those that the parent implies. */
  private void node(
      long pid,
      MemorySegment page,
      int level,
      int depth,
      KeyBuffer low,
      int lowLength,
      KeyBuffer high,
      int highLength) {
    boolean leaf = level == 0;
    if (!header(pid, page, level)
        || !space(pid, page, leaf)
        || !fence(pid, page, true, low, lowLength)
        || !fence(pid, page, false, high, highLength)
        || !prefix(pid, page, leaf)
        || !records(pid, page, leaf)) {
      // The subtree cannot be trusted, and the chain of leaves is interrupted.
      lastLeaf = 0;
      lastNext = 0;
      return;
    }
    order(pid, page, leaf);
    if (leaf) {
      leaf(pid, page);
    } else {
      inner(pid, page, level, depth);
    }
  }

  private boolean header(long pid, MemorySegment page, int level) {
    int type = level == 0 ? PageHeader.LEAF : PageHeader.INNER;
    return same(pid, "type", type, PageHeader.type(page, 0))
        && same(pid, "layout", layout(page, level), PageHeader.layout(page, 0))
        && same(pid, "level", level, PageHeader.level(page, 0))
        && same(pid, "tree id", tree.treeId(), PageHeader.treeId(page, 0))
        && same(pid, "page id", pid, PageHeader.pid(page, 0));
  }

  /** Returns the expected layout; all leaves must have the layout of the first one. */
  private int layout(MemorySegment page, int level) {
    if (level > 0) {
      return BTreeNode.LAYOUT;
    }
    if (leafLayout < 0) {
      leafLayout = LeafHints.has(page, 0) ? LeafHints.LAYOUT : BTreeNode.LAYOUT;
    }
    return leafLayout;
  }

  private boolean same(long pid, String what, long expected, long found) {
    if (expected != found) {
      add(Kind.HEADER, pid, -1, what + " " + found + " instead of " + expected);
    }
    return expected == found;
  }

  private boolean space(long pid, MemorySegment page, boolean leaf) {
    int count = BTreeNode.count(page, 0);
    int heap = BTreeNode.heap(page, 0);
    int fences = 0;
    for (int fence : new int[] {BTreeNode.low(page, 0), BTreeNode.high(page, 0)}) {
      if (fence != BTreeNode.NONE && fence > tree.maxKeySize()) {
        add(Kind.SPACE, pid, -1, "a fence has invalid length " + fence);
        return false;
      }
      fences += BTreeNode.fenceBytes(fence, pageSize);
    }
    if (BTreeNode.high(page, 0) == BTreeNode.NONE) {
      fences += BTreeNode.prefix(page, 0);
    }
    int slotsEnd = BTreeNode.slotsEnd(leaf, count);
    if (slotsEnd + heap > pageSize || heap < fences + BTreeNode.dead(page, 0)) {
      add(
          Kind.SPACE,
          pid,
          -1,
          count + " entries, " + heap + " bytes of heap, " + BTreeNode.dead(page, 0) + " dead");
      return false;
    }
    return true;
  }

  private boolean fence(long pid, MemorySegment page, boolean low, KeyBuffer expected, int length) {
    int found = low ? BTreeNode.low(page, 0) : BTreeNode.high(page, 0);
    int at = low ? BTreeNode.lowAt(page, 0, pageSize) : BTreeNode.highAt(page, 0, pageSize);
    boolean same =
        found == length
            && (length == BTreeNode.NONE
                || Mem.equal(page, at, length, expected.segment(), 0, length));
    if (!same) {
      add(
          Kind.FENCE,
          pid,
          -1,
          "the " + (low ? "low" : "high") + " fence differs from the separator");
    }
    return same;
  }

  private boolean prefix(long pid, MemorySegment page, boolean leaf) {
    int high = BTreeNode.high(page, 0);
    if (!leaf && BTreeNode.isOpen(page, 0)) {
      // Any prefix of its keys is right, but its bytes must exist.
      int prefix = BTreeNode.prefix(page, 0);
      boolean valid = prefix <= (high == BTreeNode.NONE ? tree.maxKeySize() : high);
      if (!valid) {
        add(Kind.FENCE, pid, -1, "the prefix has invalid length " + prefix);
      }
      return valid;
    }
    int expected = NodeCheck.sharedPrefix(page, 0, pageSize);
    int found = BTreeNode.prefix(page, 0);
    if (found != expected) {
      add(Kind.FENCE, pid, -1, "the prefix has " + found + " bytes instead of " + expected);
    }
    return found == expected;
  }

  /** Checks that records lie in the heap, do not overlap, and account for the dead bytes. */
  private boolean records(long pid, MemorySegment page, boolean leaf) {
    int count = BTreeNode.count(page, 0);
    int start = pageSize - BTreeNode.heap(page, 0);
    int stop = BTreeNode.lowAt(page, 0, pageSize);
    BitSet taken = new BitSet(pageSize);
    int sum = 0;
    for (int i = 0; i < count; i++) {
      long slot = BTreeNode.slot(page, 0, leaf, i);
      int at = BTreeNode.offset(slot);
      if (BTreeNode.prefix(page, 0) + BTreeNode.suffixLength(slot) > tree.maxKeySize()) {
        add(Kind.SPACE, pid, i, "the suffix has invalid length " + BTreeNode.suffixLength(slot));
        return false;
      }
      boolean nothing = !leaf && BTreeNode.tailLength(slot) == 0;
      if (nothing) {
        continue;
      }
      if (at < start || at > stop - (leaf ? BTreeNode.FIELD_BYTES : 0)) {
        add(Kind.SPACE, pid, i, "the record has invalid offset " + at);
        return false;
      }
      int bytes = BTreeNode.recordBytes(page, 0, pageSize, leaf, slot);
      int next = taken.nextSetBit(at);
      if (at + bytes > stop || next >= 0 && next < at + bytes) {
        add(
            Kind.SPACE,
            pid,
            i,
            "the record, " + bytes + " bytes at " + at + ", overlaps " + "another or the end");
        return false;
      }
      taken.set(at, at + bytes);
      sum += bytes;
    }
    int dead = stop - start - sum;
    if (dead != BTreeNode.dead(page, 0)) {
      add(Kind.SPACE, pid, -1, BTreeNode.dead(page, 0) + " dead bytes instead of " + dead);
      return false;
    }
    return true;
  }

  private void order(long pid, MemorySegment page, boolean leaf) {
    int count = BTreeNode.count(page, 0);
    int low = BTreeNode.low(page, 0);
    int high = BTreeNode.high(page, 0);
    for (int i = 0; i < count; i++) {
      long slot = BTreeNode.slot(page, 0, leaf, i);
      if (BTreeNode.hasWrongPadding(slot)) {
        add(Kind.HEAD, pid, i, "nonzero padding after a suffix of " + BTreeNode.suffixLength(slot));
      }
      int len = BTreeNode.copyKey(page, 0, pageSize, leaf, slot, key.segment(), 0);
      boolean aboveLow =
          i > 0
              ? Mem.compare(key.segment(), 0, len, before.segment(), 0, before.length()) > 0
              : low == BTreeNode.NONE
                  || Mem.compare(
                          key.segment(), 0, len, page, BTreeNode.lowAt(page, 0, pageSize), low)
                      > 0;
      boolean upToHigh =
          high == BTreeNode.NONE
              || Mem.compare(key.segment(), 0, len, page, BTreeNode.highAt(page, 0, pageSize), high)
                  <= 0;
      if (!aboveLow || !upToHigh) {
        add(
            Kind.ORDER,
            pid,
            i,
            aboveLow ? "above the high fence" : "not above the previous key or the low fence");
      }
      before.set(key.segment(), 0, len);
    }
    if (!leaf && count >= BTreeNode.HINTS_FROM) {
      int step = count / (BTreeNode.HEADS_COUNT + 1);
      for (int i = 0; i < BTreeNode.HEADS_COUNT; i++) {
        int head = (int) (BTreeNode.innerSlot(page, 0, (i + 1) * step) >>> 32);
        if (Mem.getInt(page, BTreeNode.HEADS + 4L * i) != head) {
          add(Kind.HEAD, pid, (i + 1) * step, "sampled head " + i + " is wrong");
        }
      }
    }
  }

  private void leaf(long pid, MemorySegment page) {
    int count = BTreeNode.count(page, 0);
    leafPages++;
    keys += count;
    usedBytes += BTreeNode.used(page, 0, pageSize, true) + BTreeNode.LEAF_SLOTS;
    if (leafPages > 1 && (lastNext != pid || BTreeNode.prev(page, 0) != lastLeaf)) {
      staleHints += (lastNext != pid ? 1 : 0) + (BTreeNode.prev(page, 0) != lastLeaf ? 1 : 0);
    }
    lastLeaf = pid;
    lastNext = BTreeNode.next(page, 0);
    for (int i = 0; i < count; i++) {
      long slot = BTreeNode.leafSlot(page, 0, i);
      int field = BTreeNode.field(page, 0, pageSize, slot);
      bytes += BTreeNode.prefix(page, 0) + BTreeNode.suffixLength(slot);
      bytes +=
          field == BTreeNode.OVERFLOW
              ? Mem.getLong(page, BTreeNode.valueAt(0, pageSize, slot) + 8)
              : field;
      if (field == BTreeNode.OVERFLOW) {
        if (!followChains) {
          continue;
        }
        long at = BTreeNode.valueAt(0, pageSize, slot);
        chain(pid, i, OverflowChain.stubPid(page, at), Mem.getLong(page, at + 8));
      } else if (field > BTreeNode.inlineMax(pageSize)) {
        add(Kind.SPACE, pid, i, "a value of " + field + " bytes is too long for the leaf");
      }
    }
  }

  private void inner(long pid, MemorySegment page, int level, int depth) {
    innerPages++;
    int count = BTreeNode.count(page, 0);
    KeyBuffer low = new KeyBuffer(tree.maxKeySize());
    KeyBuffer high = new KeyBuffer(tree.maxKeySize());
    int lowLength = BTreeNode.low(page, 0);
    if (lowLength != BTreeNode.NONE) {
      low.set(page, BTreeNode.lowAt(page, 0, pageSize), lowLength);
    }
    for (int i = 0; i <= count; i++) {
      int highLength;
      if (i < count) {
        long slot = BTreeNode.innerSlot(page, 0, i);
        highLength = BTreeNode.copyKey(page, 0, pageSize, false, slot, high.segment(), 0);
      } else {
        highLength = BTreeNode.high(page, 0);
        if (highLength != BTreeNode.NONE) {
          high.set(page, BTreeNode.highAt(page, 0, pageSize), highLength);
        }
      }
      long child = BTreeNode.child(page, 0, i);
      MemorySegment below = load(child, depth + 1);
      if (below != null) {
        node(child, below, level - 1, depth + 1, low, lowLength, high, highLength);
      }
      if (highLength != BTreeNode.NONE) {
        low.set(high.segment(), 0, highLength);
      }
      lowLength = highLength;
    }
    assert PageHeader.pid(page, 0) == pid;
  }

  // -------------------------------------------------------------------------------------- chains

  private void chain(long leaf, int slot, long first, long length) {
    int capacity = OverflowChain.capacity(pageSize);
    if (length <= BTreeNode.inlineMax(pageSize) || length > OverflowChain.VALUE_BYTES_MAX) {
      add(Kind.OVERFLOW, leaf, slot, "a long value has invalid length " + length);
      return;
    }
    long pid = first;
    long done = 0;
    for (int index = 0; done < length; index++) {
      if (pid <= 0 || !reached.add(pid)) {
        add(
            Kind.OVERFLOW,
            leaf,
            slot,
            "page " + pid + " of a long value: invalid id or referenced twice");
        return;
      }
      if (!copy(pid, part)) {
        return;
      }
      int bytes = Mem.getInt(part, OverflowChain.BYTES);
      if (PageHeader.type(part, 0) != PageHeader.OVERFLOW
          || PageHeader.treeId(part, 0) != tree.treeId()
          || Mem.getInt(part, OverflowChain.INDEX) != index
          || bytes != Math.min(capacity, length - done)) {
        add(Kind.OVERFLOW, pid, -1, "not part " + index + " of the value of page " + leaf);
        return;
      }
      overflowPages++;
      done += bytes;
      pid = Mem.getLong(part, OverflowChain.NEXT);
    }
    if (pid != 0) {
      add(
          Kind.OVERFLOW,
          leaf,
          slot,
          "a long value continues in page " + pid + " beyond its " + "length");
    }
  }
}
