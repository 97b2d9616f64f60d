package io.fovea.btree;

import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Searches a node; {@link BTreeNode} has the layout.
 *
 * <pre>
 *   leaf     sixteenths of the slots, as long as there are many -&gt; first slots of up to 18 groups
 *            -&gt; the eight slots of one group -&gt; the tail, if the heads are equal
 *   inner    the 16 sampled heads -&gt; halving while more than 16 slots are left
 *            -&gt; first slots of 4 groups -&gt; the four slots of one group -&gt; the tail
 * </pre>
 *
 * <ul>
 *   <li>Heads nearly always decide, so a search reads slots and hardly any records.
 *   <li>The last steps count instead of halving: their loads are independent, so the misses of a
 *       cold leaf overlap.
 *   <li>The three searches are each above 325 bytecodes, so the JVM never inlines them; see {@link
 *       Descent}.
 * </ul>
 *
 * <p>All methods may run on a page that a writer is changing, under the rules of {@link BTreeNode}.
 */
final class NodeSearch {
  /** Groups of eight slots of a leaf that are compared in one step. */
  private static final int GROUPS_MAX = 18;

  private NodeSearch() {}

  /**
   * Finds the first slot of a leaf whose key is not below the given key. Returns the slot times
   * two, plus one if its key is equal.
   *
   * <p>Counts first slots below the head among up to {@value #GROUPS_MAX} groups of eight slots, a
   * cache line each, then slots within one group. More slots are first reduced by sixteenths. The
   * loads of a step are independent, and those of the groups do not even depend on the count, so a
   * cold leaf costs two waits for memory, including that for its header. A group that reaches past
   * the last slot is moved back; the slots before it are then known to be below.
   */
  static int searchLeaf(
      MemorySegment s, long base, int pageSize, MemorySegment key, long off, int len) {
    long shape = BTreeNode.shape(s, base);
    int count = Math.min(BTreeNode.countOfShape(shape), BTreeNode.leafCountMax(pageSize));
    int prefix = Math.min(BTreeNode.prefixOfShape(shape), len);
    long word = word(key, off, len, len - prefix);
    long head = word >>> 32;
    long slots = base + BTreeNode.LEAF_SLOTS;
    int from = 0;
    if (count < 8) {
      while (from < count
          && Mem.peekLong(s, slots + ((long) from << BTreeNode.LEAF_SHIFT)) >>> 32 < head) {
        from++;
      }
    } else {
      int n = count;
      while (n > GROUPS_MAX << 3) {
        int step = n >>> 4;
        int below = 0;
        for (int i = 1; i < 16; i++) {
          below += (int) leafLess(s, slots, from + i * step - 1, head);
        }
        from += below * step;
        n = below < 15 ? step : n - 15 * step;
      }
      // The addresses do not depend on the count, so no load waits for the header. Slots after the
      // last one may contain anything and are masked.
      long at = slots + ((long) from << BTreeNode.LEAF_SHIFT);
      int end = n <= 32 ? 32 : n <= 64 ? 64 : GROUPS_MAX << 3;
      long group = 0;
      for (int i = 8; i < end; i += 8) {
        group += leafLess(s, at, i, head) & less(i, n);
      }
      long start = Math.min(from + (group << 3), count - 8L);
      at = slots + (start << BTreeNode.LEAF_SHIFT);
      from =
          (int)
              (start
                  + leafLess(s, at, 0, head)
                  + leafLess(s, at, 1, head)
                  + leafLess(s, at, 2, head)
                  + leafLess(s, at, 3, head)
                  + leafLess(s, at, 4, head)
                  + leafLess(s, at, 5, head)
                  + leafLess(s, at, 6, head)
                  + leafLess(s, at, 7, head));
    }
    if (from == count) {
      return from << 1;
    }
    long entry = Mem.peekLong(s, slots + ((long) from << BTreeNode.LEAF_SHIFT));
    if (entry >>> 32 != head) {
      return from << 1;
    }
    // Suffixes of at most four bytes are already known to be equal.
    int c = BTreeNode.suffixLength(entry) - (len - prefix);
    if (BTreeNode.suffixLength(entry) > BTreeNode.HEAD_BYTES
        && len - prefix > BTreeNode.HEAD_BYTES) {
      c =
          compareTail(
              s, base + BTreeNode.FIELD_BYTES, entry, word, key, off + prefix, len - prefix);
    }
    if (c >= 0) {
      return c == 0 ? from << 1 | 1 : from << 1;
    }
    return among(
        s,
        base + BTreeNode.FIELD_BYTES,
        slots,
        BTreeNode.LEAF_SHIFT,
        from + 1,
        count,
        word,
        key,
        off + prefix,
        len - prefix);
  }

