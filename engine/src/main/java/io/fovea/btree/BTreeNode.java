package io.fovea.btree;

import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageRef;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

/**
 * The layout of a node, and the search in it.
 *
 * <pre>
 *   0        32                                              64
 *   +--------+-------+-------+-------+-------+-------+-------+-------+-------+--------+--------+
 *   | page   | count | prefix| low   | high  | heap  | dead  | last  | run   | next   | prev   |
 *   | header | 16    | 16    | 16    | 16    | 16    | 16    | 16    | 16    | 64     | 64     |
 *   +--------+-------+-------+-------+-------+-------+-------+-------+-------+--------+--------+
 *   leaf:    64  slot 0 | slot 1 | ...  ->            gap            &lt;- records | low | high |
 *   inner:   64  16 heads |  128  slot 0, child 0 | slot 1, child 1 | ... | -, upper child  -> gap
 *                                                                  &lt;- tails | low | high |
 *
 *   slot     63            32 31        16 15         0
 *            | head          | offset     | length    |
 *            +---------------+------------+-----------+
 *
 *   count    entries; an inner node has one child more
 *   prefix   bytes that all keys here begin with. Of a node with two fences: what these have in
 *            common, so that a key that belongs here has it too. Of an inner node without one of
 *            them: what its own keys have in common; a key that is looked for is compared with it.
 *            Of a leaf without one: none
 *   low      length of the low fence, all keys are above it; 0xFFFF: there is none
 *   high     length of the high fence, no key is above it; 0xFFFF: there is none, and in its place
 *            are the bytes of the prefix
 *   heap     bytes from the lowest record to the end of the page, fences included
 *   dead     bytes in there that belong to no record any more
 *   last     the slot of the last insert (0xFFFF: before slot 0);  run: inserts that ascended so far
 *   next     leaf: the page of the next leaf, a hint, 0 for none; prev likewise
 *   head     first four bytes of the suffix, big-endian, padded with zeros
 *   length   of the suffix: the key without the prefix
 *   offset   where the record begins; its tail is the suffix without the head
 *   child    a {@link PageRef}: the child's page id, and in memory a hint at its frame
 *
 *   leaf record   | value length 16 | tail | value |
 *   overflow      | 0xFFFF          | tail | first page 64 | length 64 |
 *   inner record  | tail |                                nothing at all where the head is enough
 *   16 heads      of the slots step, 2 step, ..., 16 step, with step = count / 17;
 *                 only in nodes of at least {@value #HINTS_FROM} entries
 * </pre>
 *
 * <h2>Why it is like this</h2>
 *
 * <ul>
 *   <li>A slot is one aligned long: it is read and written as a whole, so that a reader without a
 *       latch sees an old slot or a new one, never half of each.
 *   <li>The head is in the slot, so bytes of it are nowhere else. A suffix of at most four bytes
 *       has no tail: the slots alone decide. One of at most eight is decided by one more compare of
 *       a masked word. With the prefix gone that is nearly every key.
 *   <li>The root has no fences. Without a prefix of its own all its keys would have the same head
 *       (a number of eight bytes that counts from 1, a first part that is the same for all), and
 *       every descent would begin with a search through tails. In leaves, where a key that does not
 *       have the prefix would be inserted now and then, this is not worth it.
 *   <li>The header's 64 bytes are one cache line; the heads of an inner node are the line that the
 *       processor fetches with it. After them a search has about 14 neighbouring entries left. A
 *       child is in the line of its slot, so that an inner node costs no access to its heap.
 *   <li>The last steps of a search do not halve but count: the loads do not depend on each other,
 *       so the misses of a cold leaf overlap instead of waiting for each other.
 *   <li>Fences make a node self-describing: a guess at a leaf is checked against them, and the
 *       latched paths check them instead of holding the parent.
 * </ul>
 *
 * <p>Everything here may run on a page that a writer is changing. So counts, lengths and offsets
 * are clamped to the page; what is still outside of the mapping is an {@link
 * IndexOutOfBoundsException}, caught at the outer edge ({@link BTree}); and no result means
 * anything before the version was validated.
 */
