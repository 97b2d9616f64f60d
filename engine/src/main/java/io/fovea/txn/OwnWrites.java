package io.fovea.txn;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** A transaction's own writes ahead of a scan, in the scan's order. */
final class OwnWrites {
  private int[] entries = new int[16];
  private int size;
  private int at;
  private int changesSeen;
  private boolean descending;

  /** Whether nothing ahead of the scan is written any more. */
  private boolean kept;

  void clear() {
    size = 0;
    at = 0;
    changesSeen = -1;
    kept = false;
  }

  /** Declares that only delivered records change from now on. */
  void keep() {
    kept = true;
  }

  /** Returns whether the transaction has inserted, put or deleted since the last collection. */
  boolean stale(WriteSet writes) {
    return changesSeen != writes.changes() && !kept;
  }

  boolean isEmpty() {
    return at == size;
  }

  int peek() {
    return entries[at];
  }

  int next() {
    return entries[at++];
  }

  /**
   * Collects own inserts and puts ahead of the scan, in its order. The current key is ahead if
   * {@code inclusive}; a negative {@code lastLength} means the whole interval.
   */
  void collect(
      WriteSet writes,
      ScanRange range,
      MemorySegment lastKey,
      long lastOffset,
      int lastLength,
      boolean inclusive) {
    changesSeen = writes.changes();
    descending = range.descending;
    size = 0;
    at = 0;
    MemorySegment s = writes.scratch.segment();
    boolean begun = lastLength >= 0;
    for (int w = 0, n = writes.size(); w < n; w++) {
      byte kind = writes.kind(w);
      if (writes.tree(w) != range.tree || (kind != WriteSet.INSERT && kind != WriteSet.PUT)) {
        continue;
      }
      int offset = writes.keyOffset(w);
      int length = writes.keyLength(w);
      if (!range.contains(s, offset, length)) {
        continue;
      }
      if (begun) {
        int c = Mem.compare(s, offset, length, lastKey, lastOffset, lastLength);
        if (c == 0 ? !inclusive : descending == c > 0) {
          continue;
        }
      }
      if (size == entries.length) {
        entries = Arrays.copyOf(entries, size * 2);
      }
      entries[size++] = w;
    }
    sort(writes);
  }

  private void sort(WriteSet writes) {
    MemorySegment s = writes.scratch.segment();
    if (size > 64) {
      Integer[] boxed = new Integer[size];
      Arrays.setAll(boxed, i -> entries[i]);
      Arrays.sort(boxed, (a, b) -> order(writes, s, a, b));
      for (int i = 0; i < size; i++) {
        entries[i] = boxed[i];
      }
      return;
    }
    for (int i = 1; i < size; i++) {
      int w = entries[i];
      int j = i - 1;
      while (j >= 0 && order(writes, s, entries[j], w) > 0) {
        entries[j + 1] = entries[j];
        j--;
      }
      entries[j + 1] = w;
    }
  }

  private int order(WriteSet writes, MemorySegment s, int a, int b) {
    int c =
        Mem.compare(
            s,
            writes.keyOffset(a),
            writes.keyLength(a),
            s,
            writes.keyOffset(b),
            writes.keyLength(b));
    return descending ? -c : c;
  }
}
