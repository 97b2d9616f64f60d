package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The lock of a column. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TimestampTableTest {
  private static final int COLUMN = 1;

  /**
   * The holder sleeps, as for a page of timestamps, and wakes up among virtual threads that wait
   * for him, some of them interrupted: more than there are carriers, so that each yield would take
   * up another of them.
   */
  @Test
  void whoWaitsLetsTheHolderComeBack() throws InterruptedException {
    TimestampTable table = new TimestampTable(4096, 4096, 0);
    try {
      CountDownLatch locked = new CountDownLatch(1);
      CountDownLatch waiting = new CountDownLatch(1);
      AtomicInteger held = new AtomicInteger();
      List<Thread> threads = new ArrayList<>();
      threads.add(
          Thread.startVirtualThread(
              () -> {
                table.lock(COLUMN);
                locked.countDown();
                while (waiting.getCount() > 0) {
                  LockSupport.parkNanos(1_000_000);
                }
                for (int i = 0; i < 20; i++) {
                  LockSupport.parkNanos(1_000_000);
                }
                held.incrementAndGet();
                table.unlock(COLUMN);
              }));
      locked.await();
      AtomicInteger interrupted = new AtomicInteger();
      int waiters = 8 * Runtime.getRuntime().availableProcessors();
      for (int i = 0; i < waiters; i++) {
        int number = i;
        threads.add(
            Thread.startVirtualThread(
                () -> {
                  if (number % 2 == 0) {
                    Thread.currentThread().interrupt();
                  }
                  waiting.countDown();
                  table.lock(COLUMN);
                  held.incrementAndGet();
                  table.unlock(COLUMN);
                  if (Thread.currentThread().isInterrupted()) {
                    interrupted.incrementAndGet();
                  }
                }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(1 + waiters, held.get());
      assertEquals(waiters / 2, interrupted.get(), "the flag is kept");
    } finally {
      table.close();
    }
  }
}
