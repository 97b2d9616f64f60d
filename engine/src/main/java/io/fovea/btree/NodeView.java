package io.fovea.btree;

import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A readable view of a tree node, or of a page of a long value, as Java values.
 *
 * <p>Works on a copy of arbitrary bytes: damage yields meaningless numbers or an {@link
 * IndexOutOfBoundsException}, but no access outside the copy. For tools; it allocates. Used by one
 * thread.
 */
public final class NodeView {
  private final int pageSize;
  private final MemorySegment page;
  private final MemorySegment key;
  private boolean leaf;

  /** Creates a view for pages of {@code pageSize} bytes. */
  public NodeView(int pageSize) {
    this.pageSize = pageSize;
    this.page = Arena.ofAuto().allocate(pageSize + BTreeNode.SLACK, 8);
    // The length of a damaged key may use all 16 bits.
    this.key = Arena.ofAuto().allocate(2 * BTreeNode.SLACK, 8);
  }

  /** Copies a page. */
  public NodeView load(MemorySegment seg, long off) {
    MemorySegment.copy(seg, off, page, 0, pageSize);
    leaf = BTreeNode.isLeaf(page, 0);
    return this;
  }

  /** Returns whether the page is a leaf. */
  public boolean isLeaf() {
    return leaf;
  }

  /** Returns whether slots and heap fit the page, so that entries can be read. */
  public boolean isSane() {
    try {
      BTreeNode.checkSane(page, 0, pageSize, leaf);
      return true;
    } catch (IndexOutOfBoundsException e) {
      return false;
    }
  }

  /** Returns the number of entries. */
  public int count() {
    return BTreeNode.count(page, 0);
  }

  /** Returns the length of the common prefix of all keys. */
  public int prefix() {
    return BTreeNode.prefix(page, 0);
  }

  /** Returns the number of unused bytes in the heap. */
  public int dead() {
    return BTreeNode.dead(page, 0);
  }

  /** Returns the bytes that entries, fences and prefix take. */
  public int usedBytes() {
    return BTreeNode.used(page, 0, pageSize, leaf);
  }

  /** Returns the bytes available to entries, fences and prefix. */
  public int capacityBytes() {
    return pageSize - BTreeNode.slotsEnd(leaf, 0);
  }

  /** Returns the hint of a leaf to the next one, or 0. */
  public long next() {
    return BTreeNode.next(page, 0);
  }

  /** Returns the hint of a leaf to the previous one, or 0. */
  public long prev() {
    return BTreeNode.prev(page, 0);
  }

  /** Returns the exclusive lower bound of the keys, or null. */
  public byte @Nullable [] lowFence() {
    int low = BTreeNode.low(page, 0);
    return low == BTreeNode.NONE
        ? null
        : Mem.bytes(page, BTreeNode.lowAt(page, 0, pageSize), BTreeNode.fenceBytes(low, pageSize));
  }

  /** Returns the inclusive upper bound of the keys, or null. */
  public byte @Nullable [] highFence() {
    int high = BTreeNode.high(page, 0);
    return high == BTreeNode.NONE
        ? null
        : Mem.bytes(
            page, BTreeNode.highAt(page, 0, pageSize), BTreeNode.fenceBytes(high, pageSize));
  }

  /** Returns the key of an entry. */
  public byte[] key(int slot) {
    return Mem.bytes(key, 0, BTreeNode.copyKey(page, 0, pageSize, leaf, at(slot), key, 0));
  }

  /** Returns the child of an entry of an inner node; at slot {@code count} the upper child. */
  public long child(int slot) {
    return BTreeNode.child(page, 0, slot);
  }

  /** Returns whether a leaf entry has a long value. */
  public boolean isLong(int slot) {
    return BTreeNode.field(page, 0, pageSize, at(slot)) == BTreeNode.OVERFLOW;
  }

  /** Returns the value of a leaf entry, or its stub. */
  public byte[] value(int slot) {
    long entry = at(slot);
    int bytes = BTreeNode.inlineBytes(BTreeNode.field(page, 0, pageSize, entry));
    return Mem.bytes(page, BTreeNode.valueAt(0, pageSize, entry), bytes);
  }

  /** Returns the first page of a long value. */
  public long longPid(int slot) {
    return Mem.getLong(page, BTreeNode.valueAt(0, pageSize, at(slot)));
  }

  /** Returns the length of a long value. */
  public long longBytes(int slot) {
    return Mem.getLong(page, BTreeNode.valueAt(0, pageSize, at(slot)) + 8);
  }

  private long at(int slot) {
    if (slot < 0 || slot >= count()) {
      throw new IndexOutOfBoundsException("entry " + slot + " of " + count());
    }
    return BTreeNode.slot(page, 0, leaf, slot);
  }

  /** Returns the next page of a page of a long value; 0 in the last one. */
  public long partNext() {
    return Mem.getLong(page, OverflowChain.NEXT);
  }

  /** Returns the number of value bytes in a page of a long value. */
  public int partBytes() {
    return Mem.getInt(page, OverflowChain.BYTES);
  }

  /** Returns the position of a page of a long value in its chain. */
  public int partIndex() {
    return Mem.getInt(page, OverflowChain.INDEX);
  }

  /** Returns the page after a free page in the free list; 0 in the last one. */
  public long freeNext() {
    return Mem.getLong(page, PageHeader.BYTES);
  }
}
