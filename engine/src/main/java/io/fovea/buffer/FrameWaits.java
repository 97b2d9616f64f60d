package io.fovea.buffer;

import io.fovea.memory.Waits;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Threads that wait for a frame, and are woken when frames are ready.
 *
 * <pre>
 *   a miss                                 the background writer
 *   enter: in the queue, WAITS   (A1)      a page is ready, its frame listed   (B1)
 *   is a frame available?        (A2)      which in the queue WAITS? unpark    (B2)
 *   no: await
 *
 *   state of a waiter:   WAITS ──writer──► BEING_WOKEN ──unparked──► WOKEN
 *                          ▲                                           │
 *                          └──────── itself, before it tries again ────┘
 * </pre>
 *
 * <p><b>No lost wake-up.</b> A1 is an update of the queue or a store of the state, B1 one under the
 * latch of {@link ReadyFrames}, all sequentially consistent: so A2 finds the frame, or B2 finds the
 * thread waiting. A waiter that B2 finds WOKEN has yet to try again: it sets its state first, and
 * then finds the frame; the wake-up goes to the next in the queue. Frames that become free in other
 * ways wake no thread; waiters try again after {@value #RETRY_NANOS} ns in any case.
 *
 * <p><b>No stray permit.</b> A thread that was unparked while it did not sleep keeps a permit,
 * which would end a later, unrelated park of the program. {@link #leave} consumes it. By then it
 * has been granted, as the state WOKEN shows; and none follows, because the thread is in no queue,
 * and waits for the end of a wake-up in progress.
 *
 * <p><b>Out of memory</b> for an entry or for a walk over the queue is not an error: no thread is
 * woken, and all try again by timeout.
 *
 * <p>Waiters sleep: with more threads than processors, spinning would delay the thread that they
 * wait for.
 *
 * <p>Thread-safe.
 */
final class FrameWaits {
  static final long RETRY_NANOS = 2_000_000;

  private static final int WAITS = 0;
  private static final int BEING_WOKEN = 1;
  private static final int WOKEN = 2;

  /** The state of a waiter that has left and is not woken. */
  private static final int LEFT = 3;

  /** A waiting thread. Its value is the state, see above. */
  @SuppressWarnings("serial") // is never serialized
  static final class Waiter extends AtomicInteger {
    final Thread thread = Thread.currentThread();

    /** Whether the thread may have a permit. Used only by that thread. */
    boolean permit;
  }

  private final ConcurrentLinkedQueue<Waiter> queue = new ConcurrentLinkedQueue<>();
  private final long retryNanos;

  FrameWaits() {
    this(RETRY_NANOS);
  }

  FrameWaits(long retryNanos) {
    this.retryNanos = retryNanos;
  }

  /**
   * Registers the calling thread as waiting until {@link #leave}.
   *
   * @return the waiter; null if the thread can't be woken
   */
  @Nullable Waiter enter() {
    try {
      Waiter waiter = new Waiter();
      queue.add(waiter);
      return waiter;
    } catch (OutOfMemoryError e) {
      return null;
    }
  }

  void leave(@Nullable Waiter waiter) {
    if (waiter == null) {
      return;
    }
    queue.remove(waiter);
    if (!waiter.compareAndSet(WAITS, LEFT)) {
      settle(waiter);
      waiter.permit = true;
    }
    if (waiter.permit) {
      LockSupport.parkNanos(this, 1);
    }
  }

  /** Sleeps until a wake-up or the timeout; the caller tries to get a frame next. */
  void await(@Nullable Waiter waiter) {
    if (waiter == null) {
      Waits.sleep(retryNanos);
      return;
    }
    boolean slept = waiter.get() == WAITS;
    long begin = System.nanoTime();
    if (slept) {
      Waits.sleep(retryNanos);
    }
    if (waiter.get() != WAITS) {
      settle(waiter);
      // A sleep that lasted the whole time may have left a permit.
      waiter.permit |= !slept || System.nanoTime() - begin >= retryNanos;
      waiter.set(WAITS);
    }
  }

  private static void settle(Waiter waiter) {
    for (int i = 0; waiter.get() == BEING_WOKEN; i++) {
      Waits.spin(i);
    }
  }

  /** Wakes up to the given number of waiters, in the order of arrival. */
  void wake(int frames) {
    int left = queue.isEmpty() ? 0 : frames;
    if (left <= 0) {
      return;
    }
    try {
      for (Waiter waiter : queue) {
        if (wake(waiter) && --left == 0) {
          return;
        }
      }
    } catch (OutOfMemoryError e) {
      // They try again by timeout.
    }
  }

  private static boolean wake(Waiter waiter) {
    if (!waiter.compareAndSet(WAITS, BEING_WOKEN)) {
      return false;
    }
    try {
      LockSupport.unpark(waiter.thread);
    } finally {
      waiter.set(WOKEN);
    }
    return true;
  }
}
