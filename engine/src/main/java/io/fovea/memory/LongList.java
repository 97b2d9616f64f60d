package io.fovea.memory;

import java.util.Arrays;

/** Longs in the order in which they were added. One thread. */
public final class LongList {
  private long[] values = new long[16];
  private int size;

  /** An empty list. */
  public LongList() {}

  /** Adds a value at the end. */
  public void add(long value) {
    if (size == values.length) {
      values = Arrays.copyOf(values, 2 * size);
    }
    values[size++] = value;
  }

  /** The value at an index. */
  public long get(int index) {
    assert index < size;
    return values[index];
  }

  /** Takes the last one out, of at least one. */
  public void removeLast() {
    size--;
  }

  /** How many there are. */
  public int size() {
    return size;
  }

  /** Forgets all. */
  public void clear() {
    size = 0;
  }
}
