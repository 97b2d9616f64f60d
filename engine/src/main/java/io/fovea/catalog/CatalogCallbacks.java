package io.fovea.catalog;

import io.fovea.index.EntryMaker;
import io.fovea.index.StatementContext;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.TableSpec;
import io.fovea.txn.Tx;
import org.jspecify.annotations.Nullable;

/** Callbacks from the schema into the layers above it. */
public interface CatalogCallbacks {
  /** One part of a larger operation, run in a transaction. */
  @FunctionalInterface
  interface Piece {
    /** Runs the part; {@code attempt} starts at 1 and increases after each conflict. */
    void run(StatementContext context, Tx tx, int attempt);
  }

  /** No layer above: indexes cannot be built, and extractors are unknown. */
  CatalogCallbacks NONE =
      new CatalogCallbacks() {
        @Override
        public void transact(long timeoutNanos, Piece piece) {
          throw new UnsupportedOperationException("There are no transactions here.");
        }

        @Override
        public @Nullable EntryMaker maker(TableSpec table, IndexSpec index) {
          return null;
        }
      };

  /** Runs a part in a new transaction without a time limit, and commits it. */
  default void transact(Piece piece) {
    transact(0, piece);
  }

  /**
   * Runs a part in a new transaction, and commits it.
   *
   * @param timeoutNanos the time limit of an attempt; 0 for none
   * @throws io.fovea.error.TransactionAbortedException with cause {@code TIMEOUT} or {@code
   *     ADMISSION} if an attempt exceeds the limit
   */
  void transact(long timeoutNanos, Piece piece);

  /** Returns the entry maker of an extracted index, or null for any other index. */
  @Nullable EntryMaker maker(TableSpec table, IndexSpec index);
}
