package io.fovea.btree;

import static io.fovea.btree.BTreeNode.DEAD;
import static io.fovea.btree.BTreeNode.FIELD_BYTES;
import static io.fovea.btree.BTreeNode.HEADS;
import static io.fovea.btree.BTreeNode.HEADS_COUNT;
import static io.fovea.btree.BTreeNode.HEAD_BYTES;
import static io.fovea.btree.BTreeNode.HINTS_FROM;
import static io.fovea.btree.BTreeNode.INNER_SHIFT;
import static io.fovea.btree.BTreeNode.INNER_SLOTS;
import static io.fovea.btree.BTreeNode.INNER_STRIDE;
import static io.fovea.btree.BTreeNode.LEAF_SHIFT;
import static io.fovea.btree.BTreeNode.LEAF_SLOTS;
import static io.fovea.btree.BTreeNode.LEAF_STRIDE;
import static io.fovea.btree.BTreeNode.NONE;

import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Changes a node; {@link BTreeNode} has the layout.
 *
 * <p>The caller holds the exclusive latch, or no other thread knows the page. Unlatched readers may
 * read the node meanwhile; their validation fails. Methods do not wait, allocate, access other
 * pages or check for space; the caller has made sure that there is room.
 */
final class NodeEditor {
  private static final int RUN_MAX = 0xFFFF;

  private NodeEditor() {}

  private static void put(MemorySegment s, long at, int value) {
    Mem.putShort(s, at, (short) value);
  }

  // -------------------------------------------------------------------------------- whole nodes

  /**
   * Makes an empty node. Sets type, layout and level of the page header; a leaf that remains a leaf
   * keeps its layout. The fences must not be in the node itself; a length of {@link BTreeNode#NONE}
   * means none.
   */
  static void init(
      MemorySegment s,
      long base,
      int pageSize,
      int level,
      MemorySegment low,
      long lowOff,
      int lowLength,
      MemorySegment high,
      long highOff,
      int highLength) {
    if (level > 0 || !BTreeNode.isLeaf(s, base)) {
      PageHeader.setLayout(s, base, BTreeNode.LAYOUT);
    }
    PageHeader.setType(s, base, level == 0 ? PageHeader.LEAF : PageHeader.INNER);
    PageHeader.setLevel(s, base, level);
    int lowBytes = lowLength == NONE ? 0 : lowLength;
    int highBytes = highLength == NONE ? 0 : highLength;
    put(s, base + BTreeNode.COUNT, 0);
    put(
        s,
        base + BTreeNode.PREFIX,
        lowLength == NONE || highLength == NONE
            ? 0
            : Mem.commonPrefix(low, lowOff, lowLength, high, highOff, highLength));
    put(s, base + BTreeNode.LOW, lowLength);
    put(s, base + BTreeNode.HIGH, highLength);
    put(s, base + BTreeNode.HEAP, lowBytes + highBytes);
    put(s, base + DEAD, 0);
    put(s, base + BTreeNode.LAST, NONE);
    put(s, base + BTreeNode.RUN, 0);
    Mem.putLong(s, base + BTreeNode.NEXT, 0);
    Mem.putLong(s, base + BTreeNode.PREV, 0);
    long end = base + pageSize;
    Mem.copy(low, lowOff, s, end - highBytes - lowBytes, lowBytes);
    Mem.copy(high, highOff, s, end - highBytes, highBytes);
    if (level > 0) {
      Mem.zero(s, base + HEADS, 4 * HEADS_COUNT);
    }
  }

  /** Makes an empty node with the fences of a node in another page. */
  static void initLike(
      MemorySegment s, long base, int pageSize, int level, MemorySegment from, long fromBase) {
    init(
        s,
        base,
        pageSize,
        level,
        from,
        fromBase + BTreeNode.lowAt(from, fromBase, pageSize),
        BTreeNode.low(from, fromBase),
        from,
        fromBase + BTreeNode.highAt(from, fromBase, pageSize),
        BTreeNode.high(from, fromBase));
  }

