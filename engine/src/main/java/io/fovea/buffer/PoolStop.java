package io.fovea.buffer;

import io.fovea.error.DatabaseClosedException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Stops a pool that can't continue, and notifies its waiting threads: {@link BufferPool#poolStop}.
 *
 * <p>One word that changes once, from null to the first cause, by a compare-and-set. If that call
 * fails because the stack is exhausted, a volatile store sets it: this may replace another thread's
 * cause, but the pool has stopped in any case.
 *
 * <p>Thread-safe. {@code StopRaces} stress-tests it.
 *
 * @since 0.1.0
 */
public final class PoolStop {
  private static final VarHandle CAUSE;

  static {
    try {
      CAUSE = MethodHandles.lookup().findVarHandle(PoolStop.class, "cause", Throwable.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private volatile @Nullable Throwable cause;

  private volatile Consumer<Throwable> action = t -> {};

  private volatile Runnable waitCheck = () -> {};

  PoolStop() {}

  /**
   * Stops the pool because an operation failed while pages or frames were half changed, or latched
   * with no thread left to release them. The pool then returns no pages, and every thread that
   * waits for a latch, a frame or a page gets an exception. Pages that the operation did not touch
   * stay as they are.
   *
   * <p>When this returns, the action of {@link #onStop} has run, whichever thread stopped the pool
   * first: the caller then releases the latch of a page whose contents are invalid. So a thread
   * that finds the pool stopped runs the action again, as the other thread may not have finished
   * it. The first cause is kept, and passed to the action.
   *
   * @param why the exception
   * @return the caller's own exception, to be thrown
   */
  public <X extends Throwable> X stop(X why) {
    because(why);
    return why;
  }

  private void because(Throwable why) {
    Throwable first = why;
    try {
      Throwable before = (Throwable) CAUSE.compareAndExchange(this, (Throwable) null, why);
      first = before == null ? why : before;
    } finally {
      if (cause == null) {
        cause = why;
      }
      action.accept(first);
    }
  }

  /** Returns why the pool has stopped, or null. */
  public @Nullable Throwable stopped() {
    return cause;
  }

  void requireRunning() {
    Throwable why = cause;
    if (why != null) {
      throw new DatabaseClosedException(
          "An operation failed while it changed pages, so the database stopped: " + why + ".", why);
    }
  }

  /**
   * Sets the action that each thread that stops the pool runs before it releases its latches. It
   * may run more than once and in several threads, and must not fail.
   *
   * @param what receives the cause
   */
  public void onStop(Consumer<Throwable> what) {
    action = what;
  }

  /**
   * Sets the check that threads run from time to time in long waits for a latch or a frame: it
   * throws if the wait must end.
   *
   * @param check the check, called without latches that other threads need
   */
  public void setWaitCheck(Runnable check) {
    waitCheck = check;
  }

  void checkWait() {
    waitCheck.run();
  }
}
