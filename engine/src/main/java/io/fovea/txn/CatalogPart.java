package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.buffer.PageReservations;
import io.fovea.wal.LogSession;

/**
 * What a transaction does to the catalog, as its commit sees it. The room above implements it
 * ({@code CatalogTransaction}, which has the argument); a transaction that has none pays for one
 * look at a field.
 *
 * <pre>
 *   {@link Commit}            catalog part
 *   pages promised            inserts, bytes
 *   items locked
 *   gate at a moment          deciding: tables that it drops are being dropped, for everybody
 *     decide
 *                             decided: what ranges have that are cut is counted
 *   counts of trees           count
 *   long values to chains     stage
 *   append                    append: a CATALOG record, the first part of the commit; RANGE records
 *   ---                       it has happened, if the COMMIT record becomes durable
 *   install                   install: the catalog's tree, then the tables in memory
 *   publish items, leave the gate
 *   free old chains           release
 *   end of the transaction    ended, whatever came before
 * </pre>
 */
public interface CatalogPart {
  /** Whether it changes anything. If not, it has only looked for tables. */
  boolean changes();

  /**
   * Whether what it was told of the catalog is still so. Of one that changes nothing it is asked
   * when the transaction decides, inside the gate if it writes.
   */
  boolean catalogReadsValid();

  /**
   * Returns whether the trees that {@link #catalogReadsValid} checked are unchanged since. In
   * between, the transaction checked all its other reads, so all of them held at one point in time.
   */
  boolean stillHolds();

  /** Gets by how much counts of trees change. */
  @FunctionalInterface
  interface Counts {
    /**
     * One tree.
     *
     * @param tree the tree
     * @param records how many more records it has
     * @param bytes how many more bytes its keys and values have
     */
    void add(BTree tree, long records, long bytes);
  }

  /** How many records it adds to the catalog, or makes longer, at most. */
  int inserts();

  /** How many bytes these have. */
  long bytes();

  /** Where pages for them are promised. */
  PageReservations promises();

  /** All locks are held, and the moment is about to come. */
  void deciding();

  /**
   * It has decided, and the gate is open again. All that has decided before is in the trees, and
   * nobody changes those whose tables it drops or takes ranges out of.
   *
   * @throws io.fovea.error.TransactionAbortedException if the transaction was told something else
   *     of them than what there is
   */
  void decided();

  /** Says by how much it changes counts of trees, after {@link #decided}. */
  void count(Counts counts);

  /** Writes long values. */
  void stage(LogSession session);

  /**
   * Appends what recovery must know, as the first part of a commit.
   *
   * @param maxBytes how long the record may be
   * @return where it begins
   */
  long append(LogSession session, int maxBytes);

  /** The commit has happened: the catalog changes, and what follows in memory. */
  void install(LogSession session);

  /** Frees what the catalog does not need any more. */
  void release(LogSession session);

  /** Instead of {@link #install}: nothing has happened. */
  void undo(LogSession session);

  /** The transaction has ended, and its context is given back next. Waits for nobody. */
  void ended();
}
