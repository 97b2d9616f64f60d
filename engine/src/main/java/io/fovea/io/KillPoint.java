package io.fovea.io;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Named places at which a test may let the process die.
 *
 * <p>The system property {@code io.fovea.killPoint}, {@code name} or {@code name:n}, halts the JVM
 * with status 137 when the place is passed for the n-th time (the first, without a number): no
 * shutdown hook runs, nothing is flushed, as with a kill. Without the property a place costs the
 * comparison of a constant.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class KillPoint {
  /** The status that the process ends with: that of one killed by signal 9. */
  public static final int STATUS = 137;

  private static final @Nullable String NAME;
  private static final AtomicInteger LEFT;

  static {
    String property = System.getProperty("io.fovea.killPoint");
    int colon = property == null ? -1 : property.lastIndexOf(':');
    if (property == null || property.isEmpty()) {
      NAME = null;
      LEFT = new AtomicInteger();
    } else if (colon < 0) {
      NAME = property;
      LEFT = new AtomicInteger(1);
    } else {
      NAME = property.substring(0, colon);
      LEFT = new AtomicInteger(Integer.parseInt(property.substring(colon + 1)));
    }
  }

  private KillPoint() {}

  /**
   * A place.
   *
   * @param name its name
   */
  public static void here(String name) {
    if (NAME != null && NAME.equals(name) && LEFT.decrementAndGet() == 0) {
      Runtime.getRuntime().halt(STATUS);
    }
  }
}
