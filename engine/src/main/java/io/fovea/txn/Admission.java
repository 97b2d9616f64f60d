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
 * Admission of transactions: a bounded number of contexts, and a fair queue of those that wait for
 * one.
 *
 * <pre>
 *   begin:  nobody waits, and a context is free ──► claim it             the usual way: two looks
 *           else  queue up ──► look once more ──► park ──► woken with a context in hand
 *   end:    somebody waits? ──► hand the context to the first of them    it is never free in between
 *           else  free it ──► look once more whether somebody waits
 * </pre>
 *
 * <b>Claiming.</b> A thread starts looking at a place that depends on its id, so that it gets the
 * same context again and again, warm in its cache, without a ThreadLocal that would outlive the
 * database or multiply with virtual threads.
 *
 * <p><b>Nobody sleeps beside a free context.</b> Who waits raises {@code waiting} and then looks at
 * the contexts; a transaction that ends frees its context and then looks at {@code waiting}. All
 * four are volatile, so one of the two sees the other.
 *
 * <p><b>Fair.</b> While somebody waits, contexts are handed on in the order of arrival, and whoever
 * begins joins at the end. A thread that ended and begins again at once has no advantage.
 *
 * <p><b>One of those who wait is the guard</b>, and parks for so long only ({@link #LOOK_NANOS}):
 * then it looks whose time is up, and wakes them. All others park without a limit, for with one
 * each the timers of 20,000 virtual threads cost as much as their transactions. Any transaction
 * that comes, and whoever is woken, becomes the guard where there is none; any transaction that
 * leaves, and finds none, wakes the first who waits. So one that has parked under a guard does not
 * outlast it: it queued up before it saw the guard, so that who leaves later finds somebody in the
 * queue. That one runs, and either is the guard now, or leaves as well and does the same.
 *
 * <p><b>Closed.</b> For a moment in which nobody may run ({@link #close}) contexts are not handed
 * on. Any transaction that begins claims a context first and looks whether the admission is closed
 * second; whoever closes it writes that first and looks at the contexts second. So one of the two
 * sees the other, and nobody slips through.
 */
final class Admission {
  private static final VarHandle GIVEN;

  static {
    try {
      GIVEN = MethodHandles.lookup().findVarHandle(Waiter.class, "given", Object.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** How long the guard parks before it looks at all who wait. */
  private static final long LOOK_NANOS = 100_000_000L;

  private static final Object GONE = new Object();

  /** One who waits. */
  private static final class Waiter {
    final Thread thread = Thread.currentThread();

    /** When its time is up, by {@link System#nanoTime}; compared where {@code limited}. */
    final long deadline;

    final boolean limited;

    Waiter(long began, long timeoutNanos) {
      this.deadline = began + timeoutNanos;
      this.limited = timeoutNanos > 0;
    }

    /** Null; then a context, by who hands it over, or {@link #GONE}, by the waiter. */
    @SuppressWarnings("unused") // through GIVEN
    volatile @Nullable Object given;

    boolean give(Object what) {
      return GIVEN.compareAndSet(this, null, what);
    }
  }

  private final EngineHealth health;
  private final Tx[] contexts;
  private final ConcurrentLinkedQueue<Waiter> queue = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicReference<@Nullable Waiter> guard = new AtomicReference<>();
  private volatile boolean closed;

  /**
   * @param health says when a wait ends without a context
   * @param contexts all that there are; none is claimed
   */
  Admission(EngineHealth health, Tx[] contexts) {
    this.health = health;
    this.contexts = contexts;
  }

  /** How many wait: a moment's truth. */
  int waiting() {
    return waiting.get();
  }

  /**
   * A claimed context; waits for one.
   *
   * @param readOnly whether it is for a transaction that only reads
   * @param timeoutNanos for how long at most; 0 for ever
   */
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

  /** Gives a context back. */
  void leave(Tx tx) {
    if (waiting.get() != 0) {
      handOver(tx);
    } else {
      tx.unclaim();
      if (waiting.get() != 0) {
        handOut();
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
      handOut();
      while (!(w.given instanceof Tx)) {
        long left = toWait(System.nanoTime() - began, readOnly, timeoutNanos);
        park(w, left);
      }
      mine = (Tx) w.given;
      return mine;
    } finally {
      // Whatever failed, nobody hands a context to one that has gone.
      if (mine == null) {
        queue.remove(w);
        if (!w.give(GONE)) {
          leave((Tx) w.given); // it came when the wait had failed
        }
      }
      unqueue(w, counted);
    }
  }

  private void unqueue(Waiter w, boolean counted) {
    if (counted) {
      waiting.decrementAndGet();
    }
    relieve(w);
  }

  /** How long a begin that has waited may wait still. */
  long toWait(long waitedNanos, boolean readOnly, long timeoutNanos) {
    health.checkBegin(readOnly);
    if (timeoutNanos > 0 && waitedNanos > timeoutNanos) {
      throw new TransactionAbortedException(
          AbortCause.ADMISSION,
          "It could not begin within "
              + timeoutNanos / 1_000_000
              + " ms: "
              + contexts.length
              + " transactions run at a time at most (TransactionOptions.maxActive), and "
              + waiting()
              + " wait.");
    }
    return timeoutNanos > 0 ? timeoutNanos - waitedNanos + 1 : Long.MAX_VALUE;
  }

  private void park(Waiter w, long left) {
    Waiter seen = guard.get();
    boolean guards = seen == w || seen == null && guard.compareAndSet(null, w);
    if (w.thread.isInterrupted()) {
      Waits.sleep(Math.min(left, 1_000_000L)); // it does not park; see Waits
    } else if (guards || left < LOOK_NANOS) {
      LockSupport.parkNanos(this, Math.min(left, LOOK_NANOS));
    } else {
      LockSupport.park(this);
    }
    if (guards && !(w.given instanceof Tx)) {
      long now = System.nanoTime();
      for (Waiter other : queue) {
        if (other.limited && other.deadline - now <= 0) {
          LockSupport.unpark(other.thread);
        }
      }
    }
  }

  /** Somebody waits no longer: if there is no guard then, the first of the others is to see it. */
  private void relieve(Waiter w) {
    guard.compareAndSet(w, null);
    if (guard.get() == null) {
      Waiter next = queue.peek();
      if (next != null) {
        LockSupport.unpark(next.thread);
      }
    }
  }

  /** Hands all free contexts to those who wait. */
  private void handOut() {
    while (!closed && !queue.isEmpty()) {
      Tx tx = claim();
      if (tx == null) {
        return;
      }
      handOver(tx);
    }
  }

  /** Hands a context to the first who waits, or frees it. */
  private void handOver(Tx tx) {
    while (true) {
      if (!closed) {
        for (Waiter w = queue.poll(); w != null; w = queue.poll()) {
          if (w.give(tx)) {
            LockSupport.unpark(w.thread);
            return;
          }
        }
      }
      tx.unclaim();
      // Who came in between has looked at the contexts before this one was free.
      if (closed || queue.isEmpty() || !tx.claim()) {
        return;
      }
    }
  }

  /** Has all who wait look whether they may still: nothing begins any more. */
  void wake() {
    for (Waiter w : queue) {
      LockSupport.unpark(w.thread);
    }
  }

  // ---------------------------------------------------------------- nobody runs

  /** Closes the admission, if it is open. */
  boolean close() {
    synchronized (queue) {
      if (closed) {
        return false;
      }
      closed = true;
      return true;
    }
  }

  /** A context for who has closed the admission; null where all are taken. */
  @Nullable Tx tryEnter() {
    return claim();
  }

  /** Opens it again. */
  void open() {
    closed = false;
    handOut();
  }
}
