package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.recovery.TablesLog;
import java.util.List;

/**
 * Calls from a store to the schema above it; by default they do nothing. The schema attaches its
 * hooks once ({@link Store#attach}). Thread-safe.
 */
public interface SchemaHooks {
  /** The hooks of a store without a schema. */
  SchemaHooks NONE = new SchemaHooks() {};

  /** Frees pages that could not be freed when they were released. */
  default void freeUnfreedPages() {}

  /** Returns the tables, for change subscribers. */
  default TablesLog.Tables tables() {
    return (wait, use) -> false;
  }

  /** Returns the trees whose records are counted. */
  default List<BTree> counted() {
    return List.of();
  }

  /** Saves the counts in the catalog; returns the number that identifies them, or 0 on failure. */
  default long saveCounts() {
    return 0;
  }

  /** Called once the file is marked as in use. */
  default void onMarked() {}

  /** Waits for the schema's background threads, which have been asked to end. */
  default void join() {}
}
