package io.fovea.index;

/**
 * What statements do with an index. A change goes one step at a time, and the next step follows
 * when all transactions have ended that may act upon the step before ({@link
 * io.fovea.txn.GracePeriod}): so at every moment two neighbours are acted upon at most.
 *
 * <pre>
 *                      entry of a new value   of an old value    unique     lookups
 *   (no index)         -                      -                  -          -
 *   DELETE_ONLY        -                      removed            -          -      no file left
 *   NOTING             noted                  noted              -          -      any other
 *   BUILDING           added                  removed            held       -
 *   READABLE           added                  removed            held       yes
 *   LEAVING            added                  removed            held       -
 *   DELETE_ONLY        -                      removed            -          -
 *   (no index)
 * </pre>
 *
 * <p>The first stage of an index is delete only, if no file is left to sort its entries in, and
 * noting else. So an entry is there only if a record has its value, from the first one on, or from
 * when all that was noted is settled: see docs/internals/schema.md. The steps are those of Rae et
 * al., Online, Asynchronous Schema Change in F1, VLDB 2013.
 */
public enum IndexStage {
  /** Entries that there are do not outlive their records' values. */
  DELETE_ONLY,
  /**
   * The index gets a tree that is built meanwhile. Entries that come or go are put into another
   * one, with the keys of their records: so it has all of which the new tree may not be right. In a
   * unique index nobody looks for duplicates.
   */
  NOTING,
  /**
   * A transaction that changes a record keeps its entry; all other records are gone through, or all
   * that was noted is settled. Who meets an entry of a unique index reads the record that it names.
   */
  BUILDING,
  /** Complete, and used. */
  READABLE,
  /** Complete, and used by nobody who begins now. */
  LEAVING;

  /** Whether it has all entries, and the catalog has it. */
  public boolean isComplete() {
    return this == READABLE || this == LEAVING;
  }
}
