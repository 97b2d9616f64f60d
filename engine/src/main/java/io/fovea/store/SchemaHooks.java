package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.recovery.TablesLog;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * What a store asks of the schema above it. The schema is read from the store, so a store gets them
 * after it was made, once: see {@link Store#attach}. Any thread.
 *
 * @param freeStrays frees pages that could not be freed when they were released; see {@link
 *     io.fovea.btree.BTree#freeStrays}
 * @param tables lists the tables, for who follows changes
 * @param counted the trees whose records are counted
 * @param saveCounts puts the counts into the catalog, and returns the number that tells them from
 *     those of an earlier close; 0 where it could not
 * @param onMarked follows when the file says that it is in use
 * @param join waits for the threads of the schema, which were told to end
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
