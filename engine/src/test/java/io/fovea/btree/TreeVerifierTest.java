package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import io.fovea.support.Sample;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Damages pages in place, one rule at a time; the verifier must report each. */
@Tag("slow")
class TreeVerifierTest {
  private TestTree t;
  private BufferPool pool;
  private MemorySegment pages;
  private long inner;
  private long leaf;

  interface Damage {
    void at(long base);
  }

  @BeforeEach
  void fill() {
    t = new TestTree(4096, 1024, Translation.PREDICTIVE);
    pool = t.pool;
    pages = pool.pages();
    for (int i = 0; i < 20_000; i++) {
      t.put(TestTree.bytes(i * 1_000_003L), new byte[40 + i % 13]);
    }
    t.put(TestTree.bytes(3_000_000_007L), new byte[20_000]);
    assertEquals(3, t.tree.height());
    Position p = new Position();
    int len = t.staging.key(TestTree.bytes(3_000_000_007L));
    t.tree.find(t.staging.key, 0, len, p);
    leaf = p.pid;
    t.tree.descent().descendTo(t.staging.key, 0, len, false, 1, p);
    inner = p.pid;
    t.verify();
  }

  @AfterEach
  void close() {
    t.close();
  }

  private void expect(TreeVerifier.Kind kind, long pid, Damage damage) {
    int frame = pool.fixExclusive(pid);
    long base = pool.base(frame);
    byte[] before = new byte[4096];
    Mem.getBytes(pages, base, before, 0, 4096);
    damage.at(base);
    pool.releaseExclusive(frame);
    TreeVerifier.Report report = TreeVerifier.verify(t.tree);
    assertFalse(report.isClean());
    assertTrue(
        report.problems().stream().anyMatch(p -> p.kind() == kind),
        () -> kind + " expected: " + report.problems());
    assertThrows(CorruptionException.class, report::throwIfDamaged);
    frame = pool.fixExclusive(pid);
    Mem.putBytes(pages, pool.base(frame), before, 0, 4096);
    pool.releaseExclusive(frame);
    t.verify();
  }

  private void putShort(long at, int value) {
    Mem.putShort(pages, at, (short) value);
  }

  private void addShort(long at, int delta) {
    putShort(at, Mem.getUnsignedShort(pages, at) + delta);
  }

  @Test
  void headers() {
    expect(TreeVerifier.Kind.HEADER, leaf, b -> PageHeader.setType(pages, b, PageHeader.INNER));
    expect(TreeVerifier.Kind.HEADER, leaf, b -> PageHeader.setType(pages, b, PageHeader.FREE));
    expect(TreeVerifier.Kind.HEADER, leaf, b -> PageHeader.setTreeId(pages, b, 8));
    expect(TreeVerifier.Kind.HEADER, leaf, b -> PageHeader.setLevel(pages, b, 1));
    expect(TreeVerifier.Kind.HEADER, leaf, b -> PageHeader.setLayout(pages, b, 1));
    expect(TreeVerifier.Kind.HEADER, inner, b -> PageHeader.setLevel(pages, b, 2));
    expect(TreeVerifier.Kind.HEADER, leaf, b -> Mem.putLong(pages, b + PageHeader.PID, 5));
    expect(TreeVerifier.Kind.HEADER, t.tree.rootPid(), b -> PageHeader.setLevel(pages, b, 1000));
  }

  @Test
  void references() {
    expect(
        TreeVerifier.Kind.REFERENCE,
        inner,
        b -> NodeEditor.setChild(pages, b, 3, t.tree.rootPid()));
    expect(TreeVerifier.Kind.REFERENCE, inner, b -> NodeEditor.setChild(pages, b, 3, 0));
    expect(TreeVerifier.Kind.UNREADABLE, inner, b -> NodeEditor.setChild(pages, b, 3, -1));
    expect(
        TreeVerifier.Kind.REFERENCE,
        inner,
        b -> NodeEditor.setChild(pages, b, 3, BTreeNode.child(pages, b, 4)));
    expect(TreeVerifier.Kind.UNREADABLE, inner, b -> NodeEditor.setChild(pages, b, 3, 99_999_999L));
  }

