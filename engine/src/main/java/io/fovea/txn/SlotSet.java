package io.fovea.txn;

import java.util.Arrays;

/**
 * The timestamp slots that a commit has locked: a list, and a hash table of it.
 *
 * <p>Whatever can fail precedes the lock, so that no lock is forgotten:
 *
 * <pre>
 *   stage(slot)      makes space and stores the slot: may fail
 *   the lock         may fail
 *   size++           counts it: one store, which can't fail
 * </pre>
 *
 * <p>The table is cleared by walking the list, so that a short commit after a long one is cheap.
 */
public final class SlotSet {
  private int[] list = new int[64];
  private int[] table = new int[256];

  /**
   * The number of locked slots: raised after locking the staged slot, lowered by unlocking. After
   * unlocking, {@link #clear} precedes the next {@link #stage}.
   */
  int size;

  /** The number of slots in the table, including one that is only staged. */
  private int entered;

  private int lastAt;

  int size() {
    return size;
  }

  int get(int i) {
    return list[i];
  }

  boolean contains(int slot) {
    int mask = table.length - 1;
    for (int i = spread(slot) & mask; ; i = (i + 1) & mask) {
      int e = table[i];
      if (e == 0) {
        return false;
      }
      if (list[e - 1] == slot) {
        return e <= size;
      }
    }
  }

  /** Stores a slot, which counts when size is raised; otherwise the next one replaces it. */
  void stage(int slot) {
    if (entered > size) {
      entered = size;
      table[lastAt] = 0; // the last one of every probe run that contains it
    }
    if (size == list.length) {
      grow();
    }
    int mask = table.length - 1;
    int i = spread(slot) & mask;
    while (table[i] != 0) {
      i = (i + 1) & mask;
    }
    list[size] = slot;
    lastAt = i;
    entered = size + 1;
    table[i] = entered;
  }

  /** Replaces the arrays when both are complete, so that a failure changes nothing. */
  private void grow() {
    int[] longer = Arrays.copyOf(list, size * 2);
    int[] larger = new int[table.length * 2];
    int mask = larger.length - 1;
    for (int e = 0; e < size; e++) {
      int i = spread(longer[e]) & mask;
      while (larger[i] != 0) {
        i = (i + 1) & mask;
      }
      larger[i] = e + 1;
    }
    list = longer;
    table = larger;
  }

  private static int spread(int slot) {
    return (slot * 0x9E3779B9) >>> 7;
  }

  void clear() {
    size = 0;
    if (list.length > 4096) {
      shrink();
    } else if (ProbeTable.hasFew(table, entered)) {
      for (int e = 0; e < entered; e++) {
        ProbeTable.clearFrom(table, spread(list[e]));
      }
    } else {
      Arrays.fill(table, 0);
    }
    entered = 0;
  }

  /** If memory is short, the old arrays stay: larger than needed, and empty. */
  private void shrink() {
    Arrays.fill(table, 0);
    entered = 0;
    try {
      int[] few = new int[64];
      table = new int[256];
      list = few;
    } catch (OutOfMemoryError e) {
      // The next call tries again.
    }
  }
}
