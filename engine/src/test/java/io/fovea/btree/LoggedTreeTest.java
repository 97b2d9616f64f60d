package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.FreeList;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageImages;
import io.fovea.error.CorruptionException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The log records of a tree suffice to rebuild it after any single record. */
class LoggedTreeTest {
  private enum Change {
    LEAF_SPLIT,
    ROOT_LEAF_SPLIT,
    LEAF_MERGE,
    PULL_UP_LEAF,
    INNER_SPLIT,
    ROOT_INNER_SPLIT,
    INNER_MERGE,
    PULL_UP_INNER
  }

  private static byte[] value(Random random, boolean chains) {
    byte[] value =
        new byte
            [chains && random.nextInt(12) == 0
                ? 1025 + random.nextInt(20_000)
                : random.nextInt(random.nextInt(4) == 0 ? 900 : 100)];
    random.nextBytes(value);
    return value;
  }

  /** Grows, shrinks, grows again; then continues, or shrinks to nothing. */
  private static void run(
      LoggedTree t, RandomKeys.Kind kind, long seed, int operations, boolean chains) {
    RandomKeys keys = new RandomKeys(kind, seed, t.tree.maxKeySize());
    Random random = new Random(seed);
    for (int i = 0; i < operations; i++) {
      int fifth = 5 * i / operations;
      boolean growing = fifth != 2 && (fifth != 4 || seed % 2 != 0);
      byte[] key = keys.next();
      if (!growing || random.nextInt(8) == 0) {
        byte[] near = t.model.ceilingKey(key);
        key = near != null ? near : t.model.isEmpty() ? key : t.model.firstKey();
      }
      if (random.nextInt(10) == 0 == growing) {
        t.remove(key);
      } else {
        t.put(key, value(random, chains));
      }
    }
    if (seed % 2 == 0) {
      while (!t.model.isEmpty()) {
        t.remove(t.model.firstKey());
      }
    }
    t.verify();
  }

  /** The main property: page images alone make a sound tree, wherever the log ends. */
  @ParameterizedTest
  @EnumSource(RandomKeys.Kind.class)
  void soundAfterEveryRecord(RandomKeys.Kind kind) {
    Map<Change, Integer> changes = new EnumMap<>(Change.class);
    boolean deep = kind == RandomKeys.Kind.PREFIXES;
    for (long seed = 1; seed <= 4; seed++) {
      try (LoggedTree t = new LoggedTree(4096, 1024);
          Replay replay = new Replay(4096, 2048)) {
        run(t, kind, seed, deep ? 4000 : 1500, seed > 2);
        for (LoggedTree.Entry e : t.entries()) {
          replay.structure(e);
          if (e.type() == RecordType.STRUCTURE) {
            changes.merge(changeOf(e, replay.root), 1, Integer::sum);
          }
          if (e.type() == RecordType.STRUCTURE || e.type() == RecordType.CREATE_TREE) {
            TreeVerifier.Report report = TreeVerifier.verifyNodes(replay.open());
            assertEquals("[]", report.problems().toString(), () -> e.toString());
          }
        }
        assertTrue(replay.orphans.isEmpty(), "each allocated page is used or free");
      }
    }
    assertEquals(deep ? Change.values().length : 4, changes.size(), changes::toString);
  }

  private static Change changeOf(LoggedTree.Entry e, long root) {
    int images = Mem.getUnsignedShort(e.body(), 0);
    int released = Mem.getUnsignedShort(e.body(), 2);
    long first = StructureRecord.HEADER + PageImages.HEADER;
    boolean leaf = Mem.getUnsignedShort(e.body(), first + PageHeader.LEVEL) == 0;
    int from = Mem.getInt(e.body(), 16);
    int to = Mem.getInt(e.body(), 20);
    long second = StructureRecord.HEADER + PageImages.bytes(4096, from, to);
    // The parent of an ordinary split names the page; a split root names only the two new ones.
    boolean ofRoot = images == 3 && isSplitOfRoot(e, second, root);
    return switch (10 * images + released) {
      case 30 ->
          ofRoot
              ? leaf ? Change.ROOT_LEAF_SPLIT : Change.ROOT_INNER_SPLIT
              : leaf ? Change.LEAF_SPLIT : Change.INNER_SPLIT;
      case 21 -> leaf ? Change.LEAF_MERGE : Change.INNER_MERGE;
      case 11 -> leaf ? Change.PULL_UP_LEAF : Change.PULL_UP_INNER;
      default -> throw new AssertionError(images + " images, " + released + " released");
    };
  }

