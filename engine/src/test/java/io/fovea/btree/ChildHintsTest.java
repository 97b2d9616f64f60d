package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageRef;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.PoolStats;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.support.Records;
import io.fovea.support.TestEnvironment;
import io.fovea.txn.FaultInjection;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Frame hints in child references: storing, use and repair. */
class ChildHintsTest {
  private static final int KEYS = 4000;

  private static TestTree tree(boolean hints, Translation translation, int frames) {
    return tree(new MemoryDevice(), hints, translation, frames);
  }

  private static TestTree tree(
      MemoryDevice device, boolean hints, Translation translation, int frames) {
    TestTree t =
        new TestTree(
            device,
            Records.with(PoolConfig.ofFrames(4096, frames, translation), "frameHints", hints));
    for (int i = 0; i < KEYS; i++) {
      t.put(TestTree.bytes(i), TestTree.bytes(3L * i));
    }
    return t;
  }

  private static void readAll(TestTree t) {
    for (int i = 0; i < KEYS; i++) {
      t.checkGet(TestTree.bytes(i));
    }
  }

  private static PoolStats since(TestTree t, Runnable what) {
    PoolStats b = t.pool.stats();
    what.run();
    PoolStats a = t.pool.stats();
    return new PoolStats(
        0,
        0,
        a.framesDirty() - b.framesDirty(),
        0,
        a.preferredFrameSlowHits() - b.preferredFrameSlowHits(),
        a.slowElsewhere() - b.slowElsewhere(),
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        a.hintsNone() - b.hintsNone(),
        a.hintsStale() - b.hintsStale(),
        a.hintRepairs() - b.hintRepairs(),
        a.hintRepairsAbandoned() - b.hintRepairsAbandoned(),
        0,
        0,
        0);
  }

  /** Returns the frame of the root, with a shared latch. */
  private static int latchRoot(TestTree t) {
    return t.pool.fixShared(t.tree.rootPid());
  }

  private interface RefVisitor {
    void ref(long at, long ref);
  }

  /** Visits the references of a root of level 1. */
  private static void refs(TestTree t, RefVisitor visitor) {
    int root = latchRoot(t);
    long base = t.pool.base(root);
    MemorySegment s = t.pool.pages();
    assertEquals(1, PageHeader.level(s, base));
    for (int i = 0; i <= BTreeNode.count(s, base); i++) {
      visitor.ref(BTreeNode.childAt(base, i), BTreeNode.childRef(s, base, i));
    }
    t.pool.releaseShared(root);
  }

  private static void forget(TestTree t) {
    refs(t, (at, ref) -> Mem.putLong(t.pool.pages(), at, PageRef.pid(ref)));
  }

  private static void setWrongHint(TestTree t, long frame) {
    refs(
        t,
        (at, ref) ->
            Mem.putLong(t.pool.pages(), at, PageRef.pid(ref) | frame + 1 << PageRef.PID_BITS));
  }

  /**
   * A page found without its hint may be promoted, which makes its stored hint, or that of the
   * evicted page, wrong again. A page found by its hint stays.
   */
  private static void allRight(TestTree t, long promotionsBefore) {
    for (long moved = promotionsBefore; moved != t.pool.stats().promotions(); ) {
      moved = t.pool.stats().promotions();
      readAll(t);
    }
    refs(t, (at, ref) -> assertEquals(PageRef.pid(ref), t.pool.pid(PageRef.frame(ref))));
  }

  @ParameterizedTest
  @EnumSource(
      names = {"VIRTUAL", "DIRECT"}, // the page id is the frame, so nothing is stored
      mode = EnumSource.Mode.EXCLUDE)
  void descentStoresHints(Translation translation) {
    try (TestTree t = tree(true, translation, 256)) {
      forget(t);
      long promotions = t.pool.stats().promotions();
      PoolStats first = since(t, () -> readAll(t));
      long children = first.hintsNone();
      assertTrue(children > 5, "children: " + children);
      assertEquals(children + first.hintsStale(), first.hintRepairs());
      allRight(t, promotions);
      PoolStats second = since(t, () -> readAll(t));
      assertEquals(0, second.hintsNone() + second.hintsStale() + second.hintRepairs());
      assertEquals(0, second.preferredFrameSlowHits() + second.slowElsewhere());
    }
  }

  @ParameterizedTest
  @EnumSource(
      names = {"SWIZZLED", "VIRTUAL", "DIRECT"}, // references are exact; there are no hints
      mode = EnumSource.Mode.EXCLUDE)
  void wrongHintsAreRepaired(Translation translation) {
    try (TestTree t = tree(true, translation, 256)) {
      // The frame of another page, the root's own, the last one, and an invalid one.
      int root = latchRoot(t);
      t.pool.releaseShared(root);
      for (long frame : new long[] {0, 7, root, 255, 256, PageRef.FRAMES_MAX - 1}) {
        setWrongHint(t, frame);
        long promotions = t.pool.stats().promotions();
        PoolStats found = since(t, () -> readAll(t));
        assertTrue(found.hintsStale() > 5, "stale: " + found.hintsStale());
        assertEquals(found.hintsStale(), found.hintRepairs());
        allRight(t, promotions);
      }
    }
  }

  @Test
  void repairKeepsVersionAndCleanPage() {
    try (TestTree t = tree(true, Translation.PREDICTIVE, 256)) {
      t.pool.flushAll();
      setWrongHint(t, 3);
      int root = latchRoot(t);
      t.pool.releaseShared(root);
      long version = t.pool.optimistic(root, t.tree.rootPid());
      PoolStats found = since(t, () -> readAll(t));
      assertTrue(found.hintRepairs() > 5);
      assertTrue(t.pool.validate(root, version), "readers of the root are not disturbed");
      assertEquals(0, t.pool.stats().framesDirty());
    }
  }

