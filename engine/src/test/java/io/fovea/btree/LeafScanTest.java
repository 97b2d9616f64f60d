package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a scan guarantees while the tree changes. */
class LeafScanTest {
  private TestTree t;
  private final LeafScan scan = new LeafScan();

  @BeforeEach
  void fill() {
    t = new TestTree(4096, 2048, Translation.PREDICTIVE);
    for (int i = 0; i < 1000; i++) {
      t.put(TestTree.bytes(10L * i), new byte[100]);
    }
  }

  @AfterEach
  void close() {
    t.close();
  }

  private void seek(long from, boolean descending) {
    int len = from < 0 ? -1 : t.staging.key(TestTree.bytes(from));
    scan.seek(t.tree, t.staging.key, 0, len, true, descending);
  }

  private long key(int slot) {
    assertEquals(8, scan.copyKey(slot, t.staging.out, 0));
    return Mem.getLongBE(t.staging.out, 0);
  }

  private List<Long> keys() {
    List<Long> keys = new ArrayList<>();
    for (int slot = scan.from(); slot < scan.to(); slot++) {
      keys.add(key(slot));
    }
    return keys;
  }

  @Test
  void before() {
    assertThrows(InvalidUseException.class, () -> new LeafScan().load());
    assertThrows(InvalidUseException.class, () -> new LeafScan().stillValid());
  }

  /** A key is inserted between the last key of one copy and the first of the next. */
  @Test
  void gapBetweenLeaves() {
    seek(-1, false);
    assertTrue(scan.load());
    long last = key(scan.to() - 1);
    assertTrue(scan.load());
    assertTrue(scan.stillValid());
    assertEquals(last + 10, key(scan.from()));
    t.put(TestTree.bytes(last + 1), new byte[0]);
    assertFalse(scan.stillValid(), "the gap before the copy has changed");
    assertTrue(scan.reload());
    assertTrue(scan.stillValid());
    assertEquals(last + 1, key(scan.from()));
  }

  @Test
  void gapAfterTheLastKey() {
    seek(9900, false);
    while (scan.load()) {
      assertTrue(scan.stillValid());
    }
    assertTrue(scan.stillValid());
    assertFalse(scan.load());
    assertTrue(scan.stillValid());
    t.put(TestTree.bytes(10_000), new byte[0]);
    assertFalse(scan.stillValid());
    assertTrue(scan.reload());
    assertEquals(List.of(10_000L), keys());
    assertTrue(scan.stillValid());
    assertFalse(scan.load());
  }

  /** All leaves of the range except the first and the last are empty or have been merged away. */
  @Test
  void acrossEmptyLeaves() {
    for (int i = 100; i < 900; i++) {
      t.delete(TestTree.bytes(10L * i));
    }
    List<Long> all = new ArrayList<>();
    seek(500, false);
    while (scan.load()) {
      all.addAll(keys());
    }
    assertEquals(150, all.size());
    assertEquals(9000, all.get(50));
  }

  @Test
  void emptyTree() {
    for (int i = 0; i < 1000; i++) {
      t.delete(TestTree.bytes(10L * i));
    }
    for (boolean descending : new boolean[] {false, true}) {
      seek(-1, descending);
      assertFalse(scan.load());
      assertTrue(scan.stillValid());
      assertFalse(scan.load());
      t.put(TestTree.bytes(5), new byte[0]);
      assertFalse(scan.stillValid());
      assertTrue(scan.reload());
      assertEquals(List.of(5L), keys());
      t.delete(TestTree.bytes(5));
    }
  }

  /** The leaf splits, merges and disappears between two loads: each key is seen once. */
  @Test
  void structureChanges() {
    for (boolean descending : new boolean[] {false, true}) {
      List<Long> seen = new ArrayList<>();
      seek(-1, descending);
      int turn = 0;
      while (scan.load()) {
        List<Long> keys = keys();
        long here = keys.getFirst();
        seen.addAll(keys);
        // Many keys around the scan are inserted and deleted; those divisible by 10 are permanent.
        for (long n = here - 400; n < here + 400; n++) {
          if (n > 0 && n % 10 != 0) {
            if (turn % 2 == 0) {
              t.put(TestTree.bytes(n), new byte[150]);
            } else {
              t.delete(TestTree.bytes(n));
            }
          }
        }
        turn++;
      }
      seen.removeIf(n -> n % 10 != 0);
      seen.sort(null);
      assertEquals(1000, seen.size());
      assertEquals(1000, seen.stream().distinct().count());
      t.model.keySet().stream()
          .map(byte[]::clone)
          .toList()
          .forEach(
              k -> {
                if (k[7] % 10 != 0 && !isTen(k)) {
                  t.delete(k);
                }
              });
    }
    t.verify();
  }

  private static boolean isTen(byte[] key) {
    long n = 0;
    for (byte b : key) {
      n = n << 8 | b & 0xFF;
    }
    return n % 10 == 0;
  }

  @Test
  void positions() {
    seek(1000, false);
    assertTrue(scan.load());
    Position p = new Position();
    scan.position(p, scan.from() + 1);
    int len = t.staging.key(TestTree.bytes(1010));
    t.tree.locate(t.staging.key, 0, len, p);
    assertTrue(p.found);
    assertEquals(1, p.pageAccesses);
  }

  /** The next leaf is found by its hint, without a descent per leaf. */
  @Test
  void hints() {
    for (boolean descending : new boolean[] {false, true}) {
      long before = scan.pageAccesses();
      seek(-1, descending);
      int leaves = 0;
      while (scan.load()) {
        leaves++;
      }
      assertTrue(leaves > 20);
      assertEquals(leaves - 1 + t.tree.height(), scan.pageAccesses() - before);
    }
  }

  @Test
  void wrongHints() {
    Position p = new Position();
    for (int i = 0; i < 1000; i += 10) {
      t.tree.find(t.staging.key, 0, t.staging.key(TestTree.bytes(10L * i)), p);
      int frame = t.pool.fixExclusive(p.pid);
      long base = t.pool.base(frame);
      long[] wrong = {0, p.pid, t.tree.rootPid(), -5, 1L << 60, 2, 4};
      NodeEditor.setNext(t.pool.pages(), base, wrong[i / 10 % wrong.length]);
      NodeEditor.setPrev(t.pool.pages(), base, wrong[(i / 10 + 3) % wrong.length]);
      t.pool.releaseExclusive(frame);
    }
    t.checkScan(null, true, false);
    t.checkScan(null, true, true);
    for (int i = 0; i < 1000; i++) {
      t.checkSuccessor(TestTree.bytes(10L * i));
    }
    assertTrue(t.verify().staleHints() > 0);
  }

  /** Fences that would lead the scan back to where it was. */
  @Test
  void circles() {
    Position p = new Position();
    t.tree.find(t.staging.key, 0, t.staging.key(TestTree.bytes(5000)), p);
    int frame = t.pool.fixExclusive(p.pid);
    long base = t.pool.base(frame);
    MemorySegment pages = t.pool.pages();
    NodeEditor.setNext(pages, base, p.pid);
    NodeEditor.setPrev(pages, base, p.pid);
    int low = BTreeNode.lowAt(pages, base, 4096);
    assertEquals(8, BTreeNode.low(pages, base));
    Mem.copy(pages, base + 4088, pages, base + low, 8);
    t.pool.releaseExclusive(frame);
    for (boolean descending : new boolean[] {false, true}) {
      seek(-1, descending);
      assertThrows(
          CorruptionException.class,
          () -> {
            while (scan.load()) {
              assertTrue(scan.to() > scan.from());
            }
          });
    }
  }
}
