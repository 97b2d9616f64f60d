package io.fovea.txn;

import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Hash;
import io.fovea.memory.Waits;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Admits transactions to a bounded number of contexts. Threads without a context queue fairly.
 *
 * <pre>
 *   begin:  no waiter and a free context ──► claim it                  the common case: two checks
 *           otherwise  queue ──► check again ──► park ──► woken with a context
 *   end:    a waiter? ──► hand the context to the first                it is never free in between
 *           otherwise  free it ──► check again for waiters
 * </pre>
 *
 * <b>No lost wake-up.</b> A waiter raises {@code waiting} and then checks the contexts; an ending
 * transaction frees its context and then checks {@code waiting}. A beginning transaction claims a
 * context and then checks {@code closed}; a closer sets {@code closed} and then checks the
 * contexts. All accesses are volatile, so one of each pair sees the other.
 *
 * <p><b>The guard</b> is the waiter that parks for at most {@link #CHECK_NANOS} and then wakes all
 * waiters whose time is up; the others park without a limit, because timers are expensive. Any
 * arriving or woken waiter becomes the guard if there is none, and any leaving waiter that finds
 * none wakes the first in the queue. So a waiter that parked while there was a guard is not left
 * without one: it queued before it saw the guard, so the leaving guard finds a waiter to wake.
 */
final class Admission {
  private static final VarHandle HANDED_OVER;

  static {
    try {
      HANDED_OVER = MethodHandles.lookup().findVarHandle(Waiter.class, "handedOver", Object.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** How long the guard parks before it checks the deadlines of all waiters. */
  private static final long CHECK_NANOS = 100_000_000L;

  private static final Object LEFT = new Object();

  private static final class Waiter {
    final Thread thread = Thread.currentThread();

    /** A {@link System#nanoTime} value; meaningful only if {@code limited}. */
    final long deadline;

    final boolean limited;

    Waiter(long began, long timeoutNanos) {
      this.deadline = began + timeoutNanos;
      this.limited = timeoutNanos > 0;
    }

    /** Initially null; the thread that hands over a context sets it, or the waiter sets LEFT. */
    @SuppressWarnings("unused") // set through HANDED_OVER
    volatile @Nullable Object handedOver;

    boolean handOver(Object what) {
      return HANDED_OVER.compareAndSet(this, null, what);
    }
  }

  private final EngineHealth health;
  private final Tx[] contexts;
  private final ConcurrentLinkedQueue<Waiter> queue = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicReference<@Nullable Waiter> guard = new AtomicReference<>();
  private volatile boolean closed;

  Admission(EngineHealth health, Tx[] contexts) {
    this.health = health;
    this.contexts = contexts;
  }

  int waiting() {
    return waiting.get();
  }

  /** Returns a claimed context, waiting up to {@code timeoutNanos} for one; 0: no limit. */
  Tx enter(boolean readOnly, long timeoutNanos) {
    if (waiting.get() == 0) {
      Tx tx = claim();
      if (tx != null) {
        if (!closed) {
          return tx;
        }
        leave(tx);
      }
    }
    return await(readOnly, timeoutNanos);
  }

  void leave(Tx tx) {
    if (waiting.get() != 0) {
      handOver(tx);
    } else {
      tx.unclaim();
      if (waiting.get() != 0) {
        admitWaiters();
      }
    }
  }

  private @Nullable Tx claim() {
    Tx[] all = contexts;
    int n = all.length;
    int i = Hash.ofThread(n);
    for (int k = 0; k < n; k++) {
      Tx tx = all[i];
      if (tx.claim()) {
        return tx;
      }
      if (++i == n) {
        i = 0;
      }
    }
    return null;
  }

  private Tx await(boolean readOnly, long timeoutNanos) {
    long began = System.nanoTime();
    Waiter w = new Waiter(began, timeoutNanos);
    boolean counted = false;
    Tx mine = null;
    try {
      queue.add(w);
      waiting.incrementAndGet();
      counted = true;
      admitWaiters();
      while (!(w.handedOver instanceof Tx)) {
        long left = remainingWaitNanos(System.nanoTime() - began, readOnly, timeoutNanos);
        park(w, left);
      }
      mine = (Tx) w.handedOver;
      return mine;
    } finally {
      // After a failure, no context may be handed to this waiter.
      if (mine == null) {
        queue.remove(w);
        if (!w.handOver(LEFT)) {
          leave((Tx) w.handedOver); // handed over after the wait failed
        }
      }
      unqueue(w, counted);
    }
  }

  private void unqueue(Waiter w, boolean counted) {
    if (counted) {
      waiting.decrementAndGet();
    }
    endWait(w);
  }

  long remainingWaitNanos(long waitedNanos, boolean readOnly, long timeoutNanos) {
    health.checkBegin(readOnly);
    if (timeoutNanos > 0 && waitedNanos > timeoutNanos) {
      throw new TransactionAbortedException(
          AbortCause.ADMISSION,
          "The transaction could not begin within "
              + timeoutNanos / 1_000_000
              + " ms: "
              + contexts.length
              + " transactions may be active at a time (TransactionOptions.maxActive), and "
              + waiting()
              + " are waiting.");
    }
    return timeoutNanos > 0 ? timeoutNanos - waitedNanos + 1 : Long.MAX_VALUE;
  }

  private void park(Waiter w, long left) {
    Waiter seen = guard.get();
    boolean guards = seen == w || seen == null && guard.compareAndSet(null, w);
    if (w.thread.isInterrupted()) {
      Waits.sleep(Math.min(left, 1_000_000L)); // an interrupted thread would not park; see Waits
    } else if (guards || left < CHECK_NANOS) {
      LockSupport.parkNanos(this, Math.min(left, CHECK_NANOS));
    } else {
      LockSupport.park(this);
    }
    if (guards && !(w.handedOver instanceof Tx)) {
      long now = System.nanoTime();
      for (Waiter other : queue) {
        if (other.limited && other.deadline - now <= 0) {
          LockSupport.unpark(other.thread);
        }
      }
    }
  }

  /** Ends a wait; if that leaves no guard, wakes the first remaining waiter. */
  private void endWait(Waiter w) {
    guard.compareAndSet(w, null);
    if (guard.get() == null) {
      Waiter next = queue.peek();
      if (next != null) {
        LockSupport.unpark(next.thread);
      }
    }
  }

  private void admitWaiters() {
    while (!closed && !queue.isEmpty()) {
      Tx tx = claim();
      if (tx == null) {
        return;
      }
      handOver(tx);
    }
  }

  private void handOver(Tx tx) {
    while (true) {
      if (!closed) {
        for (Waiter w = queue.poll(); w != null; w = queue.poll()) {
          if (w.handOver(tx)) {
            LockSupport.unpark(w.thread);
            return;
          }
        }
      }
      tx.unclaim();
      // A waiter that queued in between checked the contexts before this one was free.
      if (closed || queue.isEmpty() || !tx.claim()) {
        return;
      }
    }
  }

  void wake() {
    for (Waiter w : queue) {
      LockSupport.unpark(w.thread);
    }
  }

  boolean close() {
    synchronized (queue) {
      if (closed) {
        return false;
      }
      closed = true;
      return true;
    }
  }

  /** Claims a context for the thread that closed admission; null if all are taken. */
  @Nullable Tx tryEnter() {
    return claim();
  }

  void open() {
    closed = false;
    admitWaiters();
  }
}
