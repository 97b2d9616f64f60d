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

  /**
   * A leaf that the log names is full, and the node above it does not lead there: the page that
   * cannot be is named, and where each could be, the one that was come to.
   */
  @Test
  void aLeafThatIsNotItsParentsChild() {
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