  /**
   * Finds the first slot of an inner node whose separator is not below the given key, like {@link
   * #searchLeaf}. The sampled heads leave about 14 slots of a full 4 KiB page, which are compared
   * in groups of four, a cache line each.
   */
  static int searchInner(
      MemorySegment s, long base, int pageSize, MemorySegment key, long off, int len) {
    long shape = BTreeNode.shape(s, base);
    int count = Math.min(BTreeNode.countOfShape(shape), BTreeNode.innerCountMax(pageSize));
    int prefix = Math.min(BTreeNode.prefixOfShape(shape), len);
    if (BTreeNode.isOpenShape(shape)) {
      int c = comparePrefix(s, base, pageSize, key, off, len);
      if (c != 0) {
        return c > 0 ? 0 : count << 1;
      }
    }
    long word = word(key, off, len, len - prefix);
    long head = word >>> 32;
    long slots = base + BTreeNode.INNER_SLOTS;
    int from = 0;
    if (count < 4) {
      while (from < count
          && Mem.peekLong(s, slots + ((long) from << BTreeNode.INNER_SHIFT)) >>> 32 < head) {
        from++;
      }
    } else {
      int n = count;
      if (count >= BTreeNode.HINTS_FROM) {
        int step = count / (BTreeNode.HEADS_COUNT + 1);
        int below = headsBelow(s, base + BTreeNode.HEADS, head);
        from = below * step;
        n = below == BTreeNode.HEADS_COUNT ? count - from : step;
      }
      while (n > 16) {
        int half = n >>> 1;
        long probe =
            Mem.peekLong(s, slots + ((long) (from + half - 1) << BTreeNode.INNER_SHIFT)) >>> 32;
        from += half & -(int) less(probe, head);
        n -= half;
      }
      long at = slots + ((long) from << BTreeNode.INNER_SHIFT);
      int last = count - 1 - from;
      long group =
          innerLess(s, at, Math.min(4, last), head)
              + innerLess(s, at, Math.min(8, last), head)
              + innerLess(s, at, Math.min(12, last), head);
      long start = Math.min(from + (group << 2), count - 4L);
      at = slots + (start << BTreeNode.INNER_SHIFT);
      from =
          (int)
              (start
                  + innerLess(s, at, 0, head)
                  + innerLess(s, at, 1, head)
                  + innerLess(s, at, 2, head)
                  + innerLess(s, at, 3, head));
    }
    if (from == count) {
      return from << 1;
    }
    long entry = Mem.peekLong(s, slots + ((long) from << BTreeNode.INNER_SHIFT));
    if (entry >>> 32 != head) {
      return from << 1;
    }
    int c = compareTail(s, base, entry, word, key, off + prefix, len - prefix);
    if (c >= 0) {
      return c == 0 ? from << 1 | 1 : from << 1;
    }
    return among(
        s,
        base,
        slots,
        BTreeNode.INNER_SHIFT,
        from + 1,
        count,
        word,
        key,
        off + prefix,
        len - prefix);
  }

  /** 1 if the head of the i-th slot is below {@code head}. */
  private static long leafLess(MemorySegment s, long at, int i, long head) {
    return less(Mem.peekLong(s, at + ((long) i << BTreeNode.LEAF_SHIFT)) >>> 32, head);
  }

