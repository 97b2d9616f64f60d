package io.fovea.buffer;

import io.fovea.memory.Waits;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that wait for a frame, and are woken when there are some.
 *
 * <pre>
 *   a miss                                 the background writer
 *   enter: in the queue          (A1)      a page is ready, its frame listed   (B1)
 *   is a frame to be had?        (A2)      who is in the queue? unpark         (B2)
 *   no: await
 * </pre>
 *
 * <p><b>No lost wake-up.</b> A1 is an update of the queue, B1 one under the latch of {@link
 * ReadyFrames}, both sequential: so A2 finds the frame, or B2 finds the thread. Frames that become
 * free in another way wake nobody. For these, and as an insurance, a thread looks again after
 * {@value #LOOK_NANOS} ns by itself.
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

  private final ConcurrentLinkedQueue<Thread> queue = new ConcurrentLinkedQueue<>();
  private final long lookNanos;

  FrameWaits() {
    this(LOOK_NANOS);
  }

  /** With another time, for tests. */
  FrameWaits(long lookNanos) {
    this.lookNanos = lookNanos;
  }

  /** The calling thread waits from here to {@link #leave}. */
  void enter() {
    try {
      queue.add(Thread.currentThread());
    } catch (OutOfMemoryError e) {
      // It is not woken.
    }
  }

  void leave() {
    queue.remove(Thread.currentThread());
  }

  /** Sleeps until it is woken, or for a while. */
  void await() {
    Waits.sleep(lookNanos);
  }

  /** Wakes so many of those who wait, those first who came first. */
  void wake(int frames) {
    int left = queue.isEmpty() ? 0 : frames;
    if (left <= 0) {
      return;
    }
    try {
      for (Thread thread : queue) {
        LockSupport.unpark(thread);
        if (--left == 0) {
          return;
        }
      }
    } catch (OutOfMemoryError e) {
      // They look by themselves.
    }
  }
}