  /** A split root has two children without outer fences. */
  private static boolean isSplitOfRoot(LoggedTree.Entry e, long second, long root) {
    int from = Mem.getInt(e.body(), second + 8);
    int to = Mem.getInt(e.body(), second + 12);
    long third = second + PageImages.bytes(4096, from, to);
    return Mem.getLong(e.body(), third) == root
        && BTreeNode.count(e.body(), third + PageImages.HEADER) == 1
        && BTreeNode.low(e.body(), StructureRecord.HEADER + PageImages.HEADER) == BTreeNode.NONE;
  }

  /**
   * Wherever the log ends, the tree has the logged changes, no page is lost, and work can continue.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void everyPrefixIsATree(long seed) {
    RandomKeys.Kind kind = RandomKeys.Kind.values()[(int) seed % 6];
    try (LoggedTree t = new LoggedTree(4096, 512)) {
      run(t, kind, seed, 500, true);
      List<LoggedTree.Entry> entries = t.entries();
      Random random = new Random(seed);
      for (int end = entries.size(); end > 0; end -= 1 + random.nextInt(120)) {
        try (Replay replay = new Replay(4096, 1024)) {
          List<LoggedTree.Entry> prefix = entries.subList(0, end);
          prefix.forEach(replay::structure);
          if (replay.root == 0) {
            continue;
          }
          replay.recover();
          replay.changes(prefix, t.values);
          replay.reclaim();
          replay.check();
          replay.continueWith(new RandomKeys(kind, end, t.tree.maxKeySize()), 200);
          replay.check();
        }
      }
    }
  }

  /** With a pool that keeps writing pages, the written pages and the log together make the tree. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void crashWithPagesWritten(long seed) {
    try (LoggedTree t = new LoggedTree(4096, 64)) {
      Random random = new Random(seed);
      run(t, RandomKeys.Kind.values()[random.nextInt(6)], 2 * seed + 1, 1500, true);
      assertTrue(t.pool.stats().pagesWritten() > 20, () -> t.pool.stats().toString());
      t.log.abandon();
      t.pool.abandon();
      List<LoggedTree.Entry> entries = t.durableEntries();
      try (Replay replay = new Replay(4096, 256, t.device)) {
        entries.forEach(replay::structure);
        replay.recover();
        replay.changes(entries, t.values);
        replay.reclaim();
        replay.check();
      }
    }
  }

  /** Concurrent structure changes are logged in latch order. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void manyWriters(long seed) throws Exception {
    int threads = 4;
    try (LoggedTree t = new LoggedTree(4096, 1024)) {
      List<LoggedTree.Writer> writers = new ArrayList<>();
      List<Callable<Void>> work = new ArrayList<>();
      for (int n = 0; n < threads; n++) {
        LoggedTree.Writer writer = t.writer();
        int own = n;
        writers.add(writer);
        work.add(
            () -> {
              write(writer, own, threads, seed);
              return null;
            });
      }
      try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
        for (Future<Void> done : pool.invokeAll(work)) {
          done.get();
        }
      }
      writers.forEach(w -> t.model.putAll(w.model));
      t.verify();
      List<LoggedTree.Entry> entries = t.entries();
      try (Replay replay = new Replay(4096, 2048)) {
        int structures = 0;
        for (LoggedTree.Entry e : entries) {
          replay.structure(e);
          if (e.type() == RecordType.STRUCTURE && structures++ % 4 == 0) {
            TreeVerifier.Report report = TreeVerifier.verifyNodes(replay.open());
            assertEquals("[]", report.problems().toString(), () -> e.toString());
          }
        }
        assertTrue(structures > 100, "structures: " + structures);
        assertTrue(replay.orphans.isEmpty());
        replay.recover();
        replay.changes(entries, t.values);
        assertEquals(t.model.size(), replay.model.size());
        t.model.forEach((k, v) -> assertArrayEquals(v, replay.model.get(k)));
        replay.check();
      }
    }
  }

  private static void write(LoggedTree.Writer w, int own, int threads, long seed) {
    Random random = new Random(seed * 100 + own);
    for (int i = 0; i < 1500; i++) {
      int fifth = i / 300;
      boolean growing = fifth != 2 && (fifth != 4 || seed % 2 != 0);
      byte[] key =
          TestTree.bytes("shared/" + (random.nextInt(1 << 14) * threads + own) * 0x9E3779B9L);
      byte[] near = growing ? null : w.model.ceilingKey(key);
      if (growing || w.model.isEmpty()) {
        w.put(key, value(random, true));
      } else {
        w.remove(near != null ? near : w.model.firstKey());
      }
    }
  }

  // ---------------------------------------------------------------------------------- bulk loads

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 30, 3000})
  void bulkLoad(int keys) {
    try (LoggedTree t = new LoggedTree(4096, 512);
        Replay replay = new Replay(4096, 2048)) {
      Random random = new Random(keys);
      t.session.begin(0);
      try (BulkLoader loader = new BulkLoader(t.tree, 0.9, t.session)) {
        for (int i = 0; i < keys; i++) {
          byte[] key = TestTree.bytes(i);
          byte[] value = value(random, true);
          loader.add(
              t.staging.key, 0, t.staging.key(key), t.staging.value, 0, t.staging.value(value));
          t.model.put(key, value);
        }
        loader.finish();
      }
      t.session.end();
      TreeVerifier.Report loaded = t.verify();
      assertEquals(0, loaded.staleHints());
      List<LoggedTree.Entry> entries = t.entries();
      for (int i = 0; i < entries.size(); i++) {
        LoggedTree.Entry e = entries.get(i);
        replay.structure(e);
        if (e.type() != RecordType.ALLOCATE && (i % 50 == 0 || i > entries.size() - 20)) {
          TreeVerifier.Report report = TreeVerifier.verifyNodes(replay.open());
          assertEquals("[]", report.problems().toString());
          assertEquals(i == entries.size() - 1 ? keys : 0, report.keys());
        }
      }
      replay.recover();
      replay.model.putAll(t.model);
      replay.check();
      assertTrue(replay.orphans.isEmpty());
      assertEquals(0, TreeVerifier.verify(replay.open()).staleHints());
    }
  }

  @Test
  void abandonedBulkLoad() {
    try (LoggedTree t = new LoggedTree(4096, 512);
        Replay replay = new Replay(4096, 2048)) {
      t.session.begin(0);
      try (BulkLoader loader = new BulkLoader(t.tree, 0.9, t.session)) {
        Random random = new Random(3);
        for (int i = 0; i < 3000; i++) {
          int len = t.staging.key(TestTree.bytes(i));
          int vLen = t.staging.value(value(random, true));
          loader.add(t.staging.key, 0, len, t.staging.value, 0, vLen);
        }
      }
      t.session.end();
      t.verify();
      t.entries().forEach(replay::structure);
      replay.recover();
      replay.check();
      assertTrue(replay.orphans.isEmpty());
    }
  }

  // --------------------------------------------------------------------------------------- drops

  /** An interrupted drop continues anywhere and frees each page once. */
  @Test
  void drop() {
    try (LoggedTree t = new LoggedTree(4096, 512)) {
      run(t, RandomKeys.Kind.PREFIXES, 5, 900, true);
      long pages = TreeVerifier.verify(t.tree).pages();
      t.session.begin(0);
      TreeDrop.free(t.tree, t.session);
      t.session.end();
      assertEquals(0, t.pagesInUse());
      List<LoggedTree.Entry> entries = t.entries();
      assertEquals(RecordType.DROPPED, entries.get(entries.size() - 1).type());
      int first = entries.size() - 1 - Math.toIntExact(pages);
      assertTrue(pages > 100, "pages: " + pages);
      for (int end = entries.size(); end >= first; end -= end > first + 20 ? 7 : 1) {
        try (Replay replay = new Replay(4096, 1024)) {
          entries.subList(0, end).forEach(replay::structure);
          assertEquals(Math.max(0, entries.size() - 1 - end), replay.inUse.size());
          replay.recover();
          LongList allocated = new LongList();
          replay.inUse.forEach(allocated::add);
          TreeDrop.freeRest(replay.pool, TestTree.TREE_ID, replay.root, allocated, LogSession.NONE);
          AllocatorState left = replay.pool.allocatorState();
          assertEquals(left.highWater() - AllocatorState.FIRST_PID, left.freePages());
          FreeList.visit(replay.pool, pid -> {});
        }
      }
    }
  }

