package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.StorageFullException;
import io.fovea.io.MemoryDevice;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Reserved pages can be allocated, however full the file is and whatever other threads request. */
@Timeout(120)
class PageReservationsTest {
  private static final int PAGES = 300;
  private static final int PROMISERS = 3;
  private static final int ROBBERS = 2;
  private static final int ROUNDS = 1_500;

  private static BufferPool pool(int pages) {
    return Pools.open(new MemoryDevice("test", 4096, pages * 4096L));
  }

  private static long allocate(BufferPool pool, LogSession log) {
    int frame = pool.allocate(1, PageHeader.LEAF, log);
    long pid = pool.pid(frame);
    pool.releaseExclusive(frame);
    return pid;
  }

  private static void run(List<Thread> threads, Queue<Throwable> failed) throws Exception {
    for (Thread thread : threads) {
      thread.setUncaughtExceptionHandler((t, e) -> failed.add(e));
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (!failed.isEmpty()) {
      throw new AssertionError(failed.peek());
    }
  }

  @Test
  void reservationIsHonored() throws Exception {
    BufferPool pool = pool(PAGES);
    LongAdder refused = new LongAdder();
    LongAdder kept = new LongAdder();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < PROMISERS + ROBBERS; i++) {
      SplittableRandom random = new SplittableRandom(i);
      boolean promises = i < PROMISERS;
      threads.add(
          Thread.ofPlatform()
              .unstarted(
                  () -> {
                    LogSession log = LogSession.unlogged();
                    List<Long> mine = new ArrayList<>();
                    for (int round = 0; round < ROUNDS; round++) {
                      int n = 1 + random.nextInt(promises ? 60 : 5);
                      try {
                        if (promises) {
                          pool.pageReservations().reserve(log, n);
                        }
                      } catch (StorageFullException e) {
                        refused.increment();
                        n = 0;
                      }
                      use(pool, log, mine, random, n, promises, kept);
                      while (mine.size() > random.nextInt(80)) {
                        pool.free(pool.fixExclusive(mine.removeLast()), log);
                      }
                      if (promises) {
                        pool.pageReservations().release(log, random.nextInt(20));
                      }
                    }
                    pool.pageReservations().release(log, 0);
                    mine.forEach(pid -> pool.free(pool.fixExclusive(pid), log));
                  }));
    }
    run(threads, new ConcurrentLinkedQueue<>());
    assertTrue(refused.sum() > 0, "the file was never full");
    assertTrue(kept.sum() > 0, "nothing was taken");
    // All reservations have ended: everything can be allocated without one.
    Set<Long> all = new HashSet<>();
    assertThrows(
        StorageFullException.class,
        () -> {
          while (true) {
            assertTrue(all.add(allocate(pool, LogSession.NONE)));
          }
        });
    assertEquals(PAGES - AllocatorState.FIRST_PID, all.size());
    pool.abandon();
  }

  /** Takes reserved pages, or unreserved ones; sometimes returns one immediately. */
  private static void use(
      BufferPool pool,
      LogSession log,
      List<Long> mine,
      SplittableRandom random,
      int n,
      boolean promised,
      LongAdder kept) {
    try {
      for (int taken = 0; taken < n; ) {
        int frame = pool.allocate(1, PageHeader.LEAF, log);
        if (promised && random.nextInt(4) == 0) {
          pool.returnUnused(frame, log);
          if (random.nextInt(4) == 0) {
            taken++;
          }
          continue;
        }
        mine.add(pool.pid(frame));
        pool.releaseExclusive(frame);
        taken++;
        kept.increment();
      }
    } catch (StorageFullException e) {
      if (promised) {
        throw new AssertionError("a reservation of " + n + " pages was not honored", e);
      }
    }
  }

  /** No page is reserved twice, whether it is free or was never used. */
  @Test
  void reservationsAddUp() {
    BufferPool pool = pool(100);
    int room = 100 - (int) AllocatorState.FIRST_PID;
    List<Long> used = new ArrayList<>();
    LogSession none = LogSession.NONE;
    for (int i = 0; i < room; i++) {
      used.add(allocate(pool, none));
    }
    for (int i = 0; i < 30; i++) {
      pool.free(pool.fixExclusive(used.removeLast()), none);
    }
    LogSession a = LogSession.unlogged();
    LogSession b = LogSession.unlogged();
    pool.pageReservations().reserve(a, 20);
    pool.pageReservations().reserve(a, 10); // its pages count as reserved
    assertThrows(StorageFullException.class, () -> pool.pageReservations().reserve(b, 11));
    pool.pageReservations().reserve(b, 10);
    assertThrows(StorageFullException.class, () -> allocate(pool, none));
    pool.pageReservations().release(a, 0);
    for (int i = 0; i < 20; i++) {
      allocate(pool, none);
    }
    assertThrows(StorageFullException.class, () -> allocate(pool, none));
    for (int i = 0; i < 10; i++) {
      allocate(pool, b);
    }
    assertThrows(StorageFullException.class, () -> allocate(pool, b));
    pool.abandon();
  }
}
