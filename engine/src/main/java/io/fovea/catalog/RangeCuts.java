package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyRange;
import io.fovea.btree.RangeCount;
import io.fovea.btree.RangeCut;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.index.TableCore;
import io.fovea.io.IoOp;
import io.fovea.memory.Waits;
import io.fovea.recovery.RangeRecord;
import io.fovea.store.Store;
import io.fovea.txn.CatalogPart;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The ranges that one transaction takes out of tables as a whole, without touching the items of
 * their keys.
 *
 * <pre>
 *   body      deleteRange: counts the records by their leaves, and notes (table, range, count)
 *             any other statement on the table: {@link #take}, and the records are deleted one by one
 *   commit    locks of the tables and of the schema: still the same trees, without indexes?
 *             table GOING ─► moment: decides, alone
 *             records and bytes counted again: as many as the body was told?       else aborted
 *             room of the log claimed for what leaves and parents will log         else refused
 *             CATALOG · RANGE* · COMMIT_PART* · COMMIT in the log                 it has happened
 *             leaves cut out and freed ({@link RangeCut}) ─► table there again
 * </pre>
 *
 * <p><b>Why it is serializable.</b> Let C be the commit, A what decides before its moment, and B
 * what decides later, as in {@link CatalogTransaction}.
 *
 * <ul>
 *   <li><i>A</i> comes before C. What A has written is in the tree when C counts, for nobody is
 *       inside the gate at the moment. What A has read is nothing of C.
 *   <li><i>B comes behind C.</i> One of B that has used the table before the moment is aborted, as
 *       by a drop, whatever it has used of it. One that comes while C is being installed finds the
 *       table GOING, and is aborted. So all that B knows of the range it has read behind C, or it
 *       does not commit; and none of B changes the table between the moment and the end of C.
 *   <li><i>C itself.</i> What it has read by items is decided anew. What it knows of the range is a
 *       number of records, which it compares with what there is at its moment.
 *   <li><i>Timestamps.</i> The items of the keys keep theirs. That is no harm, for no two
 *       transactions are ordered by them that C lies between: everything of A comes before
 *       everything of B, whatever its timestamp ({@link io.fovea.txn.CommitGate}). Under
 *       multi-version order an older version of a key of the range may be in a ring: one of B that
 *       has begun before C and reads it has read what was overwritten, or finds the newest version,
 *       which is the tree's; in the first case it decides anew, and is aborted.
 * </ul>
 *
 * <p><b>Exceptions.</b> What leaves a body that does not commit rests on a count that was true when
 * it was made. It leaves if the count is true now as well, no leaf changes meanwhile, and all items
 * that were read are as they were: then all of it was so at the moment in between.
 *
 * <p>Of the transaction's thread.
 */
final class RangeCuts {
  private static final long PAUSE_NANOS = 50_000;

  /** How often a page is read in vain before the engine stops. */
  private static final int READS_MAX = 32;

  /** One range. */
  private static final class Cut {
    final TableCore core;
    final BTree tree;
    final KeyRange range;
    final long records;

    /** The transaction has dropped the table since: the range is counted, and that is all. */
    boolean dropped;

    long bytes;

    /** Of the last look. */
    long print;

    Cut(TableCore core, KeyRange range, long records) {
      this.core = core;
      this.tree = core.tree;
      this.range = range;
      this.records = records;
    }

    RangeCount count(boolean withBytes, Runnable goesOn) {
      RangeCount count = new RangeCount(tree, range);
      count.run(withBytes, records, goesOn);
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
   * Notes a range; there is none of this table.
   *
   * @param range in memory of its own
   * @param records how many records it had
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

  /** Whether there is a range of a table. */
  boolean has(TableCore core) {
    return of(core) != null;
  }

  /** Forgets the range of a table; returns how many records it had. */
  long forget(TableCore core) {
    Cut cut = of(core);
    cuts.remove(cut);
    return cut == null ? 0 : cut.records;
  }

  /** The range of a table; there is one. */
  KeyRange range(TableCore core) {
    Cut cut = of(core);
    if (cut == null) {
      throw new IllegalStateException("No range of table " + core.shown() + " was noted.");
    }
    return cut.range;
  }

  /** The transaction drops a table: what it was told of a range must have been so all the same. */
  void dropped(TableCore core) {
    Cut cut = of(core);
    if (cut != null) {
      cut.dropped = true;
    }
  }

  boolean isEmpty() {
    return cuts.isEmpty();
  }

  /** The tables of the ranges. */
  List<TableCore> tables() {
    return cuts.stream().map(c -> c.core).toList();
  }

  /** The tables that lose a range, and are not dropped. */
  List<TableCore> losing() {
    return cuts.stream().filter(c -> !c.dropped).map(c -> c.core).toList();
  }

  // ----------------------------------------------------------------------------------- the looks

  /** Whether the ranges have as many records as they had. */
  boolean hold() {
    for (Cut cut : cuts) {
      RangeCount count = cut.count(false, store.engine()::checkWaiting);
      cut.print = count.print();
      if (count.records() != cut.records) {
        return false;
      }
    }
    return true;
  }

  /** Whether nothing in them has changed since {@link #hold}. */
  boolean stillHold() {
    for (Cut cut : cuts) {
      if (cut.count(false, store.engine()::checkWaiting).print() != cut.print) {
        return false;
      }
    }
    return true;
  }

  // --------------------------------------------------------------------------------- the commit

  /** A table that is not what it was when its range was noted; null for none. Under the locks. */
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
   * Counts, where nobody changes the tables.
   *
   * @return a table of which there is something else than was told; null for none
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

  /** By how much the counts of the trees change. */
  void count(CatalogPart.Counts counts) {
    for (Cut cut : cuts) {
      if (!cut.dropped) {
        counts.add(cut.tree, -cut.records, -cut.bytes);
      }
    }
  }

  /**
   * Before anything is appended: what the cuts will log must have room.
   *
   * @throws StorageFullException where it has not
   */
  void claim(LogSession session) {
    long bytes = 0;
    for (Cut cut : cuts) {
      if (!cut.dropped && session.logging()) {
        bytes += new RangeCut(cut.tree, cut.range, session).logBytes();
      }
    }
    session.claim(bytes);
  }

  /** Appends what recovery must know. */
  void append(LogSession session, long id) {
    for (Cut cut : cuts) {
      if (!cut.dropped) {
        RangeRecord.append(session, id, cut.tree.treeId(), cut.range);
      }
    }
  }

  /** The commit is in the log, and the session stands at it: nothing may fail. */
  void install(LogSession session) {
    for (Cut cut : cuts) {
      if (!cut.dropped) {
        install(new RangeCut(cut.tree, cut.range, session));
      }
    }
  }

  private void install(RangeCut run) {
    int reads = 0;
    while (true) {
      try {
        run.run();
        return;
      } catch (PoolExhaustedException | StorageFullException e) {
        store.engine().requireWaits(e);
        Waits.sleep(PAUSE_NANOS);
      } catch (StorageException unread) {
        if (!unread.operation().equals(IoOp.READ.word()) || ++reads == READS_MAX) {
          throw unread;
        }
        Waits.sleep(PAUSE_NANOS);
      }
    }
  }
}
