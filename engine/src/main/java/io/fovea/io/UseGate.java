package io.fovea.io;

import io.fovea.error.DatabaseClosedException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Keeps a device open while it is in use.
 *
 * <p>A file descriptor that is closed while another thread reads through it may by then belong to
 * another file. So every operation enters the gate first and leaves it at its end, and a close
 * shuts the gate and waits until the last one has left. A contended shared counter costs tens of
 * nanoseconds; the operations that it guards take microseconds.
 *
 * <pre>   state: bit 62 = closed | bits 0..61 = number of operations inside </pre>
 */
final class UseGate {
  private static final long CLOSED = 1L << 62;
  private static final long WAIT_NANOS = 100_000;

  private final AtomicLong state = new AtomicLong();
  private final String name;

  UseGate(String name) {
    this.name = name;
  }

  /**
   * Enters the gate.
   *
   * @throws DatabaseClosedException if the gate is shut
   */
  void enter() {
    if (!tryEnter()) {
      throw new DatabaseClosedException(name + " is closed.");
    }
  }

  /** Enters the gate if it is open; returns false if it is shut. */
  boolean tryEnter() {
    if ((state.incrementAndGet() & CLOSED) != 0) {
      state.decrementAndGet();
      return false;
    }
    return true;
  }

  void exit() {
    state.decrementAndGet();
  }

  /**
   * Shuts the gate and waits until no operation is inside.
   *
   * @return whether this call shut it
   */
  boolean close() {
    long before = state.getAndUpdate(s -> s | CLOSED);
    boolean interrupted = false;
    // A failed attempt to enter counts briefly, so this may see too high a number, never too low a
    // one. Closing is rare, so polling ten thousand times a second is acceptable.
    while (state.get() != CLOSED) {
      LockSupport.parkNanos(this, WAIT_NANOS);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return (before & CLOSED) == 0;
  }
}
