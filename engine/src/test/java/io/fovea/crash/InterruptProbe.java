package io.fovea.crash;

/**
 * Interrupts a thread at its n-th call that may wait or do I/O. {@link InterruptWeaver} puts {@link
 * #at} before each such call of the engine.
 *
 * <p>An interrupt right before a blocking call has the effect of one during it: parks return,
 * interruptible locks throw, channels close themselves.
 */
public final class InterruptProbe {
  /** Bounds the interrupts, so that a call that retries after each one ends. */
  private static final int INTERRUPTS_MAX = 20_000;

  /** Of each thread whose probe is armed. */
  private static final ThreadLocal<InterruptProbe> ARMED = new ThreadLocal<>();

  private final int from;
  private final boolean always;
  private int passed;
  private String where = "none";

  private InterruptProbe(int from, boolean always) {
    this.from = from;
    this.always = always;
  }

  /**
   * Counts the calling thread's call sites from here on, and interrupts it at one.
   *
   * @param place the number of the call site, from 0; if there are fewer, nothing happens
   * @param eachAfter whether all later sites interrupt it as well
   */
  public static void arm(int place, boolean eachAfter) {
    ARMED.set(new InterruptProbe(place, eachAfter));
  }

  /** Disarms the calling thread's probe, and returns it. */
  public static InterruptProbe disarm() {
    InterruptProbe probe = ARMED.get();
    ARMED.remove();
    return probe;
  }

  /** Returns how many call sites the thread has passed. */
  public int passed() {
    return passed;
  }

  /** Returns the last call that was interrupted, and its caller. */
  public String where() {
    return where;
  }

  /** Called before a call, which is given with its caller. */
  public static void at(String call) {
    InterruptProbe probe = ARMED.get();
    if (probe == null) {
      return;
    }
    int place = probe.passed++;
    if (place == probe.from || probe.always && place > probe.from && place < INTERRUPTS_MAX) {
      probe.where = call;
      Thread.currentThread().interrupt();
    }
  }
}
