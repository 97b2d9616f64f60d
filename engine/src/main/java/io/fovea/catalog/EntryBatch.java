package io.fovea.catalog;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A batch of index entries and primary keys, for one transaction. Confined to one thread. */
final class EntryBatch implements AutoCloseable {
  private final Arena arena = Arena.ofShared();
  private final long entrySpace;
  private final long stride;
  private final int[] entryLengths;
  private final int[] keyLengths;
  final MemorySegment memory;
  private int size;

  /**
   * Creates an empty batch.
   *
   * @param max the capacity in entries
   * @param entryMax the longest key of an entry, in bytes
   * @param keyMax the longest primary key, in bytes
   */
  EntryBatch(int max, int entryMax, int keyMax) {
    this.entrySpace = entryMax;
    this.stride = (long) entryMax + keyMax;
    this.entryLengths = new int[max];
    this.keyLengths = new int[max];
    this.memory = arena.allocate(max * stride, 8);
  }

  void clear() {
    size = 0;
  }

  int size() {
    return size;
  }

  boolean isFull() {
    return size == entryLengths.length;
  }

  /**
   * Adds an entry.
   *
   * @throws CorruptionException if a length exceeds its maximum, which means that the journal is
   *     damaged
   */
  void add(
      MemorySegment from, long entry, int entryLength, MemorySegment of, long key, int length) {
    if (entryLength < 0 || entryLength > entrySpace || length < 0 || length > stride - entrySpace) {
      throw new CorruptionException(
          "length of an index entry", -1, -1, stride, entryLength + length);
    }
    Mem.copy(from, entry, memory, entryAt(size), entryLength);
    Mem.copy(of, key, memory, keyAt(size), length);
    entryLengths[size] = entryLength;
    keyLengths[size] = length;
    size++;
  }

  long entryAt(int i) {
    return i * stride;
  }

  int entryLength(int i) {
    return entryLengths[i];
  }

  long keyAt(int i) {
    return i * stride + entrySpace;
  }

  int keyLength(int i) {
    return keyLengths[i];
  }

  @Override
  public void close() {
    arena.close();
  }
}
