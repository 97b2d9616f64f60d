package io.fovea.buffer;

import io.fovea.memory.Waits;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Threads that wait for a frame, and are woken when there are some.
 *
 * <pre>
 *   a miss                                 the background writer
 *   enter: in the queue, WAITS   (A1)      a page is ready, its frame listed   (B1)
 *   is a frame to be had?        (A2)      who in the queue WAITS? unpark      (B2)
 *   no: await
 *
 *   state of a waiter:   WAITS ──writer──► BEING_WOKEN ──unparked──► WOKEN
 *                          ▲                                           │
 *                          └──────── itself, before it looks again ────┘
 * </pre>
 *
 * <p><b>No lost wake-up.</b> A1 is an update of the queue or a store of the state, B1 one under the
 * latch of {@link ReadyFrames}, all sequential: so A2 finds the frame, or B2 finds the thread
 * waiting. One that B2 finds woken has not looked yet: it sets its state before it does, and then
 * finds the frame; the wake-up goes to the next in the queue. Frames that become free in another
 * way wake nobody. For these, and as an insurance, a thread looks again after {@value #LOOK_NANOS}
 * ns by itself.
 *
 * <p><b>Nobody takes a wake-up along.</b> A thread that was unparked while it did not sleep has a
 * permit left, and its next park returns at once: that of the program perhaps, which sleeps where
 * it waits for nothing of ours. Such a permit is used up in {@link #leave}. It has been given by
 * then, for a state of WOKEN says so; and none comes later, for who has left is in no queue, and
 * who is being woken waits for the end of that.
 *
 * <p><b>No memory</b> for an entry or for a walk over the queue is no error: nobody is woken then,
 * and all look again by themselves.
 *
 * <p>They sleep and do not spin: with more threads than processors whoever spins takes the time of
 * the one thread that all wait for.
 *
 * <p>Any thread.
 */
final class FrameWaits {
  static final long LOOK_NANOS = 2_000_000;

  private static final int WAITS = 0;
  private static final int BEING_WOKEN = 1;
  private static final int WOKEN = 2;

  /** A state that nobody wakes any more. */
  private static final int LEFT = 3;

  /** A thread that waits. Its state: see above. */
  @SuppressWarnings("serial") // is not written anywhere
  static final class Waiter extends AtomicInteger {
    final Thread thread = Thread.currentThread();

    /** Whether it may have a permit. Of the thread. */
    boolean permit;
  }

  private final ConcurrentLinkedQueue<Waiter> queue = new ConcurrentLinkedQueue<>();
  private final long lookNanos;

  FrameWaits() {
    this(LOOK_NANOS);
  }

  /** With another time, for tests. */
  FrameWaits(long lookNanos) {
    this.lookNanos = lookNanos;
  }

  /**
   * The calling thread waits from here to {@link #leave}.
   *
   * @return what it waits as; null where it is not woken
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

  /** Sleeps until it is woken, or for a while; the caller looks for a frame next. */
  void await(@Nullable Waiter waiter) {
    if (waiter == null) {
      Waits.sleep(lookNanos);
      return;
    }
    boolean slept = waiter.get() == WAITS;
    long begin = System.nanoTime();
    if (slept) {
      Waits.sleep(lookNanos);
    }
    if (waiter.get() != WAITS) {
      settle(waiter);
      // Who slept for all of its time has perhaps not been woken from that.
      waiter.permit |= !slept || System.nanoTime() - begin >= lookNanos;
      waiter.set(WAITS);
    }
  }

  /** Waits for the end of a wake-up that has begun. */
  private static void settle(Waiter waiter) {
    for (int i = 0; waiter.get() == BEING_WOKEN; i++) {
      Waits.spin(i);
    }
  }

  /** Wakes so many of those who wait, those first who came first. */
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
      // They look by themselves.
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
