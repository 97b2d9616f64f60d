package io.fovea.btree;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Chooses the split point of a node and the separator of the halves.
 *
 * <p>Keys up to the separator go left, keys above it right. For adjacent keys a &lt; b it is any s
 * with a &lt;= s &lt; b, as short as possible, since it becomes a fence of two nodes and an entry
 * of their parent. Source: suffix truncation, Bayer and Unterauer, <i>Prefix B-Trees</i>, 1977.
 *
 * <p><b>A split always exists.</b> Let P be the page size; keys take up to P/8, records up to 3/8
 * P, fences at most 1/4 P. If entries take 5/8 P or more, some point has at least P/8 of entries on
 * both sides, which makes room for any separator. If they take less, any point will do, even one
 * next to the new key that leaves a side empty: the new record then fits alongside the fences.
 */
final class Separators {
  /** Ascending inserts before a leaf is split at the insertion point. */
  private static final int RUN_FROM = 4;

  private Separators() {}

  /**
   * Makes the shortest separator that is cheap to find. With c common bytes: c + 1 bytes of b, if b
   * has more; else c + 1 bytes of a, the last one incremented, if a has more; else a up to the
   * first later byte that can be incremented; else a.
   */
  static void between(MemorySegment a, int aLen, MemorySegment b, int bLen, KeyBuffer separator) {
    int common = Mem.commonPrefix(a, 0, aLen, b, 0, bLen);
    if (common == bLen
        || common < aLen && Mem.getUnsignedByte(a, common) > Mem.getUnsignedByte(b, common)) {
      // Reported as damage where the latches are released.
      throw new NodeDamage("order of the keys of a node", common, common);
    }
    if (common == aLen) {
      separator.set(a, 0, aLen);
      return;
    }
    if (bLen > common + 1) {
      separator.set(b, 0, common + 1);
      return;
    }
    if (aLen == common + 1) {
      separator.set(a, 0, aLen);
      return;
    }
    int byteA = Mem.getUnsignedByte(a, common);
    int at = common;
    if (byteA + 1 == Mem.getUnsignedByte(b, common)) {
      at++;
      while (at < aLen - 1 && Mem.getUnsignedByte(a, at) == 0xFF) {
        at++;
      }
      if (at >= aLen - 1) {
        separator.set(a, 0, aLen);
        return;
      }
    }
    separator.set(a, 0, at + 1);
    MemorySegment s = separator.segment();
    Mem.putByte(s, at, (byte) (Mem.getUnsignedByte(s, at) + 1));
  }

  // --------------------------------------------------------------------------------------- leaves

  /**
   * Decides how to split a leaf for an insert at a slot. Returns the number of entries that stay on
   * the left; the separator is in the scratch.
   */
  static int planLeaf(
      MemorySegment s,
      long base,
      int pageSize,
      int slot,
      MemorySegment key,
      long off,
      int len,
      TreeScratch scratch) {
    int count = BTreeNode.count(s, base);
    scratch.keyGoesLeft = false;
    if (ascending(s, base, slot)) {
      // Entries above the insertion point belong to another run and would only be moved along.
      if (slot < count && afterKey(s, base, pageSize, slot, key, off, len, scratch)) {
        return slot;
      }
      if (slot == count && beforeKey(s, base, pageSize, slot, key, off, len, scratch)) {
        return slot;
      }
      if (slot > 1 && tryLeaf(s, base, pageSize, slot - 1, scratch)) {
        return slot - 1;
      }
    }
    int middle = middle(s, base, pageSize, true);
    int window = count >>> 4;
    int best = -1;
    int bestLength = Integer.MAX_VALUE;
    for (int i = Math.max(1, middle - window); i <= Math.min(count - 1, middle + window); i++) {
      betweenLeaf(s, base, pageSize, i, scratch);
      int length = scratch.separator.length();
      boolean closer = Math.abs(i - middle) < Math.abs(best - middle);
      if (length < bestLength || length == bestLength && closer) {
        best = i;
        bestLength = length;
      }
    }
    if (best > 0 && tryLeaf(s, base, pageSize, best, scratch)) {
      return best;
    }
    return anyLeaf(s, base, pageSize, slot, key, off, len, scratch);
  }

  private static int anyLeaf(
      MemorySegment s,
      long base,
      int pageSize,
      int slot,
      MemorySegment key,
      long off,
      int len,
      TreeScratch scratch) {
    int count = BTreeNode.count(s, base);
    if (slot > 0 && beforeKey(s, base, pageSize, slot, key, off, len, scratch)) {
      return slot;
    }
    if (slot < count && afterKey(s, base, pageSize, slot, key, off, len, scratch)) {
      return slot;
    }
    for (int i = 1; i < count; i++) {
      if (tryLeaf(s, base, pageSize, i, scratch)) {
        return i;
      }
    }
    // Impossible in an undamaged page; see the class comment.
    throw new NodeDamage("entries of a leaf that cannot be split", 2, count);
  }

  private static boolean ascending(MemorySegment s, long base, int slot) {
    return BTreeNode.run(s, base) >= RUN_FROM && NodeEditor.ascends(s, base, slot);
  }

