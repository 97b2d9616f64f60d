package io.fovea.txn;

import io.fovea.memory.Waits;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Update locks: a transaction that reads a record in order to change it takes the record's update
 * lock first, and others that do so wait for its end. So they read its result, instead of reading
 * the same version and aborting.
 *
 * <pre>
 *   begin ─► lock(item) ─► read ─► ... body ... ─► commit or rollback ─► release
 *               └── waits while another transaction holds the lock
 * </pre>
 *
 * <p><b>Advisory.</b> No other operation checks these locks, and every commit validates. So a lock
 * may be one of few, chosen by the item's hash, and a wait may end without it:
 *
 * <ul>
 *   <li><i>No deadlock.</i> Transactions wait for locks in ascending order. A transaction that
 *       wants a lower lock than one it holds, and finds it taken, continues without it.
 *   <li><i>No transaction waits for its own thread</i>, which may have begun another.
 *   <li><i>No long wait.</i> After {@link #timeoutNanos} the holder is assumed to be idle.
 * </ul>
 *
 * <p>A waiting transaction holds no latch and does not hold back the redo point. The pessimistic
 * transaction ({@link Reservations}) takes no update lock.
 *
 * <p><b>Waiting.</b> A transaction spins, because most bodies are short, and then sleeps in a
 * queue. A release wakes the first sleeper without handing the lock over, so that a running thread
 * may take it and short bodies don't pay for the wake-up. Once a sleeper has waited for {@link
 * #URGENT_NANOS}, only the first one takes the lock.
 *
 * <p><b>No lost wake-up.</b> A sleeper enters the queue and then reads the owner; a release clears
 * the owner and then reads the queue; all four are volatile. A sleeper that leaves without the lock
 * checks again, and wakes the next one.
 *
 * <p>Thread-safe; {@link Held} belongs to its transaction's thread.
 */
final class UpdateLocks {
  private static final int LOCKS = 1 << 9;
  private static final int SPINS = 64;
  private static final int YIELDS = SPINS + 32;
  private static final long URGENT_NANOS = 1_000_000;

  private static final long SLEEP_NANOS = 1_000_000;

  /** The longest wait for a lock. Set by a test. */
  volatile long timeoutNanos = 1_000_000_000L;

  /** Created on demand: most databases, and all snapshots, never need them. */
  private final AtomicReference<Lock @Nullable []> made = new AtomicReference<>();

  private Lock[] locks() {
    Lock[] locks = made.get();
    if (locks == null) {
      Lock[] mine = new Lock[LOCKS];
      Arrays.setAll(mine, i -> new Lock());
      Lock[] before = made.compareAndExchange(null, mine);
      locks = before == null ? mine : before;
    }
    return locks;
  }

  int held() {
    return (int) Arrays.stream(locks()).filter(lock -> lock.get() != null).count();
  }

  int sleeping() {
    return Arrays.stream(locks()).mapToInt(lock -> lock.sleepers.size()).sum();
  }

  /** Its value is the thread of the holder, or null. */
  private static final class Lock extends AtomicReference<Thread> {
    private static final long serialVersionUID = 1L;

    final transient Queue<Thread> sleepers = new ConcurrentLinkedQueue<>();

    /** The number of sleepers after whose long wait only the first one may take the lock. */
    final AtomicInteger urgent = new AtomicInteger();

    boolean tryTake(Thread self) {
      return (urgent.get() == 0 || sleepers.peek() == self) && compareAndSet(null, self);
    }

    void release() {
      set(null);
      wakeFirst();
    }

    void wakeFirst() {
      Thread first = sleepers.peek();
      if (first != null) {
        LockSupport.unpark(first);
      }
    }

    /** Waits for the lock, in the queue if {@code sleeps}; returns whether the thread holds it. */
    boolean await(Thread self, boolean sleeps, long patienceNanos) {
      for (int attempt = 0; attempt < YIELDS; attempt++) {
        if (get() == self) {
          return false;
        }
        if (tryTake(self)) {
          return true;
        }
        if (attempt < SPINS) {
          Thread.onSpinWait();
        } else {
          Waits.yieldThread();
        }
      }
      return sleeps && sleep(self, patienceNanos);
    }

    private boolean sleep(Thread self, long patienceNanos) {
      long since = System.nanoTime();
      boolean isUrgent = false;
      boolean taken = false;
      sleepers.add(self);
      try {
        while (true) {
          taken = tryTake(self);
          long waited = System.nanoTime() - since;
          if (taken || waited > patienceNanos) {
            return taken;
          }
          if (!isUrgent && waited > URGENT_NANOS) {
            urgent.incrementAndGet();
            isUrgent = true;
          }
          Waits.sleep(SLEEP_NANOS);
        }
      } finally {
        sleepers.remove(self);
        if (isUrgent) {
          urgent.decrementAndGet();
        }
        if (!taken && get() == null) {
          wakeFirst();
        }
      }
    }
  }

  static final class Held {
    private final UpdateLocks all;

    private int[] held = new int[4];

    private int size;

    Held(UpdateLocks all) {
      this.all = all;
    }

    void lock(long item) {
      int n = (int) (item * TimestampTable.SPREAD >>> 32) & LOCKS - 1;
      boolean ascends = true;
      for (int i = 0; i < size; i++) {
        if (held[i] == n) {
          return;
        }
        ascends &= held[i] < n;
      }
      if (size == held.length) {
        held = Arrays.copyOf(held, 2 * size); // before the lock, because it may fail
      }
      Lock lock = all.locks()[n];
      Thread self = Thread.currentThread();
      if (lock.tryTake(self) || lock.await(self, ascends, all.timeoutNanos)) {
        held[size++] = n; // nothing can fail between the lock and this
      }
    }

    void release() {
      while (size > 0) {
        all.locks()[held[--size]].release();
      }
    }
  }
}
