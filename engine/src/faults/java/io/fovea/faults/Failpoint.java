package io.fovea.faults;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Named points at which a child process of a test halts. The child is started with the agent and
 * {@code failpoint=name} or {@code failpoint=name:n} ({@link FaultAgent}), and halts on the n-th
 * arrival, by default the first. As with a kill, no shutdown hook runs and nothing is flushed.
 * Thread-safe.
 */
public final class Failpoint {
  /** The exit status of a process killed by signal 9. */
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

  /** Called by woven code at a point. */
  public static void here(String name) {
    if (name.equals(armed) && LEFT.decrementAndGet() == 0) {
      Runtime.getRuntime().halt(STATUS);
    }
  }

  /** Called by woven code at a point that counts only if an operation was done. */
  public static boolean here(boolean done, String name) {
    if (done) {
      here(name);
    }
    return done;
  }
}
