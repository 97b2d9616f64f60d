package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.StorageException;
import io.fovea.memory.Mem;
import io.fovea.support.HeldDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Scans of leaves that are not resident: batch sizes and evictions. */
@Timeout(60)
class ReadAheadTest {
  private HeldDevice device = new HeldDevice();
  private final TestTree.Staging staging = new TestTree.Staging();
  private final LeafScan scan = new LeafScan();
  private BufferPool pool;
  private BTree tree;
  private int keys;

  /** The leaves in key order, and the first key of each. */
  private final List<Long> leaves = new ArrayList<>();

  private final List<Long> firstKeys = new ArrayList<>();

  /** A tree on the device, and a pool with only its inner nodes. */
  private void open(int n, int frames, Translation translation) {
    keys = n;
    long root;
    AllocatorState state;
    try (TestTree t = new TestTree(4096, 4096, Translation.PREDICTIVE, device)) {
      for (int i = 0; i < n; i++) {
        int len = t.staging.key(TestTree.bytes(i));
        int vLen = t.staging.value(new byte[100]);
        Writes.upsert(t.tree, t.staging.key, 0, len, t.staging.value, 0, vLen, t.position);
      }
      scan.seek(t.tree, staging.key, 0, -1, true, false);
      while (scan.load()) {
        scan.position(t.position, scan.from());
        leaves.add(t.position.pid);
        firstKeys.add(key(scan.from()));
      }
      root = t.tree.rootPid();
      state = t.pool.allocatorState();
      t.pool.close();
    }
    device = new HeldDevice(device.below(), n);
    pool = new BufferPool(device, PoolConfig.ofFrames(4096, frames, translation), state);
    tree = BTree.open(pool, TestTree.TREE_ID, root);
    device.forget();
  }

  @AfterEach
  void close() {
    if (pool != null) {
      pool.abandon();
    }
  }

  private long key(int slot) {
    scan.copyKey(slot, staging.out, 0);
    return Mem.getLongBE(staging.out, 0);
  }

  private void seek(long from, boolean descending) {
    int len = from < 0 ? -1 : staging.key(TestTree.bytes(from));
    scan.seek(tree, staging.key, 0, len, true, descending);
  }

  /** Loads up to {@code leavesMax} leaves, whose keys must be consecutive. */
  private int load(int leavesMax, long first, boolean descending) {
    long expected = first;
    int n = 0;
    while (n < leavesMax && scan.load()) {
      for (int i = 0; i < scan.to() - scan.from(); i++) {
        assertEquals(expected, key(descending ? scan.to() - 1 - i : scan.from() + i));
        expected += descending ? -1 : 1;
      }
      n++;
    }
    return n;
  }

  private long find(long key) {
    Position p = new Position();
    tree.find(staging.key, 0, staging.key(TestTree.bytes(key)), p);
    assertTrue(p.found);
    return p.pid;
  }

  // ----------------------------------------------------------------------------------- batch sizes

  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void batchesGrowWithTheScan(Translation translation) {
    open(4000, 1024, translation);
    assertEquals(2, tree.height());
    for (boolean descending : new boolean[] {false, true}) {
      seek(-1, descending);
      assertEquals(leaves.size(), load(10_000, descending ? keys - 1 : 0, descending));
      if (!descending) {
        int rest = leaves.size() - 1 - 63;
        List<Integer> expected = new ArrayList<>(List.of(1, 2, 4, 8, 16, 32));
        for (; rest > 0; rest -= 32) {
          expected.add(Math.min(rest, 32));
        }
        assertEquals(expected, device.batches);
        assertEquals(leaves.size(), device.reads(), "each leaf once");
      }
    }
    // A leaf may displace an already scanned one from its preferred frame: usually none or one,
    // rarely two.
    assertTrue(device.reads() <= leaves.size() + 8, "the second scan read " + device.reads());
  }

