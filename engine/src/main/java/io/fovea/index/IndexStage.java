package io.fovea.index;

/**
 * The stages of an index while it is built or dropped. A change takes one step at a time. Each step
 * waits for the end of all transactions that may still act on the stage before the present one
 * ({@link io.fovea.txn.GracePeriod}). So at any time transactions act on at most two adjacent
 * stages.
 *
 * <pre>
 *                      entry of a new value   of an old value    unique     lookups
 *   (no index)         -                      -                  -          -
 *   DELETE_ONLY        -                      removed            -          -      no sort file
 *   JOURNALING         journaled              journaled          -          -      otherwise
 *   BUILDING           added                  removed            checked    -
 *   READABLE           added                  removed            checked    yes
 *   DROPPING           added                  removed            checked    -
 *   DELETE_ONLY        -                      removed            -          -
 *   (no index)
 * </pre>
 *
 * <p>A build begins with DELETE_ONLY if all sort files are in use, otherwise with JOURNALING. So an
 * entry exists only if a record has its value, either throughout the build or once the journal has
 * been applied: see docs/internals/schema.md. The steps are those of Rae et al., Online,
 * Asynchronous Schema Change in F1, VLDB 2013.
 */
public enum IndexStage {
  /** Entries are removed together with their records' values. */
  DELETE_ONLY,
  /**
   * The tree of the index is being built. Entries that are added or removed go into a journal
   * instead, with the keys of their records, so the journal covers all possible errors of the new
   * tree. Uniqueness is not checked.
   */
  JOURNALING,
  /**
   * Transactions maintain the entries of the records that they change, while all other records are
   * visited or the journal is applied. A statement that meets an entry of a unique index reads its
   * record.
   */
  BUILDING,
  /** Complete, and in use. */
  READABLE,
  /** Complete, but not used by new transactions. */
  DROPPING;

  /** Returns whether the index has all its entries and is in the catalog. */
  public boolean isComplete() {
    return this == READABLE || this == DROPPING;
  }
}
