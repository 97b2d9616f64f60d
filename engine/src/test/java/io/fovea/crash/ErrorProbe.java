package io.fovea.crash;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What {@link ErrorWeaver} puts before every call and every allocation of the engine: the place
 * where one of them fails.
 *
 * <p>Places are numbered as they are woven. While it is armed, the first place that one thread
 * comes to with a latch or a lock held (or anywhere, where that is asked for), and that has not
 * failed before, throws an error; and then no other does. Other threads pass.
 *
 * <p>What gives a latch or a lock back does not fail ({@link ErrorWeaver#GIVES}): there is no code
 * that could be right if it did.
 */
public final class ErrorProbe {
  /** What tests lock that arm it, for it is one for all. */
  static final String LOCK = "io.fovea.crash.ErrorProbe";

  private static final List<String> PLACES = new ArrayList<>();
  private static final BitSet FAILED = new BitSet();

  private static volatile @Nullable Thread armed;
  private static int stride;
  private static int offset;
  private static boolean anywhere;

  /** From so many places on all fail; negative: one does. */
  private static int lasting = -1;

  private static int held;
  private static int giving;
  private static long passed;
  private static volatile int errors;
  private static volatile @Nullable String hit;

  /** Runs at a place instead of an error. */
  private static @Nullable Runnable action;

  /** How often the armed thread passes the place of {@link #action} before that runs. */
  private static int arrivals;

  private static int chosen;
  private static BitSet tried = new BitSet();
  private static volatile @Nullable Throwable thrown;

  private ErrorProbe() {}

  /** A new place. */
  static synchronized int place(String name) {
    PLACES.add(name);
    return PLACES.size() - 1;
  }

  /**
   * The calling thread fails at the next place that it has not failed at.
   *
   * @param every of so many places one is tried
   * @param salt which one
   * @param unlatched also where it holds nothing
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
   * All places that the calling thread comes to fail, but for the first ones: there is no memory
   * any more.
   *
   * @param after how many do not fail
   */
  public static void armLasting(int after) {
    arm(1, 0, true);
    armed = null;
    lasting = after;
    armed = Thread.currentThread();
  }

  /**
   * The calling thread runs an action, once, at the first place that is not in a set, which gets
   * it; latched or not, and whatever it is about to call.
   *
   * @param before the places that have been tried
   * @param every of so many places one is tried
   * @param salt which one
   * @param nth which of its arrivals at the place
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

  /** No more errors; says where there was one, or null. */
  public static @Nullable String disarm() {
    armed = null;
    action = null;
    return hit;
  }

  public static @Nullable Throwable thrown() {
    return thrown;
  }

  /** The place of the action or the error; null before. */
  public static @Nullable String where() {
    return hit;
  }

  public static int errors() {
    return errors;
  }

  public static long passed() {
    return passed;
  }

  /** How many latches and locks the thread has that was armed. */
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

  /** Called where the giving back of something begins, by 1, and where it ends, by -1. */
  public static void giving(int more) {
    if (armed == Thread.currentThread()) {
      giving += more;
    }
  }

  /** Called where a latch or a lock may have been taken. */
  public static void took(boolean it) {
    if (it && armed == Thread.currentThread()) {
      held++;
    }
  }

  /** Called where one was given back. */
  public static void gave() {
    if (armed == Thread.currentThread()) {
      held--;
    }
  }
}
