package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.wal.LogSession;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Threads that take pages from the free list concurrently. */
@Timeout(120)
class FreeListTest {
  private static final int OTHERS = 200;

  private static long allocate(BufferPool pool) {
    int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
    long pid = pool.pid(frame);
    pool.releaseExclusive(frame);
    return pid;
  }

  /**
   * A thread that took the head keeps it latched for as long as a split takes. Two threads want it
   * while it is read from the device; then one gets it, and keeps it until the other also has a
   * page.
   */
  @Test
  void noThreadWaitsForAPageThatAnotherHasTaken() throws Exception {
    TestDevice device = new TestDevice();
    BufferPool pool = Pools.open(device);
    long[] others = new long[OTHERS];
    for (int i = 0; i < OTHERS; i++) {
      others[i] = allocate(pool);
    }
    long second = allocate(pool);
    long head = allocate(pool);
    pool.free(pool.fixExclusive(second), LogSession.NONE);
    pool.free(pool.fixExclusive(head), LogSession.NONE);
    pool.flushAll();
    Pools.evict(pool, head, others);
    CountDownLatch reading = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    device.beforeRead =
        () -> {
          reading.countDown();
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    CountDownLatch both = new CountDownLatch(2);
    AtomicLong late = new AtomicLong();
    AtomicLong[] got = {new AtomicLong(), new AtomicLong()};
    Thread[] threads = new Thread[2];
    for (int i = 0; i < 2; i++) {
      int n = i;
      threads[i] =
          new Thread(
              () -> {
                int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
                got[n].set(pool.pid(frame));
                both.countDown();
                try {
                  if (!both.await(20, TimeUnit.SECONDS)) {
                    late.incrementAndGet();
                  }
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                }
                pool.releaseExclusive(frame);
              });
    }
    threads[0].start();
    reading.await();
    threads[1].start();
    // It parks only while waiting for the page that is being read.
    Pools.await(
        "the second thread waits", () -> threads[1].getState() == Thread.State.TIMED_WAITING);
    go.countDown();
    for (Thread t : threads) {
      t.join();
    }
    assertEquals(0, late.get(), "one thread waited for the page of the other");
    assertNotEquals(got[0].get(), got[1].get());
    assertTrue(got[0].get() == head || got[1].get() == head);
    assertTrue(got[0].get() == second || got[1].get() == second);
    pool.abandon();
  }

  /**
   * A page id is allocated before its page is created, and a walk by page ids encounters it: the
   * file has zeros there. These are not damage. Nor are they entered as a page, because that would
   * hide a page that the device has lost from later readers.
   */
  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void pagesJustAllocatedAreNoDamage(Translation translation) {
    long end = AllocatorState.FIRST_PID + 20;
    TestDevice device = new TestDevice();
    device.resize(end * 4096);
    BufferPool pool = Pools.open(device, translation, new AllocatorState(end, 0, 0));
    pool.checkpoint()
        .space()
        .longValues(
            AllocatorState.FIRST_PID, tree -> fail("a long value of tree " + tree), () -> false);
    for (long pid = AllocatorState.FIRST_PID; pid < end; pid++) {
      assertTrue(pool.resident(pid) < 0, "page " + pid + " was created from zeros");
      long lost = pid;
      assertThrows(CorruptionException.class, () -> pool.fixShared(lost));
    }
    pool.abandon();
  }

  /**
   * A thread reads the head of the free list, finds that another page has become the head, and
   * releases the page unchanged. The frame had another page before: a thread that has copied that
   * one must not find its version valid.
   */
  @ParameterizedTest
  // DIRECT evicts nothing.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void theHeadThatIsNotTakenHasAnotherVersionThanThePageBeforeIt(Translation translation)
      throws Exception {
    TestDevice device = new TestDevice();
    BufferPool pool = Pools.open(device, translation, AllocatorState.EMPTY);
    long[] others = new long[OTHERS];
    for (int i = 0; i < OTHERS; i++) {
      others[i] = allocate(pool);
    }
    long later = allocate(pool);
    long head = allocate(pool);
    pool.free(pool.fixExclusive(head), LogSession.NONE);
    pool.flushAll();
    Pools.evict(pool, head, others);
    int freed = pool.fixExclusive(later);
    CountDownLatch reading = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    FrameVersions versions = new FrameVersions(pool);
    versions.inspect();
    device.beforeRead =
        () -> {
          reading.countDown();
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    AtomicLong got = new AtomicLong();
    Thread taker = new Thread(() -> got.set(allocate(pool)));
    taker.start();
    reading.await();
    pool.free(freed, LogSession.NONE);
    go.countDown();
    taker.join();
    assertEquals(later, got.get());
    assertTrue(pool.resident(head) >= 0, "the head is in no frame");
    versions.inspect();
    pool.abandon();
  }

  /** The same for every page that enters a frame, by any path, and is not changed there. */
  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void aFrameThatGetsAnotherPageGetsAnotherVersion(Translation translation) {
    TestDevice device = new TestDevice();
    BufferPool pool = Pools.open(device, translation, AllocatorState.EMPTY);
    long[] pids = new long[OTHERS];
    for (int i = 0; i < OTHERS; i++) {
      pids[i] = allocate(pool);
    }
    pool.flushAll();
    FrameVersions versions = new FrameVersions(pool);
    SplittableRandom random = new SplittableRandom(translation.ordinal());
    PageGroup group = new PageGroup();
    for (int i = 0; i < 2_000; i++) {
      long pid = pids[random.nextInt(OTHERS)];
      switch (random.nextInt(6)) {
        case 0 -> pool.releaseExclusiveUnchanged(pool.fixExclusive(pid));
        case 1 -> pool.releaseShared(pool.fixShared(pid));
        case 2 -> pool.findSlow(pid);
        case 3 -> pool.findQuietly(pid);
        case 4 -> {
          group.clear();
          group.add(pid);
          group.add(pids[random.nextInt(OTHERS)]);
          pool.begin(group, random.nextBoolean());
          group.await();
        }
        default -> {
          int frame = pool.recovery().fixForImage(pid);
          pool.releaseExclusiveUnchanged(frame);
        }
      }
      versions.inspect();
    }
    pool.abandon();
  }

  /** Each translation, with a page id allocated by raising the high-water mark or a fixed one. */
  static Stream<Arguments> kindsOfNewPages() {
    return Stream.of(Translation.values())
        .flatMap(t -> Stream.of(true, false).map(fixed -> Arguments.of(t, fixed)));
  }

  /**
   * A page is allocated while a reader with an outdated reference holds its frame, because the page
   * was truncated before. The allocating thread, whose page id is in no list, waits past the
   * deadline of its operation. It gets the page, and nothing is lost.
   */
  @ParameterizedTest
  @MethodSource("kindsOfNewPages")
  void deadlineDoesNotInterruptAnAllocation(Translation translation, boolean fixed)
      throws Exception {
    TestDevice device = new TestDevice();
    BufferPool pool = Pools.open(device, translation, AllocatorState.EMPTY);
    long[] pids = new long[40];
    for (int i = 0; i < pids.length; i++) {
      pids[i] = allocate(pool);
    }
    for (int i = 30; i < pids.length; i++) {
      pool.free(pool.fixExclusive(pids[i]), LogSession.NONE);
    }
    assertEquals(10, pool.checkpoint().space().cutAll(LogSession.NONE, () -> false));
    long mark = pool.allocatorState().highWater();
    assertEquals(pids[30], mark);
    long pid = fixed ? pids[0] : mark;
    int held = pool.fixShared(pid);
    long free = pool.frames.residency.free();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread taker =
        new Thread(
            () -> {
              try {
                int frame =
                    fixed
                        ? pool.allocateAt(pid, 1, PageHeader.LEAF, LogSession.NONE)
                        : pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
                assertEquals(pid, pool.pid(frame));
                pool.releaseExclusive(frame);
              } catch (Throwable e) {
                failure.set(e);
              }
            });
    pool.frames.poolStop.setWaitCheck(
        () -> {
          throw new IllegalStateException("its deadline has passed");
        });
    taker.start();
    Pools.await(
        "it has waited for a long time", () -> device.looks.get() >= 200 || !taker.isAlive());
    pool.frames.poolStop.setWaitCheck(() -> {});
    pool.releaseShared(held);
    taker.join();
    assertNull(failure.get(), () -> "the page was lost: " + failure.get());
    assertEquals(free, pool.frames.residency.free());
    assertEquals(mark + (fixed ? 0 : 1), pool.allocatorState().highWater());
    Pools.check(pool);
    pool.abandon();
  }
}
