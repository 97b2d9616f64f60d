package io.fovea.txn;

import io.fovea.error.InvalidUseException;
import io.fovea.memory.Waits;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Ensures progress of a transaction that is aborted again and again: it runs as the
 * <i>pessimistic</i> transaction of the engine, one at a time, and reserves each item before it
 * reads it.
 *
 * <pre>
 *   pessimistic transaction P                     any other writer, W
 *   reservation := item      volatile   (P1)      item's lock taken, CAS             (W1)
 *   item unlocked? else wait            (P2)      item reserved by P? volatile       (W2)
 *   content, leaf's version again                   yes: unlock, abort, wait for P's end
 *                                                   no:  install, publish
 * </pre>
 *
 * <b>Claim: what P has read does not change before P ends.</b> P1, P2, W1 and W2 are in one total
 * order. If W2 follows P1, W unlocks the item and has changed nothing. Otherwise the order is W1,
 * W2, P1, P2: P2 finds W's lock and waits, or finds what W has published. In both cases P reads
 * what W has left. Gaps are items, so this includes phantoms.
 *
 * <p><b>Claim: P commits, unless it takes too long or its body fails.</b> Its reads need no
 * validation. It waits for locks taken before its reservation, with no limit but its own. Their
 * holders never wait for P: a transaction that meets a reservation or a lock aborts after a bounded
 * number of checks. No writer tries to lock an item that it sees reserved, so P waits once for each
 * transaction already on its way.
 *
 * <p><b>Readers ignore reservations</b>, unless they lock: a two-phase reader treats a reservation
 * for writing as the lock.
 *
 * <p><b>Fairness.</b> Transactions queue to be pessimistic, and meanwhile make ordinary attempts. A
 * ticket granted during such an attempt waits for its end. A thread whose transaction would wait
 * for another pessimistic one of the same thread is refused ({@link #requireOther}).
 *
 * <p><b>Time limit.</b> Any writer that meets a reservation beyond its limit may end it ({@link
 * Reservation#revoke}), by a compare-and-set against the owner's {@link Reservation#decide}. The
 * owner aborts, and rejoins the queue at its end ({@link Attempts}). A leaked transaction gives up
 * its ticket when the leak detector finds it.
 */
final class Reservations {
  private static final long CHECK_NANOS = 100_000_000L;

  /** The tickets in order of arrival; the first one may run. Guarded by this. */
  private final Set<PessimisticTicket> queue = new LinkedHashSet<>();

  /** The threads that wait for the end of the current reservation. Guarded by this. */
  private final Set<Thread> waiters = new HashSet<>();

  private volatile @Nullable Reservation current;
  private volatile long begun;

  /** Returns the current reservation. Volatile; partner: {@link #open}. */
  @Nullable Reservation current() {
    return current;
  }

  long begun() {
    return begun;
  }

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

  /** Begins a reservation; returns null if the ticket was revoked. */
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

  void close(Reservation r) {
    r.end();
    clearCurrent(r);
  }

  private synchronized void clearCurrent(Reservation r) {
    if (current == r) {
      current = null;
      waiters.forEach(LockSupport::unpark);
      waiters.clear();
    }
  }

  /** Ends a reservation that has lasted too long, and revokes its ticket. */
  boolean revokeIfExpired(Reservation r) {
    if (!r.expired() || !r.revoke()) {
      return false;
    }
    clearCurrent(r);
    r.pessimisticTicket.leave();
    return true;
  }

  private void requireOther(PessimisticTicket pessimisticTicket) {
    Reservation r = current;
    if (pessimisticTicket.isOwnedByCurrentThread()
        && !pessimisticTicket.isOver()
        && (r == null || r.pessimisticTicket != pessimisticTicket || !revokeIfExpired(r))) {
      throw new InvalidUseException(
          "The thread waits for itself: its open pessimistic transaction has reserved what this one"
              + " needs. End that one first, or do the work in it.");
    }
  }

  /** Waits up to a limit for the end of a reservation that is not the calling thread's own. */
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
      revokeIfExpired(r);
      Waits.sleep(Math.min(left, CHECK_NANOS));
    }
    synchronized (this) {
      waiters.remove(Thread.currentThread());
    }
  }

  /** Returns the calling thread's ticket ahead of another in the queue; null if there is none. */
  private synchronized @Nullable PessimisticTicket ownTicketBefore(
      PessimisticTicket pessimisticTicket) {
    for (PessimisticTicket t : queue) {
      if (t == pessimisticTicket) {
        break;
      }
      if (t.isOwnedByCurrentThread()) {
        return t;
      }
    }
    return null;
  }

  /** Waits up to a limit for a ticket, unless the calling thread has another one ahead of it. */
  void awaitTicket(PessimisticTicket pessimisticTicket, long nanos) {
    PessimisticTicket mine =
        pessimisticTicket.isGranted() ? null : ownTicketBefore(pessimisticTicket);
    if (mine != null) {
      requireOther(mine);
    }
    long deadline = System.nanoTime() + nanos;
    for (long left = nanos;
        !pessimisticTicket.isGranted() && left > 0;
        left = deadline - System.nanoTime()) {
      Reservation r = current;
      if (r != null) {
        revokeIfExpired(r);
      }
      Waits.sleep(Math.min(left, CHECK_NANOS));
    }
  }
}
