package io.fovea.txn;

/**
 * What the sets of a transaction have in common: a table of ints by open addressing, with linear
 * probing, of a power of two in length, where 0 is an empty place.
 */
final class ProbeTable {
  private ProbeTable() {}

  /** Whether so few entries are faster removed one by one than with all of the table. */
  static boolean hasFew(int[] table, int entries) {
    return entries <= table.length >>> 6; // four cache lines of it for one entry
  }

  /**
   * Empties all places from one on, up to the next that is empty. Called for the first place of
   * each entry it empties the whole table, in time that depends on the entries and not on the
   * table: an entry lies behind its first place with no empty one between, and what one call leaves
   * empty was emptied together with all behind it.
   *
   * @param hash of an entry; its first place is found by the low bits
   */
  static void clearFrom(int[] table, int hash) {
    int mask = table.length - 1;
    for (int i = hash & mask; table[i] != 0; i = (i + 1) & mask) {
      table[i] = 0;
    }
  }
}
