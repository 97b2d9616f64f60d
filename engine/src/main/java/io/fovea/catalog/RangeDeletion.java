package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyRange;
import io.fovea.btree.RangeCount;
import io.fovea.index.IndexMaintenance;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.util.function.Supplier;

/**
 * Removes the records of a range, within an operation.
 *
 * <p><b>One by one.</b> It is a scan, and a delete of each record that the scan meets, by the same
 * means as those of the program. The scan reads the items of all keys of the range and of the first
 * one above it, which cover every place where a key could appear ({@link TxScan}); the commit locks
 * the items of what goes, and of each next key. So it is serializable under every protocol without
 * a rule of its own. It leaves out what two calls a record do twice: the search for the key, the
 * read of the record for its entries, the copy of a long value.
 *
 * <p><b>As a whole.</b> Where many leaves have no other records than those of the range, the
 * records are counted and nothing more: the commit cuts the leaves out, alone at its moment ({@link
 * CatalogTransaction}). It goes one by one all the same
 *
 * <ul>
 *   <li>where the table has indexes, for their entries lie anywhere, and each has to be made from
 *       its record; and where rows expire, for some of them the transaction does not see;
 *   <li>where changes are followed ({@code Database.changes}): the log has to say which records go;
 *   <li>where a value of the range is in pages of its own, which must be found to be freed;
 *   <li>where the transaction has written into the table before, has a scan open, or makes the
 *       table: what it has written is in no leaf;
 *   <li>where it is pessimistic, unless the range is so large that it could not do it: what it
 *       reserves nobody changes, so that it commits at some time, and a count can be reserved by
 *       nobody.
 * </ul>
 *
 * <p>The next statement of the same transaction on the table would have to know that the range is
 * empty. So it first does what was noted one by one ({@link #spread}). Transactions that do nothing
 * of the kind pay nothing: the note makes use of the bit by which a transaction knows tables that
 * it has dropped.
 */
public final class RangeDeletion {
  /** What a pessimistic transaction does one by one at most. */
  private static final long PESSIMISTIC_MAX = 1_000_000;

  private RangeDeletion() {}

  /**
   * Removes what a scan would meet, and closes it.
   *
   * @param scan of the table's tree, before its first record
   * @param most how many records at most
   * @param leaves from how many leaves on it goes as a whole
   * @param catalog what the transaction does to the catalog
   * @return how many it were
   */
  public static long run(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      TxScan scan,
      long most,
      int leaves,
      Supplier<CatalogTransaction> catalog) {
    BTree tree = core.tree;
    KeyRange range = scan.range();
    if (RangeCount.mayHave(tree, range, leaves) && mayCut(t, core)) {
      RangeCount count = new RangeCount(tree, range);
      boolean all = count.run(false, most, t.engine()::checkWaiting);
      long records = count.records();
      if (all
          && !count.holdsLong()
          && count.leaves() >= leaves
          && !(t.pessimistic() && records <= PESSIMISTIC_MAX)) {
        t.sawLsn(count.pageLsn());
        catalog.get().cut(core, range.copy(), records);
        scan.close();
        return records;
      }
    }
    return oneByOne(statementContext, t, core, scan, most);
  }

  /** Looks at the indexes once: one may come at any moment. */
  private static long oneByOne(
      StatementContext statementContext, Tx t, TableCore core, TxScan scan, long most) {
    return IndexMaintenance.deleteRange(statementContext, t, core, core.indexes(), scan, most);
  }

  private static boolean mayCut(Tx t, TableCore core) {
    return core.indexes().length == 0
        && core.expiry() == null
        && !core.isNew()
        && t.openScans() == 1
        && !t.hasWrites(core.tree);
  }

  /**
   * A statement uses a table of which this transaction was to take a range out as a whole: deletes
   * the records one by one.
   *
   * @param catalog has the note
   */
  public static void spread(
      StatementContext statementContext, Tx t, TableCore core, CatalogTransaction catalog) {
    KeyRange range = catalog.range(core);
    long records = catalog.forgetCut(core);
    TxScan scan =
        t.scan(
            core.tree,
            range.low(),
            range.lowOffset(),
            range.lowLength(),
            range.lowInclusive(),
            range.high(),
            range.highOffset(),
            range.highLength(),
            range.highInclusive(),
            false);
    if (oneByOne(statementContext, t, core, scan, Long.MAX_VALUE) != records) {
      throw catalog.changed(core);
    }
  }
}
