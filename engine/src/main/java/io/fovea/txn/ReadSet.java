package io.fovea.txn;

import io.fovea.btree.Position;
import java.util.Arrays;

/**
 * What a transaction has read: one entry per item, with the word it saw and the place it saw it.
 *
 * <pre>
 *  one entry, eight longs, one cache line
 * +------+------+---------+-----+--------------+-----------+--------+-------+
 * | item | word | version | pid | frame | slot | leaf slot | length | spare |
 * +------+------+---------+-----+--------------+-----------+--------+-------+
 *   hash   wts,   leaf version, page id, frame   in the     of the value,
 *          rts    and the entry's timestamp slot leaf       -1: absent
 * </pre>
 *
 * The place is a hint ({@link io.fovea.btree.BTree#locate} checks it): a second access, a
 * validation and the install start from it instead of at the root. An entry's index is its
 * <i>handle</i>; it stays valid until the transaction ends.
 *
 * <p>Entries are found through an open-addressing table of ints, cleared by walking the entries, so
 * that a short transaction after a long one pays for its own size only.
 */
final class ReadSet {
  private static final int STRIDE = 8;
  private static final int WORD = 1;
  private static final int VERSION = 2;
  private static final int PID = 3;
  private static final int FRAME_AND_SLOT = 4;
  private static final int LEAF_SLOT = 5;
  private static final int LENGTH = 6;
  private static final int INITIAL = 128;
  private static final int KEEP = 1 << 14;

  private long[] data = new long[INITIAL * STRIDE];
  private int[] table = new int[INITIAL * 4];
  private int mask = table.length - 1;
  private int size;

  int size() {
    return size;
  }

  /** The handle of an item, or -1. */
  int find(long item) {
    int[] t = table;
    int m = mask;
    for (int i = (int) item & m; ; i = (i + 1) & m) {
      int e = t[i];
      if (e == 0) {
        return -1;
      }
      if (data[(e - 1) * STRIDE] == item) {
        return e - 1;
      }
    }
  }

  /** Adds an item that {@link #find} did not find; its place is not known yet. */
  int add(long item, int slot, long word) {
    int handle = size;
    if ((handle + 1) * STRIDE > data.length) {
      grow();
    }
    size = handle + 1;
    int at = handle * STRIDE;
    long[] d = data;
    d[at] = item;
    d[at + WORD] = word;
    d[at + PID] = 0;
    d[at + FRAME_AND_SLOT] = -1L << 32 | slot;
    d[at + LENGTH] = -1;
    int i = (int) item & mask;
    while (table[i] != 0) {
      i = (i + 1) & mask;
    }
    table[i] = handle + 1;
    return handle;
  }

  /** Remembers where the record of {@code handle} was last seen. */
  void place(int handle, Position p, int length) {
    place(handle, p.frame, p.version, p.pid, p.slot, length);
  }

  void place(int handle, int frame, long version, long pid, int leafSlot, int length) {
    int at = handle * STRIDE;
    long[] d = data;
    d[at + VERSION] = version;
    d[at + PID] = pid;
    d[at + FRAME_AND_SLOT] = ((long) frame << 32) | (d[at + FRAME_AND_SLOT] & 0xFFFF_FFFFL);
    d[at + LEAF_SLOT] = leafSlot;
    d[at + LENGTH] = length;
  }

  /** Puts the place of {@code handle} into {@code p}, as a hint. */
  void locate(int handle, Position p) {
    int at = handle * STRIDE;
    long[] d = data;
    p.version = d[at + VERSION];
    p.pid = d[at + PID];
    p.frame = (int) (d[at + FRAME_AND_SLOT] >>> 32);
    p.slot = (int) d[at + LEAF_SLOT];
    p.found = d[at + LENGTH] >= 0;
  }

  long item(int handle) {
    return data[handle * STRIDE];
  }

  /** In which page it was last seen, or missed; 0 where that is not known. */
  long pid(int handle) {
    return data[handle * STRIDE + PID];
  }

  /** At which slot of that page. */
  int leafSlot(int handle) {
    return (int) data[handle * STRIDE + LEAF_SLOT];
  }

  /** The word as first seen: validation holds the item to its wts. */
  long word(int handle) {
    return data[handle * STRIDE + WORD];
  }

  /** The entry's slot in {@link Timestamps}. */
  int slot(int handle) {
    return (int) data[handle * STRIDE + FRAME_AND_SLOT];
  }

  /** The length of the value as last read, or -1 where it was absent. */
  int length(int handle) {
    return (int) data[handle * STRIDE + LENGTH];
  }

  void clear() {
    if (data.length > KEEP * STRIDE) {
      shrink();
    } else if (ProbeTable.hasFew(table, size)) {
      for (int e = 0; e < size; e++) {
        ProbeTable.clearFrom(table, (int) data[e * STRIDE]);
      }
    } else {
      Arrays.fill(table, 0);
    }
    size = 0;
  }

  /** Forgets all, and keeps its room: handles that are known name a wrong place, and do no harm. */
  void forget() {
    Arrays.fill(table, 0);
    size = 0;
  }

  /** Where there is no memory, what there was stays: larger than needed, and empty. */
  private void shrink() {
    size = 0;
    Arrays.fill(table, 0);
    try {
      long[] few = new long[INITIAL * STRIDE];
      table = new int[INITIAL * 4];
      data = few;
      mask = table.length - 1;
    } catch (OutOfMemoryError e) {
      // The next end tries again.
    }
  }

  private void grow() {
    // Both or none: a body may catch the error and go on.
    long[] longer = Arrays.copyOf(data, data.length * 2);
    table = new int[table.length * 2];
    data = longer;
    mask = table.length - 1;
    for (int e = 0; e < size; e++) {
      int i = (int) data[e * STRIDE] & mask;
      while (table[i] != 0) {
        i = (i + 1) & mask;
      }
      table[i] = e + 1;
    }
  }
}
