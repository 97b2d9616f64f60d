package io.fovea.support;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Tests that a parked lock holder resumes among virtual threads that wait for the lock, some of
 * which are interrupted. There are more waiters than carriers, so the scheduler could always resume
 * another waiter first. A wait that starves the holder fails by the test's timeout.
 */
public final class LockHolderProgress {
  private static final int SLEEPS = 20;
  private static final long SLEEP_NANOS = 1_000_000;

  private LockHolderProgress() {}

  /**
   * Lets all threads acquire the lock once.
   *
   * @param lock acquires the lock, waiting if necessary
   * @param unlock releases it, on the same thread
   */
  public static void check(Runnable lock, Runnable unlock) throws InterruptedException {
    CountDownLatch locked = new CountDownLatch(1);
    CountDownLatch waiting = new CountDownLatch(1);
    AtomicInteger held = new AtomicInteger();
    AtomicInteger interrupted = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    threads.add(
        Thread.startVirtualThread(
            () -> {
              lock.run();
              locked.countDown();
              while (waiting.getCount() > 0) {
                LockSupport.parkNanos(SLEEP_NANOS);
              }
              for (int i = 0; i < SLEEPS; i++) {
                LockSupport.parkNanos(SLEEP_NANOS);
              }
              held.incrementAndGet();
              unlock.run();
            }));
    locked.await();
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
                lock.run();
                held.incrementAndGet();
                unlock.run();
                if (Thread.currentThread().isInterrupted()) {
                  interrupted.incrementAndGet();
                }
              }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(1 + waiters, held.get());
    assertEquals(waiters / 2, interrupted.get(), "the interrupt flag is preserved");
  }
}
