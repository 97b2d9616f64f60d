package io.fovea.txn;

import io.fovea.btree.Position;
import java.util.Arrays;

/**
 * The read set: one entry per item, with the word and the location where it was seen.
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
 * The location is a hint ({@link io.fovea.btree.BTree#locate} checks it), from which a second
 * access, the validation and the install start. An entry's index is its <i>handle</i>, valid until
 * the transaction ends. Entries are found through an open-addressing table of ints, which is
 * cleared by walking the entries, so that a short transaction after a long one pays only for its
 * own size.
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

  /** Adds an item that {@link #find} did not find, without a location. */
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

  void putLocation(int handle, int frame, long version, long pid, int leafSlot, int length) {
    int at = handle * STRIDE;
    long[] d = data;
    d[at + VERSION] = version;
    d[at + PID] = pid;
    d[at + FRAME_AND_SLOT] = ((long) frame << 32) | (d[at + FRAME_AND_SLOT] & 0xFFFF_FFFFL);
    d[at + LEAF_SLOT] = leafSlot;
    d[at + LENGTH] = length;
  }

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

  /** Returns the page where it was last seen or missed; 0 if unknown. */
  long pid(int handle) {
    return data[handle * STRIDE + PID];
  }

  int leafSlot(int handle) {
    return (int) data[handle * STRIDE + LEAF_SLOT];
  }

  /** Returns the word as first seen, whose wts validation requires. */
  long word(int handle) {
    return data[handle * STRIDE + WORD];
  }

  int slot(int handle) {
    return (int) data[handle * STRIDE + FRAME_AND_SLOT];
  }

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

  /** Removes all entries; old handles then name a wrong location, which is harmless. */
  void removeAll() {
    Arrays.fill(table, 0);
    size = 0;
  }

  /** If memory is short, the old arrays stay: larger than needed, and empty. */
  private void shrink() {
    size = 0;
    Arrays.fill(table, 0);
    try {
      long[] few = new long[INITIAL * STRIDE];
      table = new int[INITIAL * 4];
      data = few;
      mask = table.length - 1;
    } catch (OutOfMemoryError e) {
      // The end of the next transaction tries again.
    }
  }

  private void grow() {
    // Both or none: a body may catch the error and continue.
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
