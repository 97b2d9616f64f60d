package io.fovea.checker;

import java.util.Map;

/** What a transaction did, and what it saw. */
sealed interface Op {
  /** Read one key. */
  record Read(long key, State state) implements Op {}

  /** Appended to a list, or began one. {@code after} ends in the new element. */
  record Append(long key, State after) implements Op {}

  /** Deleted a list. {@code before} is what it was, as far as the transaction knew. */
  record Delete(long key, State before) implements Op {}

  /** Saw all lists of an interval of keys, both ends included; what is not in it was not there. */
  record Scan(long low, long high, Map<Long, State> found) implements Op {}

  /** Saw, by the index, all lists of a group of a generation. */
  record GroupScan(int generation, int group, Map<Long, State> found) implements Op {}

  /**
   * Looked for a list that ends by itself, at a moment not before {@code low}. What had ended by
   * {@code high} may be gone.
   */
  record Timed(long key, State state, long low, long high) implements Op {}

  /** The list that ends in an element is there until a time. */
  record Ends(long key, long element, long end) implements Op {}

  /** Looked, by a unique index, for one list in a group; absent: it was not there, or elsewhere. */
  record Lookup(long key, int group, State state) implements Op {}
}
