package io.fovea.index;

import io.fovea.btree.BTree;
import io.fovea.btree.Lookahead;
import io.fovea.txn.Tx;

/**
 * Reads several keys of a tree at once. Groups of {@value Lookahead#WIDTH} descend together, so
 * that their cache misses overlap. Keys whose pages are missing are deferred until the pages
 * arrive, so that their I/O overlaps too ({@link Lookahead}). The transaction then reads each key
 * as usual, at the location found.
 *
 * <p>Owned by one thread at a time.
 */
public abstract class GroupedReads {
  /** Adds key {@code i} to the lookahead. */
  protected abstract void add(Lookahead ahead, int i);

  /**
   * Reads key {@code i} of the group; {@code expected} is the key's number in the lookahead, for
   * {@link Tx}.
   */
  protected abstract boolean get(Tx t, int expected, int i);

  /** Reads at most {@code bytes} bytes per value; returns the number of records found. */
  public final int read(Tx t, BTree tree, int size, int bytes) {
    int found = 0;
    Lookahead ahead = t.lookahead();
    try {
      for (int from = 0; from < size; from += Lookahead.WIDTH) {
        found += group(t, tree, from, Math.min(Lookahead.WIDTH, size - from), bytes);
        while (ahead.isDeferredFull()) {
          found += defer(t, tree, from + Lookahead.WIDTH < size);
        }
      }
      while (ahead.hasDeferred()) {
        found += defer(t, tree, false);
      }
    } finally {
      ahead.finish();
    }
    return found;
  }

  /** Descends for a group of keys, reads those found, and defers the others. */
  private int group(Tx t, BTree tree, int from, int n, int bytes) {
    Lookahead ahead = t.lookahead();
    ahead.clear();
    for (int i = 0; i < n; i++) {
      add(ahead, from + i);
    }
    t.descend(tree, n, bytes);
    return readSeen(t, n);
  }

  /** Reads deferred keys whose pages have arrived, while the I/O for others is in progress. */
  private int defer(Tx t, BTree tree, boolean more) {
    return readSeen(t, t.lookahead().resumeDeferred(tree, more));
  }

  /** Reads the keys of the last descent, or defers them. */
  private int readSeen(Tx t, int n) {
    Lookahead ahead = t.lookahead();
    int found = 0;
    for (int i = 0; i < n; i++) {
      if (!ahead.defer(i) && get(t, i, ahead.number(i))) {
        found++;
      }
    }
    return found;
  }
}
