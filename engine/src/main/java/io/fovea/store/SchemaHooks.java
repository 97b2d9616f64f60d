package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.recovery.TablesLog;
import java.util.List;

/**
 * Calls from a store to the schema above it. The schema is read from the store, so it attaches them
 * once, after the store was created ({@link Store#attach}). Any thread.
 */
public interface SchemaHooks {
  /** Those of a store without a schema. */
  SchemaHooks NONE = new None();

  /**
   * Frees pages that could not be freed when they were released; see {@link
   * io.fovea.btree.BTree#freeStrays}.
   */
  void freeStrays();

  /** The tables, for change subscribers. */
  TablesLog.Tables tables();

  /** The trees whose records are counted. */
  List<BTree> counted();

  /**
   * Puts the counts into the catalog.
   *
   * @return a number that distinguishes them from those of an earlier close, or 0 on failure
   */
  long saveCounts();

  /** Called once the file is marked as in use. */
  void onMarked();

  /** Waits for the background threads of the schema, which have been asked to end. */
  void join();

  /** Does nothing. */
  final class None implements SchemaHooks {
    private None() {}

    @Override
    public void freeStrays() {}

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