  // -------------------------------------------------------------------------------------- failures

  @Test
  void longValuesNeedTheirRecord() {
    try (LoggedTree t = new LoggedTree(4096, 128)) {
      assertFalse(t.tree.mayHaveLongValues());
      t.put(TestTree.bytes("short"), new byte[10]);
      assertFalse(t.tree.mayHaveLongValues());
      t.put(TestTree.bytes("long"), new byte[5000]);
      assertTrue(t.tree.mayHaveLongValues());
      assertTrue(BTree.open(t.pool, TestTree.TREE_ID, t.tree.rootPid()).mayHaveLongValues());
      assertTrue(
          BTree.open(t.pool, TestTree.TREE_ID, t.tree.rootPid())
              .declareMaxValueSize(1025)
              .mayHaveLongValues());
      assertFalse(
          BTree.open(t.pool, TestTree.TREE_ID, t.tree.rootPid())
              .declareMaxValueSize(1024)
              .mayHaveLongValues());
      t.session.begin(0);
      t.session.position(4096, 4128);
      MemorySegment k = t.staging.key;
      MemorySegment v = t.staging.value;
      int len = t.staging.key(TestTree.bytes("long"));
      t.staging.value(new byte[5000]);
      Position p = new Position();
      assertFalse(t.tree.patch(k, 0, len, 0, v, 0, 3, p, t.session));
      assertThrows(
          IllegalArgumentException.class,
          () -> t.tree.upsertInline(k, 0, len, v, 0, 1025, p, t.session));
      assertThrows(
          IllegalArgumentException.class,
          () -> t.tree.upsertChain(k, 0, len, 77, 1024, p, t.session));
      t.session.end();
      t.verify();
    }
  }

