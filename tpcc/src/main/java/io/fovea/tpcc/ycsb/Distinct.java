package io.fovea.tpcc.ycsb;

import java.util.Arrays;

/** The set of numbers that a transaction has drawn. One thread. */
final class Distinct {
  private static final long NONE = -1;
  private static final long GOLDEN = 0x9e37_79b9_7f4a_7c15L;

  private final long[] slots;
  private final int shift;

  Distinct(int max) {
    int size = Integer.highestOneBit(Math.max(1, max)) << 2;
    slots = new long[size];
    shift = Long.numberOfLeadingZeros(size) + 1;
    clear();
  }

  void clear() {
    Arrays.fill(slots, NONE);
  }

  /** Adds a non-negative number; false if it was present. */
  boolean add(long number) {
    for (int i = (int) (number * GOLDEN >>> shift); ; i = (i + 1) & (slots.length - 1)) {
      if (slots[i] == number) {
        return false;
      }
      if (slots[i] == NONE) {
        slots[i] = number;
        return true;
      }
    }
  }
}
