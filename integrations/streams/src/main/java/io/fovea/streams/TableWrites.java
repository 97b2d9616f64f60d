package io.fovea.streams;

import io.fovea.Table;
import io.fovea.Task;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import java.util.ArrayList;
import java.util.List;

/**
 * Writes the pending rows of stores, and their records, to the database.
 *
 * <p>Normally in one transaction. The engine's memory for timestamps limits the rows that a
 * transaction can write. If there are more, rows are written ahead in several transactions, and the
 * last one writes the records with offsets, positions and stream times. A crash in between leaves
 * rows ahead of the offset, as a spill does: the changelog is applied again from the offset on.
 * Rows that must not be stored together with an offset are written after a transaction that removes
 * the offset.
 *
 * <p><b>Pages that are not in memory.</b> A transaction accesses its rows one after the other and
 * waits for each page. So once commits have met missing pages, {@link Table#getAll} reads the old
 * rows first, with many reads in flight. A single-transaction commit then has at most as many rows
 * as a quarter of the memory has pages. If rows are written ahead, each transaction writes only the
 * rows whose pages were read together: most of the memory is dirty pages, so the pages evicted next
 * are those just read.
 *
 * <p>Commits become durable in order. Readers see no intermediate state: the generation is odd
 * meanwhile, and pending writes hide the table until all rows are there.
 */
final class TableWrites {
  private static final int READ_AT_ONCE = 512;

  private final Instance instance;
  private final List<StoreState> stores;
  private final List<List<PendingWrites.Cell>> rows = new ArrayList<>();
  private final boolean misses;
  private final int most;
  private int count;

  private TableWrites(Instance instance, List<StoreState> stores) {
    this.instance = instance;
    this.stores = stores;
    this.misses = instance.isMissing();
    this.most = instance.rowsMax(misses);
    for (StoreState store : stores) {
      List<PendingWrites.Cell> sorted = store.rows();
      rows.add(sorted);
      count += sorted.size();
    }
  }

  /**
   * Writes all pending rows.
   *
   * @param stores between their {@link StoreState#beginWriting} and {@link StoreState#endWriting}
   * @param offsetsFirst whether the durable records have offsets that must be removed before the
   *     rows are written
   */
  static void run(Instance instance, List<StoreState> stores, boolean offsetsFirst) {
    TableWrites writes = new TableWrites(instance, stores);
    long misses = instance.misses();
    writes.run(offsetsFirst);
    instance.missed(instance.misses() - misses, writes.count);
  }

  private void run(boolean offsetsFirst) {
    if (count <= most) {
      for (int i = 0; i < stores.size(); i++) {
        bringIn(stores.get(i), rows.get(i));
      }
      if (atOnce()) {
        return;
      }
    }
    if (offsetsFirst) {
      records();
    }
    rowsAhead();
    records();
  }

  /** Reads the pages of rows into memory, if commits have found pages missing. */
  private void bringIn(StoreState store, List<PendingWrites.Cell> some) {
    if (misses) {
      for (int from = 0; from < some.size(); from += READ_AT_ONCE) {
        store.bringIn(some.subList(from, Math.min(some.size(), from + READ_AT_ONCE)));
      }
    }
  }

  /** Writes all in one transaction; returns false if others left too little memory for it. */
  private boolean atOnce() {
    return tried(
        count,
        tx -> {
          for (int i = 0; i < stores.size(); i++) {
            StoreState store = stores.get(i);
            store.writeCut(tx);
            store.writeRows(tx, rows.get(i));
            store.writeRecord(tx);
          }
        });
  }

  private void records() {
    instance
        .database()
        .run(
            tx -> {
              for (StoreState store : stores) {
                store.writeCut(tx);
                store.writeRecord(tx);
              }
            });
  }

  private void rowsAhead() {
    for (int i = 0; i < stores.size(); i++) {
      StoreState store = stores.get(i);
      List<PendingWrites.Cell> all = rows.get(i);
      int part = misses ? Math.min(most, READ_AT_ONCE) : most;
      for (int from = 0; from < all.size(); from += part) {
        List<PendingWrites.Cell> some = all.subList(from, Math.min(all.size(), from + part));
        bringIn(store, some);
        writeSome(store, some);
      }
    }
  }

  private void writeSome(StoreState store, List<PendingWrites.Cell> some) {
    int size = some.size();
    if (!tried(size, tx -> store.writeRows(tx, some))) {
      writeSome(store, some.subList(0, size / 2));
      writeSome(store, some.subList(size / 2, size));
    }
  }

  /** Returns false if the transaction was too large. */
  private boolean tried(int size, Task<RuntimeException> work) {
    try {
      instance.database().run(work);
      return true;
    } catch (TransactionAbortedException e) {
      if (e.abortCause() == AbortCause.TOO_LARGE && size > 1) {
        return false;
      }
      throw e;
    }
  }
}