final class BTreeNode {
  static final int COUNT = 32;
  static final int PREFIX = 34;
  static final int LOW = 36;
  static final int HIGH = 38;
  static final int HEAP = 40;
  static final int DEAD = 42;
  static final int LAST = 44;
  static final int RUN = 46;
  static final int NEXT = 48;
  static final int PREV = 56;

  static final int LEAF_SLOTS = 64;
  static final int LEAF_SHIFT = 3;
  static final int LEAF_STRIDE = 1 << LEAF_SHIFT;

  static final int HEADS = 64;
  static final int HEADS_COUNT = 16;
  static final int HINTS_FROM = 2 * (HEADS_COUNT + 1);
  static final int INNER_SLOTS = 128;
  static final int INNER_SHIFT = 4;
  static final int INNER_STRIDE = 1 << INNER_SHIFT;
  static final int CHILD = 8;

  /** How many groups of eight slots of a leaf are looked at in one step. */
  private static final int GROUPS_MAX = 18;

  /** What a copy of a page has behind it: as far as a damaged or torn 16-bit offset may reach. */
  static final long SLACK = (1 << 16) + 16;

  /** The length of a fence that does not exist. */
  static final int NONE = 0xFFFF;

  /** Bytes of a key that live in the slot. */
  static final int HEAD_BYTES = 4;

  /** Bytes before the tail of a leaf's record. */
  static final int FIELD_BYTES = 2;

  /** The length field of a value that is elsewhere. */
  static final int OVERFLOW = 0xFFFF;

  /** What a leaf keeps of a value that is elsewhere: its first page and its length. */
  static final int STUB_BYTES = 16;

  /**
   * The layout of all nodes but of leaves whose values end with the number of a frame, which have
   * {@link io.fovea.buffer.LeafHints#LAYOUT}. That a value ends so is nothing to the tree.
   */
  static final int LAYOUT = 0;

  /** A page has so many bits of lines, see {@link #line}. */
  static final int LINE_BITS = 8;

  private BTreeNode() {}

  // ------------------------------------------------------------------------------ header fields

  static int count(MemorySegment s, long base) {
    return Mem.peekUnsignedShort(s, base + COUNT);
  }

  static int prefix(MemorySegment s, long base) {
    return Mem.peekUnsignedShort(s, base + PREFIX);
  }

  static int low(MemorySegment s, long base) {
    return Mem.peekUnsignedShort(s, base + LOW);
  }

  static int high(MemorySegment s, long base) {
    return Mem.peekUnsignedShort(s, base + HIGH);
  }

  static int heap(MemorySegment s, long base) {
    return Mem.peekUnsignedShort(s, base + HEAP);
  }

  static int dead(MemorySegment s, long base) {
    return Mem.peekUnsignedShort(s, base + DEAD);
  }

  static int last(MemorySegment s, long base) {
    return Mem.peekUnsignedShort(s, base + LAST);
  }

  static int run(MemorySegment s, long base) {
    return Mem.peekUnsignedShort(s, base + RUN);
  }

  static long next(MemorySegment s, long base) {
    return Mem.peekLong(s, base + NEXT);
  }

  static long prev(MemorySegment s, long base) {
    return Mem.peekLong(s, base + PREV);
  }

  // The four numbers that a search needs are one load; so are type and level.

  private static final boolean LITTLE = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
  private static final int COUNT_SHIFT = LITTLE ? 0 : 48;
  private static final int PREFIX_SHIFT = LITTLE ? 16 : 32;
  private static final int LOW_SHIFT = LITTLE ? 32 : 16;
  private static final int HIGH_SHIFT = LITTLE ? 48 : 0;
  private static final int TYPE_SHIFT = LITTLE ? 0 : 24;
  private static final int LEVEL_SHIFT = LITTLE ? 16 : 0;

  /** Count, prefix, low and high. */
  private static long shape(MemorySegment s, long base) {
    return Mem.peekLong(s, base + COUNT);
  }

