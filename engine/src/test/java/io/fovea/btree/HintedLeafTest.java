package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.LeafHints;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageImages;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HintedLeafTest {
  private static final int N = 5000;

  private final BufferPool pool =
      new BufferPool(
          new MemoryDevice(),
          PoolConfig.ofFrames(4096, 256, Translation.PREDICTIVE),
          AllocatorState.EMPTY);
  private final BTree tree = BTree.create(pool, 7, true, LogSession.NONE);
  private final MemorySegment key = Arena.ofAuto().allocate(64, 8);
  private final MemorySegment value = Arena.ofAuto().allocate(64, 8);
  private final Position p = new Position();

  HintedLeafTest() {
    for (int i = 0; i < N; i++) {
      put(i, 2 * i + 1);
    }
  }

  @AfterEach
  void close() {
    pool.abandon();
  }

  private void key(long i) {
    Mem.putLongBE(key, 0, i);
  }

  /** A value of twelve bytes; the last four are a frame number. */
  private void put(long i, int frame) {
    key(i);
    Mem.putLong(value, 0, i * i);
    Mem.putInt(value, 8, frame);
    Writes.upsert(tree, key, 0, 8, value, 0, 12, p);
  }

  private void delete(long i) {
    key(i);
    assertTrue(Writes.delete(tree, key, 0, 8, p));
  }

  private Position hint(long i) {
    key(i);
    tree.find(key, 0, 8, p);
    Position hint = new Position();
    hint.pid = p.pid;
    hint.frame = p.frame;
    hint.slot = p.slot;
    hint.found = true;
    hint.line = HintedLeaf.line(tree, hint);
    return hint;
  }

  private int locate(long i, Position hint) {
    key(i);
    Position before = new Position();
    before.copyFrom(hint);
    int wrong = HintedLeaf.locate(tree, key, 0, 8, hint, 14);
    if ((wrong & HintedLeaf.NO_PAGE) == 0) {
      assertTrue(tree.valid(hint));
      tree.find(key, 0, 8, p);
      assertEquals(p.pid, hint.pid);
      assertEquals(p.frame, hint.frame);
      assertEquals(p.slot, hint.slot);
      assertEquals(p.found, hint.found);
    }
    return wrong;
  }

  @Test
  void rightHintsAreFollowed() {
    for (int i = 0; i < N; i += 37) {
      long accesses = hint(i).pageAccesses;
      Position hint = hint(i);
      assertEquals(0, locate(i, hint));
      assertEquals(accesses + 1, hint.pageAccesses, "one page, no descent");
      hint = hint(i);
      hint.frame = -1;
      hint.found = false;
      assertEquals(0, locate(i, hint), "only a page id");
    }
  }

  @Test
  void nothingKnown() {
    assertEquals(HintedLeaf.UNSET, locate(5, new Position()));
  }

  @Test
  void wrongFrames() {
    for (int frame : new int[] {0, 255, 256, -2, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
      Position hint = hint(100);
      if (frame == hint.frame) {
        continue;
      }
      hint.frame = frame;
      assertEquals(HintedLeaf.FRAME, locate(100, hint), "frame " + frame);
    }
  }

  @Test
  void wrongSlots() {
    Position right = hint(100);
    for (int slot : new int[] {0, right.slot - 1, right.slot + 1, 0xFFFF, 4095}) {
      Position hint = hint(100);
      if (slot == hint.slot) {
        continue;
      }
      hint.slot = slot;
      assertEquals(HintedLeaf.SLOT, locate(100, hint), "slot " + slot);
    }
  }

  @Test
  void wrongLines() {
    int right = hint(100).line;
    for (int line = 0; line < 256; line++) {
      Position hint = hint(100);
      hint.line = line;
      assertEquals(line == right ? 0 : HintedLeaf.LINE, locate(100, hint), "line " + line);
      assertEquals(right, hint.line, "the search finds the right slot");
    }
  }

  /** All prefetches stay within the pool's memory and its guard. */
  @Test
  void linesOfAnyFrame() {
    for (int frame = 0; frame < pool.frames(); frame++) {
      for (int line : new int[] {1, 128, 255}) {
        Position hint = hint(100);
        int wrong = frame == hint.frame ? 0 : HintedLeaf.FRAME;
        wrong |= line == hint.line ? 0 : HintedLeaf.LINE;
        hint.frame = frame;
        hint.line = line;
        assertEquals(wrong, locate(100, hint));
      }
    }
  }

  @Test
  void prefetchWithoutLocation() {
    Position nowhere = new Position();
    assertEquals(0, HintedLeaf.line(tree, nowhere));
    Position hint = hint(100);
    for (int frame : new int[] {-1, pool.frames(), Integer.MAX_VALUE, Integer.MIN_VALUE}) {
      hint.frame = frame;
      assertEquals(0, HintedLeaf.line(tree, hint));
    }
    hint = hint(100);
    hint.slot = 0xFFFF;
    assertEquals(0, HintedLeaf.line(tree, hint));
  }

  @Test
  void aLeafOfOtherKeys() {
    assertEquals(HintedLeaf.FENCES, locate(10, hint(N - 10)));
    assertEquals(HintedLeaf.FENCES, locate(N - 10, hint(10)));
  }

  @Test
  void pagesThatAreNotLeavesOfTheTree() {
    Position hint = new Position();
    hint.pid = tree.rootPid();
    assertEquals(HintedLeaf.OTHER_TREE, locate(10, hint), "an inner node");
    BTree other = BTree.create(pool, 8, LogSession.NONE);
    hint.clear();
    hint.pid = other.rootPid();
    assertEquals(HintedLeaf.OTHER_TREE, locate(10, hint), "another tree");
    TreeDrop.free(other, LogSession.NONE);
    hint.clear();
    hint.pid = other.rootPid();
    assertEquals(HintedLeaf.FREED, locate(10, hint));
  }

  @Test
  void arbitraryPageIdsAreNotResident() {
    Random r = new Random(4);
    for (int i = 0; i < 10_000; i++) {
      Position hint = new Position();
      hint.pid = r.nextLong(1L << 20, 1L << 48);
      hint.frame = r.nextInt();
      hint.slot = r.nextInt(1 << 16);
      hint.found = true;
      assertTrue((locate(r.nextInt(N), hint) & HintedLeaf.NOT_RESIDENT) != 0);
    }
  }

  @Test
  void mergedAndReusedLeaf() {
    Position hint = hint(N / 2);
    for (int i = N / 4; i < 3 * N / 4; i++) {
      delete(i);
    }
    Position copy = new Position();
    copy.copyFrom(hint);
    int wrong = locate(N / 2, copy);
    assertTrue(wrong == HintedLeaf.FREED || wrong == HintedLeaf.FENCES, "" + wrong);
    BTree other = BTree.create(pool, 9, LogSession.NONE);
    for (int i = 0; i < N; i++) {
      key(i);
      Writes.upsert(other, key, 0, 8, value, 0, 12, p);
    }
    // The other tree has the same keys, possibly in the same page and slot, but not the same
    // records.
    copy.copyFrom(hint);
    wrong = locate(N / 2, copy);
    assertTrue((wrong & HintedLeaf.NO_PAGE) != 0 || !copy.found, "" + wrong);
  }

  // ---------------------------------------------------------------------------------- storing

  private boolean store(long i, int number, boolean keep) {
    key(i);
    tree.find(key, 0, 8, p);
    Mem.putInt(value, 0, number);
    return HintedLeaf.store(tree, p, value, 0, 4, keep);
  }

  private int frameOf(long i) {
    key(i);
    tree.find(key, 0, 8, p);
    assertEquals(12, tree.copyValue(p, value, 0, 12));
    assertEquals(i * i, Mem.getLong(value, 0), "the rest of the value");
    return Mem.getInt(value, 8);
  }

  @Test
  void storesWithoutMovingTheVersion() {
    key(40);
    tree.find(key, 0, 8, p);
    Position reader = new Position();
    reader.copyFrom(p);
    assertTrue(store(40, 99, false));
    assertEquals(99, frameOf(40));
    assertTrue(tree.valid(reader), "no reader restarts because of a hint");
    put(41, 5);
    key(40);
    assertFalse(HintedLeaf.store(tree, reader, value, 0, 4, false), "the leaf has changed since");
    reader.copyFrom(p);
    reader.frame = -1;
    assertFalse(HintedLeaf.store(tree, reader, value, 0, 4, false));
  }

  @Test
  void neverWaits() {
    key(40);
    tree.find(key, 0, 8, p);
    Position there = new Position();
    there.copyFrom(p);
    tree.descent().findShared(key, 0, 8, false, p);
    assertFalse(HintedLeaf.store(tree, there, value, 0, 4, false));
    tree.releaseShared(p);
    assertTrue(HintedLeaf.store(tree, there, value, 0, 4, false));
  }

  @Test
  void dirtyOnlyIfKept() {
    pool.flushAll();
    assertEquals(0, pool.stats().framesDirty());
    assertTrue(store(40, 99, false));
    assertEquals(0, pool.stats().framesDirty());
    assertTrue(store(40, 98, true));
    assertEquals(1, pool.stats().framesDirty());
    assertEquals(
        0,
        pool.checkpoint().minRecLsn() == Long.MAX_VALUE ? 0 : pool.checkpoint().minRecLsn(),
        "nothing to redo");
  }

  // ------------------------------------------------------------------------------ written pages

  @Test
  void framesAreNotWritten() {
    MemoryDevice device = new MemoryDevice();
    BufferPool first =
        new BufferPool(
            device, PoolConfig.ofFrames(4096, 256, Translation.PREDICTIVE), AllocatorState.EMPTY);
    BTree t = BTree.create(first, 7, true, LogSession.NONE);
    for (int i = 0; i < N; i++) {
      key(i);
      Mem.putLong(value, 0, (long) i * i);
      Mem.putInt(value, 8, -1);
      Writes.upsert(t, key, 0, 8, value, 0, 8 + i % 5, p);
    }
    for (int i = 0; i < N; i += 3) {
      key(i);
      Writes.delete(t, key, 0, 8, p);
    }
    TreeVerifier.verify(t).throwIfDamaged();
    first.flushAll();
    AllocatorState state = first.allocatorState();
    first.abandon();
    BufferPool second =
        new BufferPool(device, PoolConfig.ofFrames(4096, 256, Translation.PREDICTIVE), state);
    BTree again = BTree.open(second, 7, t.rootPid());
    TreeVerifier.verify(again).throwIfDamaged();
    for (int i = 0; i < N; i++) {
      key(i);
      again.find(key, 0, 8, p);
      assertEquals(i % 3 != 0, p.found);
      if (!p.found) {
        continue;
      }
      long base = second.base(p.frame);
      assertEquals(LeafHints.LAYOUT, PageHeader.layout(second.pages(), base));
      int length = again.copyValue(p, value, 0, 12);
      assertEquals(8 + i % 5, length);
      assertEquals(0, Mem.getInt(value, length - 4L), "the last four bytes");
      long rest = length == 12 ? -1 : (1L << 8 * (length - 4)) - 1;
      assertEquals((long) i * i & rest, Mem.getLong(value, 0) & rest, "the bytes before them");
    }
    second.abandon();
  }

  @Test
  void framesAreNotLogged() {
    key(N / 2);
    tree.find(key, 0, 8, p);
    MemorySegment pages = pool.pages();
    long base = pool.base(p.frame);
    int count = BTreeNode.count(pages, base);
    int from = BTreeNode.slotsEnd(true, count);
    int to = 4096 - BTreeNode.heap(pages, base);
    assertTrue(count > 10 && from < to, "the image has a hole with data around it");
    MemorySegment image = Arena.ofAuto().allocate(8192, 8);
    PageImages.put(image, 8, p.pid, pages, base, 4096, from, to);
    MemorySegment page = Arena.ofAuto().allocate(4096 + BTreeNode.SLACK, 8);
    long at = 8 + PageImages.HEADER;
    Mem.copy(image, at, page, 0, from);
    Mem.copy(image, at + from, page, to, 4096 - to);
    int differing = 0;
    for (int i = 0; i < count; i++) {
      long slot = BTreeNode.leafSlot(page, 0, i);
      int end = (int) BTreeNode.valueAt(0, 4096, slot) + 12;
      assertTrue(Mem.getInt(pages, base + end - 4) != 0, "the page itself keeps its frames");
      assertEquals(0, Mem.getInt(page, end - 4L));
      Mem.putInt(page, end - 4L, Mem.getInt(pages, base + end - 4));
      differing++;
    }
    assertEquals(count, differing);
    assertTrue(Mem.equal(page, 0, from, pages, base, from));
    assertTrue(Mem.equal(page, to, 4096 - to, pages, base + to, 4096 - to), "nothing else changed");
  }

  @Test
  void aBulkLoadKeepsTheLayout() {
    BTree loaded = BTree.create(pool, 11, true, LogSession.NONE);
    try (BulkLoader loader = new BulkLoader(loaded, 0.9, LogSession.NONE)) {
      for (int i = 0; i < 2000; i++) {
        key(i);
        loader.add(key, 0, 8, value, 0, 12);
      }
      assertEquals(2000, loader.finish());
    }
    TreeVerifier.verify(loaded).throwIfDamaged();
    for (int i = 0; i < 2000; i += 50) {
      key(i);
      loaded.find(key, 0, 8, p);
      assertTrue(LeafHints.has(pool.pages(), pool.base(p.frame)));
    }
  }
}
