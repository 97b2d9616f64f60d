package io.fovea.btree;

import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * What must be true of a node before it is taken apart: asked under its latch by whatever moves
 * many of its entries at once (a split, a merge, a compaction).
 *
 * <pre>
 *   node      type, level and tree are those that the parent implies
 *   entries   records lie between gap and fences and add up; keys are not too long; heads ascend
 *   child     its fences are the separators beside it in the parent
 * </pre>
 *
 * <p>A page whose checksum is right may be wrong all the same: a defect, bad memory, a forger. The
 * changes trust lengths and offsets and would write over the neighbouring frames. So these are
 * asked first, once a split and not once an entry: some hundred nanoseconds of some ten thousand.
 *
 * <p>What is wrong is an {@link IndexOutOfBoundsException}, as is every other sign of a damaged
 * page, caught where the latches are given back.
 */
final class NodeCheck {
  /** Says in words what is wrong with a node. */
  static final class Damage extends IndexOutOfBoundsException {
    private static final long serialVersionUID = 1L;

    final long expected;
    final long found;

    Damage(String what, long expected, long found) {
      super(what);
      this.expected = expected;
      this.found = found;
    }
  }

  private NodeCheck() {}

  /** Whether a page is a node of a level and a tree. */
  static boolean isNode(MemorySegment s, long base, int level, int treeId) {
    return PageHeader.type(s, base) == (level == 0 ? PageHeader.LEAF : PageHeader.INNER)
        && PageHeader.level(s, base) == level
        && PageHeader.treeId(s, base) == treeId;
  }

  /**
   * Checks a node that is to be taken apart.
   *
   * @param level its level, as the parent implies it
   * @throws Damage if anything of it is wrong
   */
  static void node(MemorySegment s, long base, int pageSize, int level, int treeId) {
    if (!isNode(s, base, level, treeId)) {
      boolean owner = PageHeader.treeId(s, base) != treeId;
      throw owner
          ? new Damage("tree id of a node", treeId, PageHeader.treeId(s, base))
          : new Damage("level of a node", level, PageHeader.level(s, base));
    }
    entries(s, base, pageSize, level == 0);
  }

  /** Checks that records, fences and dead bytes make up the heap, and that heads ascend. */
  static void entries(MemorySegment s, long base, int pageSize, boolean leaf) {
    BTreeNode.checkSane(s, base, pageSize, leaf);
    int count = BTreeNode.count(s, base);
    int prefix = BTreeNode.prefix(s, base);
    int keyMax = BTreeNode.keyMax(pageSize);
    int high = BTreeNode.high(s, base);
    int low = BTreeNode.low(s, base);
    if (prefix > (high == BTreeNode.NONE ? keyMax : Math.min(high, keyMax))
        || low != BTreeNode.NONE && low > keyMax
        || high != BTreeNode.NONE && high > keyMax) {
      throw new Damage("prefix or fences of a node", keyMax, prefix);
    }
    int start = pageSize - BTreeNode.heap(s, base);
    int stop = BTreeNode.lowAt(s, base, pageSize);
    int sum = 0;
    long before = 0;
    for (int i = 0; i < count; i++) {
      long slot = BTreeNode.slot(s, base, leaf, i);
      if (prefix + BTreeNode.suffixLength(slot) > keyMax) {
        throw new Damage(
            "length of a key in a node", keyMax, prefix + BTreeNode.suffixLength(slot));
      }
      if (slot >>> 32 < before) {
        throw new Damage("order of the keys of a node, by their heads", before, slot >>> 32);
      }
      before = slot >>> 32;
      if (!leaf && BTreeNode.tailLength(slot) == 0) {
        continue;
      }
      int at = BTreeNode.offset(slot);
      if (at < start || at > stop - (leaf ? BTreeNode.FIELD_BYTES : 0)) {
        throw new Damage("offset of a record in a node", start, at);
      }
      int bytes = BTreeNode.recordBytes(s, base, pageSize, leaf, slot);
      if (at + bytes > stop) {
        throw new Damage("end of a record in a node", stop, at + bytes);
      }
      sum += bytes;
    }
    int dead = stop - start - sum;
    if (dead != BTreeNode.dead(s, base)) {
      throw new Damage("dead bytes of a node", dead, BTreeNode.dead(s, base));
    }
  }

  /**
   * Checks that a node's fences are what its parent has beside the reference to it.
   *
   * @param slot of the reference
   * @param key for a separator
   * @throws Damage if they are not
   */
  static void child(
      MemorySegment s, long parent, int slot, long base, int pageSize, KeyBuffer key) {
    fence(s, parent, slot, base, pageSize, false, key);
    fence(s, parent, slot - 1, base, pageSize, true, key);
  }

  private static void fence(
      MemorySegment s,
      long parent,
      int slot,
      long base,
      int pageSize,
      boolean isLow,
      KeyBuffer key) {
    int length;
    if (slot < 0) {
      length = BTreeNode.low(s, parent);
      set(s, parent + BTreeNode.lowAt(s, parent, pageSize), length, key);
    } else if (slot >= BTreeNode.count(s, parent)) {
      length = BTreeNode.high(s, parent);
      set(s, parent + BTreeNode.highAt(s, parent, pageSize), length, key);
    } else {
      long entry = BTreeNode.innerSlot(s, parent, slot);
      length = BTreeNode.copyKey(s, parent, pageSize, false, entry, key.segment(), 0);
      key.setLength(length);
    }
    int found = isLow ? BTreeNode.low(s, base) : BTreeNode.high(s, base);
    int at = isLow ? BTreeNode.lowAt(s, base, pageSize) : BTreeNode.highAt(s, base, pageSize);
    if (found != length
        || length != BTreeNode.NONE && !Mem.equal(s, base + at, length, key.segment(), 0, length)) {
      throw new Damage(
          (isLow ? "low" : "high") + " fence of a node, by the separator in its parent",
          length,
          found);
    }
  }

  private static void set(MemorySegment s, long at, int length, KeyBuffer key) {
    if (length != BTreeNode.NONE) {
      key.set(s, at, length);
    }
  }
}
