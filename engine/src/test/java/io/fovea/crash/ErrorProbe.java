package io.fovea.crash;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Fails one call or allocation of the engine. {@link ErrorWeaver} puts it before all of them.
 *
 * <p>Call sites are numbered as they are woven. While the probe is armed, the first site that the
 * armed thread reaches with a latch or lock held (or any, if requested), and that never failed
 * before, throws an error; after it no other does. Other threads pass.
 *
 * <p>Releases of latches and locks never fail ({@link ErrorWeaver#GIVES}): no code could handle
 * that.
 */
public final class ErrorProbe {
  /** The resource that tests lock while they use the probe, which is static. */
  static final String LOCK = "io.fovea.crash.ErrorProbe";

  private static final List<String> PLACES = new ArrayList<>();
  private static final BitSet FAILED = new BitSet();

  private static volatile @Nullable Thread armed;
  private static int stride;
  private static int offset;
  private static boolean anywhere;

  /** All call sites fail after this many; negative: only one fails. */
  private static int lasting = -1;

  private static int held;
  private static int giving;
  private static long passed;
  private static volatile int errors;
  private static volatile @Nullable String hit;

  /** Runs at a call site instead of an error. */
  private static @Nullable Runnable action;

  /** How often the armed thread passes the site of {@link #action} before that runs. */
  private static int arrivals;

  private static int chosen;
  private static BitSet tried = new BitSet();
  private static volatile @Nullable Throwable thrown;

  private ErrorProbe() {}

  /** Registers a call site. */
  static synchronized int place(String name) {
    PLACES.add(name);
    return PLACES.size() - 1;
  }

  /**
   * Makes the calling thread fail at its next call site that never failed before.
   *
   * @param every one of this many call sites is tried
   * @param salt selects which one
   * @param unlatched whether sites without a latch or lock count, too
   */
  public static void arm(int every, int salt, boolean unlatched) {
    anywhere = unlatched;
    held = 0;
    giving = 0;
    hit = null;
    thrown = null;
    stride = every;
    offset = salt;
    lasting = -1;
    armed = Thread.currentThread();
  }

  /**
   * Makes all call sites of the calling thread fail, except the first {@code after}, as if no
   * memory were left.
   */
  public static void armLasting(int after) {
    arm(1, 0, true);
    armed = null;
    lasting = after;
    armed = Thread.currentThread();
  }

  /**
   * Makes the calling thread run an action once, at the first call site that is not in {@code
   * before}, latched or not. The site is added to the set.
   *
   * @param every one of this many call sites is tried
   * @param salt selects which one
   * @param nth on which arrival at the site
   */
  public static void armAction(BitSet before, int every, int salt, int nth, Runnable work) {
    arm(every, salt, true);
    armed = null;
    tried = before;
    arrivals = nth;
    chosen = -1;
    action = work;
    armed = Thread.currentThread();
  }

  private static void act(int place) {
    if (armed != Thread.currentThread() || hit != null) {
      return;
    }
    if (chosen < 0 && (place * 0x9E3779B9 + offset >>> 8) % stride == 0 && !tried.get(place)) {
      tried.set(place);
      chosen = place;
    }
    if (place == chosen && --arrivals == 0) {
      hit = PLACES.get(place);
      errors = errors + 1;
      Runnable work = action;
      if (work != null) {
        work.run();
      }
    }
  }

  /** Disarms the probe; returns where the error was thrown, or null. */
  public static @Nullable String disarm() {
    armed = null;
    action = null;
    return hit;
  }

  public static @Nullable Throwable thrown() {
    return thrown;
  }

  /** Returns the call site of the action or error; null before it. */
  public static @Nullable String where() {
    return hit;
  }

  public static int errors() {
    return errors;
  }

  public static long passed() {
    return passed;
  }

  /** Returns how many latches and locks the armed thread holds. */
  public static int held() {
    return held;
  }

  /** Called before a call or an allocation. */
  public static void at(int place, boolean allocation) {
    if (lasting >= 0) {
      atLasting(place);
      return;
    }
    if (action != null) {
      act(place);
      return;
    }
    if (armed != Thread.currentThread() || hit != null || giving > 0 || held <= 0 && !anywhere) {
      return;
    }
    passed++;
    if ((place * 0x9E3779B9 + offset >>> 8) % stride != 0 || FAILED.get(place)) {
      return;
    }
    FAILED.set(place);
    hit = PLACES.get(place);
    Error e =
        allocation || errors % 3 == 0
            ? new OutOfMemoryError("thrown on purpose before " + hit)
            : errors % 3 == 1
                ? new StackOverflowError("thrown on purpose before " + hit)
                : new InternalError("thrown on purpose before " + hit);
    errors = errors + 1;
    thrown = e;
    throw e;
  }

  private static void atLasting(int place) {
    if (armed != Thread.currentThread() || giving > 0 || lasting-- > 0) {
      return;
    }
    lasting = 0;
    String where = PLACES.get(place);
    hit = hit == null ? where : hit;
    throw new OutOfMemoryError("thrown on purpose before " + where);
  }

  /** Called when a release begins (1) and ends (-1). */
  public static void giving(int more) {
    if (armed == Thread.currentThread()) {
      giving += more;
    }
  }

  /** Called after an attempt to take a latch or lock. */
  public static void took(boolean it) {
    if (it && armed == Thread.currentThread()) {
      held++;
    }
  }

  /** Called after a release. */
  public static void gave() {
    if (armed == Thread.currentThread()) {
      held--;
    }
  }
}
