package io.fovea.crash;

/**
 * Interrupts a thread at its n-th call that may wait or do I/O. {@link InterruptWeaver} puts {@link
 * #at} before each such call of the engine.
 *
 * <p>An interrupt right before a call that blocks has the effect of one during it: parks return,
 * locks that can be interrupted throw, channels close themselves.
 */
public final class InterruptProbe {
  private static volatile Thread armed;
  private static int passed;
  private static int from;
  private static boolean always;
  private static String where = "";

  /** Whoever tries again after each interrupt ends, too. */
  private static final int INTERRUPTS_MAX = 20_000;

  private InterruptProbe() {}

  /**
   * Counts the calling thread's places from here on, and interrupts it.
   *
   * @param place the place, from 0; beyond the last one nothing happens
   * @param eachAfter whether all later places interrupt it as well
   */
  public static void arm(int place, boolean eachAfter) {
    passed = 0;
    from = place;
    always = eachAfter;
    where = "none";
    armed = Thread.currentThread();
  }

  /**
   * Ends it.
   *
   * @return how many places the thread has passed
   */
  public static int disarm() {
    armed = null;
    return passed;
  }

  /**
   * The last place that interrupted the thread.
   *
   * @return the call and its caller
   */
  public static String where() {
    return where;
  }

  /**
   * Called by the engine before a call.
   *
   * @param call the call and its caller
   */
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
