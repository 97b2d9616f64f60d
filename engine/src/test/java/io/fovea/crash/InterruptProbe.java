package io.fovea.crash;

/**
 * Interrupts a thread at its n-th call that may wait or do I/O. {@link InterruptWeaver} puts {@link
 * #at} before each such call of the engine.
 *
 * <p>An interrupt right before a blocking call has the effect of one during it: parks return,
 * interruptible locks throw, channels close themselves.
 */
public final class InterruptProbe {
  private static volatile Thread armed;
  private static int passed;
  private static int from;
  private static boolean always;
  private static String where = "";

  /** Bounds the interrupts, so that a call that retries after each one ends. */
  private static final int INTERRUPTS_MAX = 20_000;

  private InterruptProbe() {}

  /**
   * Counts the calling thread's call sites from here on, and interrupts it at one.
   *
   * @param place the number of the call site, from 0; if there are fewer, nothing happens
   * @param eachAfter whether all later sites interrupt it as well
   */
  public static void arm(int place, boolean eachAfter) {
    passed = 0;
    from = place;
    always = eachAfter;
    where = "none";
    armed = Thread.currentThread();
  }

  /** Disarms the probe; returns how many call sites the thread has passed. */
  public static int disarm() {
    armed = null;
    return passed;
  }

  /** Returns the last call that was interrupted, and its caller. */
  public static String where() {
    return where;
  }

  /** Called before a call, which is given with its caller. */
  public static void at(String call) {
    if (armed != Thread.currentThread()) {
      return;
    }
    int place = passed++;
    if (place == from || always && place > from && place < INTERRUPTS_MAX) {
      where = call;
      Thread.currentThread().interrupt();
    }
  }
}