  @Test
  void fences() {
    expect(TreeVerifier.Kind.FENCE, leaf, b -> putShort(b + BTreeNode.PREFIX, 3));
    expect(TreeVerifier.Kind.FENCE, leaf, b -> addShort(b + 4095, 1));
    expect(TreeVerifier.Kind.FENCE, leaf, b -> addShort(b + BTreeNode.lowAt(pages, b, 4096), 1));
    expect(TreeVerifier.Kind.SPACE, t.tree.rootPid(), b -> putShort(b + BTreeNode.PREFIX, 4000));
  }

  @Test
  void space() {
    expect(TreeVerifier.Kind.SPACE, leaf, b -> putShort(b + BTreeNode.COUNT, 600));
    expect(TreeVerifier.Kind.SPACE, leaf, b -> putShort(b + BTreeNode.HEAP, 60_000));
    expect(TreeVerifier.Kind.SPACE, leaf, b -> putShort(b + BTreeNode.HEAP, 1));
    expect(TreeVerifier.Kind.SPACE, leaf, b -> addShort(b + BTreeNode.DEAD, 1));
    expect(TreeVerifier.Kind.SPACE, leaf, b -> putShort(b + BTreeNode.LOW, 5000));
    expect(TreeVerifier.Kind.SPACE, leaf, b -> addShort(b + BTreeNode.COUNT, -1));
    // The offset of a slot, the length of a suffix, the length of a value.
    expect(TreeVerifier.Kind.SPACE, leaf, b -> addShort(b + BTreeNode.LEAF_SLOTS + 2, 60));
    expect(TreeVerifier.Kind.SPACE, leaf, b -> putShort(b + BTreeNode.LEAF_SLOTS + 2, 3));
    expect(TreeVerifier.Kind.SPACE, leaf, b -> putShort(b + BTreeNode.LEAF_SLOTS, 5000));
    expect(
        TreeVerifier.Kind.SPACE,
        leaf,
        b -> addShort(b + BTreeNode.offset(BTreeNode.leafSlot(pages, b, 0)), 100));
  }

  @Test
  void order() {
    expect(
        TreeVerifier.Kind.ORDER,
        leaf,
        b -> {
          long first = BTreeNode.leafSlot(pages, b, 2);
          Mem.putLong(pages, b + BTreeNode.LEAF_SLOTS + 16, BTreeNode.leafSlot(pages, b, 3));
          Mem.putLong(pages, b + BTreeNode.LEAF_SLOTS + 24, first);
        });
    expect(TreeVerifier.Kind.ORDER, leaf, b -> Mem.putInt(pages, b + BTreeNode.LEAF_SLOTS + 4, 0));
    expect(
        TreeVerifier.Kind.ORDER,
        leaf,
        b -> Mem.putInt(pages, b + BTreeNode.LEAF_SLOTS + 8L * BTreeNode.count(pages, b) - 4, -1));
    expect(TreeVerifier.Kind.HEAD, inner, b -> Mem.putInt(pages, b + BTreeNode.HEADS + 8, 12345));
  }

