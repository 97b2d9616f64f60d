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
 * An {@link OperationLock} that several operations may share, and that one may have alone. Those
 * that come to share it let one pass that waits to have it alone.
 *
 * <p>Who shares it may share it once more. Any thread.
 */
public class SharedOperationLock {
  private final String name;
  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
  private final AtomicInteger wanted = new AtomicInteger();
  private final Deque<Holder> sharing = new ConcurrentLinkedDeque<>();

  /** Written by the holder, and by nobody else. */
  private volatile @Nullable Holder alone;

  /**
   * A lock that nobody holds.
   *
   * @param name as in {@code the lock of loads}
   */
  public SharedOperationLock(String name) {
    this.name = name;
  }

  /**
   * Takes it together with others.
   *
   * @param what the operation
   * @param check asked again and again while the thread waits
   * @throws OperationInterruptedException if the thread is interrupted while it waits
   * @throws TransactionAbortedException with cause {@link AbortCause#TIMEOUT} if that takes more
   *     than an hour
   */
  public void lockShared(String what, Waits.Check check) {
    lock(what, check, lock.readLock(), () -> wanted.get() == 0 || isMine());
    boolean done = false;
    try {
      sharing.add(Holder.now(what));
      done = true;
    } finally {
      if (!done) {
        lock.readLock().unlock(); // an error: the caller does not know that it has it
      }
    }
  }

  /** Ends {@link #lockShared}. */
  public void unlockShared() {
    for (Holder holder : sharing) {
      if (holder.isMe() && sharing.remove(holder)) {
        break;
      }
    }
    lock.readLock().unlock();
  }

  /** Whether the calling thread shares it. */
  public boolean isMine() {
    return lock.getReadHoldCount() > 0;
  }

  /**
   * Takes it alone; the thread does not share it.
   *
   * @param what the operation
   * @param check asked again and again while the thread waits
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

  /** Ends {@link #lockAlone}. */
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

  /** What it is, and who has it. */
  @Override
  public String toString() {
    Holder first = alone != null ? alone : sharing.peek();
    return first == null ? name : name + ", held by " + first;
  }
}
