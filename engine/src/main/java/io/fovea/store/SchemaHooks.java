package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.recovery.TablesLog;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Calls from a store to the schema above it. The schema is read from the store, so it attaches them
 * once, after the store was created ({@link Store#attach}). Any thread.
 *
 * @param freeStrays frees pages that could not be freed when they were released; see {@link
 *     io.fovea.btree.BTree#freeStrays}
 * @param tables lists the tables, for change subscribers
 * @param counted the trees whose records are counted
 * @param saveCounts puts the counts into the catalog, and returns a number that distinguishes them
 *     from those of an earlier close, or 0 on failure
 * @param onMarked runs once the file is marked as in use
 * @param join waits for the background threads of the schema, which have been asked to end
 */
public record SchemaHooks(
    Runnable freeStrays,
    TablesLog.Tables tables,
    Supplier<List<BTree>> counted,
    LongSupplier saveCounts,
    Runnable onMarked,
    Runnable join) {
  static final SchemaHooks NONE =
      new SchemaHooks(() -> {}, (wait, use) -> false, List::of, () -> 0, () -> {}, () -> {});
}
