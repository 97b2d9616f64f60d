package io.fovea.memory;

import java.util.Arrays;

/** Longs in insertion order. Used by one thread at a time. */
public final class LongList {
  private long[] values = new long[16];
  private int size;

  public LongList() {}

  /** Adds a value at the end. */
  public void add(long value) {
    if (size == values.length) {
      values = Arrays.copyOf(values, 2 * size);
    }
    values[size++] = value;
  }

  public long get(int index) {
    assert index < size;
    return values[index];
  }

  /** Removes the last value. The list must not be empty. */
  public void removeLast() {
    size--;
  }

  public int size() {
    return size;
  }

  public void clear() {
    size = 0;
  }
}
