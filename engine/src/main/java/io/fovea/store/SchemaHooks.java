package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.recovery.TablesLog;
import java.util.List;

/**
 * Calls from a store to the schema above it. The schema attaches its hooks once ({@link
 * Store#attach}). Thread-safe.
 */
public interface SchemaHooks {
  /** The hooks of a store without a schema. */
  SchemaHooks NONE = new None();

  /** Frees pages that could not be freed when they were released. */
  void freeUnfreedPages();

  /** Returns the tables, for change subscribers. */
  TablesLog.Tables tables();

  /** Returns the trees whose records are counted. */
  List<BTree> counted();

  /** Saves the counts in the catalog; returns the number that identifies them, or 0 on failure. */
  long saveCounts();

  /** Called once the file is marked as in use. */
  void onMarked();

  /** Waits for the schema's background threads, which have been asked to end. */
  void join();

  /** Does nothing. */
  final class None implements SchemaHooks {
    private None() {}

    @Override
    public void freeUnfreedPages() {}

    @Override
    public TablesLog.Tables tables() {
      return (wait, use) -> false;
    }

    @Override
    public List<BTree> counted() {
      return List.of();
    }

    @Override
    public long saveCounts() {
      return 0;
    }

    @Override
    public void onMarked() {}

    @Override
    public void join() {}
  }
}