  /**
   * Sets the prefix of an empty inner node that lacks a fence; the key must not be in the node
   * itself.
   */
  static void setOpenPrefix(
      MemorySegment s, long base, int pageSize, MemorySegment key, long off, int prefix) {
    int low = BTreeNode.fenceBytes(BTreeNode.low(s, base), pageSize);
    if (BTreeNode.high(s, base) == NONE) {
      long end = base + pageSize;
      Mem.copy(s, base + BTreeNode.lowAt(s, base, pageSize), s, end - prefix - low, low);
      Mem.copy(key, off, s, end - prefix, prefix);
      put(s, base + BTreeNode.HEAP, low + prefix);
    }
    put(s, base + BTreeNode.PREFIX, prefix);
  }

  /**
   * Sets the longest prefix that an empty inner node without a fence can have with its first and
   * last key. A node with both fences already has its prefix.
   */
  static void chooseOpenPrefix(
      MemorySegment s, long base, int pageSize, KeyBuffer first, KeyBuffer last) {
    if (BTreeNode.isOpen(s, base)) {
      int prefix =
          innerPrefix(
              s,
              base + BTreeNode.lowAt(s, base, pageSize),
              BTreeNode.low(s, base),
              first,
              s,
              base + BTreeNode.highAt(s, base, pageSize),
              BTreeNode.high(s, base),
              last);
      setOpenPrefix(s, base, pageSize, first.segment(), 0, prefix);
    }
  }

  /**
   * Returns the common prefix of the fences of an inner node; its first or last key replaces a
   * missing fence.
   */
  static int innerPrefix(
      MemorySegment low,
      long lowOff,
      int lowLength,
      KeyBuffer first,
      MemorySegment high,
      long highOff,
      int highLength,
      KeyBuffer last) {
    boolean noLow = lowLength == NONE;
    boolean noHigh = highLength == NONE;
    return Mem.commonPrefix(
        noLow ? first.segment() : low,
        noLow ? 0 : lowOff,
        noLow ? first.length() : lowLength,
        noHigh ? last.segment() : high,
        noHigh ? 0 : highOff,
        noHigh ? last.length() : highLength);
  }

  static void copyBody(
      MemorySegment from, long fromBase, MemorySegment to, long toBase, int pageSize) {
    Mem.copy(
        from,
        fromBase + PageHeader.BYTES,
        to,
        toBase + PageHeader.BYTES,
        pageSize - PageHeader.BYTES);
  }

  /** Removes the dead bytes: records move, and slots change only in their offsets. */
  static void compact(
      MemorySegment s, long base, int pageSize, boolean leaf, MemorySegment scratch) {
    copyBody(s, base, scratch, 0, pageSize);
    int count = BTreeNode.count(s, base);
    long slots = base + (leaf ? LEAF_SLOTS : INNER_SLOTS);
    int shift = leaf ? LEAF_SHIFT : INNER_SHIFT;
    int at = BTreeNode.lowAt(s, base, pageSize);
    for (int i = 0; i < count; i++) {
      long slotAt = slots + ((long) i << shift);
      long slot = Mem.getLong(s, slotAt);
      int bytes = BTreeNode.recordBytes(scratch, 0, pageSize, leaf, slot);
      if (bytes > 0) {
        at -= bytes;
        Mem.copy(scratch, BTreeNode.offset(slot), s, base + at, bytes);
        Mem.putLong(s, slotAt, withOffset(slot, at));
      }
    }
    put(s, base + BTreeNode.HEAP, pageSize - at);
    put(s, base + DEAD, 0);
  }

  private static long withOffset(long slot, int offset) {
    return slot & 0xFFFF_FFFF_0000_FFFFL | (long) offset << 16;
  }

  // -------------------------------------------------------------------------------------- space

  /** Returns the bytes of a new leaf entry. */
  static int leafEntryBytes(int prefix, int keyLength, int inlineBytes) {
    return LEAF_STRIDE + FIELD_BYTES + Math.max(0, keyLength - prefix - HEAD_BYTES) + inlineBytes;
  }