  @Test
  void chains() {
    int frame = pool.fixShared(leaf);
    long base = pool.base(frame);
    long stub = 0;
    for (int i = 0; i < BTreeNode.count(pages, base); i++) {
      long slot = BTreeNode.leafSlot(pages, base, i);
      if (BTreeNode.field(pages, base, 4096, slot) == BTreeNode.OVERFLOW) {
        stub = BTreeNode.valueAt(base, 4096, slot) - base;
      }
    }
    long first = OverflowChain.stubPid(pages, base + stub);
    pool.releaseShared(frame);
    long at = stub;
    expect(TreeVerifier.Kind.OVERFLOW, leaf, b -> Mem.putLong(pages, b + at, leaf));
    expect(TreeVerifier.Kind.OVERFLOW, leaf, b -> Mem.putLong(pages, b + at, 0));
    expect(TreeVerifier.Kind.OVERFLOW, leaf, b -> Mem.putLong(pages, b + at + 8, 10));
    expect(TreeVerifier.Kind.OVERFLOW, leaf, b -> Mem.putLong(pages, b + at + 8, 1L << 40));
    expect(TreeVerifier.Kind.OVERFLOW, leaf, b -> Mem.putLong(pages, b + at + 8, 30_000));
    expect(TreeVerifier.Kind.OVERFLOW, leaf, b -> Mem.putLong(pages, b + at + 8, 4048));
    expect(TreeVerifier.Kind.OVERFLOW, first, b -> Mem.putInt(pages, b + OverflowChain.INDEX, 1));
    expect(TreeVerifier.Kind.OVERFLOW, first, b -> Mem.putInt(pages, b + OverflowChain.BYTES, 100));
    expect(TreeVerifier.Kind.OVERFLOW, first, b -> Mem.putLong(pages, b + OverflowChain.NEXT, 0));
    expect(
        TreeVerifier.Kind.OVERFLOW, first, b -> Mem.putLong(pages, b + OverflowChain.NEXT, first));
    expect(TreeVerifier.Kind.OVERFLOW, first, b -> PageHeader.setTreeId(pages, b, 3));
  }

  @Test
  void twoTrees() {
    BTree second = BTree.create(pool, 8, LogSession.NONE);
    PageSet reached = new PageSet();
    TreeVerifier.Report report = TreeVerifier.verify(t.tree, reached);
    assertEquals(report.pages(), reached.size());
    assertTrue(TreeVerifier.verify(second, reached).isClean());
    assertEquals(report.pages() + 1, reached.size());
    assertTrue(reached.contains(second.rootPid()));
    assertFalse(reached.contains(0));
    assertEquals(
        TreeVerifier.Kind.REFERENCE,
        TreeVerifier.verify(second, reached).problems().getFirst().kind());
  }

  /**
   * With any byte damaged, reads, scans and changes end with a result, possibly wrong since
   * checksums are not checked, or a typed error.
   */
  @Test
  void anyByte() {
    Random random = new Random(7 + Sample.seed());
    for (int i = 0; i < Sample.rounds(500, 2000); i++) {
      long pid = i % 3 == 0 ? t.tree.rootPid() : i % 3 == 1 ? inner : leaf;
      int frame = pool.fixExclusive(pid);
      long base = pool.base(frame);
      byte[] before = new byte[4096];
      Mem.getBytes(pages, base, before, 0, 4096);
      int at = 4 + random.nextInt(random.nextBoolean() ? 300 : 4092);
      Mem.putByte(pages, base + at, (byte) random.nextInt());
      pool.releaseExclusive(frame);
      TreeVerifier.verify(t.tree);
      int len = t.staging.key(TestTree.bytes(3_000_000_007L + random.nextInt(5_000_000)));
      try {
        t.tree.find(t.staging.key, 0, len, t.position);
        if (t.position.found) {
          t.tree.copyValue(t.position, t.staging.out, 0, 1000);
        }
        Writes.patch(t.tree, t.staging.key, 0, len, 0, t.staging.value, 0, 0, t.position);
        t.tree.successor(t.staging.key, 0, len, t.position, new KeyBuffer(512));
        LeafScan scan = new LeafScan();
        scan.seek(t.tree, t.staging.key, 0, len, true, random.nextBoolean());
        for (int n = 0; n < 5 && scan.load(); n++) {
          for (int slot = scan.from(); slot < scan.to(); slot++) {
            scan.copyKey(slot, t.staging.out, 0);
          }
        }
      } catch (FoveaException expected) {
        // A typed error is acceptable.
      } catch (RuntimeException e) {
        throw Sample.failed("byte " + at + " of page " + pid, e);
      }
      frame = pool.fixExclusive(pid);
      Mem.putBytes(pages, pool.base(frame), before, 0, 4096);
      pool.releaseExclusive(frame);
    }
    t.verify();
  }