  @Test
  void repairNeverWaits() {
    try (TestTree t = tree(true, Translation.PREDICTIVE, 256)) {
      setWrongHint(t, 3);
      byte[] key = TestTree.bytes(KEYS / 2);
      // A writer latches the parent between the descent's read of it and the repair.
      refs(
          t,
          (at, ref) -> {
            int root = t.pool.predict(t.tree.rootPid());
            long version = t.pool.optimistic(root, t.tree.rootPid());
            t.pool.releaseShared(root);
            assertTrue(t.pool.tryExclusive(root, t.tree.rootPid()));
            PoolStats found =
                since(t, () -> t.pool.findChild(root, version, at, ref, PageRef.frame(ref)));
            assertEquals(1, found.hintRepairsAbandoned());
            assertEquals(ref, Mem.getLong(t.pool.pages(), at));
            t.pool.releaseExclusive(root);
            // Unlatched again, but changed: the reference may now name another child.
            found = since(t, () -> t.pool.findChild(root, version, at, ref, PageRef.frame(ref)));
            assertEquals(1, found.hintRepairsAbandoned());
            assertEquals(ref, Mem.getLong(t.pool.pages(), at));
            assertTrue(t.pool.tryShared(root, t.tree.rootPid()));
          });
      t.checkGet(key);
    }
  }

  @ParameterizedTest
  @EnumSource
  void withoutHintsNoneAreStored(Translation translation) {
    try (TestTree t = tree(false, translation, 256)) {
      readAll(t);
      refs(t, (at, ref) -> assertEquals(PageRef.pid(ref), ref));
      PoolStats stats = t.pool.stats();
      assertEquals(0, stats.hintsNone() + stats.hintsStale() + stats.hintRepairs());
      // Hints from another pool are neither trusted nor repaired.
      setWrongHint(t, 3);
      readAll(t);
      refs(t, (at, ref) -> assertEquals(3, PageRef.frame(ref)));
    }
  }

  /** Inner nodes in the file are the same with and without hints. */
  @ParameterizedTest
  @EnumSource(names = {"WITHOUT_HINTS", "PLAIN", "POISONED_HINTS"})
  void hintsAreNotWritten(TestEnvironment environment) {
    MemoryDevice device = new MemoryDevice();
    TestTree t =
        environment.making(() -> tree(device, environment.hints(), Translation.PREDICTIVE, 256));
    readAll(t);
    AllocatorState state = t.pool.allocatorState();
    t.pool.close();
    int inner = 0;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment page = arena.allocate(4096 + BTreeNode.SLACK, 4096);
      for (long pid = AllocatorState.FIRST_PID; pid < state.highWater(); pid++) {
        device.read(pid * 4096, page, 0, 4096);
        if (PageHeader.type(page, 0) == PageHeader.INNER) {
          inner++;
          for (int i = 0; i <= BTreeNode.count(page, 0); i++) {
            long ref = BTreeNode.childRef(page, 0, i);
            assertEquals(PageRef.pid(ref), ref);
            assertNotEquals(0, ref);
          }
        }
      }
    }
    assertTrue(inner > 0);
    // Another, smaller pool has other frames.
    PoolConfig config = PoolConfig.ofFrames(4096, 64, Translation.LATCHED);
    BufferPool again = new BufferPool(device, config, state);
    BTree tree = BTree.open(again, TestTree.TREE_ID, t.tree.rootPid());
    assertEquals("[]", TreeVerifier.verify(tree).problems().toString());
    again.close();
    device.close();
  }

  /** Splits, merges, reused pages and evictions, all with wrong hints. */
  @ParameterizedTest
  @EnumSource(
      names = {"SWIZZLED", "VIRTUAL", "DIRECT"}, // references are exact; there are no hints
      mode = EnumSource.Mode.EXCLUDE)
  void wrongHintsChangeNoResult(Translation translation) {
    for (int frames : new int[] {64, 1024}) {
      try (TestTree t = FaultInjection.wrongFrameHints(() -> tree(true, translation, frames))) {
        Random random = new Random(frames);
        for (int i = 0; i < 4000; i++) {
          byte[] key = TestTree.bytes(random.nextInt(KEYS));
          if (random.nextInt(3) == 0) {
            t.put(key, TestTree.bytes(random.nextLong()));
          } else {
            t.delete(key);
          }
          t.checkGet(TestTree.bytes(random.nextInt(KEYS)));
        }
        t.checkAll();
        PoolStats stats = t.pool.stats();
        assertTrue(stats.hintsStale() > 1000, "stale: " + stats.hintsStale());
        assertTrue(stats.hintRepairs() > 1000, "poisoned: " + stats.hintRepairs());
      }
    }
  }

  /** A split knows the frames of both halves; a merge knows the frame of the surviving node. */
  @Test
  void structureChangesKeepHints() {
    try (TestTree t = tree(true, Translation.PREDICTIVE, 1024)) {
      readAll(t);
      PoolStats split =
          since(
              t,
              () -> {
                for (int i = KEYS; i < 2 * KEYS; i++) {
                  t.put(TestTree.bytes(i), TestTree.bytes(i));
                }
              });
      assertEquals(0, split.hintsNone() + split.hintsStale());
      PoolStats merged =
          since(
              t,
              () -> {
                for (int i = 0; i < 2 * KEYS - 300; i++) {
                  t.delete(TestTree.bytes(i));
                }
              });
      assertEquals(0, merged.hintsNone() + merged.hintsStale());
      assertFalse(t.pool.allocatorState().freePages() == 0, "nothing was merged");
      t.checkAll();
    }
  }
}