  private static long innerLess(MemorySegment s, long at, int i, long head) {
    return less(Mem.peekLong(s, at + ((long) i << BTreeNode.INNER_SHIFT)) >>> 32, head);
  }

  /** Returns the number of sampled heads below {@code head}: one cache line, no branches. */
  private static int headsBelow(MemorySegment s, long at, long head) {
    long group = headLess(s, at, 3, head) + headLess(s, at, 7, head) + headLess(s, at, 11, head);
    long in = at + (group << 4);
    return (int)
        ((group << 2)
            + headLess(s, in, 0, head)
            + headLess(s, in, 1, head)
            + headLess(s, in, 2, head)
            + headLess(s, in, 3, head));
  }

  private static long headLess(MemorySegment s, long at, int i, long head) {
    return less(Mem.peekInt(s, at + ((long) i << 2)) & 0xFFFF_FFFFL, head);
  }

  /** 1 if a is below b, without overflow: both have 32 bits. */
  private static long less(long a, long b) {
    return a - b >>> 63;
  }

  /** Compares the prefix of a node with a key: 0 if the key begins with it. */
  private static int comparePrefix(
      MemorySegment s, long base, int pageSize, MemorySegment key, long off, int len) {
    int prefix = Math.min(BTreeNode.prefix(s, base), BTreeNode.keyMax(pageSize));
    int common = Math.min(prefix, len);
    int c = Mem.compare(s, base + BTreeNode.highAt(s, base, pageSize), common, key, off, common);
    return c != 0 ? c : prefix - common;
  }

  /**
   * Returns the first eight bytes of a key's suffix, big-endian, padded with zeros. A shorter
   * suffix is read with the bytes before it, which are shifted out. So no byte after the key is
   * read, and keys of at least eight bytes need no branch.
   */
  static long word(MemorySegment key, long off, int len, int suffix) {
    if (len < 8) {
      return shortWord(key, off + len - suffix, suffix);
    }
    int missing = Math.max(0, 8 - suffix);
    // Two shifts, since Java treats a shift by 64 as one by 0.
    return Mem.getLongBE(key, off + len - suffix - missing) << 4 * missing << 4 * missing;
  }

  private static long shortWord(MemorySegment key, long off, int len) {
    if (len >= 4) {
      int missing = 8 - len;
      long first = Mem.getIntBE(key, off) & 0xFFFF_FFFFL;
      long last = Mem.getIntBE(key, off + len - 4) & 0xFFFF_FFFFL;
      return first << 32 | last << 8 * missing & 0xFFFF_FFFFL;
    }
    long word = 0;
    for (int i = 0; i < len; i++) {
      word |= (long) Mem.getUnsignedByte(key, off + i) << 56 - 8 * i;
    }
    return word;
  }

