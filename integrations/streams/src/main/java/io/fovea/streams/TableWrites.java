package io.fovea.streams;

import io.fovea.Table;
import io.fovea.Task;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import java.util.ArrayList;
import java.util.List;

/**
 * Writes what is pending in stores to their tables, and their records.
 *
 * <p>That is one transaction. The engine keeps a timestamp for each record that a transaction
 * writes, and has so much memory for those of all transactions. Where there are more rows than fit,
 * rows go ahead in several transactions, and the last one has the records with offsets, positions
 * and stream times. A crash between them leaves rows that are ahead of the offset, as a spill does:
 * the changelog from the offset on is applied again. Rows that must not stand beside an offset are
 * written after a transaction that takes the offset away.
 *
 * <p><b>Pages that are not in memory.</b> A transaction looks for its rows one after the other, and
 * waits for each page. So once commits have met such pages, {@link Table#getAll} reads the old rows
 * before: it has many reads under way at once. A commit that is one transaction has no more rows
 * then than there are pages in a quarter of the memory. Where rows go ahead, each transaction has
 * as many as are read at once, and they are written at once: most of the memory are pages that were
 * changed, so the ones to make room for others are those that were just read.
 *
 * <p>Commits are durable in their order. Readers see no part of it: the generation is odd
 * meanwhile, and what is pending hides the table until all is there.
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
   * Writes all that is pending.
   *
   * @param stores between their {@link StoreState#beginWriting} and {@link StoreState#endWriting}
   * @param offsetsFirst whether the durable records have offsets beside which the rows must not be
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

  /** Has the pages of rows in memory, if commits have found that they are not. */
  private void bringIn(StoreState store, List<PendingWrites.Cell> some) {
    if (misses) {
      for (int from = 0; from < some.size(); from += READ_AT_ONCE) {
        store.bringIn(some.subList(from, Math.min(some.size(), from + READ_AT_ONCE)));
      }
    }
  }

  /** One transaction; false if others left too little memory for it. */
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

  /** Whether it was not too much at once. */
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