  /** Splits between the entry before a slot and the key to be inserted at it. */
  private static boolean beforeKey(
      MemorySegment s,
      long base,
      int pageSize,
      int slot,
      MemorySegment key,
      long off,
      int len,
      TreeScratch scratch) {
    load(s, base, pageSize, true, slot - 1, scratch.left);
    scratch.right.set(key, off, len);
    between(scratch);
    return leafFits(s, base, pageSize, slot, scratch.separator);
  }

  /** Splits between the key and the entry after it: the key goes left. */
  private static boolean afterKey(
      MemorySegment s,
      long base,
      int pageSize,
      int slot,
      MemorySegment key,
      long off,
      int len,
      TreeScratch scratch) {
    scratch.left.set(key, off, len);
    load(s, base, pageSize, true, slot, scratch.right);
    if (Mem.equal(
        scratch.left.segment(), 0, len, scratch.right.segment(), 0, scratch.right.length())) {
      return false;
    }
    between(scratch);
    scratch.keyGoesLeft = leafFits(s, base, pageSize, slot, scratch.separator);
    return scratch.keyGoesLeft;
  }

  private static boolean tryLeaf(
      MemorySegment s, long base, int pageSize, int split, TreeScratch scratch) {
    betweenLeaf(s, base, pageSize, split, scratch);
    return leafFits(s, base, pageSize, split, scratch.separator);
  }

  private static void betweenLeaf(
      MemorySegment s, long base, int pageSize, int split, TreeScratch scratch) {
    load(s, base, pageSize, true, split - 1, scratch.left);
    load(s, base, pageSize, true, split, scratch.right);
    between(scratch);
  }

  private static void between(TreeScratch scratch) {
    between(
        scratch.left.segment(),
        scratch.left.length(),
        scratch.right.segment(),
        scratch.right.length(),
        scratch.separator);
  }

  private static void load(
      MemorySegment s, long base, int pageSize, boolean leaf, int slot, KeyBuffer key) {
    long entry = BTreeNode.slot(s, base, leaf, slot);
    key.setLength(BTreeNode.copyKey(s, base, pageSize, leaf, entry, key.segment(), 0));
  }

  /** Returns whether both halves have room for their entries and their new fence. */
  private static boolean leafFits(
      MemorySegment s, long base, int pageSize, int split, KeyBuffer separator) {
    int count = BTreeNode.count(s, base);
    int low = BTreeNode.low(s, base);
    int high = BTreeNode.high(s, base);
    long lowAt = base + BTreeNode.lowAt(s, base, pageSize);
    long highAt = base + BTreeNode.highAt(s, base, pageSize);
    int length = separator.length();
    MemorySegment k = separator.segment();
    int leftPrefix = low == BTreeNode.NONE ? 0 : Mem.commonPrefix(s, lowAt, low, k, 0, length);
    int rightPrefix = high == BTreeNode.NONE ? 0 : Mem.commonPrefix(k, 0, length, s, highAt, high);
    int left =
        BTreeNode.fenceBytes(low, pageSize)
            + length
            + BTreeNode.leafBytes(s, base, pageSize, 0, split, leftPrefix);
    int right =
        BTreeNode.fenceBytes(high, pageSize)
            + length
            + BTreeNode.leafBytes(s, base, pageSize, split, count, rightPrefix);
    return Math.max(left, right) <= pageSize - BTreeNode.LEAF_SLOTS;
  }

  /** Returns the first slot that has at least half of the bytes before it. */
  private static int middle(MemorySegment s, long base, int pageSize, boolean leaf) {
    int count = BTreeNode.count(s, base);
    int stride = leaf ? BTreeNode.LEAF_STRIDE : BTreeNode.INNER_STRIDE;
    int total = 0;
    for (int i = 0; i < count; i++) {
      total +=
          stride + BTreeNode.recordBytes(s, base, pageSize, leaf, BTreeNode.slot(s, base, leaf, i));
    }
    int sum = 0;
    for (int i = 0; i < count; i++) {
      if (2 * sum >= total) {
        return i;
      }
      sum +=
          stride + BTreeNode.recordBytes(s, base, pageSize, leaf, BTreeNode.slot(s, base, leaf, i));
    }
    return count;
  }

  // ---------------------------------------------------------------------------------- inner nodes

  /**
   * Decides how to split an inner node of at least three separators for an insert at a slot.
   * Returns the slot whose separator moves up; it is in the scratch.
   */
  static int planInner(MemorySegment s, long base, int pageSize, int slot, TreeScratch scratch) {
    int count = BTreeNode.count(s, base);
    int best = -1;
    if (ascending(s, base, slot)) {
      // Entries before the insertion point stay; at least one separator goes right.
      best = Math.max(1, Math.min(slot, count - 1) - 1);
    } else {
      int middle = Math.max(1, Math.min(count - 2, middle(s, base, pageSize, false)));
      int window = count >>> 4;
      int bestLength = Integer.MAX_VALUE;
      for (int i = Math.max(1, middle - window); i <= Math.min(count - 2, middle + window); i++) {
        int length = BTreeNode.suffixLength(BTreeNode.innerSlot(s, base, i));
        boolean closer = Math.abs(i - middle) < Math.abs(best - middle);
        if (length < bestLength || length == bestLength && closer) {
          best = i;
          bestLength = length;
        }
      }
    }
    load(s, base, pageSize, false, best, scratch.separator);
    return best;
  }
}
