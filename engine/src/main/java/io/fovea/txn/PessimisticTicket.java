package io.fovea.txn;

import java.util.concurrent.locks.LockSupport;

/**
 * A position in the queue of transactions that are to become pessimistic. {@link Reservations}, the
 * queue, calls {@link #grant} and {@link #withdraw} under its lock.
 */
final class PessimisticTicket {
  private final Reservations queue;
  private final Thread owner = Thread.currentThread();
  private volatile boolean granted;
  private volatile boolean over;

  PessimisticTicket(Reservations queue) {
    this.queue = queue;
  }

  boolean isOwnedByCurrentThread() {
    return owner == Thread.currentThread();
  }

  boolean isGranted() {
    return granted;
  }

  void grant() {
    granted = true;
    if (owner != Thread.currentThread()) {
      LockSupport.unpark(owner);
    }
  }

  /**
   * Returns whether it has left the queue for good: by its owner, or because its reservation lasted
   * too long. An owner that checks too early finds out before its next attempt.
   */
  boolean isOver() {
    return over;
  }

  void withdraw() {
    granted = false;
    over = true;
  }

  /** Leaves the queue, granted or not. Idempotent. */
  void leave() {
    queue.leave(this);
  }
}
