package io.fovea.wal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The threads and actions that wait for the log to become durable, and the position up to which it
 * is.
 *
 * <pre>
 *   waiter                                     writer
 *   push (lsn, thread)        (A1, CAS)        durable := d                 (B1, volatile)
 *   durable ≥ lsn ?           (A2, volatile)   take all waiters             (B2, get-and-set)
 *   park, look again                           unpark those with lsn ≤ d, push the others back
 * </pre>
 *
 * <p>A1, A2, B1, B2 are sequential: if A2 misses B1, then B2 comes after A1 and finds the waiter.
 * The same pairs with the end of the log in the place of B1. Forbidden: a waiter that parks after
 * the wake-up that was meant for it.
 *
 * <p>A waiter that was pushed back is found by the next group, or by who ends the log. Groups say
 * one after the other that more is durable (B1), and wake at the same time (B2). So whoever has
 * pushed waiters back (C1, CAS) looks whether more is durable by now, or the log has ended (C2): if
 * the B2 of the next group misses C1, its B1 comes before C2. Forbidden: a waiter that is in the
 * hands of one group while the next one, which is meant for it, looks.
 *
 * <p>One pass over the waiters for each group: it costs the writer a wake-up for each commit, which
 * is what there is to do. A waiter does not spin: with more clients than CPUs the group that it
 * waits for needs the CPU itself. A wait allocates one small object, beside a sync of the device.
 *
 * <p>An action in the place of a thread is a waiter that does not park: who pushes it looks at A2,
 * and whoever takes it, by the same pairs, starts it on a virtual thread of its own. So nothing of
 * a user's runs on the thread that writes the log. Both may take it; one of them gets it.
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

    /** Null once the waiter has gone, and with an action. */
    volatile @Nullable Thread thread;

    /** Null once somebody has it, and with a thread. */
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

    /** Where it can't be started, for there is no memory, it stays a waiter. */
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

  /** How often durability was asked for; it may wrap around. */
  private volatile int requests;

  /** Up to where somebody has nothing left to do. It may go back, which costs a moment. */
  private volatile long hurry;

  /** Up to where somebody waits. It may go back, which costs a moment. */
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

  /** How often durability was asked for so far; differences count, for it may wrap around. */
  int requests() {
    return requests;
  }

  /**
   * Asks for durability, for a wait that follows or for somebody who looks again later. A thread
   * that leads or tells the writer does so afterwards.
   *
   * @param lsn up to where
   */
  void request(long lsn) {
    REQUESTS.getAndAdd(this, 1);
    raise(lsn);
  }

  /**
   * Whether somebody wants more than is durable or about to be.
   *
   * @param underWay the end of the groups that are under way
   */
  boolean isWanted(long underWay) {
    return demand > underWay;
  }

  /**
   * A thread that had requested and worked on has nothing left to do: no more are to be gathered.
   *
   * @param lsn up to where
   * @param writer is told
   */
  void hurry(long lsn, LogWriter writer) {
    hurry = lsn;
    writer.flushUrgent();
  }

  /**
   * Whether somebody has nothing left to do before more is durable than is under way.
   *
   * @param underWay the end of the groups that are under way
   */
  boolean isHurried(long underWay) {
    return hurry > underWay;
  }

  /**
   * Whether a thread waits for more than is under way.
   *
   * @param underWay the end of the groups that are under way
   */
  boolean isBlocked(long underWay) {
    return blocked > underWay;
  }

  /**
   * Waits for what was requested.
   *
   * @param lsn up to where
   * @param writer is told, if the group is not under way
   * @return whether it became durable; not so where the log ended before
   */
  boolean await(long lsn, LogWriter writer) {
    return await(lsn, writer, Long.MAX_VALUE);
  }

  /**
   * Waits for what was requested, but not longer than so.
   *
   * @param lsn up to where
   * @param writer is told, if the group is not under way
   * @param nanos how long at most
   * @return whether it became durable; not so where the log ended before, or the time
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
   * Starts an action on a virtual thread when what was requested is durable, or when the log has
   * ended. Does not wait.
   *
   * @param lsn up to where
   * @param action may block
   * @param writer is told, if the group is not under way
   */
  void then(long lsn, Runnable action, LogWriter writer) {
    Waiter waiter = new Waiter(lsn, null, action);
    push(waiter, waiter);
    block(lsn, writer);
    if (durable >= lsn || ended) {
      waiter.start();
    }
  }

  /** Somebody can't go on before more is durable. */
  private void block(long lsn, LogWriter writer) {
    if (lsn > writer.underWay()) {
      blocked = lsn;
      writer.blocked();
    }
  }

  /** The first half of a wait, for tests: whether there is nothing to wait for. */
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

  /** The writer: more is durable. Returns how many were woken. */
  int publish(long lsn) {
    reached(lsn);
    return wake();
  }

  /** A writer, in turn: more is durable (B1). */
  void reached(long lsn) {
    assert lsn >= durable : lsn + " after " + durable;
    durable = lsn;
  }

  /** Nothing becomes durable any more, except for a group that is on its way. */
  void end() {
    ended = true;
    wake();
  }

  /**
   * Wakes those who wait for what is durable (B2). Any thread that said so, when it has not the
   * turn any more: several may be at it at a time. If waking one fails, for there is no stack left,
   * the others are woken all the same.
   *
   * @return how many were woken
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
      // Nobody else knows those that were not looked at.
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
      woken += wake(); // C2: whoever made it so has not found those that were taken here
    }
    return woken;
  }
}
