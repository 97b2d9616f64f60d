package io.fovea.btree;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Keys of a {@link Lookahead} whose descent ended at a page that is not resident, as columns. */
final class DeferredKeys {
  final MemorySegment[] keys;
  final long[] offsets;
  final int[] lengths;
  final int[] numbers;

  /** The number of reads for the key. */
  final int[] rounds;

  /** The missing page. */
  final long[] pids;

  /** Used if this is a stack. */
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
