package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.StorageFullException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OverflowTest {
  private static byte[] value(int length) {
    byte[] value = new byte[length];
    new Random(length).nextBytes(value);
    return value;
  }

  /** Lengths around each limit, under the same key, growing and shrinking. */
  @ParameterizedTest
  @ValueSource(ints = {4096, 16384, 65536})
  void growsAndShrinks(int pageSize) {
    int part = OverflowChain.capacity(pageSize);
    int[] lengths = {
      0,
      1,
      pageSize / 4 - 1,
      pageSize / 4,
      pageSize / 4 + 1,
      part - 1,
      part,
      part + 1,
      2 * part,
      2 * part + 1,
      10 * part,
      3,
      7 * part + 5,
      7 * part + 5,
      part,
      0
    };
    try (TestTree t = new TestTree(pageSize, 64, Translation.PREDICTIVE)) {
      for (int i = 0; i < 40; i++) {
        t.put(TestTree.bytes(i), value(20));
      }
      for (int length : lengths) {
        t.put(TestTree.bytes(17), value(length));
        t.checkGet(TestTree.bytes(17));
        t.patch(TestTree.bytes(17), length / 2, value(length / 3));
        t.patch(TestTree.bytes(17), Math.max(0, length - 1), value(1));
        t.patch(TestTree.bytes(17), length, value(1));
        t.checkGet(TestTree.bytes(17));
        t.checkAll();
      }
      t.put(TestTree.bytes(17), value(5 * part));
      t.delete(TestTree.bytes(17));
      assertEquals(0, t.verify().overflowPages());
    }
  }

  @Test
  void pieces() {
    try (TestTree t = new TestTree(4096, 64, Translation.PREDICTIVE)) {
      byte[] value = value(100_000);
      byte[] key = TestTree.bytes("k");
      t.put(key, value);
      // Exactly as much as fits.
      MemorySegment out = Arena.ofAuto().allocate(200_000, 8);
      for (int cap : new int[] {0, 1, 4048, 4049, 50_000, 99_999, 100_000, 150_000}) {
        out.fill((byte) 0x77);
        t.tree.find(t.staging.key, 0, t.staging.key(key), t.position);
        assertEquals(100_000, t.tree.valueLength(t.position));
        assertEquals(100_000, t.tree.copyValue(t.position, out, 3, cap));
        assertTrue(t.tree.valid(t.position));
        int copied = Math.min(cap, 100_000);
        for (int i = 0; i < copied; i++) {
          assertEquals(value[i], Mem.getByte(out, 3 + i));
        }
        assertEquals(0x77, Mem.getByte(out, 2));
        assertEquals(0x77, Mem.getByte(out, 3 + copied));
      }
    }
  }

  /** A reader within a chain that is replaced, freed and reused. */
  @Test
  void staleStub() {
    try (TestTree t = new TestTree(4096, 64, Translation.PREDICTIVE)) {
      byte[] key = TestTree.bytes("k");
      t.put(key, value(20_000));
      Position reader = new Position();
      t.tree.find(t.staging.key, 0, t.staging.key(key), reader);
      long base = t.pool.base(reader.frame);
      long slot = BTreeNode.leafSlot(t.pool.pages(), base, reader.slot);
      long stub = BTreeNode.valueAt(base, 4096, slot);
      long first = OverflowChain.stubPid(t.pool.pages(), stub);
      t.put(key, value(30_000));
      for (int i = 0; i < 5; i++) {
        assertFalse(
            OverflowChain.read(
                t.pool, t.tree.treeId(), reader, first, 20_000, t.staging.out, 0, 20_000));
        t.put(TestTree.bytes(i), value(9_000));
      }
      t.checkAll();
    }
  }

  @Test
  void longest() {
    try (TestTree t = new TestTree(65536, 128, Translation.PREDICTIVE)) {
      int longest = Math.toIntExact(t.tree.maxValueSize());
      MemorySegment value = Arena.ofAuto().allocate(longest + 1L, 8);
      Mem.putByte(value, longest - 1, (byte) 42);
      int len = t.staging.key(TestTree.bytes("k"));
      assertThrows(
          ValueTooLargeException.class,
          () -> Writes.upsert(t.tree, t.staging.key, 0, len, value, 0, longest + 1, t.position));
      assertTrue(Writes.upsert(t.tree, t.staging.key, 0, len, value, 0, longest, t.position));
      assertEquals(longest, t.tree.copyValue(t.position, value, 0, longest));
      assertEquals(42, Mem.getByte(value, longest - 1));
      assertTrue(Writes.delete(t.tree, t.staging.key, 0, len, t.position));
      assertEquals(1, t.verify().pages());
    }
  }

  /** Without space for a chain nothing changes, and the part already written is freed. */
  @Test
  void diskFull() {
    try (MemoryDevice device = new MemoryDevice("small", 4096, 2 << 20);
        TestTree t = new TestTree(4096, 64, Translation.PREDICTIVE, device)) {
      t.put(TestTree.bytes("k"), value(300_000));
      int len = t.staging.key(TestTree.bytes("k"));
      int vLen = t.staging.value(value(3_000_000));
      assertThrows(
          StorageFullException.class,
          () -> Writes.upsert(t.tree, t.staging.key, 0, len, t.staging.value, 0, vLen, t.position));
      t.checkAll();
      t.put(TestTree.bytes("l"), value(500_000));
      t.checkAll();
      // A split without space loses nothing either.
      assertThrows(
          StorageFullException.class,
          () -> {
            for (int i = 0; i < 100_000; i++) {
              t.put(TestTree.bytes(i), value(700 + i % 400));
            }
          });
      t.verify();
      t.checkScan(null, true, false);
    }
  }
}
