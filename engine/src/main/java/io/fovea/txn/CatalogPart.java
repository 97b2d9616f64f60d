package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.buffer.PageReservations;
import io.fovea.wal.LogSession;

/**
 * A transaction's catalog changes, as its commit sees them; implemented by {@code
 * CatalogTransaction}, which explains why this is correct.
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
  /** Returns whether the transaction changes the catalog; if not, it has only looked up tables. */
  boolean changes();

  /**
   * Returns whether the catalog is as the transaction read it. Called when a transaction without
   * catalog changes decides, inside the gate if it writes.
   */
  boolean catalogReadsValid();

  /**
   * Returns whether the trees that {@link #catalogReadsValid} checked are unchanged since. All
   * other reads were checked in between, so all held at one point in time.
   */
  boolean lookupsStillValid();

  /** Receives changes of tree counts. */
  @FunctionalInterface
  interface Counts {
    /** Adds changes of a tree's number of records, and of the bytes of their keys and values. */
    void add(BTree tree, long records, long bytes);
  }

  /** Returns the maximum number of catalog records that it adds or lengthens. */
  int inserts();

  /** Returns the size of these records, in bytes. */
  long bytes();

  /** Returns the reservations of pages for these records. */
  PageReservations pageReservations();

  /** Called when all locks are held, before the gate closes. */
  void deciding();

  /**
   * Called after the commit has decided and the gate is open again. The trees contain all earlier
   * decisions, and no transaction changes the tables that it drops or cuts. Throws an abort if
   * these tables are not as the transaction read them.
   */
  void decided();

  /** Reports the changes of tree counts, after {@link #decided}. */
  void count(Counts counts);

  /** Writes long values to their pages. */
  void stage(LogSession session);

  /**
   * Appends records of at most {@code maxBytes} for recovery, before all others; returns their LSN.
   */
  long append(LogSession session, int maxBytes);

  /** Changes the catalog and the tables in memory; the commit is in the log. */
  void install(LogSession session);

  /** Frees what the catalog no longer needs. */
  void release(LogSession session);

  /** Undoes the preparations of a failed commit; called instead of {@link #install}. */
  void undo(LogSession session);

  /** Called when the transaction has ended, before its context is released. Does not wait. */
  void ended();
}
