package io.fovea.recovery;

import io.fovea.memory.Hash;
import java.util.Arrays;

/**
 * A map from page ids, or other positive numbers, to numbers: open addressing with linear probing,
 * in two arrays without objects, since a log may name millions of pages. The arrays are at most
 * half full until they have reached their maximum length, and then up to 15/16 full.
 *
 * <p>Used by one thread.
 */
final class PidMap {
  /** The result of {@link #get} and {@link #remove} for a missing id. */
  static final int ABSENT = Integer.MIN_VALUE;

  /** Receives all entries. */
  interface Visitor {
    /** Receives one entry. */
    void visit(long pid, int value);
  }

  private static final int LENGTH_MIN = 64;
  private static final int LENGTH_MAX = 1 << 30;

  private long[] pids = new long[LENGTH_MIN];
  private int[] values = new int[LENGTH_MIN];
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
    if (size >= pids.length >> 1) {
      int length = length(pids.length, size);
      if (length > pids.length) {
        grow(length);
      }
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
    // Move up later entries that would no longer be found.
    for (int j = i + 1 & mask; pids[j] != 0; j = j + 1 & mask) {
      int preferred = (int) Hash.spread(pids[j]) & mask;
      if ((j - preferred & mask) >= (j - i & mask)) {
        pids[i] = pids[j];
        values[i] = values[j];
        i = j;
      }
    }
    pids[i] = 0;
    size--;
    return value;
  }

  /**
   * Returns the length of the arrays needed for one more entry.
   *
   * @param length the current length
   * @param size the number of entries
   * @throws IllegalStateException if the arrays cannot be that long
   */
  static int length(int length, int size) {
    if (size < length >> 1) {
      return length;
    }
    if (length < LENGTH_MAX) {
      return 2 * length;
    }
    if (size >= LENGTH_MAX / 16 * 15) {
      throw new IllegalStateException(
          "The log names more than "
              + size
              + " pages that were allocated and not freed; recovery cannot track more.");
    }
    return length;
  }

  private void grow(int length) {
    final long[] oldPids = pids;
    final int[] oldValues = values;
    pids = new long[length];
    values = new int[length];
    for (int i = 0; i < oldPids.length; i++) {
      if (oldPids[i] != 0) {
        int to = slot(oldPids[i]);
        pids[to] = oldPids[i];
        values[to] = oldValues[i];
      }
    }
  }

  /** Visits all entries in ascending order, so that the result is reproducible. */
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
