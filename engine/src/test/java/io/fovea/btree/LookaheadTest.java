package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageReads;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.support.HeldDevice;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lookups of keys with missing pages while other threads take the frames. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LookaheadTest {
  private static final int RECORDS = 8_000;
  private static final int FRAMES = 512;

  /** The maximum: a full window, enough deferred keys, and eight more. */
  private static final int KEYS = PageReads.CAPACITY + 2 * Lookahead.WIDTH;

  private final TestTree.Staging[] staged = new TestTree.Staging[KEYS];
  private final BitSet found = new BitSet();
  private final Lookahead ahead = new Lookahead();

  private static PoolConfig config() {
    return PoolConfig.ofFrames(4096, FRAMES, Translation.PREDICTIVE);
  }

  private static byte[] key(int i) {
    return TestTree.bytes(i * (long) RECORDS / KEYS);
  }

  private long leafOf(BTree tree, int i) {
    Position p = new Position();
    tree.find(staged[i].key, 0, Long.BYTES, p);
    return p.pid;
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** The loop of {@link io.fovea.RowTable#getAll} over deferred keys. */
  private void proceed(BTree tree) {
    int n = ahead.resumeDeferred(tree, true);
    for (int i = 0; i < n; i++) {
      if (!ahead.defer(i)) {
        assertTrue(ahead.hint(i).found, "key " + ahead.number(i));
        found.set(ahead.number(i));
      }
    }
  }

  /**
   * All reads fail while others hold all frames available to reads: all keys are deferred again.
   */
  @Test
  void allKeysCanBeDeferred() {
    HeldDevice device = new HeldDevice();
    long root;
    AllocatorState state;
    Set<Long> mine = new HashSet<>();
    try (TestTree t = new TestTree(device, config())) {
      for (int i = 0; i < RECORDS; i++) {
        t.put(TestTree.bytes(i), new byte[100]);
      }
      for (int i = 0; i < KEYS; i++) {
        staged[i] = new TestTree.Staging();
        staged[i].key(key(i));
        mine.add(leafOf(t.tree, i) * 4096);
      }
      assertEquals(KEYS, mine.size());
      assertEquals(2, t.tree.height());
      root = t.tree.rootPid();
      state = t.pool.allocatorState();
      t.pool.close();
    }
    HeldDevice cold = new HeldDevice(device.below(), 3);
    BufferPool pool = new BufferPool(cold, config(), state);
    BTree tree = BTree.open(pool, TestTree.TREE_ID, root);
    pool.releaseShared(pool.fixShared(root));
    CountDownLatch others = new CountDownLatch(1);
    CountDownLatch failing = new CountDownLatch(1);
    cold.readFails =
        offset -> {
          if (!mine.contains(offset)) {
            awaitQuietly(others);
            return false;
          }
          return failing.getCount() > 0;
        };
    cold.hold(mine::contains);
    for (int from = 0; from < KEYS; from += Lookahead.WIDTH) {
      ahead.clear();
      for (int i = from; i < from + Lookahead.WIDTH; i++) {
        ahead.add(staged[i].key, 0, Long.BYTES, i);
      }
      ahead.descend(tree, 64);
      for (int i = 0; i < Lookahead.WIDTH; i++) {
        assertTrue(ahead.defer(i));
      }
      if (ahead.isDeferredFull() && from + Lookahead.WIDTH < KEYS) {
        proceed(tree);
      }
    }
    assertTrue(ahead.isDeferredFull());
    // Half of the frames available to reads; the rest after the first failures.
    PageReads[] hogs = {new PageReads(), new PageReads()};
    long pid = AllocatorState.FIRST_PID;
    for (PageReads hog : hogs) {
      for (int n = 0; n < PageReads.CAPACITY; ) {
        while (mine.contains(pid * 4096) || pid == root) {
          pid++;
        }
        int slot = hog.start(pool, pid);
        if (slot >= 0 && hog.frame(slot) >= 0) {
          n++;
          pid++;
        } else if (slot >= 0) {
          assertEquals(slot, hog.take());
        }
      }
      hog.drive(false);
      cold.release();
    }
    for (int round = 0; round < KEYS / Lookahead.WIDTH; round++) {
      proceed(tree);
    }
    assertEquals(0, found.cardinality());
    failing.countDown();
    others.countDown();
    for (PageReads hog : hogs) {
      hog.finish();
    }
    while (ahead.hasDeferred()) {
      proceed(tree);
    }
    assertEquals(KEYS, found.cardinality());
    ahead.finish();
    pool.close();
  }

  /** Whether the kernel has mapped memory, zeros or not, for a page: proc(5), pagemap. */
  private static boolean isMapped(BufferPool pool, long pid) throws IOException {
    long address = pool.pages().address() + pool.base((int) pid);
    try (RandomAccessFile map = new RandomAccessFile("/proc/self/pagemap", "r")) {
      map.seek(address / 4096 * Long.BYTES);
      // Little-endian; the uppermost bit is the answer.
      return Long.reverseBytes(map.readLong()) < 0;
    }
  }

  /**
   * Lookups do not touch pages without memory. Touching one faults to map the zero page, and the
   * arrival of the page faults again and interrupts all cores.
   */
  @Test
  void missingPagesAreNotTouched() throws IOException {
    assumeTrue(Files.isReadable(Path.of("/proc/self/pagemap")), "no pagemap here");
    PoolConfig config = PoolConfig.ofFrames(4096, FRAMES, Translation.VIRTUAL);
    HeldDevice device = new HeldDevice();
    long root;
    AllocatorState state;
    Set<Long> mine = new HashSet<>();
    try (TestTree t = new TestTree(device, config)) {
      for (int i = 0; i < RECORDS; i++) {
        t.put(TestTree.bytes(i), new byte[100]);
      }
      for (int i = 0; i < KEYS; i++) {
        staged[i] = new TestTree.Staging();
        staged[i].key(key(i));
        mine.add(leafOf(t.tree, i));
      }
      assertEquals(2, t.tree.height());
      assertTrue(isMapped(t.pool, mine.iterator().next()), "a resident page is mapped");
      root = t.tree.rootPid();
      state = t.pool.allocatorState();
      t.pool.close();
    }
    BufferPool pool = new BufferPool(new HeldDevice(device.below(), 3), config, state);
    BTree tree = BTree.open(pool, TestTree.TREE_ID, root);
    pool.releaseShared(pool.fixShared(root));
    for (int from = 0; from < KEYS; from += Lookahead.WIDTH) {
      ahead.clear();
      for (int i = from; i < from + Lookahead.WIDTH; i++) {
        ahead.add(staged[i].key, 0, Long.BYTES, i);
      }
      ahead.descend(tree, 64);
    }
    for (long pid : mine) {
      assertFalse(isMapped(pool, pid), "page " + pid + " was touched");
    }
    ahead.finish();
    pool.close();
  }
}