  private static int shapeCount(long shape) {
    return (int) (shape >>> COUNT_SHIFT) & 0xFFFF;
  }

  private static int shapePrefix(long shape) {
    return (int) (shape >>> PREFIX_SHIFT) & 0xFFFF;
  }

  private static boolean shapeOpen(long shape) {
    return (shape >>> LOW_SHIFT & 0xFFFF) == NONE || (shape >>> HIGH_SHIFT & 0xFFFF) == NONE;
  }

  /** Type, layout and level. */
  static int kind(MemorySegment s, long base) {
    return Mem.peekInt(s, base + PageHeader.TYPE);
  }

  /** Whether a kind is that of an inner node. */
  static boolean kindInner(int kind) {
    return (kind >>> TYPE_SHIFT & 0xFF) == PageHeader.INNER;
  }

  /** Whether a kind is that of a leaf. */
  static boolean kindLeaf(int kind) {
    return (kind >>> TYPE_SHIFT & 0xFF) == PageHeader.LEAF;
  }

  static int kindLevel(int kind) {
    return kind >>> LEVEL_SHIFT & 0xFFFF;
  }

  static boolean isLeaf(MemorySegment s, long base) {
    return PageHeader.type(s, base) == PageHeader.LEAF;
  }

  static boolean isInner(MemorySegment s, long base) {
    return PageHeader.type(s, base) == PageHeader.INNER;
  }

  // -------------------------------------------------------------------------------------- slots

  /** The longest key of pages of a size. */
  static int keyMax(int pageSize) {
    return pageSize >>> 3;
  }

  /** The longest value that stays in a leaf. */
  static int inlineMax(int pageSize) {
    return pageSize >>> 2;
  }

  static long leafSlot(MemorySegment s, long base, int slot) {
    return Mem.peekLong(s, base + LEAF_SLOTS + ((long) slot << LEAF_SHIFT));
  }

  /** In which 256th of its page the record of a slot begins; of a torn slot, anything below 256. */
  static int line(long slot, int pageSize) {
    return offset(slot) >>> Integer.numberOfTrailingZeros(pageSize) - LINE_BITS
        & (1 << LINE_BITS) - 1;
  }

  static long innerSlot(MemorySegment s, long base, int slot) {
    return Mem.peekLong(s, base + INNER_SLOTS + ((long) slot << INNER_SHIFT));
  }

  /** The child that holds keys up to the key of a slot; at slot {@code count} the upper child. */
  static long child(MemorySegment s, long base, int slot) {
    return PageRef.pid(childRef(s, base, slot));
  }

  /** The reference to that child: its page id, and a hint at its frame. */
  static long childRef(MemorySegment s, long base, int slot) {
    return Mem.peekLong(s, childAt(base, slot));
  }

  /** Where that reference is. */
  static long childAt(long base, int slot) {
    return base + INNER_SLOTS + CHILD + ((long) slot << INNER_SHIFT);
  }

  static long slot(MemorySegment s, long base, boolean leaf, int slot) {
    return leaf ? leafSlot(s, base, slot) : innerSlot(s, base, slot);
  }

  static long makeSlot(int head, int offset, int length) {
    return (long) head << 32 | (long) offset << 16 | length;
  }

  static int suffixLength(long slot) {
    return (int) slot & 0xFFFF;
  }

  static int offset(long slot) {
    return (int) slot >>> 16;
  }

  static int tailLength(long slot) {
    return Math.max(0, suffixLength(slot) - HEAD_BYTES);
  }

  /** Where the slots end. */
  static int slotsEnd(boolean leaf, int count) {
    return leaf ? LEAF_SLOTS + (count << LEAF_SHIFT) : INNER_SLOTS + (count + 1 << INNER_SHIFT);
  }

  /** How many entries can be in a page: what a torn count is clamped to. */
  private static int leafCountMax(int pageSize) {
    return pageSize - LEAF_SLOTS >>> LEAF_SHIFT;
  }

  private static int innerCountMax(int pageSize) {
    return (pageSize - INNER_SLOTS >>> INNER_SHIFT) - 1;
  }

