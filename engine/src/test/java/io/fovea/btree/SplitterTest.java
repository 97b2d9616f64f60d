package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.buffer.PageHeader;
import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The nodes that a split wants to change may have changed since the caller's search. */
class SplitterTest {
  /**
   * A leaf is emptied and freed after a writer has found it full, and the split then allocates the
   * freed page. The split must not wait for its own latch.
   */
  @Test
  @Timeout(value = 30, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void freedLeafMayBeAllocatedAgain() {
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
      assertEquals(pid, t.pool.pid(again), "the page was returned");
      t.pool.free(again, LogSession.NONE);
      assertEquals(before, t.pool.allocatorState().highWater());
      t.checkAll();
    }
  }

  /**
   * A leaf named by the log is full, but its parent does not lead to it: the error names the
   * invalid page, or, if either could be wrong, the page that was reached.
   */
  @Test
  void leafThatItsParentDoesNotName() {
    byte[] key = TestTree.bytes(500);
    for (String damage : List.of("the parent", "no page", "another leaf")) {
      try (TestTree t = new TestTree(4096, 256, Translation.PREDICTIVE)) {
        for (int i = 0; i < 1_000; i++) {
          t.put(TestTree.bytes(i), new byte[50]);
        }
        Descent descent = new Descent(t.pool, TestTree.TREE_ID, t.tree.rootPid());
        int length = t.staging.key(key);
        Position leaf = new Position();
        Position parent = new Position();
        descent.descendTo(t.staging.key, 0, length, false, 0, leaf);
        descent.descendTo(t.staging.key, 0, length, false, 1, parent);
        MemorySegment pages = t.pool.pages();
        long base = t.pool.base(parent.frame);
        long other = BTreeNode.child(pages, base, parent.slot == 0 ? 1 : 0);
        long child =
            switch (damage) {
              case "the parent" -> parent.pid;
              case "no page" -> t.pool.allocatorState().highWater() + 5;
              default -> other;
            };
        NodeEditor.setChild(pages, base, parent.slot, child);
        Splitter splitter =
            new Splitter(
                new StructureChange(descent, new TreeScratch.Stock(4096, t.pool.memory())));
        CorruptionException e =
            assertThrows(
                CorruptionException.class,
                () -> splitter.splitLeaf(leaf.pid, t.staging.key, 0, length, 50, LogSession.NONE),
                damage);
        long named = child == other ? leaf.pid : parent.pid;
        assertEquals(named, e.pid(), e::toString);
      }
    }
  }
}
