package io.fovea.tpcc;

/** A small set of positive ints with open addressing. Cleared by incrementing an epoch. */
final class IntSet {
  private final int[] values;
  private final int[] epochs;
  private final int mask;
  private int epoch = 1;

  /** Creates a set for {@code max} members; its table is at most half full. */
  IntSet(int max) {
    int size = Integer.highestOneBit(Math.max(2 * max - 1, 1)) << 1;
    values = new int[size];
    epochs = new int[size];
    mask = size - 1;
  }

  void clear() {
    epoch++;
  }

  boolean add(int value) {
    int i = (value * 0x9e37_79b9 >>> 16) & mask;
    while (epochs[i] == epoch) {
      if (values[i] == value) {
        return false;
      }
      i = (i + 1) & mask;
    }
    epochs[i] = epoch;
    values[i] = value;
    return true;
  }
}
