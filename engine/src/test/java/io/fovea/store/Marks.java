package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.recovery.TablesLog;
import java.util.List;

/** Replaces the action that follows marking a file as in use, for tests of other packages. */
public final class Marks {
  private Marks() {}

  /** Sets the action. */
  public static void then(Store store, Runnable what) {
    SchemaHooks hooks = store.hooks;
    store.hooks =
        new SchemaHooks() {
          @Override
          public void freeUnfreedPages() {
            hooks.freeUnfreedPages();
          }

          @Override
          public TablesLog.Tables tables() {
            return hooks.tables();
          }

          @Override
          public List<BTree> counted() {
            return hooks.counted();
          }

          @Override
          public long saveCounts() {
            return hooks.saveCounts();
          }

          @Override
          public void onMarked() {
            what.run();
          }

          @Override
          public void join() {
            hooks.join();
          }
        };
  }
}
