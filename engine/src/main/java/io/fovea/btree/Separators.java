package io.fovea.btree;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Where to split a node, and the separator between the halves.
 *
 * <p>Keys up to the separator go left, keys above it right: for neighbours a &lt; b it is any s
 * with a &lt;= s &lt; b, the shorter the better, for it becomes a fence of two nodes and an entry
 * of their parent (suffix truncation: Bayer and Unterauer, Prefix B-Trees, 1977).
 *
 * <p><b>There is always a split.</b> P = page, keys up to P/8, records up to 3/8 P, fences 1/4 P at
 * most. With entries of 5/8 P and more there is a place with at least P/8 of entries on both sides,
 * which pays for any separator. With less any place will do, also the one beside the new key that
 * leaves a side empty. Then the new record fits beside the fences.
 */
final class Separators {
  /** Ascending inserts before a leaf is split at the insertion point. */
  private static final int RUN_FROM = 4;

  private Separators() {}

  /**
   * Makes the shortest separator that is cheap to find.
   *
   * <p>With c bytes in common: c + 1 bytes of b, if b has more than these; else c + 1 bytes of a,
   * incremented at the end if a has more; else a up to the first byte behind these that can be
   * incremented; else a.
   */
  static void between(MemorySegment a, int aLen, MemorySegment b, int bLen, KeyBuffer separator) {
    int common = Mem.commonPrefix(a, 0, aLen, b, 0, bLen);
    if (common == bLen
        || common < aLen && Mem.getUnsignedByte(a, common) > Mem.getUnsignedByte(b, common)) {
      // Caught where latches are given back, as is every other sign of a damaged page.
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
   * Decides how to split a leaf into which a key shall go.
   *
   * @param slot where the key would be inserted, or is
   * @return how many entries stay on the left; the separator is in the scratch
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
      // What is above the insertion point is of another run, and would only be pushed along.
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
    // Impossible, by the argument above, in a page that is not damaged.
    throw new NodeDamage("entries of a leaf, which can't be split", 2, count);
  }

  private static boolean ascending(MemorySegment s, long base, int slot) {
    return BTreeNode.run(s, base) >= RUN_FROM && NodeEditor.ascends(s, base, slot);
  }

  /** Between the entry before a slot and the key that is to be at it. */
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

  /** Between the key and the entry that would be behind it: the key goes left. */
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

  /** Whether both halves have room for their entries and their new fence. */
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

  /** The first slot with at least half of the bytes before it. */
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
   * Decides how to split an inner node of at least three separators.
   *
   * @param slot where the separator that needs the room would be inserted
   * @return the slot whose separator moves up; it is in the scratch
   */
  static int planInner(MemorySegment s, long base, int pageSize, int slot, TreeScratch scratch) {
    int count = BTreeNode.count(s, base);
    int best = -1;
    if (ascending(s, base, slot)) {
      // What is before the insertion point stays; at least one separator goes right.
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
