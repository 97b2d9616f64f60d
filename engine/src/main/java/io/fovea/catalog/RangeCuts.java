package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyRange;
import io.fovea.btree.RangeCount;
import io.fovea.btree.RangeCut;
import io.fovea.error.StorageFullException;
import io.fovea.index.TableCore;
import io.fovea.recovery.RangeRecord;
import io.fovea.store.Store;
import io.fovea.txn.CatalogPart;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The ranges that one transaction cuts out of tables as a whole, without using the items of their
 * keys.
 *
 * <pre>
 *   body      deleteRange: counts the records by leaves, and records (table, range, count)
 *             any other statement on the table: {@link #remove}, and records are deleted one by one
 *   commit    locks of the tables and of the schema; trees and lack of indexes checked
 *             table GOING ─► quiescent point: decides, alone
 *             records and bytes counted again                    aborted if either differs
 *             log space for changes of leaves and parents        refused if there is too little
 *             CATALOG · RANGE* · COMMIT_PART* · COMMIT in the log                 committed
 *             leaves cut out and freed ({@link RangeCut}) ─► table usable again
 * </pre>
 *
 * <p><b>Serializability.</b> Let C be the commit, A a transaction that decides before its quiescent
 * point, and B one that decides later, as in {@link CatalogTransaction}.
 *
 * <ul>
 *   <li><i>A comes before C.</i> Its writes are in the tree when C counts, because no other commit
 *       is inside the gate. A has seen no effect of C.
 *   <li><i>B comes after C.</i> If B used the table before the quiescent point, it is aborted, as
 *       by a drop. If B uses the table while C is being installed, it finds GOING and is aborted.
 *       So a B that commits has read the range after C, and no B changes the table between the
 *       quiescent point and the end of C.
 *   <li><i>C itself.</i> Its reads of items are validated. It knows only the record count of the
 *       range, which it compares at the quiescent point.
 *   <li><i>Timestamps.</i> The items of the keys keep their timestamps. No two transactions with C
 *       between them are ordered by timestamps: every A comes before every B, whatever its
 *       timestamp ({@link io.fovea.txn.CommitGate}). Under multi-version order, a B that began
 *       before C may read an older version of a key; it is validated again and aborted.
 * </ul>
 *
 * <p><b>Exceptions.</b> An exception thrown by the body of a transaction that does not commit may
 * depend on a count. It may propagate if the count is still the same, no leaf changes meanwhile,
 * and all items read are unchanged: then everything the body read held at one point in time.
 *
 * <p>Confined to the transaction's thread.
 */
final class RangeCuts {
  private static final long PAUSE_NANOS = 50_000;

  private static final class Cut {
    final TableCore core;
    final BTree tree;
    final KeyRange range;
    final long records;

    /** Whether the transaction has since dropped the table; the range is then only counted. */
    boolean dropped;

    long bytes;

    /** A fingerprint of the last count. */
    long print;

    Cut(TableCore core, KeyRange range, long records) {
      this.core = core;
      this.tree = core.tree;
      this.range = range;
      this.records = records;
    }

    RangeCount count(boolean withBytes, Runnable more) {
      RangeCount count = new RangeCount(tree, range);
      count.run(withBytes, records, more);
      return count;
    }
  }

  private final Store store;
  private final List<Cut> cuts = new ArrayList<>();

  RangeCuts(Store store) {
    this.store = store;
  }

  // ----------------------------------------------------------------------------------- the body

  /**
   * Adds the only range of a table.
   *
   * @param range not changed afterwards
   * @param records the number of records counted in the range
   */
  void add(TableCore core, KeyRange range, long records) {
    cuts.add(new Cut(core, range, records));
  }

  private @Nullable Cut of(TableCore core) {
    for (Cut cut : cuts) {
      if (cut.core == core) {
        return cut;
      }
    }
    return null;
  }

  boolean has(TableCore core) {
    return of(core) != null;
  }

  /** Removes a table's range; returns the number of records counted in it. */
  long remove(TableCore core) {
    Cut cut = of(core);
    cuts.remove(cut);
    return cut == null ? 0 : cut.records;
  }

  KeyRange range(TableCore core) {
    Cut cut = of(core);
    if (cut == null) {
      throw new IllegalStateException(
          "No deletion of a range of table " + core.displayName() + " is pending.");
    }
    return cut.range;
  }

  /** Records that the transaction drops a table. The count of its range must still be correct. */
  void dropped(TableCore core) {
    Cut cut = of(core);
    if (cut != null) {
      cut.dropped = true;
    }
  }

  boolean isEmpty() {
    return cuts.isEmpty();
  }

  List<TableCore> tables() {
    return cuts.stream().map(c -> c.core).toList();
  }

  List<TableCore> losing() {
    return cuts.stream().filter(c -> !c.dropped).map(c -> c.core).toList();
  }

  // ------------------------------------------------------------------------------------ validation

  /** Returns whether the ranges still contain as many records as counted. */
  boolean hold() {
    for (Cut cut : cuts) {
      RangeCount count = cut.count(false, store.engine()::checkWaiting);
      cut.print = count.fingerprint();
      if (count.records() != cut.records) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether the ranges are unchanged since {@link #hold}. */
  boolean stillHold() {
    for (Cut cut : cuts) {
      if (cut.count(false, store.engine()::checkWaiting).fingerprint() != cut.print) {
        return false;
      }
    }
    return true;
  }

  // --------------------------------------------------------------------------------- the commit

  /**
   * Returns a table that has changed since its range was counted, or null. Requires the table and
   * schema locks.
   */
  @Nullable TableCore changed() {
    for (Cut cut : cuts) {
      TableCore core = cut.core;
      if (core.tree != cut.tree
          || core.isRefused()
          || core.isLoading()
          || core.indexes().length > 0
          || core.expiry() != null) {
        return core;
      }
    }
    return null;
  }

  /**
   * Counts the records again, while the tables cannot change.
   *
   * @return a table whose range differs from the first count, or null
   */
  @Nullable TableCore count() {
    for (Cut cut : cuts) {
      RangeCount count = cut.count(true, store.engine()::checkWaiting);
      if (count.records() != cut.records || count.holdsLong()) {
        return cut.core;
      }
      cut.bytes = count.bytes();
    }
    return null;
  }

  /** Adds the changes of the trees' counts. */
  void count(CatalogPart.Counts counts) {
    for (Cut cut : cuts) {
      if (!cut.dropped) {
        counts.add(cut.tree, -cut.records, -cut.bytes);
      }
    }
  }

  /**
   * Reserves log space for the cuts before anything is appended.
   *
   * @throws StorageFullException if there is too little
   */
  void claim(LogSession session) {
    long bytes = 0;
    for (Cut cut : cuts) {
      if (!cut.dropped && session.isLogging()) {
        bytes += new RangeCut(cut.tree, cut.range, session).logBytes();
      }
    }
    session.claim(bytes);
  }

  /** Appends the records for recovery. */
  void append(LogSession session, long id) {
    for (Cut cut : cuts) {
      if (!cut.dropped) {
        RangeRecord.append(session, id, cut.tree.treeId(), cut.range);
      }
    }
  }

  /** Installs the cuts after the commit is in the log; nothing may fail. */
  void install(LogSession session) {
    for (Cut cut : cuts) {
      if (!cut.dropped) {
        RangeCut run = new RangeCut(cut.tree, cut.range, session);
        CatalogChange.install(store.engine(), PAUSE_NANOS, run::run);
      }
    }
  }
}
