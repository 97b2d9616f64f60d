package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Those who wait sleep for ten minutes here, so that a wake-up that is lost is noticed. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FrameWaitsTest {
  private static final long TEN_MINUTES = 600_000_000_000L;

  private final FrameWaits waits = new FrameWaits(TEN_MINUTES);

  /** Frames that are made one by one and taken by threads that wait: none is overlooked. */
  @Test
  void nobodySleepsBesideAFrame() throws Exception {
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
    waits.enter();
    try {
      while (there.getAndUpdate(n -> Math.max(0, n - 1)) == 0) {
        waits.await();
      }
    } finally {
      waits.leave();
    }
  }

  /** An interrupt ends no wait, and is kept. */
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
                  quick.enter();
                  while (there.get() == 0) {
                    seen.incrementAndGet();
                    quick.await();
                  }
                  quick.leave();
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
}
