package io.fovea.memory;

import io.fovea.error.AbortCause;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import java.lang.System.Logger.Level;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A lock for maintenance operations that may be held for a long time, such as a load, an index
 * build or a verification. The lock knows its holder. A waiter runs a check, which ends the wait
 * when the database closes or the thread's transaction times out; a wait causes a warning after a
 * minute and fails after an hour, and both messages name the holder.
 *
 * <p>Reentrant. Safe for use by any thread. The order of these locks is in
 * docs/internals/concurrency.md.
 */
public class OperationLock {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private static final long CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
  static final long WARN_NANOS = TimeUnit.MINUTES.toNanos(1);
  static final long LIMIT_NANOS = TimeUnit.HOURS.toNanos(1);

  private final String name;
  private final long warnNanos;
  private final long limitNanos;
  private final ReentrantLock lock = new ReentrantLock();

  /** Written by the holder only. */
  private volatile @Nullable Holder holder;

  /**
   * Creates a lock.
   *
   * @param name as in {@code the lock of the schema}
   */
  public OperationLock(String name) {
    this(name, WARN_NANOS, LIMIT_NANOS);
  }

  OperationLock(String name, long warnNanos, long limitNanos) {
    this.name = name;
    this.warnNanos = warnNanos;
    this.limitNanos = limitNanos;
  }

  /**
   * Takes the lock.
   *
   * @param what the operation, as in {@code load table people}
   * @param check called repeatedly while the thread waits
   * @throws OperationInterruptedException if the thread is interrupted while it waits
   * @throws TransactionAbortedException with cause {@link AbortCause#TIMEOUT} if the lock is not
   *     released within an hour
   */
  public void lock(String what, Waits.Check check) {
    if (!tryLock(what)) {
      try {
        await(what, check);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new OperationInterruptedException(what);
      }
    }
  }

  /**
   * Takes the lock unless the wait is stopped.
   *
   * @param stop ends the wait when true; called repeatedly
   * @return false if the wait was stopped or the thread was interrupted, whose flag stays set
   */
  public boolean lock(String what, BooleanSupplier stop) {
    if (tryLock(what)) {
      return true;
    }
    try {
      await(
          what,
          waitsFor -> {
            if (stop.getAsBoolean()) {
              throw Stopped.INSTANCE;
            }
          });
      return true;
    } catch (Stopped e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private void await(String what, Waits.Check check) throws InterruptedException {
    await(what, this::toString, check, nanos -> tryLock(what, nanos), warnNanos, limitNanos);
  }

  /** An attempt to take a lock, with a timeout. */
  @FunctionalInterface
  interface Attempt {
    /** Returns whether the lock was taken. */
    boolean take(long nanos) throws InterruptedException;
  }

  /** Waits for a lock with a check, a warning and a limit. */
  static void await(
      String what,
      Supplier<String> waitsFor,
      Waits.Check check,
      Attempt attempt,
      long warnNanos,
      long limitNanos)
      throws InterruptedException {
    long began = System.nanoTime();
    boolean warned = false;
    do {
      check.checkWait(waitsFor);
      long waited = System.nanoTime() - began;
      long millis = waited / 1_000_000;
      if (waited > warnNanos && !warned) {
        warned = true;
        LOG.log(
            Level.WARNING,
            () -> "Still waiting, to " + what + ", after " + millis + " ms for " + waitsFor.get());
      }
      if (waited > limitNanos) {
        throw new TransactionAbortedException(
            AbortCause.TIMEOUT,
            "Can't " + what + ": it waited " + millis + " ms for " + waitsFor.get() + ".");
      }
    } while (!attempt.take(CHECK_NANOS));
  }

  /**
   * Takes the lock if it is released within a timeout. An interrupt does not end the wait; the flag
   * is kept.
   *
   * @return whether it was taken
   */
  public boolean lockFirmly(String what, long nanos) {
    long began = System.nanoTime();
    boolean interrupted = false;
    boolean owned = tryLock(what);
    try {
      for (long left = nanos; !owned && left > 0; left = nanos - (System.nanoTime() - began)) {
        try {
          owned = tryLock(what, left);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    return owned;
  }

  /**
   * Waits until no other thread holds the lock. An interrupt does not end the wait; the flag is
   * kept.
   *
   * @return false if the timeout passed first
   */
  public boolean awaitRelease(String what, long nanos) {
    boolean free = lockFirmly(what, nanos);
    if (free) {
      unlock();
    }
    return free;
  }

  /** Takes the lock if it is free; returns whether it was taken. */
  public boolean tryLock(String what) {
    boolean owned = lock.tryLock();
    if (owned) {
      held(what);
    }
    return owned;
  }

  /** Takes the lock if it is released within a timeout; returns whether it was taken. */
  public boolean tryLock(String what, long nanos) throws InterruptedException {
    boolean owned = lock.tryLock(nanos, TimeUnit.NANOSECONDS);
    if (owned) {
      held(what);
    }
    return owned;
  }

  private void held(String what) {
    if (lock.getHoldCount() > 1) {
      return;
    }
    boolean done = false;
    try {
      holder = Holder.now(what);
      done = true;
    } finally {
      if (!done) {
        lock.unlock(); // after an error, the caller does not know that it holds the lock
      }
    }
  }

  /** Releases the lock. */
  public void unlock() {
    if (lock.getHoldCount() == 1) {
      holder = null;
    }
    lock.unlock();
  }

  /** Returns whether the calling thread holds the lock. */
  public boolean isHeldByCurrentThread() {
    return lock.isHeldByCurrentThread();
  }

  /** Returns whether any thread holds the lock. The answer may be outdated at once. */
  public boolean isLocked() {
    return lock.isLocked();
  }

  /** Returns the lock's name and its holder. */
  @Override
  public String toString() {
    Holder by = holder;
    return by == null ? name : name + ", held by " + by;
  }

  /** Ends a wait; never leaves this class. */
  private static final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1;
    private static final Stopped INSTANCE = new Stopped();

    private Stopped() {
      super(null, null, false, false);
    }
  }
}
