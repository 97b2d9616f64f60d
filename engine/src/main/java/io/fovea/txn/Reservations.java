package io.fovea.txn;

import io.fovea.error.InvalidUseException;
import io.fovea.memory.Waits;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Progress for a transaction that is aborted again and again: it runs as the <i>pessimistic</i>
 * transaction of the engine, one at a time, which reserves each item before it reads it.
 *
 * <pre>
 *   pessimistic transaction P                     any other that writes, W
 *   reservation := item      volatile   (P1)      item's lock taken, CAS             (W1)
 *   item unlocked? else wait            (P2)      item reserved by P? volatile       (W2)
 *   content, leaf's version again                   yes: unlock, abort, wait for P's end
 *                                                   no:  go on, install, publish
 * </pre>
 *
 * <b>Claim: what P has read does not change before P ends.</b> P1, P2, W1 and W2 are in one total
 * order. If W2 comes after P1, W unlocks the item and has changed nothing. Else W1 comes before W2,
 * W2 before P1, and P1 before P2: so P2 finds W's lock, and waits until W has published or given
 * up, or it finds what W has published. In both cases P reads what W has left. Gaps are items, so
 * this goes for phantoms too.
 *
 * <p><b>Claim: P commits, unless it takes too long or its own body fails.</b> Its reads are valid
 * without a look. It waits for the items' locks of those who were faster, without a limit but its
 * own; they never wait for P in turn, since whoever meets a reservation or a lock aborts after a
 * bounded number of looks. No writer tries to lock an item that it sees reserved, so P waits once
 * for each of those who were on their way already.
 *
 * <p><b>Readers never meet a reservation</b>, where they take no locks: they read what is there,
 * and what they have read stays valid as far as P does not write it. Under two-phase locking a
 * reader meets a reservation for writing, as it would meet the lock.
 *
 * <p><b>Fair.</b> Who wants to be pessimistic queues up. He does not stand still: as long as
 * another's turn it is, he does his work again optimistically now and then. A turn that comes while
 * its owner is at that waits for the end of it.
 *
 * <p><b>Not for oneself.</b> A thread that has begun a pessimistic transaction, and runs another
 * that has to wait for it, would wait for the whole of its time: {@link #requireOther} refuses
 * that.
 *
 * <p><b>Time.</b> A reservation whose transaction is older than its limit may be ended by any
 * writer that meets it ({@link Reservation#expel}), by a compare-and-set against the owner's {@link
 * Reservation#decide}. The owner aborts, and its turn is over: to be pessimistic again it queues up
 * again, at the end ({@link Attempts}). A transaction that its user has forgotten gives its turn up
 * when the leak detector finds it.
 */
final class Reservations {
  private static final long LOOK_NANOS = 100_000_000L;

  /** In order of arrival; the first one may run. Guarded by this. */
  private final Set<PessimisticTicket> queue = new LinkedHashSet<>();

  /** The threads that wait for the end of the current reservation. Guarded by this. */
  private final Set<Thread> waiters = new HashSet<>();

  private volatile @Nullable Reservation current;
  private volatile long begun;

  /** What is reserved now. A volatile read; the partner of {@link #open}. */
  @Nullable Reservation current() {
    return current;
  }

  /** How many transactions have run pessimistically. */
  long begun() {
    return begun;
  }

  /** Queues the calling thread up. */
  synchronized PessimisticTicket enqueue() {
    PessimisticTicket pessimisticTicket = new PessimisticTicket(this);
    queue.add(pessimisticTicket);
    if (queue.size() == 1) {
      pessimisticTicket.grant();
    }
    return pessimisticTicket;
  }

  synchronized void leave(PessimisticTicket pessimisticTicket) {
    if (queue.remove(pessimisticTicket)) {
      boolean granted = pessimisticTicket.isGranted();
      pessimisticTicket.withdraw();
      if (granted && !queue.isEmpty()) {
        queue.iterator().next().grant();
      }
    }
  }

  /**
   * Begins a reservation.
   *
   * @return null if the turn has been taken away
   */
  @SuppressWarnings("NonAtomicOperationOnVolatileField") // under the lock
  synchronized @Nullable Reservation open(PessimisticTicket pessimisticTicket, long timeoutNanos) {
    if (!pessimisticTicket.isGranted()) {
      return null;
    }
    Reservation r = new Reservation(pessimisticTicket, timeoutNanos);
    current = r;
    begun++;
    return r;
  }

  /** Ends a reservation; the turn stays with its owner. */
  void close(Reservation r) {
    r.end();
    over(r);
  }

  private synchronized void over(Reservation r) {
    if (current == r) {
      current = null;
      waiters.forEach(LockSupport::unpark);
      waiters.clear();
    }
  }

  /** Ends a reservation that has lasted too long, and passes the turn on. */
  boolean expelIfExpired(Reservation r) {
    if (!r.expired() || !r.expel()) {
      return false;
    }
    over(r);
    r.pessimisticTicket.leave();
    return true;
  }

  /** The end of what the calling thread would wait for is its own to bring about. */
  private void requireOther(PessimisticTicket pessimisticTicket) {
    Reservation r = current;
    if (pessimisticTicket.isMine()
        && !pessimisticTicket.isOver()
        && (r == null || r.pessimisticTicket != pessimisticTicket || !expelIfExpired(r))) {
      throw new InvalidUseException(
          "The thread waits for itself: a pessimistic transaction that it has begun is open, and"
              + " this one needs what that has reserved. End that first, or do the work in it.");
    }
  }

  /**
   * Waits for the end of a reservation, for a while.
   *
   * @throws InvalidUseException if it is the calling thread's own
   */
  void awaitEnd(Reservation r, long nanos) {
    synchronized (this) {
      if (current != r) {
        return;
      }
    }
    requireOther(r.pessimisticTicket);
    synchronized (this) {
      if (current != r) {
        return;
      }
      waiters.add(Thread.currentThread());
    }
    long deadline = System.nanoTime() + nanos;
    for (long left = nanos; current == r && left > 0; left = deadline - System.nanoTime()) {
      expelIfExpired(r);
      Waits.sleep(Math.min(left, LOOK_NANOS));
    }
    synchronized (this) {
      waiters.remove(Thread.currentThread());
    }
  }

  /** The calling thread's turn before another turn of it; null if there is none. */
  private synchronized @Nullable PessimisticTicket mineBefore(PessimisticTicket pessimisticTicket) {
    for (PessimisticTicket t : queue) {
      if (t == pessimisticTicket) {
        break;
      }
      if (t.isMine()) {
        return t;
      }
    }
    return null;
  }

  /**
   * Waits for a turn, for a while.
   *
   * @throws InvalidUseException if the calling thread has another turn before it
   */
  void awaitTurn(PessimisticTicket pessimisticTicket, long nanos) {
    PessimisticTicket mine = pessimisticTicket.isGranted() ? null : mineBefore(pessimisticTicket);
    if (mine != null) {
      requireOther(mine);
    }
    long deadline = System.nanoTime() + nanos;
    for (long left = nanos;
        !pessimisticTicket.isGranted() && left > 0;
        left = deadline - System.nanoTime()) {
      Reservation r = current;
      if (r != null) {
        expelIfExpired(r);
      }
      Waits.sleep(Math.min(left, LOOK_NANOS));
    }
  }
}
