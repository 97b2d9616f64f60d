package io.fovea.txn;

import java.util.concurrent.locks.LockSupport;

/**
 * A place in the queue of those who want to be the pessimistic transaction: {@link Reservations}.
 */
final class Turn {
  private final Reservations queue;
  private final Thread owner = Thread.currentThread();
  private volatile boolean granted;

  Turn(Reservations queue) {
    this.queue = queue;
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

  /** By the queue, under its lock. */
  void withdraw() {
    granted = false;
  }

  /** Gives the place up, granted or not. Twice is fine. */
  void leave() {
    queue.leave(this);
  }
}
