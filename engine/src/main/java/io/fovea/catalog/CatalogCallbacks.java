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
        public void transact(Piece piece) {
          throw new UnsupportedOperationException("There are no transactions here.");
        }

        @Override
        public @Nullable EntryMaker maker(TableSpec table, IndexSpec index) {
          return null;
        }
      };

  /** Runs a part in a new transaction without a time limit, and commits it. */
  void transact(Piece piece);

  /** Returns the entry maker of an extracted index, or null for any other index. */
  @Nullable EntryMaker maker(TableSpec table, IndexSpec index);
}