  /** Returns the bytes of a new separator and child. */
  static int innerEntryBytes(int prefix, int keyLength) {
    return INNER_STRIDE + Math.max(0, keyLength - prefix - HEAD_BYTES);
  }

  /** Returns whether {@code bytes} fit, possibly after compaction. */
  static boolean fits(MemorySegment s, long base, int pageSize, boolean leaf, int bytes) {
    return bytes <= BTreeNode.gap(s, base, pageSize, leaf) + BTreeNode.dead(s, base);
  }

  /**
   * Returns whether a separator fits into an inner node, possibly after compaction. Returns the
   * resulting prefix length, or -1 if it does not fit.
   */
  static int prefixWith(MemorySegment s, long base, int pageSize, KeyBuffer separator) {
    int prefix = BTreeNode.prefix(s, base);
    int length = separator.length();
    if (!BTreeNode.isOpen(s, base)) {
      return fits(s, base, pageSize, false, innerEntryBytes(prefix, length)) ? prefix : -1;
    }
    int count = BTreeNode.count(s, base);
    int low = BTreeNode.low(s, base);
    int high = BTreeNode.high(s, base);
    int with;
    if (count == 0 && high == NONE) {
      // No entry and no high fence: only the low fence limits the prefix, which is replaced.
      long lowAt = base + BTreeNode.lowAt(s, base, pageSize);
      with = low == NONE ? length : Mem.commonPrefix(s, lowAt, low, separator.segment(), 0, length);
    } else {
      // The current prefix or high fence limits the new prefix.
      long highAt = base + BTreeNode.highAt(s, base, pageSize);
      int limit = count > 0 ? prefix : high;
      with = Mem.commonPrefix(s, highAt, limit, separator.segment(), 0, length);
    }
    int bytes =
        BTreeNode.fenceBytes(low, pageSize)
            + (high == NONE ? with : high)
            + BTreeNode.innerBytes(s, base, 0, count, with)
            + innerEntryBytes(with, length);
    return bytes <= pageSize - BTreeNode.slotsEnd(false, 0) ? with : -1;
  }

  /** Returns whether {@link #prepareInner} moves existing entries, and so trusts all of them. */
  static boolean rewrites(
      MemorySegment s, long base, int pageSize, int prefix, KeyBuffer separator) {
    return changesPrefix(s, base, prefix)
        || innerEntryBytes(prefix, separator.length()) > BTreeNode.gap(s, base, pageSize, false);
  }

  /**
   * Returns whether {@link #prefixWith} returned a new prefix. A node that lost its last entry
   * keeps the old prefix, which may be as long as the new one and differ.
   */
  private static boolean changesPrefix(MemorySegment s, long base, int prefix) {
    return prefix != BTreeNode.prefix(s, base)
        || BTreeNode.count(s, base) == 0 && BTreeNode.high(s, base) == NONE;
  }

  /** Makes room in the gap for a separator, with the prefix from {@link #prefixWith}. */
  static void prepareInner(
      MemorySegment s,
      long base,
      int pageSize,
      int prefix,
      KeyBuffer separator,
      TreeScratch scratch) {
    if (changesPrefix(s, base, prefix)) {
      changeOpenPrefix(s, base, pageSize, prefix, separator, scratch);
    } else if (rewrites(s, base, pageSize, prefix, separator)) {
      compact(s, base, pageSize, false, scratch.page);
    }
  }

  /**
   * Rebuilds an inner node that lacks a fence, with a prefix shared by its keys and the separator.
   */
  private static void changeOpenPrefix(
      MemorySegment s,
      long base,
      int pageSize,
      int prefix,
      KeyBuffer separator,
      TreeScratch scratch) {
    MemorySegment old = scratch.page;
    copyBody(s, base, old, 0, pageSize);
    int count = BTreeNode.count(s, base);
    initLike(s, base, pageSize, PageHeader.level(s, base), old, 0);
    setOpenPrefix(s, base, pageSize, separator.segment(), 0, prefix);
    appendInner(old, 0, 0, count, s, base, pageSize, scratch.key);
    setChild(s, base, count, BTreeNode.childRef(old, 0, count));
    setRun(s, base, BTreeNode.run(old, 0), BTreeNode.last(old, 0));
  }

