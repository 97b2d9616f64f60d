package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageGroup;
import java.lang.foreign.MemorySegment;

/**
 * Keys of a {@link Lookahead} whose way down ended at a page that is in no frame, and the reads of
 * these pages.
 *
 * <pre>
 *   add ... add ──launch──► reads under way ──await──► take ... take ──► empty
 * </pre>
 */
final class Wave {
  /** With so many keys it is large enough: several small waves fill a device better than a few. */
  private static final int ENOUGH = 16;

  /** Seven more may come with the last eight, and no more with those that are put aside again. */
  private static final int CAPACITY = ENOUGH + Lookahead.WIDTH - 1;

  final MemorySegment[] keys = new MemorySegment[CAPACITY];
  final long[] offsets = new long[CAPACITY];
  final int[] lengths = new int[CAPACITY];
  final int[] numbers = new int[CAPACITY];

  /** How many reads there have been for the key. */
  final int[] rounds = new int[CAPACITY];

  final long[] pids = new long[CAPACITY];
  private final PageGroup group = new PageGroup();
  private int size;
  private int taken;

  void clear() {
    size = 0;
    taken = 0;
  }

  int left() {
    return size - taken;
  }

  /** Whether there is no use in adding another eight: the pool reads no more pages at once. */
  boolean isFull(BufferPool pool) {
    return size >= Math.min(ENOUGH, Math.max(1, pool.groupMax() - Lookahead.WIDTH + 1));
  }

  void add(MemorySegment key, long offset, int length, int number, int round, long pid) {
    keys[size] = key;
    offsets[size] = offset;
    lengths[size] = length;
    numbers[size] = number;
    rounds[size] = round;
    pids[size] = pid;
    size++;
  }

  /** Has the pages read, and goes on. */
  void launch(BufferPool pool) {
    group.clear();
    for (int i = 0; i < size; i++) {
      group.add(pids[i]);
    }
    pool.begin(group, true);
  }

  void await() {
    group.await();
  }

  /** The place of the next key; there is one. */
  int take() {
    return taken++;
  }

  /** Where a key's page is now, or -1. */
  int frame(int i, BufferPool pool) {
    return group.frame(i) >= 0 ? group.frame(i) : pool.resident(pids[i]);
  }
}
