package io.fovea.catalog;

import io.fovea.index.EntryMaker;
import io.fovea.index.StatementContext;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.TableSpec;
import io.fovea.txn.Tx;
import org.jspecify.annotations.Nullable;

/** What the schema needs of the rooms above it. */
public interface CatalogCallbacks {
  /** A part of something larger that is done in transactions, one part each. */
  @FunctionalInterface
  interface Piece {
    /**
     * Does it; again after a conflict.
     *
     * @param slot the transaction's scratch memory
     * @param tx the transaction, within an operation
     * @param attempt 1 for the first
     */
    void run(StatementContext statementContext, Tx tx, int attempt);
  }

  /** There is nothing above: indexes are neither built, nor are their makers known. */
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

  /** Runs a piece in a transaction of its own, without a limit on time, and commits that. */
  void transact(Piece piece);

  /** The maker of the entries of an index whose keys a user's code computes; null for another. */
  @Nullable EntryMaker maker(TableSpec table, IndexSpec index);
}
