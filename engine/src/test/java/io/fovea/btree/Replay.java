package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.FreeList;
import io.fovea.buffer.PageImages;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Rebuilds a tree from log records alone, or with the pages that a crash has left behind. */
final class Replay implements AutoCloseable {
  final MemoryDevice device;
  final BufferPool pool;
  final TreeMap<byte[], byte[]> model = new TreeMap<>(TestTree.ORDER);

  /** Allocated pages that are not in use yet. */
  final TreeSet<Long> orphans = new TreeSet<>();

  /** Pages in use, as far as the log has been read. */
  final TreeSet<Long> inUse = new TreeSet<>();

  long root;
  private AllocatorState state = AllocatorState.EMPTY;

  Replay(int pageSize, int frames) {
    this(pageSize, frames, new MemoryDevice());
  }

  /** Starts from the pages that a crash has left behind. */
  Replay(int pageSize, int frames, MemoryDevice device) {
    this.device = device;
    pool =
        new BufferPool(
            device,
            PoolConfig.ofFrames(pageSize, frames, Translation.PREDICTIVE),
            AllocatorState.EMPTY);
  }

  /** The first pass of a recovery. */
  void structure(LoggedTree.Entry e) {
    switch (e.type()) {
      case RecordType.ALLOCATE, RecordType.FREE -> allocator(e);
      case RecordType.STRUCTURE, RecordType.CHAIN, RecordType.CREATE_TREE -> images(e);
      case RecordType.COMMIT -> {
        MemorySegment s = e.body();
        long at = LoggedTree.OP_HEADER + Mem.getInt(s, 4) + Mem.getInt(s, 8);
        for (int i = Mem.getInt(s, 12); i > 0; i--, at += 8) {
          assertTrue(orphans.remove(Mem.getLong(s, at)), "adopts a page that was not allocated");
        }
        for (int i = Mem.getInt(s, 16); i > 0; i--, at += 8) {
          assertTrue(orphans.add(Mem.getLong(s, at)));
        }
      }
      default -> {}
    }
  }

  private void allocator(LoggedTree.Entry e) {
    AllocatorRecord record = AllocatorRecord.parse(e.type(), e.body(), 0, e.length());
    state = record.after();
    if (e.type() == RecordType.ALLOCATE) {
      assertEquals(TestTree.TREE_ID, record.treeId());
      assertTrue(orphans.add(record.pid()), "allocated twice");
      assertTrue(inUse.add(record.pid()), "allocated twice");
    } else {
      orphans.remove(record.pid());
      assertTrue(inUse.remove(record.pid()), "freed twice");
      pool.recovery().replay(record, e.start(), e.end());
    }
  }

  private void images(LoggedTree.Entry e) {
    StructureRecord.visit(
        e.type(),
        e.body(),
        0,
        e.length(),
        pool.pageSize(),
        e.start(),
        new StructureRecord.Visitor() {
          @Override
          public void image(long pid, long at, long end) {
            assertEquals(end, PageImages.apply(pool, e.body(), at, end, e.start(), e.end()));
            if (e.type() != RecordType.CHAIN) {
              orphans.remove(pid);
            }
            if (e.type() == RecordType.CREATE_TREE) {
              root = pid;
              assertEquals(
                  TestTree.TREE_ID, StructureRecord.treeId(e.body(), 0, e.length(), e.start()));
            }
          }

          @Override
          public void released(long pid) {
            assertTrue(orphans.add(pid));
          }
        });
  }

  BTree open() {
    return BTree.open(pool, TestTree.TREE_ID, root);
  }

  /** Between the two passes. */
  void recover() {
    pool.recovery().recover(state, 0);
  }

  /** The second pass: key changes, regardless of page contents. */
  void changes(List<LoggedTree.Entry> entries, Map<Long, byte[]> values) {
    BTree tree = open();
    Position p = new Position();
    for (LoggedTree.Entry e : entries) {
      if (e.type() != RecordType.COMMIT) {
        continue;
      }
      MemorySegment s = e.body();
      int len = Mem.getInt(s, 4);
      int vLen = Mem.getInt(s, 8);
      byte[] key = new byte[len];
      Mem.getBytes(s, LoggedTree.OP_HEADER, key, 0, len);
      long at = LoggedTree.OP_HEADER + len;
      LogSession none = LogSession.NONE;
      switch (Mem.getInt(s, 0)) {
        case LoggedTree.REMOVE -> {
          tree.remove(s, LoggedTree.OP_HEADER, len, false, p, none);
          model.remove(key);
        }
        case LoggedTree.INLINE -> {
          tree.upsertInline(s, LoggedTree.OP_HEADER, len, s, at, vLen, p, none);
          byte[] value = new byte[vLen];
          Mem.getBytes(s, at, value, 0, vLen);
          model.put(key, value);
        }
        default -> {
          tree.upsertChain(
              s, LoggedTree.OP_HEADER, len, Mem.getLong(s, at), Mem.getInt(s, at + 8), p, none);
          model.put(key, values.get(e.start()));
        }
      }
    }
  }

  /** The end of a recovery. */
  void reclaim() {
    orphans.forEach(pid -> pool.recovery().reclaim(pid, LogSession.NONE));
    orphans.clear();
  }

  /** First inserts without deletes, so that nothing repairs a partial change; then both. */
  void continueWith(RandomKeys keys, int records) {
    BTree tree = open();
    Position p = new Position();
    TestTree.Staging staging = new TestTree.Staging();
    for (int i = 0; i < records; i++) {
      byte[] key = keys.next();
      byte[] value = Arrays.copyOf(key, 60);
      int len = staging.key(key);
      int vLen = staging.value(value);
      Writes.upsert(tree, staging.key, 0, len, staging.value, 0, vLen, p);
      model.put(key, value);
      if (i > records / 2 && i % 3 == 0) {
        byte[] near = model.ceilingKey(keys.next());
        byte[] gone = near != null ? near : model.firstKey();
        assertTrue(Writes.delete(tree, staging.key, 0, staging.key(gone), p));
        model.remove(gone);
      }
    }
  }

  /** The tree is sound and has the logged records, and no page is lost. */
  void check() {
    BTree tree = open();
    TreeVerifier.Report report = TreeVerifier.verify(tree);
    assertEquals("[]", report.problems().toString());
    assertEquals(model.size(), report.keys());
    AllocatorState now = pool.allocatorState();
    assertEquals(
        now.highWater() - AllocatorState.FIRST_PID - now.freePages(),
        report.pages(),
        "pages are lost, or used twice");
    Set<Long> free = new HashSet<>();
    FreeList.visit(pool, free::add);
    assertEquals(now.freePages(), free.size());
    TestTree.Staging staging = new TestTree.Staging();
    Position p = new Position();
    model.forEach(
        (key, value) -> {
          staging.value(value);
          tree.find(staging.key, 0, staging.key(key), p);
          assertTrue(p.found);
          int length = tree.copyValue(p, staging.out, 0, value.length);
          assertEquals(value.length, length);
          assertArrayEquals(value, staging.out(length));
        });
  }

  @Override
  public void close() {
    pool.abandon();
    device.close();
  }
}
