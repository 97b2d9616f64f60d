package io.fovea.txn;

import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** A batch of a scan that merges old records; {@link TxScan} swaps its arrays with its own. */
final class ScanBatch {
  private static final int INITIAL_BYTES = 8 << 10;

  private final Blocks memory;
  MemorySegment keys = Blocks.NONE;
  int[] keyOffsets = new int[65];
  int[] slots = new int[65];
  long[] items = new long[65];
  int[] handles = new int[65];
  int size;

  ScanBatch(Blocks memory) {
    this.memory = memory;
  }

  void free() {
    MemorySegment was = keys;
    keys = Blocks.NONE;
    memory.release(was);
  }

  void clear(int max, long keyBytes) {
    size = 0;
    if (slots.length <= max) {
      int length = Math.max(max + 1, 2 * slots.length);
      keyOffsets = Arrays.copyOf(keyOffsets, length);
      slots = Arrays.copyOf(slots, length);
      items = Arrays.copyOf(items, length);
      handles = Arrays.copyOf(handles, length);
    }
    if (keys.byteSize() < keyBytes) {
      keys = memory.exchange(keys, Math.max(keyBytes, INITIAL_BYTES));
    }
    keyOffsets[0] = 0;
  }

  void add(MemorySegment from, long offset, int length, int slot, long item, int handle) {
    int i = size++;
    Mem.copy(from, offset, keys, keyOffsets[i], length);
    slots[i] = slot;
    items[i] = item;
    handles[i] = handle;
    keyOffsets[i + 1] = keyOffsets[i] + length;
  }
}
