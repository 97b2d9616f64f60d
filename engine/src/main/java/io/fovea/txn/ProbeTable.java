package io.fovea.txn;

/**
 * Hash tables of a transaction's sets: ints, open addressing, linear probing; 0 is an empty slot.
 */
final class ProbeTable {
  private ProbeTable() {}

  /** Returns whether removing the entries one by one is faster than clearing the table. */
  static boolean hasFew(int[] table, int entries) {
    return entries <= table.length >>> 6; // one entry takes as long as four cache lines
  }

  /**
   * Empties the slots from a hash's first one up to the next empty one. If called for each entry,
   * it empties the whole table: no empty slot lies between an entry and its first slot.
   */
  static void clearFrom(int[] table, int hash) {
    int mask = table.length - 1;
    for (int i = hash & mask; table[i] != 0; i = (i + 1) & mask) {
      table[i] = 0;
    }
  }
}
