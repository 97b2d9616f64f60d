package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Waiters sleep for up to ten minutes here, so that a lost wake-up is noticed. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FrameWaitsTest {
  private static final long TEN_MINUTES = 600_000_000_000L;

  private final FrameWaits waits = new FrameWaits(TEN_MINUTES);

  /** Frames become ready one by one while waiting threads take them: none is missed. */
  @Test
  void noThreadSleepsWhileAFrameIsReady() throws Exception {
    int each = 2_000;
    AtomicInteger there = new AtomicInteger();
    AtomicInteger taken = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      Runnable miss =
          () -> {
            for (int i = 0; i < each; i++) {
              take(there);
              taken.incrementAndGet();
            }
          };
      threads.add(t == 0 ? Thread.ofVirtual().start(miss) : Thread.ofPlatform().start(miss));
    }
    for (int made = 0; made < 4 * each; made++) {
      there.incrementAndGet();
      waits.wake(1);
      while (there.get() > 2) {
        Thread.onSpinWait();
      }
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(4 * each, taken.get());
    assertEquals(0, there.get());
  }

  private void take(AtomicInteger there) {
    FrameWaits.Waiter waiter = waits.enter();
    try {
      while (there.getAndUpdate(n -> Math.max(0, n - 1)) == 0) {
        waits.await(waiter);
      }
    } finally {
      waits.leave(waiter);
    }
  }

  /** An interrupt does not end a wait, and its flag is preserved. */
  @Test
  void interruptedThreadsWaitToo() throws Exception {
    AtomicInteger there = new AtomicInteger();
    AtomicInteger seen = new AtomicInteger();
    FrameWaits quick = new FrameWaits(1_000_000);
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  Thread.currentThread().interrupt();
                  FrameWaits.Waiter waiter = quick.enter();
                  while (there.get() == 0) {
                    seen.incrementAndGet();
                    quick.await(waiter);
                  }
                  quick.leave(waiter);
                  there.set(Thread.currentThread().isInterrupted() ? 2 : 3);
                });
    while (seen.get() < 3) {
      Thread.onSpinWait();
    }
    there.set(1);
    quick.wake(1);
    thread.join();
    assertEquals(2, there.get());
  }

  /**
   * A thread that is woken while it is not parked keeps no permit, which would make its next park
   * return immediately.
   */
  @Test
  void noPermitIsLeft() throws Exception {
    FrameWaits quick = new FrameWaits(50_000);
    AtomicBoolean stop = new AtomicBoolean();
    Thread writer =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!stop.get()) {
                    quick.wake(1);
                    Thread.yield();
                  }
                });
    try {
      int early = 0;
      for (int i = 0; i < 200; i++) {
        FrameWaits.Waiter waiter = quick.enter();
        for (int looks = i % 4; looks > 0; looks--) {
          quick.await(waiter);
        }
        if (i % 3 == 0) {
          quick.wake(1);
        }
        quick.leave(waiter);
        long begin = System.nanoTime();
        LockSupport.parkNanos(1_000_000);
        early += System.nanoTime() - begin < 500_000 ? 1 : 0;
      }
      // Some may have woken spuriously.
      assertTrue(early <= 10, early + " of 200 sleeps ended at once");
    } finally {
      stop.set(true);
      writer.join();
    }
  }

  /** A wake-up goes to a parked thread, not to one that was woken and has yet to retry. */
  @Test
  void wakeUpGoesToAParkedThread() throws Exception {
    FrameWaits.Waiter first = waits.enter();
    waits.wake(1);
    AtomicBoolean woken = new AtomicBoolean();
    AtomicBoolean entered = new AtomicBoolean();
    Thread second =
        Thread.ofPlatform()
            .start(
                () -> {
                  FrameWaits.Waiter waiter = waits.enter();
                  entered.set(true);
                  waits.await(waiter);
                  waits.leave(waiter);
                  woken.set(true);
                });
    while (!entered.get()) {
      Thread.onSpinWait();
    }
    waits.wake(1);
    second.join();
    assertTrue(woken.get());
    waits.await(first); // without waiting
    waits.leave(first);
  }
}
