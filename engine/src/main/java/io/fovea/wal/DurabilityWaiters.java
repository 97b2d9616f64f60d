package io.fovea.wal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The threads and actions that wait for the log to become durable, and the durable position.
 *
 * <pre>
 *   waiter                                     writer
 *   push (lsn, thread)        (A1, CAS)        durable := d                 (B1, volatile)
 *   durable ≥ lsn ?           (A2, volatile)   take all waiters             (B2, get-and-set)
 *   park, check again                          unpark those with lsn ≤ d, push the others back
 * </pre>
 *
 * <p>A1, A2, B1 and B2 are sequentially consistent: if A2 misses B1, B2 comes after A1 and finds
 * the waiter. The end of the log has the same effect as B1. Forbidden: a waiter that parks after
 * the wake-up meant for it.
 *
 * <p>A waiter that was pushed back is found by the next group or by the end of the log. Groups
 * advance the durable position one after the other (B1) but may wake waiters concurrently (B2). So
 * a thread that pushes waiters back (C1, CAS) then checks whether more has become durable or the
 * log has ended (C2): if the B2 of the next group misses C1, its B1 comes before C2. Forbidden: one
 * group has taken a waiter off the list while the next group, which must wake it, scans the list.
 *
 * <p>Each group visits the waiters once. Waiters do not spin: with more clients than CPUs, the
 * group they wait for needs the CPU.
 *
 * <p>An action is a waiter that does not park. The thread that pushes it then performs A2, so by
 * the same argument the action is not missed. Either thread starts it on a separate virtual thread,
 * so no user code runs on the thread that writes the log. An atomic exchange ensures that only one
 * of them starts it.
 *
 * <p>Any thread, platform or virtual. An interrupt does not end a wait; the flag is kept.
 */
