package io.fovea.memory;

import io.fovea.error.AbortCause;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * An {@link OperationLock} that operations hold shared or exclusively. New sharers yield to a
 * thread that waits for exclusive access.
 *
 * <p>Reentrant for sharing. Safe for use by any thread.
 */
public class SharedOperationLock {
  private final String name;
  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
  private final AtomicInteger wanted = new AtomicInteger();
  private final Deque<Holder> sharing = new ConcurrentLinkedDeque<>();

  /** Written by the exclusive holder only. */
  private volatile @Nullable Holder alone;

  /**
   * Creates a lock.
   *
   * @param name as in {@code the lock of loads}
   */
  public SharedOperationLock(String name) {
    this.name = name;
  }

  /**
   * Takes the lock shared.
   *
   * @param what the operation
   * @param check called repeatedly while the thread waits
   * @throws OperationInterruptedException if the thread is interrupted while it waits
   * @throws TransactionAbortedException with cause {@link AbortCause#TIMEOUT} if that takes more
   *     than an hour
   */
  public void lockShared(String what, Waits.Check check) {
    lock(what, check, lock.readLock(), () -> wanted.get() == 0 || isHeldByCurrentThread());
    boolean done = false;
    try {
      sharing.add(Holder.now(what));
      done = true;
    } finally {
      if (!done) {
        lock.readLock().unlock(); // after an error, the caller does not know that it holds the lock
      }
    }
  }

  /** Releases the lock taken by {@link #lockShared}. */
  public void unlockShared() {
    for (Holder holder : sharing) {
      if (holder.isMe() && sharing.remove(holder)) {
        break;
      }
    }
    lock.readLock().unlock();
  }

  /** Returns whether the calling thread holds the lock shared. */
  public boolean isHeldByCurrentThread() {
    return lock.getReadHoldCount() > 0;
  }

  /**
   * Takes the lock exclusively. The thread must not hold it shared.
   *
   * @param what the operation
   * @param check called repeatedly while the thread waits
   * @throws OperationInterruptedException if the thread is interrupted while it waits
   * @throws TransactionAbortedException with cause {@link AbortCause#TIMEOUT} if that takes more
   *     than an hour
   */
  public void lockAlone(String what, Waits.Check check) {
    wanted.incrementAndGet();
    try {
      lock(what, check, lock.writeLock(), () -> true);
    } finally {
      wanted.decrementAndGet();
    }
    boolean done = false;
    try {
      alone = Holder.now(what);
      done = true;
    } finally {
      if (!done) {
        lock.writeLock().unlock();
      }
    }
  }

  /** Releases the lock taken by {@link #lockAlone}. */
  public void unlockAlone() {
    alone = null;
    lock.writeLock().unlock();
  }

  private void lock(String what, Waits.Check check, Lock of, BooleanSupplier mayTry) {
    if (mayTry.getAsBoolean() && of.tryLock()) {
      return;
    }
    OperationLock.Attempt attempt =
        nanos -> {
          if (mayTry.getAsBoolean()) {
            return of.tryLock(nanos, TimeUnit.NANOSECONDS);
          }
          TimeUnit.NANOSECONDS.sleep(nanos);
          return false;
        };
    try {
      OperationLock.await(
          what,
          this::toString,
          check,
          attempt,
          OperationLock.WARN_NANOS,
          OperationLock.LIMIT_NANOS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new OperationInterruptedException(what);
    }
  }

  /** Returns the lock's name and its first holder. */
  @Override
  public String toString() {
    Holder first = alone != null ? alone : sharing.peek();
    return first == null ? name : name + ", held by " + first;
  }
}
