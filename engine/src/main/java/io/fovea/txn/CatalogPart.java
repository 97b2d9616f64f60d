package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.buffer.PageReservations;
import io.fovea.wal.LogSession;

/**
 * A transaction's catalog changes, as its commit sees them; implemented by {@code
 * CatalogTransaction}, which has the argument.
 *
 * <pre>
 *   {@link Commit}            catalog part
 *   reserve pages             inserts, bytes
 *   lock items
 *   close the gate            deciding: from now on no transaction may use the tables that it drops
 *     decide
 *                             decided: counts the records of ranges that it cuts
 *   counts of trees           count
 *   write long values         stage
 *   append                    append: a CATALOG record, the first part of the commit; RANGE records
 *   ---                       committed, if the COMMIT record becomes durable
 *   install                   install: the catalog's tree, then the tables in memory
 *   publish, leave the gate
 *   free old chains           release
 *   end of the transaction    ended, in every case
 * </pre>
 */
public interface CatalogPart {
  /** Returns whether it changes anything; if not, the transaction has only looked up tables. */
  boolean changes();

  /**
   * Returns whether the catalog still is as the transaction read it. Called for a part without
   * changes when the transaction decides, inside the gate if it writes.
   */
  boolean catalogReadsValid();

  /**
   * Returns whether the trees that {@link #catalogReadsValid} checked are unchanged since. In
   * between, the transaction checked all its other reads, so all of them held at one point in time.
   */
  boolean stillHolds();

  /** Receives changes of tree counts. */
  @FunctionalInterface
  interface Counts {
    /**
     * Adds a change.
     *
     * @param tree the tree
     * @param records the change of its number of records
     * @param bytes the change of the bytes of its keys and values
     */
    void add(BTree tree, long records, long bytes);
  }

  /** Returns the maximum number of catalog records that it adds or makes longer. */
  int inserts();

  /** Returns the size of these records, in bytes. */
  long bytes();

  /** Returns where pages for them are reserved. */
  PageReservations promises();

  /** Called when all locks are held, before the gate closes. */
  void deciding();

  /**
   * Called when it has decided and the gate is open again. All earlier decisions are in the trees,
   * and no transaction changes the tables that it drops or cuts.
   *
   * @throws io.fovea.error.TransactionAbortedException if these tables are not as the transaction
   *     read them
   */
  void decided();

  /** Reports the changes of tree counts, after {@link #decided}. */
  void count(Counts counts);

  /** Writes long values to their pages. */
  void stage(LogSession session);

  /**
   * Appends the records that recovery needs, as the first part of a commit.
   *
   * @param maxBytes the maximum length of the record
   * @return the LSN where it begins
   */
  long append(LogSession session, int maxBytes);

  /** Changes the catalog and the tables in memory; the commit is in the log. */
  void install(LogSession session);

  /** Frees what the catalog no longer needs. */
  void release(LogSession session);

  /** Undoes the preparations, instead of {@link #install}: the commit failed. */
  void undo(LogSession session);

  /** Called when the transaction has ended, before its context is released. Does not wait. */
  void ended();
}