final class DurabilityWaiters {
  private static final VarHandle WAITERS;
  private static final VarHandle DEMAND;
  private static final VarHandle REQUESTS;
  private static final VarHandle ACTION;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      WAITERS = lookup.findVarHandle(DurabilityWaiters.class, "waiters", Waiter.class);
      DEMAND = lookup.findVarHandle(DurabilityWaiters.class, "demand", long.class);
      REQUESTS = lookup.findVarHandle(DurabilityWaiters.class, "requests", int.class);
      ACTION = lookup.findVarHandle(Waiter.class, "action", Runnable.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static final class Waiter {
    final long lsn;

    /** The waiting thread; null after the wait, or if the waiter is an action. */
    volatile @Nullable Thread thread;

    /** The action; null once a thread has taken it, or if the waiter is a thread. */
    volatile @Nullable Runnable action;

    @Nullable Waiter next;

    Waiter(long lsn, @Nullable Thread thread, @Nullable Runnable action) {
      this.lsn = lsn;
      this.thread = thread;
      this.action = action;
    }

    boolean isWaiting() {
      return thread != null || action != null;
    }

    void wake() {
      Thread t = thread;
      if (t != null) {
        LockSupport.unpark(t);
      } else {
        start();
      }
    }

    /** Starts the action once. If no thread can be created, the action stays a waiter. */
    void start() {
      Runnable mine = (Runnable) ACTION.getAndSet(this, null);
      if (mine == null) {
        return;
      }
      boolean started = false;
      try {
        Thread.ofVirtual().name("fovea-durable").start(mine);
        started = true;
      } finally {
        if (!started) {
          action = mine;
        }
      }
    }
  }

  private volatile long durable;
  private volatile long demand;

  /** The number of requests for durability; may wrap around. */
  private volatile int requests;

  /** The position that a thread with nothing left to do waits for. A hint: may decrease. */
  private volatile long urgent;

  /** The position that a blocked thread waits for. A hint: may decrease. */
  private volatile long blocked;

  private volatile boolean ended;
  private volatile @Nullable Waiter waiters;

  DurabilityWaiters(long start) {
    durable = start;
    demand = start;
  }

  long durable() {
    return durable;
  }

  /** Returns the number of requests so far. Compare differences only: it may wrap around. */
  int requests() {
    return requests;
  }

  /**
   * Requests durability, before a wait or for a later check. The caller leads or wakes the writer
   * afterwards.
   *
   * @param lsn the position that is to become durable
   */
  void request(long lsn) {
    REQUESTS.getAndAdd(this, 1);
    raise(lsn);
  }

  /**
   * Returns whether durability is requested beyond the groups in flight.
   *
   * @param startedLsn the end of the groups in flight
   */
  boolean isWanted(long startedLsn) {
    return demand > startedLsn;
  }

  /**
   * Notifies the writer to stop gathering: a thread that requested durability and continued has no
   * more work to do.
   *
   * @param lsn the position it needs
   * @param writer the writer to notify
   */
  void requestUrgent(long lsn, LogWriter writer) {
    urgent = lsn;
    writer.flushUrgent();
  }

  /**
   * Returns whether a thread with nothing left to do needs a position beyond the groups in flight.
   *
   * @param startedLsn the end of the groups in flight
   */
  boolean isUrgent(long startedLsn) {
    return urgent > startedLsn;
  }

  /**
   * Returns whether a thread is blocked on a position beyond the groups in flight.
   *
   * @param startedLsn the end of the groups in flight
   */
  boolean isBlocked(long startedLsn) {
    return blocked > startedLsn;
  }

  /**
   * Waits until a requested position is durable.
   *
   * @param lsn the position
   * @param writer notified if no group in flight covers the position
   * @return false if the log ended first
   */
  boolean await(long lsn, LogWriter writer) {
    return await(lsn, writer, Long.MAX_VALUE);
  }

  /**
   * Waits until a requested position is durable, or a timeout passes.
   *
   * @param lsn the position
   * @param writer notified if no group in flight covers the position
   * @param nanos the timeout
   * @return false if the log ended or the timeout passed first
   */
  boolean await(long lsn, LogWriter writer, long nanos) {
    Waiter self = add(lsn);
    block(lsn, writer);
    boolean interrupted = false;
    long began = nanos == Long.MAX_VALUE ? 0 : System.nanoTime();
    while (durable < lsn && !ended) {
      if (nanos == Long.MAX_VALUE) {
        LockSupport.park(this);
      } else {
        long left = nanos - (System.nanoTime() - began);
        if (left <= 0) {
          break;
        }
        LockSupport.parkNanos(this, left);
      }
      interrupted |= Thread.interrupted();
    }
    self.thread = null;
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return durable >= lsn;
  }

  /**
   * Starts an action on a virtual thread once a requested position is durable or the log has ended.
   * Does not wait.
   *
   * @param lsn the position
   * @param action may block
   * @param writer notified if no group in flight covers the position
   */
  void whenDurable(long lsn, Runnable action, LogWriter writer) {
    Waiter waiter = new Waiter(lsn, null, action);
    push(waiter, waiter);
    block(lsn, writer);
    if (durable >= lsn || ended) {
      waiter.start();
    }
  }

  private void block(long lsn, LogWriter writer) {
    if (lsn > writer.startedLsn()) {
      blocked = lsn;
      writer.blocked();
    }
  }

  /** The first half of a wait, for tests. Returns whether there is nothing to wait for. */
  boolean register(long lsn) {
    add(lsn);
    return durable >= lsn;
  }

  private Waiter add(long lsn) {
    Waiter waiter = new Waiter(lsn, Thread.currentThread(), null);
    push(waiter, waiter);
    return waiter;
  }

  private void raise(long lsn) {
    long seen = demand;
    while (seen < lsn && !DEMAND.compareAndSet(this, seen, lsn)) {
      seen = demand;
    }
  }

  private void push(Waiter first, Waiter last) {
    Waiter head;
    do {
      head = waiters;
      last.next = head;
    } while (!WAITERS.compareAndSet(this, head, first));
  }

  /** Called by the writer: publishes a durable position. Returns the number of waiters woken. */
  int publish(long lsn) {
    reached(lsn);
    return wake();
  }

  /** Called by a writer that holds the writer lock: advances the durable position (B1). */
  void reached(long lsn) {
    assert lsn >= durable : lsn + " after " + durable;
    durable = lsn;
  }

  /** Ends the log: nothing more becomes durable, except for groups in flight. */
  void end() {
    ended = true;
    wake();
  }

  /**
   * Wakes those whose positions are durable (B2). Called without the write lock; several threads
   * may do so concurrently. If waking one waiter fails because the stack is exhausted, the others
   * are still woken.
   *
   * @return the number of waiters woken
   */
  int wake() {
    int woken = 0;
    boolean done = false;
    try {
      woken = wakeSome();
      done = true;
    } finally {
      if (!done) {
        wakeSome();
      }
    }
    return woken;
  }

  private int wakeSome() {
    int woken = 0;
    long lsn = durable;
    Waiter waiter = (Waiter) WAITERS.getAndSet(this, null);
    Waiter first = null;
    Waiter last = null;
    try {
      while (waiter != null) {
        Waiter next = waiter.next;
        if (waiter.isWaiting()) {
          if (waiter.lsn <= lsn || ended) {
            waiter.wake();
            woken++;
          } else {
            waiter.next = first;
            first = waiter;
            last = last == null ? waiter : last;
          }
        }
        waiter = next;
      }
    } finally {
      // Push back those that were not visited: they are on no list.
      while (waiter != null) {
        Waiter next = waiter.next;
        waiter.next = first;
        first = waiter;
        last = last == null ? waiter : last;
        waiter = next;
      }
      if (first != null && last != null) {
        push(first, last);
      }
    }
    if (first != null && (ended || durable > lsn)) {
      woken += wake(); // C2: the thread that made this true missed the waiters taken here
    }
    return woken;
  }
}
