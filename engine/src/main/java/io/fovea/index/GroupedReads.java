package io.fovea.index;

import io.fovea.btree.BTree;
import io.fovea.btree.Lookahead;
import io.fovea.txn.Tx;

/**
 * Reads several keys of a tree in one go: groups of {@value Lookahead#WIDTH} go down together, so
 * that their cache misses overlap, and keys for which a page is missing are put aside until it has
 * come, so that their reads overlap too ({@link Lookahead}). Each key is then read by the
 * transaction as any other, where it was seen.
 *
 * <p>Owned by one thread at a time.
 */
public abstract class GroupedReads {
  /**
   * Adds a key to the lookahead, with its number.
   *
   * @param i from 0
   */
  protected abstract void add(Lookahead ahead, int i);

  /**
   * Reads a key of the group that is being read.
   *
   * @param expected its number in the lookahead, as {@link Tx} takes it
   * @param i its own number
   * @return whether there is a record
   */
  protected abstract boolean get(Tx t, int expected, int i);

  /**
   * Reads all.
   *
   * @param size how many keys there are
   * @param bytes how much of each value is read at most
   * @return how many of them have a record
   */
  public final int read(Tx t, BTree tree, int size, int bytes) {
    int found = 0;
    Lookahead ahead = t.lookahead();
    try {
      for (int from = 0; from < size; from += Lookahead.WIDTH) {
        found += group(t, tree, from, Math.min(Lookahead.WIDTH, size - from), bytes);
        while (ahead.asideFull()) {
          found += aside(t, tree, from + Lookahead.WIDTH < size);
        }
      }
      while (ahead.hasAside()) {
        found += aside(t, tree, false);
      }
    } finally {
      ahead.finish();
    }
    return found;
  }

  /**
   * Goes down for a group of keys together, then reads each where it was seen. Those for which a
   * page is missing are put aside.
   */
  private int group(Tx t, BTree tree, int from, int n, int bytes) {
    Lookahead ahead = t.lookahead();
    ahead.clear();
    for (int i = 0; i < n; i++) {
      add(ahead, from + i);
    }
    t.descend(tree, n, bytes);
    return readSeen(t, n);
  }

  /** Reads keys that were put aside and whose pages have come; has others' pages read meanwhile. */
  private int aside(Tx t, BTree tree, boolean more) {
    return readSeen(t, t.lookahead().again(tree, more));
  }

  /** Reads those that the lookahead has just gone down for, or puts them aside. */
  private int readSeen(Tx t, int n) {
    Lookahead ahead = t.lookahead();
    int found = 0;
    for (int i = 0; i < n; i++) {
      if (!ahead.putAside(i) && get(t, i, ahead.number(i))) {
        found++;
      }
    }
    return found;
  }
}
