package io.fovea.checker;

import java.util.Map;

/** An operation of a transaction, with what it saw. */
sealed interface Op {
  /** A read of one key. */
  record Read(long key, State state) implements Op {}

  /** An append to a list, or the begin of one. {@code after} ends in the new element. */
  record Append(long key, State after) implements Op {}

  /** A delete of a list. {@code before} is its state as far as the transaction knew. */
  record Delete(long key, State before) implements Op {}

  /** A scan of an inclusive interval of keys; those not in {@code found} were absent. */
  record Scan(long low, long high, Map<Long, State> found) implements Op {}

  /** A scan, by the index, of a group of a generation. */
  record GroupScan(int generation, int group, Map<Long, State> found) implements Op {}

  /**
   * A read of an expiring list, at a time not before {@code low}. What expires by {@code high} may
   * be absent.
   */
  record Timed(long key, State state, long low, long high) implements Op {}

  /** Sets when the list that ends in an element expires. */
  record Ends(long key, long element, long end) implements Op {}

  /**
   * A lookup of a list in a group, by a unique index; absent: it was missing or in another group.
   */
  record Lookup(long key, int group, State state) implements Op {}
}