  static int leafCount(MemorySegment s, long base, int pageSize) {
    return Math.min(count(s, base), leafCountMax(pageSize));
  }

  static int innerCount(MemorySegment s, long base, int pageSize) {
    return Math.min(count(s, base), innerCountMax(pageSize));
  }

  // -------------------------------------------------------------------------------------- values

  /** The length field of a leaf's record: a length, or {@link #OVERFLOW}. */
  static int field(MemorySegment s, long base, int pageSize, long slot) {
    return Mem.peekUnsignedShort(s, base + (offset(slot) & pageSize - 1));
  }

  /** Where the value, or the stub of it, begins. */
  static long valueAt(long base, int pageSize, long slot) {
    return base + (offset(slot) & pageSize - 1) + FIELD_BYTES + tailLength(slot);
  }

  /** How many bytes a leaf holds for a length field. */
  static int inlineBytes(int field) {
    return field == OVERFLOW ? STUB_BYTES : field;
  }

  // -------------------------------------------------------------------------------------- search

  /**
   * Finds the first slot of a leaf whose key is not below a key.
   *
   * <p>The heads decide: of up to {@value #GROUPS_MAX} groups of eight slots, a group being a cache
   * line, the first slot of each; then a count in one group. Where there are more slots, sixteenths
   * of them come first. The loads of a step do not depend on each other, and those of the groups
   * not even on the count: a cold leaf costs the waits for memory of two steps, its header's among
   * them, where halving waited for each probe. Groups are moved back to where there are slots; then
   * what is before them is below, too.
   *
   * @return the slot times two, plus one if its key is the key
   */
  static int searchLeaf(
      MemorySegment s, long base, int pageSize, MemorySegment key, long off, int len) {
    long shape = shape(s, base);
    int count = Math.min(shapeCount(shape), leafCountMax(pageSize));
    int prefix = Math.min(shapePrefix(shape), len);
    long word = word(key, off, len, len - prefix);
    long head = word >>> 32;
    long slots = base + LEAF_SLOTS;
    int from = 0;
    if (count < 8) {
      while (from < count && Mem.peekLong(s, slots + ((long) from << LEAF_SHIFT)) >>> 32 < head) {
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
      // Where to look does not depend on the count, so the header is not waited for; what is behind
      // the last slot is anything, and does not count.
      long at = slots + ((long) from << LEAF_SHIFT);
      int end = n <= 32 ? 32 : n <= 64 ? 64 : GROUPS_MAX << 3;
      long group = 0;
      for (int i = 8; i < end; i += 8) {
        group += leafLess(s, at, i, head) & less(i, n);
      }
      long start = Math.min(from + (group << 3), count - 8L);
      at = slots + (start << LEAF_SHIFT);
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
    long entry = Mem.peekLong(s, slots + ((long) from << LEAF_SHIFT));
    if (entry >>> 32 != head) {
      return from << 1;
    }
    // With at most four bytes of suffix nothing is left to compare.
    int c = suffixLength(entry) - (len - prefix);
    if (suffixLength(entry) > HEAD_BYTES && len - prefix > HEAD_BYTES) {
      c = compareTail(s, base + FIELD_BYTES, entry, word, key, off + prefix, len - prefix);
    }
    if (c >= 0) {
      return c == 0 ? from << 1 | 1 : from << 1;
    }
    return among(
        s,
        base + FIELD_BYTES,
        slots,
        LEAF_SHIFT,
        from + 1,
        count,
        word,
        key,
        off + prefix,
        len - prefix);
  }

  /**
   * Finds the first slot of an inner node whose separator is not below a key: as searchLeaf.
   *
   * <p>The sampled heads leave about 14 slots of a full page of 4 KiB; these are asked in groups of
   * four, again a cache line.
   */
  static int searchInner(
      MemorySegment s, long base, int pageSize, MemorySegment key, long off, int len) {
    long shape = shape(s, base);
    int count = Math.min(shapeCount(shape), innerCountMax(pageSize));
    int prefix = Math.min(shapePrefix(shape), len);
    if (shapeOpen(shape)) {
      int c = comparePrefix(s, base, pageSize, key, off, len);
      if (c != 0) {
        return c > 0 ? 0 : count << 1;
      }
    }
    long word = word(key, off, len, len - prefix);
    long head = word >>> 32;
    long slots = base + INNER_SLOTS;
    int from = 0;
    if (count < 4) {
      while (from < count && Mem.peekLong(s, slots + ((long) from << INNER_SHIFT)) >>> 32 < head) {
        from++;
      }
    } else {
      int n = count;
      if (count >= HINTS_FROM) {
        int step = count / (HEADS_COUNT + 1);
        int below = headsBelow(s, base + HEADS, head);
        from = below * step;
        n = below == HEADS_COUNT ? count - from : step;
      }
      while (n > 16) {
        int half = n >>> 1;
        long probe = Mem.peekLong(s, slots + ((long) (from + half - 1) << INNER_SHIFT)) >>> 32;
        from += half & -(int) less(probe, head);
        n -= half;
      }
      long at = slots + ((long) from << INNER_SHIFT);
      int last = count - 1 - from;
      long group =
          innerLess(s, at, Math.min(4, last), head)
              + innerLess(s, at, Math.min(8, last), head)
              + innerLess(s, at, Math.min(12, last), head);
      long start = Math.min(from + (group << 2), count - 4L);
      at = slots + (start << INNER_SHIFT);
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
    long entry = Mem.peekLong(s, slots + ((long) from << INNER_SHIFT));
    if (entry >>> 32 != head) {
      return from << 1;
    }
    int c = compareTail(s, base, entry, word, key, off + prefix, len - prefix);
    if (c >= 0) {
      return c == 0 ? from << 1 | 1 : from << 1;
    }
    return among(
        s, base, slots, INNER_SHIFT, from + 1, count, word, key, off + prefix, len - prefix);
  }

  /** 1 if the i-th slot has a head below a head. */
  private static long leafLess(MemorySegment s, long at, int i, long head) {
    return less(Mem.peekLong(s, at + ((long) i << LEAF_SHIFT)) >>> 32, head);
  }

  private static long innerLess(MemorySegment s, long at, int i, long head) {
    return less(Mem.peekLong(s, at + ((long) i << INNER_SHIFT)) >>> 32, head);
  }

  /** How many of an inner node's 16 sampled heads are below a head: one line, no branches. */
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

  /** 1 if a head is below another: both have 32 bits, so that the difference cannot overflow. */
  private static long less(long a, long b) {
    return a - b >>> 63;
  }

  /** Compares the prefix of a node with a key: 0 if the key begins with it. */
  private static int comparePrefix(
      MemorySegment s, long base, int pageSize, MemorySegment key, long off, int len) {
    int prefix = Math.min(prefix(s, base), keyMax(pageSize));
    int common = Math.min(prefix, len);
    int c = Mem.compare(s, base + highAt(s, base, pageSize), common, key, off, common);
    return c != 0 ? c : prefix - common;
  }

  /**
   * The first eight bytes of a key's suffix, big-endian, padded with zeros.
   *
   * <p>A suffix of fewer is read together with what is before it, which is then shifted out: so no
   * byte behind the key is touched, and keys of eight bytes or more need no branch.
   */
  static long word(MemorySegment key, long off, int len, int suffix) {
    if (len < 8) {
      return shortWord(key, off + len - suffix, suffix);
    }
    int missing = Math.max(0, 8 - suffix);
    // In two steps, for Java shifts by 64 as by 0.
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

  /** Several keys share the head: an ordinary binary search decides. */
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

  /** Compares the suffix of a slot with that of a key, where the heads are the same. */
  private static int compareTail(
      MemorySegment s, long tails, long slot, long word, MemorySegment key, long off, int len) {
    int length = suffixLength(slot);
    // Heads are padded with zeros: where one is the whole suffix, it is a prefix of the other.
    if (length <= HEAD_BYTES || len <= HEAD_BYTES) {
      return length - len;
    }
    long at = tails + offset(slot);
    long a = tailWord(s, at, length - HEAD_BYTES);
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
   * The first four bytes of a tail, padded with zeros; what is read before it is in the page too.
   */
  private static long tailWord(MemorySegment s, long at, int len) {
    int missing = Math.max(0, 4 - len);
    return (Mem.peekIntBE(s, at - missing) & 0xFFFF_FFFFL) << 8 * missing & 0xFFFF_FFFFL;
  }

  // ---------------------------------------------------------------------------------------- keys

  /** Whether a node has no fence on one side, or on both: then its prefix must be compared. */
  static boolean isOpen(MemorySegment s, long base) {
    return low(s, base) == NONE || high(s, base) == NONE;
  }

  /** Where the low fence begins, in the page. */
  static int lowAt(MemorySegment s, long base, int pageSize) {
    return highAt(s, base, pageSize) - fenceBytes(low(s, base), pageSize);
  }

  /** Where the high fence begins, in the page, and with it the prefix. */
  static int highAt(MemorySegment s, long base, int pageSize) {
    int high = high(s, base);
    return pageSize - Math.min(high == NONE ? prefix(s, base) : high, keyMax(pageSize));
  }

  /** What a fence takes in the page; clamped. */
  static int fenceBytes(int fence, int pageSize) {
    return fence == NONE ? 0 : Math.min(fence, keyMax(pageSize));
  }

  /**
   * Whether a key belongs into a node, by its fences.
   *
   * @param after whether what follows the key is meant rather than the key
   */
  static boolean covers(
      MemorySegment s,
      long base,
      int pageSize,
      MemorySegment key,
      long off,
      int len,
      boolean after) {
    int low = low(s, base);
    int high = high(s, base);
    int lowBytes = fenceBytes(low, pageSize);
    long highAt = base + highAt(s, base, pageSize);
    int least = after ? 0 : 1;
    return (high == NONE
            || Mem.compare(s, highAt, fenceBytes(high, pageSize), key, off, len) >= 1 - least)
        && (low == NONE || Mem.compare(key, off, len, s, highAt - lowBytes, lowBytes) >= least);
  }

  /**
   * Finds a key in a page that is only believed to be its leaf.
   *
   * @param hint the slot where the key is believed to be, or -1
   * @return as {@link #searchLeaf}, or -1: this is not the leaf of the key
   */
  static int searchGuessed(
      MemorySegment s,
      long base,
      int pageSize,
      int treeId,
      int hint,
      MemorySegment key,
      long off,
      int len) {
    if (!kindLeaf(kind(s, base)) || PageHeader.treeId(s, base) != treeId) {
      return -1;
    }
    long shape = shape(s, base);
    int prefix = Math.min(shapePrefix(shape), keyMax(pageSize));
    int low = (int) (shape >>> LOW_SHIFT) & 0xFFFF;
    int high = (int) (shape >>> HIGH_SHIFT) & 0xFFFF;
    int highBytes = fenceBytes(high, pageSize);
    long highAt = base + pageSize - (high == NONE ? prefix : highBytes);
    if (hint >= 0 && hint < Math.min(shapeCount(shape), leafCountMax(pageSize)) && len >= prefix) {
      int suffix = len - prefix;
      long entry = Mem.peekLong(s, base + LEAF_SLOTS + ((long) hint << LEAF_SHIFT));
      long word = word(key, off, len, suffix);
      if (suffixLength(entry) == suffix && entry >>> 32 == word >>> 32) {
        // Where the whole key is the same, the fences need not be asked.
        int c =
            suffix <= HEAD_BYTES
                ? 0
                : compareTail(s, base + FIELD_BYTES, entry, word, key, off + prefix, suffix);
        if (c == 0 && Mem.equal(s, highAt, prefix, key, off, prefix)) {
          return hint << 1 | 1;
        }
      }
    }
    if (high != NONE && Mem.compare(s, highAt, highBytes, key, off, len) < 0) {
      return -1;
    }
    if (low != NONE) {
      int lowBytes = fenceBytes(low, pageSize);
      if (Mem.compare(key, off, len, s, highAt - lowBytes, lowBytes) <= 0) {
        return -1;
      }
    }
    return searchLeaf(s, base, pageSize, key, off, len);
  }

  /** Compares the key of a leaf's slot with a key that may be from anywhere. */
  static int compareKey(
      MemorySegment s, long base, int pageSize, long slot, MemorySegment key, long off, int len) {
    int prefix = Math.min(prefix(s, base), keyMax(pageSize));
    int common = Math.min(prefix, len);
    int c = Mem.compare(s, base + highAt(s, base, pageSize), common, key, off, common);
    if (c != 0) {
      return c;
    }
    if (len < prefix) {
      return 1;
    }
    long word = word(key, off, len, len - prefix);
    return slot >>> 32 != word >>> 32
        ? Long.compare(slot >>> 32, word >>> 32)
        : compareTail(s, base + FIELD_BYTES, slot, word, key, off + prefix, len - prefix);
  }

  /** How long the key of a slot is; clamped to what a key may be. */
  static int keyLength(MemorySegment s, long base, int pageSize, long slot) {
    return Math.min(prefix(s, base) + suffixLength(slot), keyMax(pageSize));
  }

  /**
   * Copies the whole key of a slot.
   *
   * @return its length, never more than the longest key
   */
  static int copyKey(
      MemorySegment s,
      long base,
      int pageSize,
      boolean leaf,
      long slot,
      MemorySegment dst,
      long dstOff) {
    int length = keyLength(s, base, pageSize, slot);
    int prefix = Math.min(prefix(s, base), length);
    Mem.copy(s, base + highAt(s, base, pageSize), dst, dstOff, prefix);
    copySuffix(s, leaf ? base + FIELD_BYTES : base, slot, dst, dstOff + prefix, length - prefix);
    return length;
  }

  private static void copySuffix(
      MemorySegment s, long tails, long slot, MemorySegment dst, long dstOff, int len) {
    if (len >= HEAD_BYTES) {
      Mem.putIntBE(dst, dstOff, (int) (slot >>> 32));
      Mem.copy(s, tails + offset(slot), dst, dstOff + HEAD_BYTES, len - HEAD_BYTES);
    } else {
      for (int i = 0; i < len; i++) {
        Mem.putByte(dst, dstOff + i, (byte) (slot >>> 56 - 8 * i));
      }
    }
  }

  // --------------------------------------------------------------------------------------- space

  /** Bytes between the slots and the records. */
  static int gap(MemorySegment s, long base, int pageSize, boolean leaf) {
    return pageSize - heap(s, base) - slotsEnd(leaf, count(s, base));
  }

  /** Bytes that entries take, and what they are made of: all but the fixed part and the gap. */
  static int used(MemorySegment s, long base, int pageSize, boolean leaf) {
    return slotsEnd(leaf, count(s, base)) - slotsEnd(leaf, 0) + heap(s, base) - dead(s, base);
  }

  /**
   * Whether slots, heap and fences of a node fit the page: asked under the latch before anything
   * loops over its entries, for a count that is damaged leads far away from the page.
   *
   * @throws IndexOutOfBoundsException if not
   */
  static void checkSane(MemorySegment s, long base, int pageSize, boolean leaf) {
    int fences = pageSize - lowAt(s, base, pageSize);
    int heap = heap(s, base);
    if (slotsEnd(leaf, count(s, base)) + heap > pageSize || fences + dead(s, base) > heap) {
      throw new NodeCheck.Damage(
          "heap of a node of " + count(s, base) + " entries", pageSize, heap);
    }
  }

  /** What a record takes in the heap. */
  static int recordBytes(MemorySegment s, long base, int pageSize, boolean leaf, long slot) {
    return leaf
        ? FIELD_BYTES + tailLength(slot) + inlineBytes(field(s, base, pageSize, slot))
        : tailLength(slot);
  }
}
