package io.fovea.memory;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The steps in which a thread waits for what another is about to write: nobody is woken, all look
 * again.
 *
 * <p><b>Virtual threads.</b> The one who is waited for may be a virtual thread that has parked, for
 * a page of a device perhaps, and needs a carrier to come back. One that yields is taken up again
 * before those that were woken; one that only spins keeps its carrier. So some that wait in either
 * way could keep the one they wait for from running for ever, where they are as many as there are
 * carriers. A thread that waits for longer than a few rounds parks.
 *
 * <p><b>Interrupts.</b> An interrupted thread does not park: {@link LockSupport#parkNanos} returns
 * at once, and does so once more for the permit that comes with an interrupt. So it sleeps, with
 * its flag put aside. An interrupt never ends a wait, and is never lost.
 */
public final class Waits {
  /** Looks at a lock before the processor goes to others. */
  private static final int SPINS = 64;

  private static final long MOMENT_NANOS = 1_000;

  /** Longer than anybody waits, and short enough for a sum with the clock. */
  private static final Duration LONGEST = Duration.ofDays(36_500);

  /** Asked again and again by a thread that waits: throws where it is to wait no longer. */
  @FunctionalInterface
  public interface Check {
    /**
     * Throws to end the wait.
     *
     * @param waitsFor what the thread waits for, and who has it: for messages
     */
    void goOn(Supplier<String> waitsFor);

    /**
     * For how long {@link #goOn} does not throw for the time that has passed: a thread that sleeps
     * asks again when that is over.
     *
     * @return nanoseconds, more than 0 where goOn has just returned; {@link Long#MAX_VALUE} where
     *     time does not end the wait
     */
    default long nanosLeft() {
      return Long.MAX_VALUE;
    }
  }

  private Waits() {}

  /**
   * A limit of time for sums with {@link System#nanoTime}: one of more than a hundred years, by
   * which a program says "for ever", counts as a hundred.
   *
   * @param limit not negative
   * @return nanoseconds
   */
  public static long nanos(Duration limit) {
    return (limit.compareTo(LONGEST) < 0 ? limit : LONGEST).toNanos();
  }

  /**
   * Waits for a lock that is held for a moment.
   *
   * @param attempt how often the caller has waited already
   */
  public static void spin(int attempt) {
    // The holder may have lost its core: then spinning is what keeps it from running.
    if (attempt < SPINS) {
      Thread.onSpinWait();
    } else {
      giveWay();
    }
  }

  /** Lets others run: a platform thread yields, a virtual one parks for a moment. */
  public static void giveWay() {
    if (Thread.currentThread().isVirtual()) {
      sleep(MOMENT_NANOS);
    } else {
      Thread.yield();
    }
  }

  /**
   * Waits for a thread to end. An interrupt does not end the wait, and is kept.
   *
   * @param thread null for none; one that has not begun counts as one that has ended
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
   * Lets others run for about so long.
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
      // Once more; the flag is set below.
    }
    Thread.currentThread().interrupt();
  }
}