  private static int allocate(MemorySegment s, long base, int pageSize, int bytes) {
    int heap = BTreeNode.heap(s, base) + bytes;
    put(s, base + BTreeNode.HEAP, heap);
    return pageSize - heap;
  }

  private static void addDead(MemorySegment s, long base, int bytes) {
    put(s, base + DEAD, BTreeNode.dead(s, base) + bytes);
  }

  // ------------------------------------------------------------------------------------ entries

  /**
   * Inserts a key into a leaf, with room in the gap, and returns the address for the value or its
   * stub.
   *
   * @param field the length of the value, or {@link BTreeNode#OVERFLOW}
   */
  static long insertLeaf(
      MemorySegment s,
      long base,
      int pageSize,
      int slot,
      MemorySegment key,
      long off,
      int len,
      int field) {
    int count = BTreeNode.count(s, base);
    int prefix = BTreeNode.prefix(s, base);
    int suffix = len - prefix;
    int tail = Math.max(0, suffix - HEAD_BYTES);
    int at = allocate(s, base, pageSize, FIELD_BYTES + tail + BTreeNode.inlineBytes(field));
    put(s, base + at, field);
    Mem.copy(key, off + prefix + HEAD_BYTES, s, base + at + FIELD_BYTES, tail);
    long slotAt = base + LEAF_SLOTS + ((long) slot << LEAF_SHIFT);
    Mem.copy(s, slotAt, s, slotAt + LEAF_STRIDE, (long) (count - slot) << LEAF_SHIFT);
    int head = (int) (NodeSearch.word(key, off, len, suffix) >>> 32);
    Mem.putLong(s, slotAt, BTreeNode.makeSlot(head, at, suffix));
    put(s, base + BTreeNode.COUNT, count + 1);
    return base + at + FIELD_BYTES + tail;
  }

  static void removeLeaf(MemorySegment s, long base, int pageSize, int slot) {
    int count = BTreeNode.count(s, base);
    long entry = BTreeNode.leafSlot(s, base, slot);
    addDead(s, base, BTreeNode.recordBytes(s, base, pageSize, true, entry));
    long slotAt = base + LEAF_SLOTS + ((long) slot << LEAF_SHIFT);
    Mem.copy(s, slotAt + LEAF_STRIDE, s, slotAt, (long) (count - slot - 1) << LEAF_SHIFT);
    put(s, base + BTreeNode.COUNT, count - 1);
    if (count == 1) {
      // Empty: the heap contains only the fences.
      put(s, base + BTreeNode.HEAP, pageSize - BTreeNode.lowAt(s, base, pageSize));
      put(s, base + DEAD, 0);
    }
  }

  /**
   * Inserts a separator and its child, with room in the gap. The node already has an upper child.
   */
  static void insertInner(
      MemorySegment s,
      long base,
      int pageSize,
      int slot,
      MemorySegment key,
      long off,
      int len,
      long child) {
    int count = BTreeNode.count(s, base);
    int prefix = BTreeNode.prefix(s, base);
    int suffix = len - prefix;
    int tail = Math.max(0, suffix - HEAD_BYTES);
    int at = tail == 0 ? 0 : allocate(s, base, pageSize, tail);
    Mem.copy(key, off + prefix + HEAD_BYTES, s, base + at, tail);
    long slotAt = base + INNER_SLOTS + ((long) slot << INNER_SHIFT);
    Mem.copy(s, slotAt, s, slotAt + INNER_STRIDE, (long) (count + 1 - slot) << INNER_SHIFT);
    int head = (int) (NodeSearch.word(key, off, len, suffix) >>> 32);
    Mem.putLong(s, slotAt, BTreeNode.makeSlot(head, at, suffix));
    Mem.putLong(s, slotAt + BTreeNode.CHILD, child);
    put(s, base + BTreeNode.COUNT, count + 1);
  }

