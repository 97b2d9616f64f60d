package io.fovea.txn;

import java.util.Arrays;

/**
 * The timestamp slots that a commit has locked: a list, and a table that says whether one is in.
 *
 * <p><b>In three steps.</b> Whatever can fail comes before the lock, so that no lock is held that
 * nobody knows of:
 *
 * <pre>
 *   stage(slot)      room is made, the slot is written down: may fail
 *   the lock         may fail, or not be had
 *   size++           it counts: one store, which can't fail
 * </pre>
 *
 * <p>The table is cleared by walking the list, so that a short commit after a long one pays for its
 * own size only.
 */
public final class SlotSet {
  private int[] list = new int[64];
  private int[] table = new int[256];

  /**
   * How many slots are in; raised by who has locked what was staged, lowered by who unlocks: then
   * {@link #clear} comes before the next {@link #stage}.
   */
  int size;

  /** How many the table has: those that are in, and perhaps one that was staged only. */
  private int entered;

  /** Where in the table the last one is. */
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

  /**
   * Writes a slot down that is not in: it counts when {@link #size} is raised. If that does not
   * happen, the next one takes its place.
   */
  void stage(int slot) {
    if (entered > size) {
      entered = size;
      table[lastAt] = 0; // the last one of every probe run that it is in
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

  /** A failure leaves what there was: the larger ones take their place when they are whole. */
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

  /** Where there is no memory, what there was stays: larger than needed, and empty. */
  private void shrink() {
    Arrays.fill(table, 0);
    entered = 0;
    try {
      int[] few = new int[64];
      table = new int[256];
      list = few;
    } catch (OutOfMemoryError e) {
      // The next time it is tried again.
    }
  }
}
