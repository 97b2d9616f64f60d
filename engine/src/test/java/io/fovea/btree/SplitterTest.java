package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.buffer.PageHeader;
import io.fovea.buffer.Translation;
import io.fovea.wal.LogSession;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a split finds may be gone since its caller looked. */
class SplitterTest {
  /**
   * A leaf is emptied and freed after a writer has found it full, and its page is the first one
   * that the split is given: the split waited for a latch of its own.
   */
  @Test
  @Timeout(value = 30, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void aLeafThatWasFreedMayBeTheFreshPage() {
    try (TestTree t = new TestTree(4096, 256, Translation.PREDICTIVE)) {
      for (int i = 0; i < 1_000; i++) {
        t.put(TestTree.bytes(i), new byte[50]);
      }
      int frame = t.pool.allocate(TestTree.TREE_ID, PageHeader.LEAF, LogSession.NONE);
      long pid = t.pool.pid(frame);
      t.pool.free(frame, LogSession.NONE);
      long before = t.pool.allocatorState().highWater();
      Splitter splitter =
          new Splitter(
              new StructureChange(
                  new Descent(t.pool, TestTree.TREE_ID, t.tree.rootPid()),
                  new TreeScratch.Stock(4096, t.pool.memory())));
      int length = t.staging.key(TestTree.bytes(500));
      splitter.splitLeaf(pid, t.staging.key, 0, length, 50, LogSession.NONE);
      int again = t.pool.allocate(TestTree.TREE_ID, PageHeader.LEAF, LogSession.NONE);
      assertEquals(pid, t.pool.pid(again), "the page was given back");
      t.pool.free(again, LogSession.NONE);
      assertEquals(before, t.pool.allocatorState().highWater());
      t.checkAll();
    }
  }
}
