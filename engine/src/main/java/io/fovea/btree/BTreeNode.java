package io.fovea.btree;

import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageRef;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

/**
 * The layout of a node: where each field is, how it is read, and what it means. {@link NodeSearch}
 * looks for keys in it, {@link NodeEditor} changes it.
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
 *   <li>Fences make a node self-describing: a hint at a leaf is checked against them, and the
 *       latched paths check them instead of holding the parent.
 * </ul>
 *
 * <p>Everything here may run on a page that a writer is changing. So counts, lengths and offsets
 * are clamped to the page; what is still outside of the mapping is an {@link
 * IndexOutOfBoundsException}, caught at the outer edge ({@link Descent}); and no result means
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
  static final int LOW_SHIFT = LITTLE ? 32 : 16;
  static final int HIGH_SHIFT = LITTLE ? 48 : 0;
  private static final int TYPE_SHIFT = LITTLE ? 0 : 24;
  private static final int LEVEL_SHIFT = LITTLE ? 16 : 0;

  /** Count, prefix, low and high. */
  static long shape(MemorySegment s, long base) {
    return Mem.peekLong(s, base + COUNT);
  }

  static int shapeCount(long shape) {
    return (int) (shape >>> COUNT_SHIFT) & 0xFFFF;
  }

  static int shapePrefix(long shape) {
    return (int) (shape >>> PREFIX_SHIFT) & 0xFFFF;
  }

  static boolean shapeOpen(long shape) {
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

  /** Whether the head of a suffix that is shorter than it has something behind the suffix. */
  static boolean paddingIsWrong(long slot) {
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

  /** Where the slots end. */
  static int slotsEnd(boolean leaf, int count) {
    return leaf ? LEAF_SLOTS + (count << LEAF_SHIFT) : INNER_SLOTS + (count + 1 << INNER_SHIFT);
  }

  /** How many entries can be in a page: what a torn count is clamped to. */
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
      throw new NodeDamage("heap of a node of " + count(s, base) + " entries", pageSize, heap);
    }
  }

  /** What a record takes in the heap. */
  static int recordBytes(MemorySegment s, long base, int pageSize, boolean leaf, long slot) {
    return leaf
        ? FIELD_BYTES + tailLength(slot) + inlineBytes(field(s, base, pageSize, slot))
        : tailLength(slot);
  }

  /** What entries [from, to) of a leaf take in a leaf with a prefix of another length. */
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

  /** What entries [from, to) of an inner node take in a node with a prefix of another length. */
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
