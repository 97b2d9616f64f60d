package io.fovea.btree;

import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageRef;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

/**
 * The layout of a node. {@link NodeSearch} searches a node, {@link NodeEditor} changes it.
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
 *   count    entries; an inner node has one more child
 *   prefix   length of the common prefix of all keys here. With both fences: what these share, so
 *            that each key that belongs here has it. In an inner node that lacks a fence: what its
 *            own keys share, which searches compare. In a leaf that lacks a fence: 0
 *   low      length of the low fence, below all keys; 0xFFFF: none
 *   high     length of the high fence; no key is above it. 0xFFFF: none, and the prefix is stored
 *            in its place
 *   heap     bytes from the lowest record to the end of the page, fences included
 *   dead     unused bytes in the heap
 *   last     the slot of the last insert (0xFFFF: before slot 0);  run: inserts that ascended so far
 *   next     leaf: the page of the next leaf, a hint, 0 for none; prev likewise
 *   head     first four bytes of the suffix, big-endian, padded with zeros
 *   length   of the suffix: the key without the prefix
 *   offset   where the record begins; its tail is the suffix without the head
 *   child    a {@link PageRef}: the child's page id, and in memory a hint at its frame
 *
 *   leaf record   | value length 16 | tail | value |
 *   overflow      | 0xFFFF          | tail | first page 64 | length 64 |
 *   inner record  | tail |                                empty if the head is enough
 *   16 heads      of the slots step, 2 step, ..., 16 step, with step = count / 17;
 *                 only in nodes of at least {@value #HINTS_FROM} entries
 * </pre>
 *
 * <h2>Rationale</h2>
 *
 * <ul>
 *   <li>A slot is one aligned long, so an unlatched reader sees either the old or the new slot,
 *       never a mixture.
 *   <li>The head is stored only in the slot. A suffix of at most four bytes has no tail, so slots
 *       alone decide; a suffix of at most eight bytes takes one more comparison, of a masked word.
 *       Nearly all keys are that short once the prefix is removed.
 *   <li>The root has no fences, so its prefix comes from its keys. Otherwise all its keys might
 *       share the head (small 8-byte numbers, a common first component), and each descent would
 *       begin by searching tails. Leaves do without this: inserting a key without the prefix would
 *       rewrite the leaf.
 *   <li>The header is one cache line, and the sampled heads of an inner node are the adjacent one,
 *       which the processor fetches with it. The sampled heads narrow a search to about 14
 *       neighboring entries. A child is in the same line as its slot, so a search in an inner node
 *       rarely reads the heap.
 *   <li>Fences make a node self-describing: hints to a leaf are checked against them, and latched
 *       paths check them instead of holding the parent.
 * </ul>
 *
 * <p>All reads may run on a page that a writer is changing. Counts, lengths and offsets are clamped
 * to the page; an access that still leaves the mapping throws an {@link IndexOutOfBoundsException},
 * which the caller catches ({@link Descent}). A result means nothing until the version is
 * validated.
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

  /** Memory needed after a copy of a page: the reach of a damaged or torn 16-bit offset. */
  static final long SLACK = (1 << 16) + 16;

  /** The length of a missing fence. */
  static final int NONE = 0xFFFF;

  /** Key bytes stored in the slot. */
  static final int HEAD_BYTES = 4;

  /** Bytes before the tail of a leaf record. */
  static final int FIELD_BYTES = 2;

  /** The length field of a long value. */
  static final int OVERFLOW = 0xFFFF;

  /** Bytes in the leaf for a long value: its first page and its length. */
  static final int STUB_BYTES = 16;

  /** The layout of all nodes except leaves with {@link io.fovea.buffer.LeafHints#LAYOUT}. */
  static final int LAYOUT = 0;

  /** Bits of a line number, see {@link #line}. */
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

  // A search loads count, prefix, low and high at once; likewise type and level.

  private static final boolean LITTLE = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
  private static final int COUNT_SHIFT = LITTLE ? 0 : 48;
  private static final int PREFIX_SHIFT = LITTLE ? 16 : 32;
  static final int LOW_SHIFT = LITTLE ? 32 : 16;
  static final int HIGH_SHIFT = LITTLE ? 48 : 0;
  private static final int TYPE_SHIFT = LITTLE ? 0 : 24;
  private static final int LEVEL_SHIFT = LITTLE ? 16 : 0;

  /** Count, prefix, low and high. */
  static long shape(MemorySegment s, long base) {
    return Mem.peekLong(s, base + COUNT);
  }

  static int countOfShape(long shape) {
    return (int) (shape >>> COUNT_SHIFT) & 0xFFFF;
  }

  static int prefixOfShape(long shape) {
    return (int) (shape >>> PREFIX_SHIFT) & 0xFFFF;
  }

  static boolean isOpenShape(long shape) {
    return (shape >>> LOW_SHIFT & 0xFFFF) == NONE || (shape >>> HIGH_SHIFT & 0xFFFF) == NONE;
  }

  /** Type, layout and level. */
  static int kind(MemorySegment s, long base) {
    return Mem.peekInt(s, base + PageHeader.TYPE);
  }

  static boolean isInnerKind(int kind) {
    return (kind >>> TYPE_SHIFT & 0xFF) == PageHeader.INNER;
  }

  static boolean isLeafKind(int kind) {
    return (kind >>> TYPE_SHIFT & 0xFF) == PageHeader.LEAF;
  }

  static int levelOfKind(int kind) {
    return kind >>> LEVEL_SHIFT & 0xFFFF;
  }

  static boolean isLeaf(MemorySegment s, long base) {
    return PageHeader.type(s, base) == PageHeader.LEAF;
  }

  static boolean isInner(MemorySegment s, long base) {
    return PageHeader.type(s, base) == PageHeader.INNER;
  }

  // -------------------------------------------------------------------------------------- slots

  static int keyMax(int pageSize) {
    return pageSize >>> 3;
  }

  static int inlineMax(int pageSize) {
    return pageSize >>> 2;
  }

  static long leafSlot(MemorySegment s, long base, int slot) {
    return Mem.peekLong(s, base + LEAF_SLOTS + ((long) slot << LEAF_SHIFT));
  }

  /**
   * Returns the 256th of the page in which the record of a slot begins; any number below 256 if the
   * slot is torn.
   */
  static int line(long slot, int pageSize) {
    return offset(slot) >>> Integer.numberOfTrailingZeros(pageSize) - LINE_BITS
        & (1 << LINE_BITS) - 1;
  }

  static long innerSlot(MemorySegment s, long base, int slot) {
    return Mem.peekLong(s, base + INNER_SLOTS + ((long) slot << INNER_SHIFT));
  }

  /**
   * Returns the child with the keys up to that of a slot; at slot {@code count} the upper child.
   */
  static long child(MemorySegment s, long base, int slot) {
    return PageRef.pid(childRef(s, base, slot));
  }

  /** Returns the reference to that child: page id and frame hint. */
  static long childRef(MemorySegment s, long base, int slot) {
    return Mem.peekLong(s, childAt(base, slot));
  }

  /** Returns the address of that reference. */
  static long childAt(long base, int slot) {
    return base + INNER_SLOTS + CHILD + ((long) slot << INNER_SHIFT);
  }

  static long slot(MemorySegment s, long base, boolean leaf, int slot) {
    return leaf ? leafSlot(s, base, slot) : innerSlot(s, base, slot);
  }

  static long makeSlot(int head, int offset, int length) {
    return (long) head << 32 | (long) offset << 16 | length;
  }

  /** Returns whether a head has nonzero bytes after the end of a shorter suffix. */
  static boolean hasWrongPadding(long slot) {
    int suffix = suffixLength(slot);
    return suffix < HEAD_BYTES && slot >>> 32 << 8 * suffix + 32 != 0;
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

  static int slotsEnd(boolean leaf, int count) {
    return leaf ? LEAF_SLOTS + (count << LEAF_SHIFT) : INNER_SLOTS + (count + 1 << INNER_SHIFT);
  }

  /** Returns the maximum number of entries of a page; torn counts are clamped to it. */
  static int leafCountMax(int pageSize) {
    return pageSize - LEAF_SLOTS >>> LEAF_SHIFT;
  }

  static int innerCountMax(int pageSize) {
    return (pageSize - INNER_SLOTS >>> INNER_SHIFT) - 1;
  }

  static int leafCount(MemorySegment s, long base, int pageSize) {
    return Math.min(count(s, base), leafCountMax(pageSize));
  }

  static int innerCount(MemorySegment s, long base, int pageSize) {
    return Math.min(count(s, base), innerCountMax(pageSize));
  }

  // -------------------------------------------------------------------------------------- values

  /** Returns the length field of a leaf record: a length, or {@link #OVERFLOW}. */
  static int field(MemorySegment s, long base, int pageSize, long slot) {
    return Mem.peekUnsignedShort(s, base + (offset(slot) & pageSize - 1));
  }

  /** Returns the address of the value or its stub. */
  static long valueAt(long base, int pageSize, long slot) {
    return base + (offset(slot) & pageSize - 1) + FIELD_BYTES + tailLength(slot);
  }

  /** Returns the bytes that a leaf stores for a value with this length field. */
  static int inlineBytes(int field) {
    return field == OVERFLOW ? STUB_BYTES : field;
  }

  // ---------------------------------------------------------------------------------------- keys

  /** Returns whether a fence is missing: then a search compares the prefix. */
  static boolean isOpen(MemorySegment s, long base) {
    return low(s, base) == NONE || high(s, base) == NONE;
  }

  /** Returns the offset of the low fence in the page. */
  static int lowAt(MemorySegment s, long base, int pageSize) {
    return highAt(s, base, pageSize) - fenceBytes(low(s, base), pageSize);
  }

  /** Returns the offset of the high fence, or of the prefix of a node without one. */
  static int highAt(MemorySegment s, long base, int pageSize) {
    int high = high(s, base);
    return pageSize - Math.min(high == NONE ? prefix(s, base) : high, keyMax(pageSize));
  }

  /** Returns the bytes that a fence takes; clamped. */
  static int fenceBytes(int fence, int pageSize) {
    return fence == NONE ? 0 : Math.min(fence, keyMax(pageSize));
  }

  /** Returns the length of the key of a slot; clamped. */
  static int keyLength(MemorySegment s, long base, int pageSize, long slot) {
    return Math.min(prefix(s, base) + suffixLength(slot), keyMax(pageSize));
  }

  /** Copies the whole key of a slot and returns its length, clamped to the longest key. */
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

  static int gap(MemorySegment s, long base, int pageSize, boolean leaf) {
    return pageSize - heap(s, base) - slotsEnd(leaf, count(s, base));
  }

  /** Bytes of entries and fences: all but the fixed part, the gap and dead bytes. */
  static int used(MemorySegment s, long base, int pageSize, boolean leaf) {
    return slotsEnd(leaf, count(s, base)) - slotsEnd(leaf, 0) + heap(s, base) - dead(s, base);
  }

  /**
   * Checks that slots, heap and fences fit the page. Called under the latch before a loop over the
   * entries, since a damaged count would lead far outside the page.
   */
  static void checkSane(MemorySegment s, long base, int pageSize, boolean leaf) {
    int fences = pageSize - lowAt(s, base, pageSize);
    int heap = heap(s, base);
    if (slotsEnd(leaf, count(s, base)) + heap > pageSize || fences + dead(s, base) > heap) {
      throw new NodeDamage("heap of a node of " + count(s, base) + " entries", pageSize, heap);
    }
  }

  static int recordBytes(MemorySegment s, long base, int pageSize, boolean leaf, long slot) {
    return leaf
        ? FIELD_BYTES + tailLength(slot) + inlineBytes(field(s, base, pageSize, slot))
        : tailLength(slot);
  }

  /**
   * Returns the bytes that entries [from, to) of a leaf take in a leaf with another prefix length.
   */
  static int leafBytes(MemorySegment s, long base, int pageSize, int from, int to, int prefix) {
    int grow = prefix(s, base) - prefix;
    int bytes = 0;
    for (int i = from; i < to; i++) {
      long slot = leafSlot(s, base, i);
      bytes +=
          LEAF_STRIDE
              + FIELD_BYTES
              + Math.max(0, suffixLength(slot) + grow - HEAD_BYTES)
              + inlineBytes(field(s, base, pageSize, slot));
    }
    return bytes;
  }

  /**
   * Returns the bytes that entries [from, to) of an inner node take in a node with another prefix
   * length.
   */
  static int innerBytes(MemorySegment s, long base, int from, int to, int prefix) {
    int grow = prefix(s, base) - prefix;
    int bytes = 0;
    for (int i = from; i < to; i++) {
      int suffix = suffixLength(innerSlot(s, base, i)) + grow;
      bytes += INNER_STRIDE + Math.max(0, suffix - HEAD_BYTES);
    }
    return bytes;
  }
}
