package io.fovea.txn;

import java.util.concurrent.locks.LockSupport;

/**
 * A place in the queue of those who want to be the pessimistic transaction: {@link Reservations}.
 */
final class PessimisticTicket {
  private final Reservations queue;
  private final Thread owner = Thread.currentThread();
  private volatile boolean granted;
  private volatile boolean over;

  PessimisticTicket(Reservations queue) {
    this.queue = queue;
  }

  /** Whether it is the calling thread that waits for it, or runs by it. */
  boolean isMine() {
    return owner == Thread.currentThread();
  }

  /** Whether its owner may run a pessimistic transaction now. */
  boolean isGranted() {
    return granted;
  }

  /** By the queue, under its lock. */
  void grant() {
    granted = true;
    if (owner != Thread.currentThread()) {
      LockSupport.unpark(owner);
    }
  }

  /**
   * Whether it is out of the queue for good: given up by its owner, or taken away by another thread
   * because its reservation had lasted too long. It is never granted again. An owner that looks a
   * moment too early finds out before its next attempt.
   */
  boolean isOver() {
    return over;
  }

  /** By the queue, under its lock. */
  void withdraw() {
    granted = false;
    over = true;
  }

  /** Gives the place up, granted or not. Twice is fine. */
  void leave() {
    queue.leave(this);
  }
}