  @Test
  void batchesGrowBackward() {
    open(4000, 1024, Translation.PREDICTIVE);
    seek(-1, true);
    assertEquals(leaves.size(), load(10_000, keys - 1, true));
    assertEquals(List.of(1, 2, 4, 8, 16, 32), device.batches.subList(0, 6));
    assertEquals(leaves.size(), device.reads(), "each leaf once");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aShortScanReadsNothingAhead(boolean descending) {
    open(4000, 1024, Translation.PREDICTIVE);
    find(keys / 2);
    device.forget();
    seek(keys / 4, descending);
    assertEquals(2, load(2, keys / 4, descending));
    assertEquals(2, device.reads());
  }

  @Test
  void residentLeavesEndReadAhead() {
    open(8000, 1024, Translation.PREDICTIVE);
    for (int i = 20; i < 40; i++) {
      find(firstKeys.get(i));
    }
    device.forget();
    seek(-1, false);
    assertEquals(18, load(18, 0, false));
    assertEquals(List.of(1, 2, 4, 8, 4), device.batches, "16 to 31, of which 16 to 19 are missing");
  }

  @Test
  void readAheadRestartsAfterResidentLeaves() {
    open(8000, 1024, Translation.PREDICTIVE);
    for (int i = 10; i < 40; i++) {
      find(firstKeys.get(i));
    }
    device.forget();
    seek(-1, false);
    assertEquals(50, load(50, 0, false));
    // 1; 2, 3; 4 to 7; 8 to 15, of which two are missing; 16 to 39 are resident; 40; 41, 42; ...
    assertEquals(List.of(1, 2, 4, 2, 1, 2, 4, 8), device.batches);
  }

  /** In the smallest pool batches stay small, and no page is read unnecessarily. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void inTheSmallestPool(boolean descending) {
    open(8000, 64, Translation.PREDICTIVE);
    for (int turn = 0; turn < 2; turn++) {
      device.forget();
      seek(-1, descending);
      assertEquals(leaves.size(), load(10_000, descending ? keys - 1 : 0, descending));
      int largest = device.batches.stream().mapToInt(Integer::intValue).max().orElseThrow();
      assertEquals(pool.groupMax(), largest);
      int needed = leaves.size() + leaves.size() / 20;
      assertTrue(device.reads() < needed, device.reads() + " reads of " + leaves.size());
    }
  }

  // -------------------------------------------------------------------------------------- failures

  @Test
  void failedReadIsReportedWhenTheScanNeedsThePage() {
    open(4000, 1024, Translation.PREDICTIVE);
    long bad = leaves.get(12) * 4096;
    device.readFails = offset -> offset == bad;
    seek(-1, false);
    assertEquals(12, load(12, 0, false), "no error up to there");
    assertThrows(StorageException.class, scan::load);
    device.readFails = offset -> false;
    seek(firstKeys.get(12), false);
    assertEquals(leaves.size() - 12, load(10_000, firstKeys.get(12), false));
  }

  @Test
  void damagedLeafIsReported() {
    open(4000, 1024, Translation.PREDICTIVE);
    MemorySegment bytes = Arena.ofAuto().allocate(4096, 4096);
    bytes.fill((byte) 1);
    device.below().write(leaves.get(9) * 4096, bytes, 0, 4096);
    seek(-1, false);
    assertEquals(9, load(9, 0, false));
    assertThrows(CorruptionException.class, scan::load);
    seek(-1, true);
    assertEquals(leaves.size() - 10, load(leaves.size() - 10, keys - 1, true));
    assertThrows(CorruptionException.class, scan::load);
  }

  /** A slow device that reorders reads and fails one in twenty: a repeated scan completes. */
  @Test
  void onAnUnreliableDevice() {
    open(4000, 64, Translation.PREDICTIVE);
    device.yieldsMax = 8;
    int[] turn = {0};
    device.readFails = offset -> ++turn[0] % 20 == 0;
    int failures = 0;
    for (boolean descending : new boolean[] {false, true}) {
      long next = descending ? keys - 1 : 0;
      for (boolean more = true; more; ) {
        seek(next, descending);
        try {
          while (more = scan.load()) {
            for (int i = 0; i < scan.to() - scan.from(); i++) {
              assertEquals(next, key(descending ? scan.to() - 1 - i : scan.from() + i));
              next += descending ? -1 : 1;
            }
          }
        } catch (StorageException e) {
          failures++;
        }
      }
      assertEquals(descending ? -1 : keys, next);
    }
    assertTrue(failures < 100, "failures: " + failures);
  }

  // ------------------------------------------------------------------------------------- evictions

  private long residentHot(int hot) {
    return leaves.subList(0, hot).stream().filter(pid -> pool.resident(pid) >= 0).count();
  }

  /** Repeated scans of five times the pool, while rare point reads touch a quarter of the pool. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aLargeScanDoesNotEmptyThePool(boolean descending) {
    int frames = 256;
    int hot = frames / 4;
    open(5 * frames * 36, frames, Translation.PREDICTIVE);
    assertTrue(leaves.size() >= 5 * frames, leaves.size() + " leaves");
    for (int i = 0; i < hot; i++) {
      find(firstKeys.get(i));
    }
    long looks = 0;
    long there = 0;
    for (int turn = 0; turn < 4; turn++) {
      seek(-1, descending);
      for (int n = 1; scan.load(); n++) {
        if (n % (frames - hot - 12) == 0) {
          looks += hot;
          there += residentHot(hot);
          for (int i = 0; i < hot; i++) {
            find(firstKeys.get(i));
          }
        }
      }
    }
    assertTrue(pool.stats().misses() > 4L * 4 * frames, "the scans are larger than the pool");
    assertTrue(there >= 0.97 * looks, there + " of " + looks + " were resident");
  }
}
