package io.fovea.wal;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Threads that wait for more of the log to become durable than there is yet: those that follow it,
 * and that nobody else waits for.
 *
 * <p><b>No lost wake-up.</b> A waiter counts itself (W1, volatile), then looks (W2). The writer
 * stores how far the log is durable (M1, volatile), then looks at the count (M2). If W2 misses M1,
 * then M2 sees W1, and signals under the lock, which the waiter holds until it waits. Without
 * waiters a group costs one load.
 *
 * <p>Any thread, platform or virtual.
 */
final class ChangeSubscribers {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private volatile int waiting;

  /**
   * Waits.
   *
   * @param over whether to wait no longer
   * @param nanos how long at most
   * @return whether it is over
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

  /** Those who wait look again. */
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
