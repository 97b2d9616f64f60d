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
 * Deletes the records of a range, within an operation.
 *
 * <p><b>One by one</b>, by a scan that deletes each record it finds. The scan reads the items of
 * all keys of the range and of the first key above it, which cover every possible insert ({@link
 * TxScan}). The commit locks the items of the deleted keys and of each next key. So it is
 * serializable under every protocol.
 *
 * <p><b>As a whole</b>, if many leaves contain only records in the range: the body only counts the
 * records, and the commit cuts the leaves out, alone at its quiescent point ({@link
 * CatalogTransaction}). Records are still deleted one by one if
 *
 * <ul>
 *   <li>the table has indexes, because each entry must be computed from its record;
 *   <li>the records of the table expire, because some of them are hidden;
 *   <li>the change feed is enabled, because the log must list the records;
 *   <li>the range has long values, whose pages must be found to be freed;
 *   <li>the transaction has written to the table, has a scan open on it, or creates it: its writes
 *       are not yet in any leaf;
 *   <li>the transaction is pessimistic and the range is not too large: reserving items guarantees
 *       that it eventually commits, whereas a count cannot be reserved.
 * </ul>
 *
 * <p>A later statement on the table in the same transaction first deletes the records one by one
 * ({@link #replaceByDeletes}). Other transactions incur no cost, because the check shares the bit
 * for dropped tables.
 */
public final class RangeDeletion {
  /** The maximum number of records that a pessimistic transaction deletes one by one. */
  private static final long PESSIMISTIC_MAX = 1_000_000;

  private RangeDeletion() {}

  /**
   * Deletes the records in the scan's range, and closes the scan.
   *
   * @param scan a scan of the table's tree, positioned before its first record
   * @param max the limit on records
   * @param leaves the minimum number of leaves for a cut
   * @param catalog the transaction's catalog
   * @return the number of records deleted
   */
  public static long run(
      StatementContext context,
      Tx t,
      TableCore core,
      TxScan scan,
      long max,
      int leaves,
      Supplier<CatalogTransaction> catalog) {
    BTree tree = core.tree;
    KeyRange range = scan.range();
    if (RangeCount.mayHave(tree, range, leaves) && mayCut(t, core)) {
      RangeCount count = new RangeCount(tree, range);
      boolean all = count.run(false, max, t.engine()::checkWaiting);
      long records = count.records();
      if (all
          && !count.holdsLong()
          && count.leaves() >= leaves
          && !(t.isPessimistic() && records <= PESSIMISTIC_MAX)) {
        t.dependsOnLsn(count.pageLsn());
        catalog.get().cut(core, range.copy(), records);
        scan.close();
        return records;
      }
    }
    return oneByOne(context, t, core, scan, max);
  }

  /** Reads the list of indexes once, because it may change at any time. */
  private static long oneByOne(
      StatementContext context, Tx t, TableCore core, TxScan scan, long max) {
    return IndexMaintenance.deleteRange(context, t, core, core.indexes(), scan, max);
  }

  private static boolean mayCut(Tx t, TableCore core) {
    return core.indexes().length == 0
        && core.expiry() == null
        && !core.isNew()
        && t.openScans() == 1
        && !t.hasWrites(core.tree);
  }

  /** Deletes a recorded range one by one, before the transaction uses the table again. */
  public static void replaceByDeletes(
      StatementContext context, Tx t, TableCore core, CatalogTransaction catalog) {
    KeyRange range = catalog.range(core);
    long records = catalog.cancelCut(core);
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
    if (oneByOne(context, t, core, scan, Long.MAX_VALUE) != records) {
      throw catalog.changed(core);
    }
  }
}
