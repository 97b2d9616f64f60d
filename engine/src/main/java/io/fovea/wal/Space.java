package io.fovea.wal;

import io.fovea.error.StorageFullException;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Grants space in the ring to sessions, which wait for it here.
 *
 * <p>The fast path is one compare-and-set. Beginning operations that find no space queue in order,
 * so that a large one is not starved by small ones. A thread in the middle of an operation does not
 * queue behind beginning ones, which may wait for resources that it holds. Two such threads cannot
 * wait for each other, since {@link LogSession#grant} returns the rest of its grant before it waits
 * for the whole amount.
 *
 * <p><b>No lost wake-up</b>: a waiter increments the count (W1, volatile), then checks the ring
 * (W2). A thread that makes space changes the ring (M1: released or promised, both sequentially
 * consistent), then reads the count (M2). If W2 misses M1, M2 sees W1 and signals under the lock.
 */
final class Space {
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final long CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Log log;
  private final Ring ring;
  private final SegmentSlots slots;
  private final SegmentSpace segmentSpace;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final ArrayDeque<Thread> line = new ArrayDeque<>();
  private volatile int waiting;

  /** The log is about to be closed: a thread that finds no space fails immediately. */
  private volatile boolean abortsWaits;

  Space(Log log, Ring ring, SegmentFile file) {
    this.log = log;
    this.ring = ring;
    this.slots = file.slots();
    this.segmentSpace = file.space();
  }

  /** Returns whether a thread waits. */
  boolean isWanted() {
    return waiting > 0;
  }

  /** Takes space for an operation that begins. */
  void begin(long bytes) {
    check(bytes);
    if (bytes > 0) {
      segmentSpace.requireSpace();
    }
    log.requireAlive();
    if (bytes > 0 && (waiting > 0 || !ring.take(bytes))) {
      await(bytes, true, false, false);
    }
  }

  /**
   * Returns whether the file has space for operations in progress. Operations that can no longer be
   * undone do not ask.
   */
  boolean hasReserve() {
    return segmentSpace.hasReserve();
  }

  /**
   * Takes space in the middle of an operation.
   *
   * @param must whether the operation can no longer be undone: it may use the last space in the
   *     file
   * @param ends whether it also fails if nothing more can be written
   */
  void more(long bytes, boolean must, boolean ends) {
    check(bytes);
    await(bytes, false, must, ends);
  }

  /** Makes operations that find no space fail, even those that can no longer be undone. */
  void abortWaits() {
    abortsWaits = true;
    changed();
  }

  /** See {@link SegmentSlots#claim}. */
  long claim(long bytes) {
    log.requireAlive();
    return slots.claim(bytes);
  }

  /** Releases a claim; see {@link SegmentSpace#unclaim}. Call {@link #changed} afterwards. */
  void unclaim(long bytes) {
    segmentSpace.unclaim(bytes);
  }

  private void check(long bytes) {
    if (bytes < 0 || bytes > ring.size()) {
      throw new IllegalArgumentException(
          "A grant of "
              + bytes
              + " bytes exceeds the log's buffer, which has "
              + ring.size()
              + " bytes.");
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
      while (!((beginning ? line.peek() == self : must || segmentSpace.hasReserve())
          && ring.take(bytes))) {
        log.requireAlive();
        StorageFullException full = segmentSpace.whyFull();
        // An operation that can no longer be undone waits without a limit.
        boolean flushUrgent = abortsWaits && !segmentSpace.hasReserve();
        boolean patient =
            must || !beginning && !flushUrgent && System.nanoTime() - since <= PATIENCE_NANOS;
        if (full != null && !patient) {
          throw full;
        }
        StorageFullException stuck = ends || abortsWaits ? segmentSpace.whyBlocked() : null;
        if (stuck != null) {
          throw stuck;
        }
        log.wakeWriter();
        if (!segmentSpace.hasReserve()) {
          segmentSpace.requestSlot();
        }
        try {
          changed.awaitNanos(CHECK_NANOS);
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
            retryLeave(beginning, self, taken);
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
   * Retries {@link #leave} after it failed, since the first in line blocks all others, and returns
   * the space taken, since the caller does not learn of it.
   */
  private void retryLeave(boolean beginning, Thread self, long taken) {
    try {
      leave(beginning, self);
    } finally {
      ring.returnSpace(taken);
    }
  }

  private void leave(boolean beginning, Thread self) {
    if (beginning) {
      line.remove(self);
    }
    changed.signalAll();
  }

  /** Returns the ring and file space held by operations, in bytes: exact if none is active. */
  long held() {
    return ring.unused() + segmentSpace.claimed();
  }

  /** Notifies waiters that there is more space. */
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
