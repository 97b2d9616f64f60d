package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.config.Io;
import io.fovea.config.Translation;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.DeviceConfig;
import io.fovea.io.Devices;
import io.fovea.support.HeldDevice;
import io.fovea.support.Records;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A read window that is kept full, with both I/O backends. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PageReadsTest {
  private static final int PAGES = 600;

  @TempDir Path dir;

  private final PageReads reads = new PageReads();

  private static BufferPool cold(BlockDevice device, int frames) {
    PoolConfig config =
        Records.with(
            PoolConfig.ofFrames(4096, frames, Translation.PREDICTIVE), "exhaustedMillis", 60_000L);
    BufferPool pool = new BufferPool(device, config, AllocatorState.EMPTY);
    for (int i = 0; i < PAGES; i++) {
      assertEquals(pid(i), Pools.page(pool));
    }
    AllocatorState state = pool.allocatorState();
    pool.close();
    return new BufferPool(device, config, state);
  }

  /** A device that lends rings; skips the test if the kernel has no io_uring. */
  private BlockDevice rings() {
    BlockDevice device = Devices.open(dir.resolve("pages"), DeviceConfig.defaults().kind(Io.URING));
    assumeTrue(device.kind().startsWith("uring"), device.kind());
    return device;
  }

  private BlockDevice open(boolean ring) {
    return ring ? rings() : new HeldDevice();
  }

  private static long pid(int i) {
    return AllocatorState.FIRST_PID + i;
  }

  private static long offset(int i) {
    return pid(i) * 4096;
  }

  /** Takes the next page that is resident or arrives; returns its index in the list of pages. */
  private int takeOne() {
    reads.drive(true);
    int slot = reads.take();
    assertTrue(slot >= 0);
    return slot;
  }

  /**
   * Reads all pages one after the other through the window: each is read once, with the right
   * contents.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void eachPageArrivesOnce(boolean ring) {
    try (BlockDevice device = open(ring);
        BufferPool pool = cold(device, 1024)) {
      long[] bySlot = new long[PageReads.CAPACITY];
      BitSet came = new BitSet();
      int most = 0;
      int next = 0;
      while (came.cardinality() < PAGES) {
        for (int slot; next < PAGES && (slot = reads.start(pool, pid(next))) >= 0; next++) {
          bySlot[slot] = pid(next);
        }
        most = Math.max(most, next - came.cardinality());
        int slot = takeOne();
        long pid = bySlot[slot];
        assertEquals(pid, pool.pid(reads.frame(slot)));
        assertEquals(pid, Pools.word(pool, pid));
        assertFalse(came.get((int) pid));
        came.set((int) pid);
      }
      reads.finish();
      assertFalse(reads.isBusy());
      assertEquals(PageReads.CAPACITY, most);
      assertEquals(PAGES, pool.stats().misses());
      Pools.check(pool);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void pageInFlightIsNotReadAgain(boolean ring) {
    try (BlockDevice device = open(ring);
        BufferPool pool = cold(device, 512)) {
      int first = reads.start(pool, pid(5));
      int second = reads.start(pool, pid(5));
      int there = reads.start(pool, 0);
      assertTrue(first != second && second != there && first >= 0 && there >= 0);
      for (int i = 0; i < 3; i++) {
        takeOne();
      }
      assertEquals(-1, reads.take());
      assertEquals(1, pool.stats().misses());
      assertTrue(reads.frame(first) >= 0);
      assertEquals(-1, reads.frame(second));
      reads.finish();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSmallPoolHasASmallWindow(boolean ring) {
    try (BlockDevice device = open(ring);
        BufferPool pool = cold(device, PoolConfig.FRAMES_MIN)) {
      int started = 0;
      while (reads.start(pool, pid(started)) >= 0) {
        started++;
      }
      assertEquals(PoolConfig.FRAMES_MIN / 8, started);
      assertEquals(started, PageReads.limit(pool));
      reads.drive(false);
      reads.finish();
      for (int i = 0; i < started; i++) {
        assertEquals(pid(i), Pools.word(pool, pid(i)));
      }
      assertEquals(started, pool.stats().misses());
    }
  }

  @Test
  void failedReadLeavesNoFrameClaimed() {
    HeldDevice device = new HeldDevice();
    BufferPool pool = cold(device, 512);
    device.readFails = offset -> offset == offset(3);
    int[] slots = new int[8];
    for (int i = 0; i < 8; i++) {
      slots[i] = reads.start(pool, pid(i));
    }
    for (int i = 0; i < 8; i++) {
      takeOne();
    }
    for (int i = 0; i < 8; i++) {
      assertEquals(i != 3, reads.frame(slots[i]) >= 0, "page " + i);
    }
    reads.finish();
    assertThrows(StorageException.class, () -> pool.fixShared(pid(3)));
    device.readFails = offset -> false;
    assertEquals(pid(3), Pools.word(pool, pid(3)));
    Pools.check(pool);
    pool.close();
  }

  /** A file that ends midway: the pages are zeros, which are not a valid page. */
  @Test
  void damageIsDroppedByTheRing() {
    try (BlockDevice device = rings();
        BufferPool pool = cold(device, 512)) {
      device.resize(offset(300));
      int slot = reads.start(pool, pid(400));
      int sound = reads.start(pool, pid(100));
      takeOne();
      takeOne();
      assertEquals(-1, reads.frame(slot));
      assertTrue(reads.frame(sound) >= 0);
      reads.finish();
      assertEquals(1, pool.stats().readFailures());
    }
  }

  /** A late read does not delay an early one. */
  @Test
  void outOfOrder() {
    HeldDevice device = new HeldDevice();
    BufferPool pool = cold(device, 512);
    device.hold(offset -> offset == offset(0));
    int late = reads.start(pool, pid(0));
    int next = 1;
    for (int came = 0; came < 200; ) {
      while (next < PAGES && reads.start(pool, pid(next)) >= 0) {
        next++;
      }
      reads.drive(true);
      for (int slot = reads.take(); slot >= 0; slot = reads.take()) {
        assertTrue(slot != late);
        came++;
      }
    }
    device.release();
    reads.finish();
    assertEquals(pid(0), Pools.word(pool, pid(0)));
    pool.close();
  }

  /**
   * Two threads each wait for a page that the other one's ring is reading, and no longer drive
   * their own ring: the waiting threads complete the reads.
   */
  @Test
  void readsCompleteWhileBorrowersWaitForEachOther() throws Exception {
    try (BlockDevice device = rings();
        BufferPool pool = cold(device, 512)) {
      CountDownLatch begun = new CountDownLatch(2);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      Thread[] threads = new Thread[2];
      for (int t = 0; t < 2; t++) {
        int mine = 100 * t;
        int others = 100 - mine;
        threads[t] =
            Thread.ofPlatform()
                .start(
                    () -> {
                      PageReads own = new PageReads();
                      try {
                        for (int i = 0; i < 16; i++) {
                          assertTrue(own.start(pool, pid(mine + i)) >= 0);
                        }
                        own.drive(false);
                        begun.countDown();
                        begun.await();
                        for (int i = 0; i < 16; i++) {
                          assertEquals(pid(others + i), Pools.word(pool, pid(others + i)));
                        }
                      } catch (Throwable e) {
                        failure.set(e);
                      } finally {
                        own.finish();
                      }
                    });
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(null, failure.get());
      assertEquals(32, pool.stats().misses());
    }
  }

  /** The borrower sleeps and makes no system call: the page still arrives. */
  @Test
  void readsCompleteWhileTheBorrowerIsBusy() throws Exception {
    try (BlockDevice device = rings();
        BufferPool pool = cold(device, 512)) {
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch seen = new CountDownLatch(1);
      Thread borrower =
          Thread.ofPlatform()
              .start(
                  () -> {
                    PageReads own = new PageReads();
                    own.start(pool, pid(7));
                    own.drive(false);
                    begun.countDown();
                    try {
                      seen.await();
                    } catch (InterruptedException e) {
                      throw new AssertionError(e);
                    } finally {
                      own.finish();
                    }
                  });
      begun.await();
      assertEquals(pid(7), Pools.word(pool, pid(7)));
      seen.countDown();
      borrower.join();
    }
  }

  /** More threads than rings, virtual ones among them, compete for too few frames. */
  @Test
  void manyThreads() throws Exception {
    try (BlockDevice device = rings();
        BufferPool pool = cold(device, 128)) {
      AtomicInteger wrong = new AtomicInteger();
      Thread[] threads = new Thread[24];
      for (int t = 0; t < threads.length; t++) {
        int seed = t;
        Runnable work =
            () -> {
              PageReads own = new PageReads();
              java.util.Random random = new java.util.Random(seed);
              for (int turn = 0; turn < 40; turn++) {
                for (int i = 0; i < 40; i++) {
                  own.start(pool, pid(random.nextInt(PAGES)));
                  if (random.nextInt(4) == 0) {
                    own.drive(false);
                    long pid = pid(random.nextInt(PAGES));
                    wrong.addAndGet(Pools.word(pool, pid) == pid ? 0 : 1);
                  }
                  if (random.nextInt(4) == 0) {
                    own.drive(true);
                    own.take();
                  }
                }
                own.finish();
              }
            };
        threads[t] =
            seed % 4 == 0 ? Thread.ofVirtual().start(work) : Thread.ofPlatform().start(work);
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(0, wrong.get());
      Pools.check(pool);
    }
  }

  @Test
  void closedWindowReadsNothing() {
    HeldDevice device = new HeldDevice();
    BufferPool pool = cold(device, 512);
    reads.start(pool, pid(0));
    reads.drive(false);
    reads.finish();
    pool.close();
    assertThrows(DatabaseClosedException.class, () -> reads.start(pool, pid(1)));
    reads.finish();
  }

  /**
   * Reads are started one by one as others complete one by one: all are submitted, however many
   * batches that takes. A latched page that is not in flight would wait for the reading thread,
   * which may wait for it.
   */
  @Test
  void startedReadsAreAllSubmitted() {
    HeldDevice device = new HeldDevice();
    BufferPool pool = cold(device, 512);
    device.forget();
    device.hold(offset -> true);
    reads.start(pool, pid(0));
    for (int i = 1; i < PageReads.CAPACITY; i++) {
      assertTrue(reads.start(pool, pid(i)) >= 0);
      reads.drive(false);
      assertEquals(i + 1, device.batches.stream().mapToInt(n -> n).sum());
    }
    device.release();
    for (int i = 0; i < PageReads.CAPACITY; i++) {
      assertEquals(pid(i), Pools.word(pool, pid(i)));
    }
    reads.finish();
    pool.close();
  }

  /**
   * A started read is submitted even if another page has arrived. Otherwise the page would stay
   * latched and unread until this thread drives the ring again, and before that the thread may wait
   * for the page, or for another thread that waits for it.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void startedReadsAreSubmittedAlthoughAnotherEnded(boolean ring) {
    try (BlockDevice device = open(ring);
        BufferPool pool = cold(device, 512)) {
      assertEquals(pid(0), Pools.word(pool, pid(0)));
      int missing = reads.start(pool, pid(1));
      int there = reads.start(pool, pid(0));
      reads.drive(true);
      // A thread that waits for the page waits only for the device, not until this thread drives
      // the ring again.
      assertEquals(pid(1), Pools.word(pool, pid(1)));
      assertEquals(Set.of(missing, there), Set.of(takeOne(), takeOne()));
      reads.finish();
      assertEquals(2, pool.stats().misses());
    }
  }

  /** Setting up the ring fails: no page was entered, and no thread waits for one. */
  @Test
  void ringSetupFails() {
    HeldDevice device = new HeldDevice();
    BufferPool pool = cold(device, 512);
    device.lending =
        () -> {
          throw new IllegalStateException("a test's");
        };
    assertThrows(IllegalStateException.class, () -> reads.start(pool, pid(0)));
    reads.finish();
    device.lending = () -> {};
    assertTrue(reads.start(pool, pid(0)) >= 0);
    reads.finish();
    Pools.check(pool);
    // Waits for reservations.
    pool.close();
  }

  /** A page that was entered is removed again, however often that happens. */
  @Test
  void readsThatTheDeviceRejectsAreAbandoned() {
    HeldDevice device = new HeldDevice();
    BufferPool pool = cold(device, 512);
    device.submitting =
        () -> {
          throw new IllegalStateException("a test's");
        };
    for (int turn = 0; turn < 100; turn++) {
      reads.start(pool, pid(1));
      reads.start(pool, pid(2));
      assertThrows(IllegalStateException.class, () -> reads.drive(false));
      // And a read that was not submitted yet cannot be rejected.
      reads.start(pool, pid(3));
      reads.start(pool, pid(4));
      reads.finish();
      assertFalse(reads.isBusy());
    }
    device.submitting = () -> {};
    for (int i = 0; i < 5; i++) {
      assertEquals(pid(i), Pools.word(pool, pid(i)));
    }
    Pools.check(pool);
    pool.close();
  }

  /**
   * The borrower is busy elsewhere for as long as closing takes: the closing thread completes its
   * reads.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void closingDoesNotWaitForTheBorrower(boolean ring) {
    try (BlockDevice device = open(ring)) {
      BufferPool pool = cold(device, 512);
      for (int i = 0; i < 16; i++) {
        assertTrue(reads.start(pool, pid(i)) >= 0);
      }
      reads.drive(false);
      pool.close();
      assertThrows(DatabaseClosedException.class, () -> reads.start(pool, pid(20)));
      reads.finish();
    }
  }
}