  /** On a full disk nothing changes and allocated pages are freed. */
  @Test
  void noSpace() {
    try (LoggedTree t = new LoggedTree(4096, 256, 1 << 20);
        Replay replay = new Replay(4096, 1024)) {
      Random random = new Random(4);
      int failures = 0;
      for (int i = 0; i < 3000; i++) {
        byte[] key = TestTree.bytes(random.nextLong());
        byte[] value = value(random, true);
        try {
          t.put(key, value);
        } catch (FoveaException e) {
          failures++;
          t.session.end();
          // The record without the change, a state that only a test may leave behind.
          t.tree.find(t.staging.key, 0, t.staging.key(key), t.position);
          assertFalse(t.position.found);
          t.model.remove(key);
          for (int n = random.nextInt(40); n > 0 && !t.model.isEmpty(); n--) {
            t.remove(t.model.firstKey());
          }
          t.verify();
        }
      }
      assertTrue(failures > 10, "failures: " + failures);
      t.entries().forEach(replay::structure);
      TreeVerifier.Report report = TreeVerifier.verifyNodes(replay.open());
      assertEquals("[]", report.problems().toString());
      // The only lost pages are chains released by a failed commit.
      assertEquals(0, report.overflowPages());
    }
  }

  /** After the log has failed, changes are complete or absent, and never written. */
  @Test
  void failedLog() {
    try (LoggedTree t = new LoggedTree(4096, 2048)) {
      run(t, RandomKeys.Kind.NUMBERS, 1, 400, false);
      t.session.begin(0);
      t.log.fail(new IOException("a test"));
      t.session.position(t.log.tail(), t.log.tail() + 32);
      int failures = 0;
      Random random = new Random(9);
      for (int i = 0; i < 6000; i++) {
        byte[] key = TestTree.bytes(random.nextLong());
        int len = t.staging.key(key);
        try {
          t.tree.upsertInline(
              t.staging.key, 0, len, t.staging.key, 0, 500, new Position(), t.session);
          t.model.put(key, new byte[500]);
        } catch (DurabilityLostException e) {
          failures++;
        }
      }
      assertTrue(failures > 100, "failures: " + failures);
      t.verify();
      for (byte[] key : List.copyOf(t.model.keySet())) {
        int len = t.staging.key(key);
        assertTrue(t.tree.remove(t.staging.key, 0, len, true, new Position(), t.session));
        t.model.remove(key);
      }
      t.verify();
    }
  }