  /** Sets the child reference of a slot; at slot {@code count} the upper child. */
  static void setChild(MemorySegment s, long base, int slot, long child) {
    long slotAt = base + INNER_SLOTS + ((long) slot << INNER_SHIFT);
    if (slot == BTreeNode.count(s, base)) {
      Mem.putLong(s, slotAt, 0);
    }
    Mem.putLong(s, slotAt + BTreeNode.CHILD, child);
  }

  static void removeInner(MemorySegment s, long base, int pageSize, int slot) {
    int count = BTreeNode.count(s, base);
    addDead(s, base, BTreeNode.tailLength(BTreeNode.innerSlot(s, base, slot)));
    long slotAt = base + INNER_SLOTS + ((long) slot << INNER_SHIFT);
    Mem.copy(s, slotAt + INNER_STRIDE, s, slotAt, (long) (count - slot) << INNER_SHIFT);
    put(s, base + BTreeNode.COUNT, count - 1);
    if (count == 1) {
      put(s, base + BTreeNode.HEAP, pageSize - BTreeNode.lowAt(s, base, pageSize));
      put(s, base + DEAD, 0);
    }
  }

  /** Samples the heads of an inner node; needed after every change of its entries. */
  static void makeHeads(MemorySegment s, long base) {
    int count = BTreeNode.count(s, base);
    if (count < HINTS_FROM) {
      return;
    }
    int step = count / (HEADS_COUNT + 1);
    for (int i = 0; i < HEADS_COUNT; i++) {
      int head = (int) (BTreeNode.innerSlot(s, base, (i + 1) * step) >>> 32);
      Mem.putInt(s, base + HEADS + 4L * i, head);
    }
  }

  // ---------------------------------------------------------------------------- moving entries

  /** Appends entries [from, to) of one leaf to another, whose prefix may differ. */
  static void appendLeaf(
      MemorySegment src,
      long srcBase,
      int from,
      int to,
      MemorySegment dst,
      long dstBase,
      int pageSize,
      KeyBuffer key) {
    if (BTreeNode.prefix(dst, dstBase) < BTreeNode.prefix(src, srcBase)) {
      appendKeys(src, srcBase, from, to, dst, dstBase, pageSize, key);
    } else {
      appendRecords(src, srcBase, from, to, dst, dstBase, pageSize);
    }
  }

  /**
   * Appends entries to a leaf whose prefix is not shorter, as in a split. A suffix only loses
   * leading bytes, so the rest of it and the value are copied at once and no key is assembled.
   */
  private static void appendRecords(
      MemorySegment src,
      long srcBase,
      int from,
      int to,
      MemorySegment dst,
      long dstBase,
      int pageSize) {
    int drop = BTreeNode.prefix(dst, dstBase) - BTreeNode.prefix(src, srcBase);
    int count = BTreeNode.count(dst, dstBase);
    int at = pageSize - BTreeNode.heap(dst, dstBase);
    long slotAt = dstBase + LEAF_SLOTS + ((long) count << LEAF_SHIFT);
    for (int i = from; i < to; i++, slotAt += LEAF_STRIDE) {
      long slot = BTreeNode.leafSlot(src, srcBase, i);
      int field = BTreeNode.field(src, srcBase, pageSize, slot);
      long valueAt = BTreeNode.valueAt(srcBase, pageSize, slot);
      int suffix = BTreeNode.suffixLength(slot) - drop;
      int tail = Math.max(0, suffix - HEAD_BYTES);
      int bytes = tail + BTreeNode.inlineBytes(field);
      at -= FIELD_BYTES + bytes;
      put(dst, dstBase + at, field);
      Mem.copy(src, valueAt - tail, dst, dstBase + at + FIELD_BYTES, bytes);
      int head = headWithout(src, slot, valueAt, drop);
      Mem.putLong(dst, slotAt, BTreeNode.makeSlot(head, at, suffix));
    }
    put(dst, dstBase + BTreeNode.HEAP, pageSize - at);
    put(dst, dstBase + BTreeNode.COUNT, count + to - from);
  }