  /**
   * Structure changes detect in a node what the verifier detects, instead of making sound nodes
   * with keys that were never written.
   */
  @Test
  void structureChangesMakeTheVerifiersChecks() {
    Random random = new Random(11 + Sample.seed());
    int found = 0;
    int rounds = Sample.rounds(800, 3000);
    for (int i = 0; i < rounds; i++) {
      long pid = i % 2 == 0 ? inner : leaf;
      int level = i % 2 == 0 ? 1 : 0;
      int frame = pool.fixExclusive(pid);
      long base = pool.base(frame);
      byte[] before = new byte[4096];
      Mem.getBytes(pages, base, before, 0, 4096);
      int to = random.nextInt(4) == 0 ? 4094 : 300;
      int at = PageHeader.BYTES + random.nextInt(to - PageHeader.BYTES);
      int was = Mem.getUnsignedShort(pages, base + at);
      putShort(base + at, random.nextBoolean() ? was ^ 1 << random.nextInt(16) : was + 1);
      pool.releaseExclusive(frame);
      List<TreeVerifier.Problem> problems =
          TreeVerifier.verify(t.tree).problems().stream()
              .filter(
                  p ->
                      p.pid() == pid
                          && (p.kind() == TreeVerifier.Kind.SPACE
                              || p.kind() == TreeVerifier.Kind.ORDER
                              || p.detail().contains("prefix")))
              .toList();
      frame = pool.fixExclusive(pid);
      base = pool.base(frame);
      if (!problems.isEmpty()) {
        long node = base;
        assertThrows(
            IndexOutOfBoundsException.class,
            () -> NodeCheck.node(pages, node, 4096, level, t.tree.treeId()),
            () ->
                "-Dsample.seed="
                    + Sample.seed()
                    + ": two bytes at "
                    + at
                    + " of page "
                    + pid
                    + ": "
                    + problems.getFirst());
        found++;
      }
      Mem.putBytes(pages, base, before, 0, 4096);
      pool.releaseExclusive(frame);
    }
    assertTrue(found > rounds / 10, found + " damages of one node");
    t.verify();
  }

  /** Changes of damaged nodes end with a typed error and release all latches. */
  @Test
  void anyByteUnderChanges() {
    int end = Sample.seed() + Sample.rounds(50, 150);
    for (int seed = Sample.seed(); seed < end; seed++) {
      Random random = new Random(seed);
      try (TestTree small = new TestTree(4096, 256, Translation.PREDICTIVE)) {
        for (int i = 0; i < 8000; i++) {
          small.put(TestTree.bytes(i * 3L), new byte[20]);
        }
        long[] pids = {small.tree.rootPid(), 0, 0};
        int len = small.staging.key(TestTree.bytes(3000));
        small.tree.find(small.staging.key, 0, len, small.position);
        pids[1] = small.position.pid;
        for (int i = 0; i < 4; i++) {
          int frame = small.pool.fixExclusive(pids[random.nextInt(2)]);
          long base = small.pool.base(frame);
          int at = 4 + random.nextInt(random.nextBoolean() ? 100 : 4092);
          Mem.putByte(small.pool.pages(), base + at, (byte) random.nextInt());
          small.pool.releaseExclusive(frame);
        }
        for (int i = 0; i < 400; i++) {
          int n = small.staging.key(TestTree.bytes(2800 + random.nextInt(500)));
          try {
            if (random.nextInt(3) == 0) {
              Writes.delete(small.tree, small.staging.key, 0, n, small.position);
            } else {
              int vLen = random.nextInt(40) == 0 ? 2000 : random.nextInt(60);
              Writes.upsert(
                  small.tree,
                  small.staging.key,
                  0,
                  n,
                  small.staging.value,
                  0,
                  vLen,
                  small.position);
            }
          } catch (FoveaException expected) {
            small.position.clear();
          } catch (RuntimeException e) {
            throw Sample.failed("seed " + seed, e);
          }
        }
        for (int frame = 0; frame < small.pool.frames(); frame++) {
          if (small.pool.pid(frame) != 0) {
            assertTrue(
                small.pool.tryExclusive(frame, small.pool.pid(frame)), "a latch is still held");
            small.pool.releaseExclusiveUnchanged(frame);
          }
        }
      }
    }
  }
}
