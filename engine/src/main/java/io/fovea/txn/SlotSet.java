package io.fovea.txn;

import java.util.Arrays;

/**
 * The timestamp slots that a commit has locked: a list, and a table that says whether one is in.
 */
final class SlotSet {
  private int[] list = new int[64];
  private int[] table = new int[256];
  private int size;

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
        return true;
      }
    }
  }

  void add(int slot) {
    if (size == list.length) {
      list = Arrays.copyOf(list, size * 2);
      table = new int[table.length * 2];
      for (int e = 0; e < size; e++) {
        enter(list[e], e + 1);
      }
    }
    list[size++] = slot;
    enter(slot, size);
  }

  private void enter(int slot, int value) {
    int mask = table.length - 1;
    int i = spread(slot) & mask;
    while (table[i] != 0) {
      i = (i + 1) & mask;
    }
    table[i] = value;
  }

  private static int spread(int slot) {
    return (slot * 0x9E3779B9) >>> 7;
  }

  void clear() {
    if (list.length > 4096) {
      list = new int[64];
      table = new int[256];
    } else if (size > 0) {
      Arrays.fill(table, 0);
    }
    size = 0;
  }
}
