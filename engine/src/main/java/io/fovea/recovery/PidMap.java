package io.fovea.recovery;

import io.fovea.memory.Hash;
import java.util.Arrays;

/**
 * Page ids, or other positive numbers, each with a number: open addressing with linear probing, two
 * arrays and no objects, since a log may name millions of pages.
 *
 * <p>One thread.
 */
final class PidMap {
  /** What {@link #get} and {@link #remove} say of what is not there. */
  static final int ABSENT = Integer.MIN_VALUE;

  /** Gets all entries. */
  interface Visitor {
    /** One entry. */
    void visit(long pid, int value);
  }

  private long[] pids = new long[64];
  private int[] values = new int[64];
  private int size;

  int size() {
    return size;
  }

  private int slot(long pid) {
    int mask = pids.length - 1;
    int i = (int) Hash.spread(pid) & mask;
    while (pids[i] != 0 && pids[i] != pid) {
      i = i + 1 & mask;
    }
    return i;
  }

  int get(long pid) {
    int i = slot(pid);
    return pids[i] == 0 ? ABSENT : values[i];
  }

  void put(long pid, int value) {
    if (2 * (size + 1) > pids.length) {
      grow();
    }
    int i = slot(pid);
    if (pids[i] == 0) {
      pids[i] = pid;
      size++;
    }
    values[i] = value;
  }

  int remove(long pid) {
    int i = slot(pid);
    if (pids[i] == 0) {
      return ABSENT;
    }
    final int value = values[i];
    int mask = pids.length - 1;
    // Those behind that would not be found any more move up.
    for (int j = i + 1 & mask; pids[j] != 0; j = j + 1 & mask) {
      int home = (int) Hash.spread(pids[j]) & mask;
      if ((j - home & mask) >= (j - i & mask)) {
        pids[i] = pids[j];
        values[i] = values[j];
        i = j;
      }
    }
    pids[i] = 0;
    size--;
    return value;
  }

  private void grow() {
    final long[] oldPids = pids;
    final int[] oldValues = values;
    pids = new long[2 * oldPids.length];
    values = new int[2 * oldPids.length];
    for (int i = 0; i < oldPids.length; i++) {
      if (oldPids[i] != 0) {
        int to = slot(oldPids[i]);
        pids[to] = oldPids[i];
        values[to] = oldValues[i];
      }
    }
  }

  /**
   * Visits all entries in ascending order, so that what is done with them is the same each time.
   */
  void forEach(Visitor visitor) {
    long[] all = new long[size];
    int n = 0;
    for (long pid : pids) {
      if (pid != 0) {
        all[n++] = pid;
      }
    }
    Arrays.sort(all);
    for (long pid : all) {
      visitor.visit(pid, get(pid));
    }
  }
}