  /** Binary search among keys with the same head. */
  private static int among(
      MemorySegment s,
      long tails,
      long slots,
      int shift,
      int from,
      int to,
      long word,
      MemorySegment key,
      long off,
      int len) {
    while (from < to) {
      int middle = from + to >>> 1;
      long entry = Mem.peekLong(s, slots + ((long) middle << shift));
      int c =
          entry >>> 32 != word >>> 32
              ? Long.compare(entry >>> 32, word >>> 32)
              : compareTail(s, tails, entry, word, key, off, len);
      if (c == 0) {
        return middle << 1 | 1;
      }
      if (c < 0) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from << 1;
  }

  /**
   * Compares the suffix of a slot with a key's suffix ({@code off}, {@code len}), if the heads are
   * equal; {@code tails} plus a record's offset is the address of its tail.
   */
  static int compareTail(
      MemorySegment s, long tails, long slot, long word, MemorySegment key, long off, int len) {
    int length = BTreeNode.suffixLength(slot);
    // Heads are zero-padded: if one is a whole suffix, it is a prefix of the other.
    if (length <= BTreeNode.HEAD_BYTES || len <= BTreeNode.HEAD_BYTES) {
      return length - len;
    }
    long at = tails + BTreeNode.offset(slot);
    long a = tailWord(s, at, length - BTreeNode.HEAD_BYTES);
    long b = word & 0xFFFF_FFFFL;
    if (a != b) {
      return a < b ? -1 : 1;
    }
    if (length <= 8 || len <= 8) {
      return length - len;
    }
    return Mem.compare(s, at + 4, length - 8, key, off + 8, len - 8);
  }

  /**
   * Returns the first four bytes of a tail, padded with zeros; bytes read before it are in the
   * page.
   */
  static long tailWord(MemorySegment s, long at, int len) {
    int missing = Math.max(0, 4 - len);
    return (Mem.peekIntBE(s, at - missing) & 0xFFFF_FFFFL) << 8 * missing & 0xFFFF_FFFFL;
  }

  // ------------------------------------------------------------------------------------- fences

  /**
   * Returns whether a key, or with {@code after} what follows it, belongs to a node, by its fences.
   */
  static boolean covers(
      MemorySegment s,
      long base,
      int pageSize,
      MemorySegment key,
      long off,
      int len,
      boolean after) {
    int low = BTreeNode.low(s, base);
    int high = BTreeNode.high(s, base);
    int lowBytes = BTreeNode.fenceBytes(low, pageSize);
    long highAt = base + BTreeNode.highAt(s, base, pageSize);
    int min = after ? 0 : 1;
    return (high == BTreeNode.NONE
            || Mem.compare(s, highAt, BTreeNode.fenceBytes(high, pageSize), key, off, len)
                >= 1 - min)
        && (low == BTreeNode.NONE
            || Mem.compare(key, off, len, s, highAt - lowBytes, lowBytes) >= min);
  }

  // ------------------------------------------------------------------------- hints, single keys

  /**
   * Finds a key in the page that a hint names as its leaf. Returns the same as {@link #searchLeaf},
   * or -1 if the key does not belong to this page.
   *
   * @param hint the slot of the key; {@link #absent} with its insertion slot; or -1
   */
  static int searchHinted(
      MemorySegment s,
      long base,
      int pageSize,
      int treeId,
      int hint,
      MemorySegment key,
      long off,
      int len) {
    if (!BTreeNode.isLeafKind(BTreeNode.kind(s, base)) || PageHeader.treeId(s, base) != treeId) {
      return -1;
    }
    long shape = BTreeNode.shape(s, base);
    int prefix = Math.min(BTreeNode.prefixOfShape(shape), BTreeNode.keyMax(pageSize));
    int low = (int) (shape >>> BTreeNode.LOW_SHIFT) & 0xFFFF;
    int high = (int) (shape >>> BTreeNode.HIGH_SHIFT) & 0xFFFF;
    int highBytes = BTreeNode.fenceBytes(high, pageSize);
    long highAt = base + pageSize - (high == BTreeNode.NONE ? prefix : highBytes);
    if (hint >= 0
        && hint < Math.min(BTreeNode.countOfShape(shape), BTreeNode.leafCountMax(pageSize))
        && len >= prefix) {
      int suffix = len - prefix;
      long entry =
          Mem.peekLong(s, base + BTreeNode.LEAF_SLOTS + ((long) hint << BTreeNode.LEAF_SHIFT));
      long word = word(key, off, len, suffix);
      if (BTreeNode.suffixLength(entry) == suffix && entry >>> 32 == word >>> 32) {
        // An equal key makes the fences irrelevant.
        int c =
            suffix <= BTreeNode.HEAD_BYTES
                ? 0
                : compareTail(
                    s, base + BTreeNode.FIELD_BYTES, entry, word, key, off + prefix, suffix);
        if (c == 0 && Mem.equal(s, highAt, prefix, key, off, prefix)) {
          return hint << 1 | 1;
        }
      }
    } else if (hint < -1 || hint < 0 && BTreeNode.run(s, base) > 0) {
      int slot = inGap(s, base, pageSize, shape, prefix, hint, key, off, len);
      if (slot >= 0) {
        return slot << 1;
      }
    }
    if (high != BTreeNode.NONE && Mem.compare(s, highAt, highBytes, key, off, len) < 0) {
      return -1;
    }
    if (low != BTreeNode.NONE) {
      int lowBytes = BTreeNode.fenceBytes(low, pageSize);
      if (Mem.compare(key, off, len, s, highAt - lowBytes, lowBytes) <= 0) {
        return -1;
      }
    }
    return searchLeaf(s, base, pageSize, key, off, len);
  }

  /** Returns a hint for {@link #searchHinted} that the key is absent, with its insertion slot. */
  static int absent(int slot) {
    return -2 - slot;
  }

  /**
   * Finds the insertion slot of an absent key at the hint, or after the last inserted key, as in a
   * run of ascending keys. Takes two comparisons instead of a search and two fence checks. Returns
   * the slot, or -1 if the key is present or belongs elsewhere.
   */
  private static int inGap(
      MemorySegment s,
      long base,
      int pageSize,
      long shape,
      int prefix,
      int hint,
      MemorySegment key,
      long off,
      int len) {
    int high = (int) (shape >>> BTreeNode.HIGH_SHIFT) & 0xFFFF;
    int highBytes = high == BTreeNode.NONE ? prefix : BTreeNode.fenceBytes(high, pageSize);
    long highAt = base + pageSize - highBytes;
    if (len < prefix || !Mem.equal(s, highAt, prefix, key, off, prefix)) {
      return -1;
    }
    int count = Math.min(BTreeNode.countOfShape(shape), BTreeNode.leafCountMax(pageSize));
    long word = word(key, off, len, len - prefix);
    int slot = absent(hint);
    if (hint >= -1 || !isGap(s, base, slot, count, word, key, off + prefix, len - prefix)) {
      slot = BTreeNode.last(s, base) + 1;
      if (BTreeNode.run(s, base) == 0
          || !isGap(s, base, slot, count, word, key, off + prefix, len - prefix)) {
        return -1;
      }
    }
    // The key before the slot is above the low fence; the key at the slot is not above the high
    // one.
    boolean fits =
        slot < count
            || high == BTreeNode.NONE
            || Mem.compare(s, highAt, highBytes, key, off, len) >= 0;
    return fits ? slot : -1;
  }

  /**
   * Returns whether a key with the leaf's prefix lies strictly between the entries before a slot
   * and at it. False for slot 0, whose lower bound is the low fence.
   */
  private static boolean isGap(
      MemorySegment s,
      long base,
      int slot,
      int count,
      long word,
      MemorySegment key,
      long off,
      int len) {
    return slot > 0
        && slot <= count
        && compareSlot(s, base, slot - 1, word, key, off, len) < 0
        && (slot == count || compareSlot(s, base, slot, word, key, off, len) > 0);
  }

  /** Compares the key of a leaf slot with a key that has the leaf's prefix. */
  private static int compareSlot(
      MemorySegment s, long base, int slot, long word, MemorySegment key, long off, int len) {
    return compareEntry(
        s,
        base,
        Mem.peekLong(s, base + BTreeNode.LEAF_SLOTS + ((long) slot << BTreeNode.LEAF_SHIFT)),
        word,
        key,
        off,
        len);
  }

  private static int compareEntry(
      MemorySegment s, long base, long entry, long word, MemorySegment key, long off, int len) {
    return entry >>> 32 != word >>> 32
        ? Long.compare(entry >>> 32, word >>> 32)
        : compareTail(s, base + BTreeNode.FIELD_BYTES, entry, word, key, off, len);
  }

  /** Compares the key of a leaf slot with any key. */
  static int compareKey(
      MemorySegment s, long base, int pageSize, long slot, MemorySegment key, long off, int len) {
    int prefix = Math.min(BTreeNode.prefix(s, base), BTreeNode.keyMax(pageSize));
    int common = Math.min(prefix, len);
    int c = Mem.compare(s, base + BTreeNode.highAt(s, base, pageSize), common, key, off, common);
    if (c != 0) {
      return c;
    }
    if (len < prefix) {
      return 1;
    }
    long word = word(key, off, len, len - prefix);
    return compareEntry(s, base, slot, word, key, off + prefix, len - prefix);
  }
}
