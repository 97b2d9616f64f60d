package io.fovea.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Leaked objects are reported once, closed ones never; neither is retained afterwards. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LeakRegistryTest {
  private static final int THREADS = 4;
  private static final int ROUNDS = 5_000;

  /**
   * More than the number of slots in a row, so that threads share rows and use the overflow set.
   */
  private static final int OPEN_MAX = 80;

  private static final class Counted extends LeakRegistry.Watch {
    final AtomicInteger told = new AtomicInteger();
    final @Nullable RuntimeException throwing;

    Counted(Object watched, @Nullable RuntimeException throwing) {
      super(watched);
      this.throwing = throwing;
    }

    @Override
    void leaked() {
      told.incrementAndGet();
      if (throwing != null) {
        throw throwing;
      }
    }
  }

  /** The user's object; the registry must not keep it reachable. */
  private record Open(Object thing, Counted watch) {
    static Open one() {
      Object thing = new Object();
      Counted watch = new Counted(thing, null);
      LeakRegistry.hold(watch);
      return new Open(thing, watch);
    }
  }

  private static void await(BooleanSupplier condition) {
    for (int i = 0; i < 1_000 && !condition.getAsBoolean(); i++) {
      System.gc();
      LockSupport.parkNanos(5_000_000);
    }
    assertTrue(condition.getAsBoolean());
  }

  @Test
  void eachIsClosedOrReportedOnceByManyThreads() throws InterruptedException {
    ConcurrentLinkedQueue<Counted> closed = new ConcurrentLinkedQueue<>();
    ConcurrentLinkedQueue<Counted> leaked = new ConcurrentLinkedQueue<>();
    ConcurrentLinkedQueue<Open> left = new ConcurrentLinkedQueue<>();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < THREADS; t++) {
      int seed = t;
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    SplittableRandom random = new SplittableRandom(seed);
                    List<Open> open = new ArrayList<>();
                    for (int i = 0; i < ROUNDS; i++) {
                      if (open.size() < OPEN_MAX && random.nextInt(5) > 1) {
                        open.add(Open.one());
                      } else if (!open.isEmpty()) {
                        Open one = open.remove(random.nextInt(open.size()));
                        if (random.nextInt(20) == 0) {
                          leaked.add(one.watch);
                        } else {
                          one.watch.run();
                          one.watch.run(); // no effect
                          closed.add(one.watch);
                        }
                      }
                    }
                    left.addAll(open);
                  }));
    }
    for (Thread t : threads) {
      t.join();
    }
    assertTrue(leaked.size() > THREADS * ROUNDS / 100, leaked.size() + " reported as leaked");
    await(() -> leaked.stream().allMatch(w -> w.told.get() > 0));
    System.gc();
    for (Counted w : leaked) {
      assertEquals(1, w.told.get());
      assertFalse(LeakRegistry.holds(w));
    }
    for (Open one : left) {
      assertTrue(LeakRegistry.holds(one.watch));
      one.watch.run();
      closed.add(one.watch);
    }
    for (Counted w : closed) {
      assertEquals(0, w.told.get());
      assertFalse(LeakRegistry.holds(w));
    }
  }

  /** An entry that finds no slot in its row is held elsewhere, and removed there. */
  @Test
  void moreEntriesThanARowHolds() {
    List<Open> open = new ArrayList<>();
    for (int i = 0; i < 5 * OPEN_MAX; i++) {
      open.add(Open.one());
    }
    open.forEach(one -> assertTrue(LeakRegistry.holds(one.watch)));
    List<Counted> leaked = new ArrayList<>();
    for (int i = 0; i < OPEN_MAX; i++) {
      leaked.add(open.remove(i * 3).watch);
    }
    await(() -> leaked.stream().allMatch(w -> w.told.get() == 1));
    for (Open one : open) {
      assertTrue(LeakRegistry.holds(one.watch));
      one.watch.run();
      assertFalse(LeakRegistry.holds(one.watch));
      assertEquals(0, one.watch.told.get());
    }
  }

  /** The thread survives exceptions of callbacks. */
  @Test
  void aFailingCallbackDoesNotStopTheThread() {
    Counted failing = new Counted(new Object(), new IllegalStateException("a test's"));
    LeakRegistry.hold(failing);
    await(() -> failing.told.get() == 1);
    Counted next = new Counted(new Object(), null);
    LeakRegistry.hold(next);
    await(() -> next.told.get() == 1);
    assertEquals(1, failing.told.get());
  }
}