  /**
   * Returns the head of a suffix without its first {@code drop} bytes; the tail ends at the value.
   */
  private static int headWithout(MemorySegment s, long slot, long valueAt, int drop) {
    int tail = BTreeNode.tailLength(slot);
    int gone = Math.max(0, drop - HEAD_BYTES);
    int left = Math.max(0, tail - gone);
    long word = NodeSearch.tailWord(s, valueAt - left, left);
    // First case: the end of the head and the beginning of the tail, in one word.
    return drop < HEAD_BYTES
        ? (int) ((slot & 0xFFFF_FFFF_0000_0000L | word) << 8 * drop >>> 32)
        : (int) word;
  }

  /** Appends entries to a leaf key by key. */
  private static void appendKeys(
      MemorySegment src,
      long srcBase,
      int from,
      int to,
      MemorySegment dst,
      long dstBase,
      int pageSize,
      KeyBuffer key) {
    MemorySegment k = key.segment();
    for (int i = from; i < to; i++) {
      long slot = BTreeNode.leafSlot(src, srcBase, i);
      int len = BTreeNode.copyKey(src, srcBase, pageSize, true, slot, k, 0);
      int field = BTreeNode.field(src, srcBase, pageSize, slot);
      long at = insertLeaf(dst, dstBase, pageSize, BTreeNode.count(dst, dstBase), k, 0, len, field);
      Mem.copy(
          src, BTreeNode.valueAt(srcBase, pageSize, slot), dst, at, BTreeNode.inlineBytes(field));
    }
  }

  /**
   * Appends entries [from, to) of one inner node to another; the caller sets the upper child later.
   */
  static void appendInner(
      MemorySegment src,
      long srcBase,
      int from,
      int to,
      MemorySegment dst,
      long dstBase,
      int pageSize,
      KeyBuffer key) {
    MemorySegment k = key.segment();
    for (int i = from; i < to; i++) {
      int len =
          BTreeNode.copyKey(
              src, srcBase, pageSize, false, BTreeNode.innerSlot(src, srcBase, i), k, 0);
      int count = BTreeNode.count(dst, dstBase);
      insertInner(dst, dstBase, pageSize, count, k, 0, len, BTreeNode.childRef(src, srcBase, i));
    }
  }

  // ------------------------------------------------------------------------- ascending inserts

  /** Returns whether an insert at a slot continues the previous ones. */
  static boolean ascends(MemorySegment s, long base, int slot) {
    return slot == (BTreeNode.last(s, base) + 1 & 0xFFFF) || slot == BTreeNode.count(s, base);
  }

  /** Records an insert before it is made. */
  static void noteInsert(MemorySegment s, long base, int slot) {
    int run = BTreeNode.run(s, base);
    put(s, base + BTreeNode.RUN, ascends(s, base, slot) ? Math.min(run + 1, RUN_MAX) : run >>> 1);
    put(s, base + BTreeNode.LAST, slot);
  }

  /** Adjusts the last insert position to a removal. */
  static void noteRemove(MemorySegment s, long base, int slot) {
    int last = BTreeNode.last(s, base);
    if (last != NONE && slot <= last) {
      put(s, base + BTreeNode.LAST, last - 1);
    }
  }

  /** Sets the state of ascending inserts. */
  static void setRun(MemorySegment s, long base, int run, int last) {
    put(s, base + BTreeNode.RUN, run);
    put(s, base + BTreeNode.LAST, last);
  }

  static void setNext(MemorySegment s, long base, long pid) {
    Mem.putLong(s, base + BTreeNode.NEXT, pid);
  }

  static void setPrev(MemorySegment s, long base, long pid) {
    Mem.putLong(s, base + BTreeNode.PREV, pid);
  }
}
