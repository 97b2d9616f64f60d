package io.fovea.memory;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Polling waits for a value that another thread is about to write, without wake-ups.
 *
 * <p><b>Virtual threads.</b> The awaited thread may be a virtual thread that has parked, perhaps
 * for a page from a device, and needs a carrier to continue. A virtual thread that yields is
 * resumed before threads that were woken; a virtual thread that spins keeps its carrier. So as many
 * waiters as there are carriers could keep the awaited thread from ever running. A virtual thread
 * that waits longer than a few rounds therefore parks.
 *
 * <p><b>Interrupts.</b> An interrupted thread does not park: {@link LockSupport#parkNanos} returns
 * at once, and does so again because of the permit that comes with an interrupt. So the thread
 * sleeps with its flag cleared and sets it again afterwards. An interrupt never ends a wait and is
 * never lost.
 */
public final class Waits {
  /** The number of spins before the processor is yielded. */
  private static final int SPINS = 64;

  private static final long YIELD_NANOS = 1_000;

  /** Longer than any wait, and short enough to be added to the clock. */
  private static final Duration LONGEST = Duration.ofDays(36_500);

  /** A condition that a waiting thread checks repeatedly; throws to end the wait. */
  @FunctionalInterface
  public interface Check {
    /**
     * Throws to end the wait.
     *
     * @param waitsFor what the thread waits for and its holder, for messages
     */
    void checkWait(Supplier<String> waitsFor);

    /**
     * Returns the time for which {@link #checkWait} will not throw because of a time limit. A
     * sleeping thread checks again after that time.
     *
     * @return nanoseconds, more than 0 if {@code checkWait} has just returned; {@link
     *     Long#MAX_VALUE} if time does not end the wait
     */
    default long nanosLeft() {
      return Long.MAX_VALUE;
    }
  }

  private Waits() {}

  /**
   * Converts a time limit to nanoseconds for arithmetic with {@link System#nanoTime}. Limits over a
   * hundred years, which mean "forever", count as a hundred years.
   *
   * @param limit not negative
   */
  public static long nanos(Duration limit) {
    return (limit.compareTo(LONGEST) < 0 ? limit : LONGEST).toNanos();
  }

  /**
   * Waits one round for a lock that is held briefly.
   *
   * @param attempt the number of rounds so far
   */
  public static void spin(int attempt) {
    // The holder may be descheduled, and then spinning may be what keeps it from running.
    if (attempt < SPINS) {
      Thread.onSpinWait();
    } else {
      yieldThread();
    }
  }

  /** Lets other threads run: a platform thread yields, a virtual one parks for a microsecond. */
  public static void yieldThread() {
    if (Thread.currentThread().isVirtual()) {
      sleep(YIELD_NANOS);
    } else {
      Thread.yield();
    }
  }

  /**
   * Waits for a thread to end. An interrupt does not end the wait; the flag is kept.
   *
   * @param thread null for none; a thread that has not been started counts as ended
   */
  public static void join(@Nullable Thread thread) {
    boolean interrupted = false;
    while (thread != null && thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Lets other threads run for about the given time.
   *
   * @param nanos more than 0
   */
  public static void sleep(long nanos) {
    if (!Thread.interrupted()) {
      LockSupport.parkNanos(nanos);
      return;
    }
    try {
      Thread.sleep(nanos / 1_000_000, (int) (nanos % 1_000_000));
    } catch (InterruptedException e) {
      // Interrupted again; the flag is set below.
    }
    Thread.currentThread().interrupt();
  }
}