  /** A damaged record is reported as damage. */
  @Test
  void hostileRecords() {
    try (LoggedTree t = new LoggedTree(4096, 512)) {
      run(t, RandomKeys.Kind.NUMBERS, 1, 400, true);
      Random random = new Random(1);
      long[] seen = new long[2];
      int damaged = 0;
      for (LoggedTree.Entry e : t.entries()) {
        if (e.type() != RecordType.STRUCTURE
            && e.type() != RecordType.CHAIN
            && e.type() != RecordType.CREATE_TREE) {
          continue;
        }
        for (int i = 0; i < 20; i++) {
          int length = i % 4 == 0 ? random.nextInt(e.length() + 1) : e.length();
          MemorySegment body = Arena.ofAuto().allocate(Math.max(8, length), 8);
          Mem.copy(e.body(), 0, body, 0, length);
          for (int n = random.nextInt(4); n > 0 && length > 4; n--) {
            int at = random.nextInt(Math.min(length, random.nextBoolean() ? 24 : length) - 3);
            Mem.putInt(body, at, random.nextBoolean() ? random.nextInt() : random.nextInt(9));
          }
          try {
            StructureRecord.visit(
                e.type(), body, 0, length, 4096, e.start(), new Bounds(length, seen));
          } catch (CorruptionException expected) {
            damaged++;
          }
        }
      }
      assertTrue(damaged > 100, "damaged: " + damaged);
      assertNotEquals(0, seen[0]);
      assertNotEquals(0, seen[1]);
    }
  }

  private record Bounds(int length, long[] seen) implements StructureRecord.Visitor {
    @Override
    public void image(long pid, long at, long end) {
      seen[0]++;
      assertTrue(pid >= 2 && at >= 8 && at + 48 <= end && end <= length);
    }

    @Override
    public void released(long pid) {
      seen[1]++;
      assertTrue(pid >= 2);
    }
  }

  @Test
  void hostileTreeIds() {
    MemorySegment body = Arena.ofAuto().allocate(8, 8);
    assertThrows(CorruptionException.class, () -> StructureRecord.treeId(body, 0, 3, 1));
    assertThrows(CorruptionException.class, () -> StructureRecord.treeId(body, 0, 4, 1));
    Mem.putInt(body, 0, 12);
    assertEquals(12, StructureRecord.treeId(body, 0, 4, 1));
  }
}
