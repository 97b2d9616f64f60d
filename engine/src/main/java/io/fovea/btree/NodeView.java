package io.fovea.btree;

import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A node of a tree, or a page of a long value, for people: every part of it as a Java value.
 *
 * <p>It works on a copy and takes any bytes: what is damaged gives numbers without sense, or an
 * {@link IndexOutOfBoundsException}, and never a look outside of the copy. For tools; it allocates.
 *
 * <p>One thread.
 *
 * @since 0.1.0
 */
public final class NodeView {
  private final int pageSize;
  private final MemorySegment page;
  private final MemorySegment key;
  private boolean leaf;

  /**
   * Makes a view for pages of a size.
   *
   * @param pageSize bytes
   */
  public NodeView(int pageSize) {
    this.pageSize = pageSize;
    this.page = Arena.ofAuto().allocate(pageSize + BTreeNode.SLACK, 8);
    // A damaged key may be as long as 16 bits say.
    this.key = Arena.ofAuto().allocate(2 * BTreeNode.SLACK, 8);
  }

  /**
   * Copies a page.
   *
   * @param seg where it is
   * @param off its offset
   * @return this
   */
  public NodeView load(MemorySegment seg, long off) {
    MemorySegment.copy(seg, off, page, 0, pageSize);
    leaf = BTreeNode.isLeaf(page, 0);
    return this;
  }

  /** Whether it is a node at all: a leaf or an inner node. */
  public boolean isNode() {
    return leaf || BTreeNode.isInner(page, 0);
  }

  /** Whether it is a leaf. */
  public boolean isLeaf() {
    return leaf;
  }

  /** Whether slots and heap fit the page, so that entries can be asked for. */
  public boolean isSane() {
    try {
      BTreeNode.checkSane(page, 0, pageSize, leaf);
      return true;
    } catch (IndexOutOfBoundsException e) {
      return false;
    }
  }

  /** How many entries it has. */
  public int count() {
    return BTreeNode.count(page, 0);
  }

  /** How many bytes all its keys have in common. */
  public int prefix() {
    return BTreeNode.prefix(page, 0);
  }

  /** Bytes in the heap that belong to nobody. */
  public int dead() {
    return BTreeNode.dead(page, 0);
  }

  /** Bytes that entries, fences and prefix take. */
  public int usedBytes() {
    return BTreeNode.used(page, 0, pageSize, leaf);
  }

  /** Bytes that entries, fences and prefix can take. */
  public int roomBytes() {
    return pageSize - BTreeNode.slotsEnd(leaf, 0);
  }

  /** Of a leaf: where the next one probably is, 0 for none. */
  public long next() {
    return BTreeNode.next(page, 0);
  }

  /** Of a leaf: where the one before probably is, 0 for none. */
  public long prev() {
    return BTreeNode.prev(page, 0);
  }

  /** What all keys are above; null where there is no such fence. */
  public byte @Nullable [] lowFence() {
    int low = BTreeNode.low(page, 0);
    return low == BTreeNode.NONE
        ? null
        : bytes(page, BTreeNode.lowAt(page, 0, pageSize), BTreeNode.fenceBytes(low, pageSize));
  }

  /** What no key is above; null where there is no such fence. */
  public byte @Nullable [] highFence() {
    int high = BTreeNode.high(page, 0);
    return high == BTreeNode.NONE
        ? null
        : bytes(page, BTreeNode.highAt(page, 0, pageSize), BTreeNode.fenceBytes(high, pageSize));
  }

  /** The key of an entry. */
  public byte[] key(int slot) {
    return bytes(key, 0, BTreeNode.copyKey(page, 0, pageSize, leaf, at(slot), key, 0));
  }

  /** The child below an entry of an inner node; that of slot {@code count} is the upper one. */
  public long child(int slot) {
    return BTreeNode.child(page, 0, slot);
  }

  /** Whether the value of an entry of a leaf is kept elsewhere. */
  public boolean isLong(int slot) {
    return BTreeNode.field(page, 0, pageSize, at(slot)) == BTreeNode.OVERFLOW;
  }

  /** The value of an entry of a leaf, or what stands there for a long one. */
  public byte[] value(int slot) {
    long entry = at(slot);
    int bytes = BTreeNode.inlineBytes(BTreeNode.field(page, 0, pageSize, entry));
    return bytes(page, BTreeNode.valueAt(0, pageSize, entry), bytes);
  }

  /** The first page of a value that is kept elsewhere. */
  public long longPid(int slot) {
    return Mem.getLong(page, BTreeNode.valueAt(0, pageSize, at(slot)));
  }

  /** The length of a value that is kept elsewhere. */
  public long longBytes(int slot) {
    return Mem.getLong(page, BTreeNode.valueAt(0, pageSize, at(slot)) + 8);
  }

  private long at(int slot) {
    if (slot < 0 || slot >= count()) {
      throw new IndexOutOfBoundsException("entry " + slot + " of " + count());
    }
    return BTreeNode.slot(page, 0, leaf, slot);
  }

  /** Of a page of a long value: the next page, 0 in the last. */
  public long partNext() {
    return Mem.getLong(page, OverflowChain.NEXT);
  }

  /** Of a page of a long value: its bytes of the value. */
  public int partBytes() {
    return Mem.getInt(page, OverflowChain.BYTES);
  }

  /** Of a page of a long value: its number in the chain. */
  public int partIndex() {
    return Mem.getInt(page, OverflowChain.INDEX);
  }

  /** Of a free page: the next one, 0 in the last. */
  public long freeNext() {
    return Mem.getLong(page, PageHeader.BYTES);
  }

  private static byte[] bytes(MemorySegment seg, long off, int len) {
    byte[] out = new byte[len];
    Mem.getBytes(seg, off, out, 0, len);
    return out;
  }
}
