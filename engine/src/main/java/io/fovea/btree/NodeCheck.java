package io.fovea.btree;

import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Checks a node under its latch before a split, merge or compaction moves many of its entries.
 *
 * <pre>
 *   node      type, level and tree are those that the parent implies
 *   entries   records lie between gap and fences and add up; the prefix is what the fences share;
 *             keys are not too long, ascend, and lie between the fences
 *   child     its fences are the adjacent separators in the parent
 * </pre>
 *
 * <p>A page with a correct checksum may still be wrong, because of a defect, bad memory or
 * manipulation. Structure changes trust lengths and offsets and would overwrite neighboring frames.
 * The check runs once per split, not per entry.
 *
 * <p>Damage is reported as an {@link IndexOutOfBoundsException}, like other damage, and caught
 * where the latches are released.
 */
final class NodeCheck {
  private NodeCheck() {}

  static boolean isNode(MemorySegment s, long base, int level, int treeId) {
    return PageHeader.type(s, base) == (level == 0 ? PageHeader.LEAF : PageHeader.INNER)
        && PageHeader.level(s, base) == level
        && PageHeader.treeId(s, base) == treeId;
  }

  /** Checks a node whose entries are going to be moved, at the level that the parent implies. */
  static void node(MemorySegment s, long base, int pageSize, int level, int treeId) {
    kind(s, base, level, treeId);
    entries(s, base, pageSize, level == 0);
  }

  /**
   * Checks only what adding or removing one entry relies on, since a parent has hundreds of
   * entries. {@link #child} checks the adjacent separators.
   */
  static void parent(MemorySegment s, long base, int pageSize, int level, int treeId) {
    kind(s, base, level, treeId);
    BTreeNode.checkSane(s, base, pageSize, false);
  }

  private static void kind(MemorySegment s, long base, int level, int treeId) {
    if (!isNode(s, base, level, treeId)) {
      boolean owner = PageHeader.treeId(s, base) != treeId;
      throw owner
          ? new NodeDamage("tree id of a node", treeId, PageHeader.treeId(s, base))
          : new NodeDamage("level of a node", level, PageHeader.level(s, base));
    }
  }

  /**
   * Checks that records, fences and dead bytes make up the heap, and that keys have the right
   * prefix, ascend, and lie between the fences.
   */
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
      throw new NodeDamage("prefix or fences of a node", keyMax, prefix);
    }
    // An inner node without a fence may have any prefix that its keys share.
    if ((leaf || !BTreeNode.isOpen(s, base)) && prefix != sharedPrefix(s, base, pageSize)) {
      throw new NodeDamage("prefix of a node", sharedPrefix(s, base, pageSize), prefix);
    }
    int start = pageSize - BTreeNode.heap(s, base);
    int stop = BTreeNode.lowAt(s, base, pageSize);
    int sum = 0;
    long before = 0;
    for (int i = 0; i < count; i++) {
      long slot = BTreeNode.slot(s, base, leaf, i);
      if (prefix + BTreeNode.suffixLength(slot) > keyMax) {
        throw new NodeDamage(
            "length of a key in a node", keyMax, prefix + BTreeNode.suffixLength(slot));
      }
      if (BTreeNode.hasWrongPadding(slot)) {
        throw new NodeDamage("padding of a head in a node", 0, slot >>> 32);
      }
      if (leaf || BTreeNode.tailLength(slot) > 0) {
        sum += recordBytes(s, base, pageSize, leaf, slot, start, stop);
      }
      if (i > 0 && compare(s, base, leaf, before, slot) >= 0) {
        throw new NodeDamage("order of the keys of a node", before >>> 32, slot >>> 32);
      }
      before = slot;
    }
    int dead = stop - start - sum;
    if (dead != BTreeNode.dead(s, base)) {
      throw new NodeDamage("dead bytes of a node", dead, BTreeNode.dead(s, base));
    }
    if (count > 0) {
      between(s, base, pageSize, leaf, count);
    }
  }

  /** Returns the common prefix of both fences; 0 if one is missing. */
  static int sharedPrefix(MemorySegment s, long base, int pageSize) {
    return BTreeNode.isOpen(s, base)
        ? 0
        : Mem.commonPrefix(
            s,
            base + BTreeNode.lowAt(s, base, pageSize),
            BTreeNode.low(s, base),
            s,
            base + BTreeNode.highAt(s, base, pageSize),
            BTreeNode.high(s, base));
  }

  private static int recordBytes(
      MemorySegment s, long base, int pageSize, boolean leaf, long slot, int start, int stop) {
    int at = BTreeNode.offset(slot);
    if (at < start || at > stop - (leaf ? BTreeNode.FIELD_BYTES : 0)) {
      throw new NodeDamage("offset of a record in a node", start, at);
    }
    int bytes = BTreeNode.recordBytes(s, base, pageSize, leaf, slot);
    if (at + bytes > stop) {
      throw new NodeDamage("end of a record in a node", stop, at + bytes);
    }
    return bytes;
  }

  /** Compares the keys of two slots; their records are in the node. */
  private static int compare(MemorySegment s, long base, boolean leaf, long a, long b) {
    if (a >>> 32 != b >>> 32) {
      return Long.compare(a >>> 32, b >>> 32);
    }
    int suffix = BTreeNode.suffixLength(b);
    if (suffix <= BTreeNode.HEAD_BYTES) {
      return BTreeNode.suffixLength(a) - suffix;
    }
    long tails = tails(base, leaf);
    long tail = tails + BTreeNode.offset(b);
    long word = NodeSearch.tailWord(s, tail, suffix - BTreeNode.HEAD_BYTES);
    return NodeSearch.compareTail(s, tails, a, word, s, tail - BTreeNode.HEAD_BYTES, suffix);
  }

  private static long tails(long base, boolean leaf) {
    return leaf ? base + BTreeNode.FIELD_BYTES : base;
  }

  /** Checks that the first key is above the low fence, and the last one not above the high one. */
  private static void between(MemorySegment s, long base, int pageSize, boolean leaf, int count) {
    int low = BTreeNode.low(s, base);
    int high = BTreeNode.high(s, base);
    long lowAt = base + BTreeNode.lowAt(s, base, pageSize);
    long highAt = base + BTreeNode.highAt(s, base, pageSize);
    long first = BTreeNode.slot(s, base, leaf, 0);
    long last = BTreeNode.slot(s, base, leaf, count - 1);
    if (low != BTreeNode.NONE && compare(s, base, leaf, first, lowAt, low) <= 0) {
      throw new NodeDamage("low fence of a node, above its first key", low, 0);
    }
    if (high != BTreeNode.NONE && compare(s, base, leaf, last, highAt, high) > 0) {
      throw new NodeDamage("high fence of a node, below its last key", high, count - 1);
    }
  }

  /** Compares the key of a slot with a fence, which shares the node's prefix. */
  private static int compare(
      MemorySegment s, long base, boolean leaf, long slot, long fence, int length) {
    int prefix = BTreeNode.prefix(s, base);
    int suffix = length - prefix;
    if (suffix < 0) {
      throw new NodeDamage("prefix of a node, longer than its fence", length, prefix);
    }
    long word = NodeSearch.word(s, fence, length, suffix);
    return slot >>> 32 != word >>> 32
        ? Long.compare(slot >>> 32, word >>> 32)
        : NodeSearch.compareTail(s, tails(base, leaf), slot, word, s, fence + prefix, suffix);
  }

  /** Checks that the fences of a node match the separators at a slot of its parent. */
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
      throw new NodeDamage(
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
