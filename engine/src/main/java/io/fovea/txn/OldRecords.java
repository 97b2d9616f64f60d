package io.fovea.txn;

import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * The records of an interval that have changed since a transaction's timestamp, in their state at
 * that timestamp: copies from {@link Versions}, ordered by key.
 *
 * <p>For each key it holds the oldest version that ended after the timestamp. The transaction sees
 * that version if it began before the timestamp. Otherwise the record is unknown, because a
 * version's begin is only an upper bound.
 */
final class OldRecords {
  private static final int INITIAL_BYTES = 4 << 10;

  private final Blocks memory;
  private MemorySegment data = Blocks.NONE;
  private int used;
  private int[] keyAt = new int[16];
  private int[] keyLength = new int[16];
  private int[] valueLength = new int[16];
  private long[] begin = new long[16];
  private long[] end = new long[16];
  private int size;

  OldRecords(Blocks memory) {
    this.memory = memory;
  }

  void clear() {
    size = 0;
    used = 0;
  }

  void free() {
    clear();
    MemorySegment was = data;
    data = Blocks.NONE;
    memory.release(was);
  }

  int size() {
    return size;
  }

  MemorySegment segment() {
    return data;
  }

  int keyOffset(int i) {
    return keyAt[i];
  }

  int keyLength(int i) {
    return keyLength[i];
  }

  int valueOffset(int i) {
    return keyAt[i] + keyLength[i];
  }

  /** Returns the length of a record's value; negative: there was no record. */
  int valueLength(int i) {
    return valueLength[i];
  }

  long begin(int i) {
    return begin[i];
  }

  long memoryBytes() {
    return data.byteSize();
  }

  /** Copies key and value to the end, for {@link #keep}; returns the offset of the key. */
  int stage(MemorySegment from, long offset, int bytes) {
    if (used + (long) bytes > data.byteSize()) {
      MemorySegment old = data;
      MemorySegment larger = memory.take(Math.max(used + (long) bytes, INITIAL_BYTES));
      Mem.copy(old, 0, larger, 0, used);
      data = larger;
      memory.release(old);
    }
    Mem.copy(from, offset, data, used, bytes);
    return used;
  }

  /** Returns the index of a key; negative: its insertion point, as in Arrays.binarySearch. */
  int find(MemorySegment key, long offset, int length) {
    int low = 0;
    int high = size - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int c = Mem.compare(data, keyAt[middle], keyLength[middle], key, offset, length);
      if (c == 0) {
        return middle;
      }
      if (c < 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -(low + 1);
  }

  /** Keeps the staged version, unless there is an older one of the key. */
  void keep(int key, int value, long began, long ended) {
    int i = find(data, used, key);
    if (i >= 0) {
      if (end[i] <= ended) {
        return;
      }
    } else {
      i = -(i + 1);
      insert(i);
    }
    keyAt[i] = used;
    keyLength[i] = key;
    valueLength[i] = value;
    begin[i] = began;
    end[i] = ended;
    used += key + Math.max(0, value);
  }

  private void insert(int i) {
    if (size == keyAt.length) {
      keyAt = Arrays.copyOf(keyAt, 2 * size);
      keyLength = Arrays.copyOf(keyLength, 2 * size);
      valueLength = Arrays.copyOf(valueLength, 2 * size);
      begin = Arrays.copyOf(begin, 2 * size);
      end = Arrays.copyOf(end, 2 * size);
    }
    int moved = size - i;
    System.arraycopy(keyAt, i, keyAt, i + 1, moved);
    System.arraycopy(keyLength, i, keyLength, i + 1, moved);
    System.arraycopy(valueLength, i, valueLength, i + 1, moved);
    System.arraycopy(begin, i, begin, i + 1, moved);
    System.arraycopy(end, i, end, i + 1, moved);
    size++;
  }
}
