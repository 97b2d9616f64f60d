package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.recovery.TablesLog;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Calls from a store to the schema above it, which attaches them once ({@link Store#attach}).
 * Thread-safe.
 *
 * @param freeStrays frees pages that could not be freed when they were released
 * @param tables lists the tables, for change subscribers
 * @param counted the trees whose records are counted
 * @param saveCounts saves the counts in the catalog, and returns their number, or 0 on failure
 * @param onMarked runs once the file is marked as in use
 * @param join waits for the schema's background threads, which were told to end
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
