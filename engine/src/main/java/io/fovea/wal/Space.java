package io.fovea.wal;

import io.fovea.error.StorageFullException;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Where sessions wait for space in the ring.
 *
 * <p>The usual way is one compare-and-set. A thread that finds no space queues up; those that begin
 * stand in a line, so that a large operation gets its turn among small ones. A thread that is in
 * the middle of an operation does not stand behind those that begin, for they may wait for what he
 * holds; and two of his kind can't wait for each other, since {@link LogSession#grant} gives back
 * what it has before it waits for all of it.
 *
 * <p><b>No lost wake-up</b>: a waiter counts itself (W1, volatile) and then looks at the ring (W2);
 * who makes space changes the ring (M1: released or promised, both sequential) and then looks at
 * the count (M2). If W2 misses M1, M2 sees W1 and signals under the lock.
 */
final class Space {
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Log log;
  private final Ring ring;
  private final SegmentSlots slots;
  private final SegmentRoom room;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final ArrayDeque<Thread> line = new ArrayDeque<>();
  private volatile int waiting;

  /** The log is about to be closed: who finds no room has waited for long enough. */
  private volatile boolean waitsNoMore;

  Space(Log log, Ring ring, SegmentFile file) {
    this.log = log;
    this.ring = ring;
    this.slots = file.slots();
    this.room = file.room();
  }

  /** Whether somebody waits. */
  boolean isWanted() {
    return waiting > 0;
  }

  /** Takes space for an operation that begins. */
  void begin(long bytes) {
    check(bytes);
    if (bytes > 0) {
      room.requireRoom();
    }
    log.requireAlive();
    if (bytes > 0 && (waiting > 0 || !ring.take(bytes))) {
      await(bytes, true, false, false);
    }
  }

  /**
   * Whether the file has room for operations that have begun. Those that can't go back any more do
   * not ask.
   */
  boolean hasReserve() {
    return room.hasReserve();
  }

  /**
   * Takes space in the middle of an operation.
   *
   * @param must whether the operation can't go back any more: it may use the last of the file
   * @param ends whether it ends all the same where nothing more can be written
   */
  void more(long bytes, boolean must, boolean ends) {
    check(bytes);
    await(bytes, false, must, ends);
  }

  /** Who can't go back any more, and finds no room, is told so instead of waiting. */
  void abortWaits() {
    waitsNoMore = true;
    changed();
  }

  /** See {@link SegmentSlots#claim}. */
  long claim(long bytes) {
    log.requireAlive();
    return slots.claim(bytes);
  }

  /** See {@link SegmentRoom#unclaim}; then comes {@link #changed}. */
  void unclaim(long bytes) {
    room.unclaim(bytes);
  }

  private void check(long bytes) {
    if (bytes < 0 || bytes > ring.size()) {
      throw new IllegalArgumentException(
          "A grant of " + bytes + " bytes; the log's buffer has " + ring.size() + ".");
    }
  }

  private void await(long bytes, boolean beginning, boolean must, boolean ends) {
    boolean interrupted = false;
    long taken = 0;
    long since = System.nanoTime();
    Thread self = Thread.currentThread();
    lock.lock();
    waiting++;
    try {
      if (beginning) {
        line.add(self);
      }
      while (!((beginning ? line.peek() == self : must || room.hasReserve()) && ring.take(bytes))) {
        log.requireAlive();
        StorageFullException full = room.whyFull();
        // Who can't go back any more waits for as long as it takes.
        boolean flushUrgent = waitsNoMore && !room.hasReserve();
        boolean patient =
            must || !beginning && !flushUrgent && System.nanoTime() - since <= PATIENCE_NANOS;
        if (full != null && !patient) {
          throw full;
        }
        StorageFullException stuck = ends || waitsNoMore ? room.whyStuck() : null;
        if (stuck != null) {
          throw stuck;
        }
        log.wakeWriter();
        if (!room.hasReserve()) {
          room.ask();
        }
        try {
          changed.awaitNanos(LOOK_NANOS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      taken = bytes;
    } finally {
      waiting--;
      boolean left = false;
      try {
        leave(beginning, self);
        left = true;
      } finally {
        try {
          if (!left) {
            leaveAfterAll(beginning, self, taken);
          }
        } finally {
          lock.unlock();
          if (interrupted) {
            self.interrupt();
          }
        }
      }
    }
  }

  /**
   * What is left of it: who is first in line keeps all others out, and what was taken is nobody's
   * where the caller does not hear of it.
   */
  private void leaveAfterAll(boolean beginning, Thread self, long taken) {
    try {
      leave(beginning, self);
    } finally {
      ring.giveBack(taken);
    }
  }

  private void leave(boolean beginning, Thread self) {
    if (beginning) {
      line.remove(self);
    }
    changed.signalAll();
  }

  /** What operations have of the ring and of the file, in bytes: exact when nobody is at it. */
  long held() {
    return ring.unused() + room.claimed();
  }

  /** There is more space. */
  void changed() {
    if (waiting > 0) {
      lock.lock();
      try {
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }
}
