package io.fovea.faults;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Named points at which a test lets its process die: a child that it has started with the agent and
 * {@code failpoint=name} or {@code failpoint=name:n} ({@link FaultAgent}). The JVM halts when the
 * point is passed for the n-th time, the first by default: no shutdown hook runs and nothing is
 * flushed, as with a kill.
 *
 * <p>Any thread.
 */
public final class Failpoint {
  /** The exit status: that of a process killed by signal 9. */
  private static final int STATUS = 137;

  private static volatile @Nullable String armed;
  private static final AtomicInteger LEFT = new AtomicInteger();

  private Failpoint() {}

  /** Arms a point, before any class of the engine is loaded. */
  static void arm(String point) {
    int colon = point.lastIndexOf(':');
    LEFT.set(colon < 0 ? 1 : Integer.parseInt(point.substring(colon + 1)));
    armed = colon < 0 ? point : point.substring(0, colon);
  }

  /** Called by woven code: the point is passed. */
  public static void here(String name) {
    if (name.equals(armed) && LEFT.decrementAndGet() == 0) {
      Runtime.getRuntime().halt(STATUS);
    }
  }

  /** Called by woven code: the point is passed if something was done. */
  public static boolean here(boolean done, String name) {
    if (done) {
      here(name);
    }
    return done;
  }
}
