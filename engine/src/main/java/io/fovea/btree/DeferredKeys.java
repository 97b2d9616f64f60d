package io.fovea.btree;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Keys of a {@link Lookahead} whose way down ended at a page that is in no frame: plain columns.
 */
final class DeferredKeys {
  final MemorySegment[] keys;
  final long[] offsets;
  final int[] lengths;
  final int[] numbers;

  /** How many reads there have been for the key. */
  final int[] rounds;

  /** The page at which its way ended. */
  final long[] pids;

  /** For who uses it as a stack. */
  int size;

  DeferredKeys(int capacity) {
    keys = new MemorySegment[capacity];
    Arrays.fill(keys, MemorySegment.NULL);
    offsets = new long[capacity];
    lengths = new int[capacity];
    numbers = new int[capacity];
    rounds = new int[capacity];
    pids = new long[capacity];
  }

  void set(int i, MemorySegment key, long offset, int length, int number, int round, long pid) {
    keys[i] = key;
    offsets[i] = offset;
    lengths[i] = length;
    numbers[i] = number;
    rounds[i] = round;
    pids[i] = pid;
  }

  void copy(int i, DeferredKeys from, int j) {
    set(
        i,
        from.keys[j],
        from.offsets[j],
        from.lengths[j],
        from.numbers[j],
        from.rounds[j],
        from.pids[j]);
  }
}
