package io.fovea.wal;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Threads that wait for the log to become durable beyond a position: change subscribers, for which
 * no other thread waits.
 *
 * <p><b>No lost wake-up.</b> A waiter increments the count (W1, volatile), then checks its
 * condition (W2). The writer stores the durable position (M1, volatile), then reads the count (M2).
 * If W2 misses M1, M2 sees W1 and signals under the lock, which the waiter holds until it waits.
 * Without waiters, this costs each group one load.
 *
 * <p>Any thread, platform or virtual.
 */
final class ChangeSubscribers {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private volatile int waiting;

  /**
   * Waits until a condition holds.
   *
   * @param over the condition
   * @param nanos the timeout
   * @return whether the condition holds
   */
  boolean await(BooleanSupplier over, long nanos) throws InterruptedException {
    if (over.getAsBoolean()) {
      return true;
    }
    lock.lockInterruptibly();
    try {
      waiting++;
      long left = nanos;
      while (!over.getAsBoolean()) {
        if (left <= 0) {
          return false;
        }
        left = changed.awaitNanos(left);
      }
      return true;
    } finally {
      waiting--;
      lock.unlock();
    }
  }

  /** Makes all waiters check their conditions again. */
  void wake() {
    if (waiting > 0) {
      lock.lock();
      try {
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }
}
