package io.fovea.io;

import io.fovea.error.DatabaseClosedException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Keeps a device open while it is in use.
 *
 * <p>A file descriptor that is closed while another thread reads through it may by then be somebody
 * else's file. So every operation enters here first and leaves at its end, and a close shuts the
 * gate and waits until the last one has left. One shared counter costs some tens of nanoseconds
 * when many threads fight for it; the operations that it guards cost microseconds.
 *
 * <pre>   state: bit 62 = closed | bits 0..61 = how many are inside </pre>
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
   * @throws DatabaseClosedException where the gate is shut
   */
  void enter() {
    if (!tryEnter()) {
      throw new DatabaseClosedException(name + " is closed.");
    }
  }

  /** Enters where the gate is open; false where it is shut. */
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

  boolean isClosed() {
    return (state.get() & CLOSED) != 0;
  }

  /**
   * Shuts the gate and waits until nobody is inside.
   *
   * @return whether this call was the one that shut it
   */
  boolean close() {
    long before = state.getAndUpdate(s -> s | CLOSED);
    boolean interrupted = false;
    // Who comes in vain counts for a moment, so this may see a number that is too high, never one
    // that is too low. Closing is rare: waking up ten thousand times a second does no harm.
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
