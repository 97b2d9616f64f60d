package io.fovea;

import io.fovea.catalog.Expirations;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Objects;

/**
 * How rows {@linkplain io.fovea.schema.TableSpec#expireAfter expire}: by which clock, and how often
 * those that have expired are removed.
 *
 * <p>A value: every method with an argument gives a new one. Any thread. Part of {@link Options}.
 *
 * @since 0.1.0
 */
public final class ExpiryOptions {
  private static final ExpiryOptions DEFAULTS =
      new ExpiryOptions(InstantSource.system(), Duration.ofSeconds(1));

  private static final Duration INTERVAL_MAX = Duration.ofDays(365);

  private final InstantSource clock;
  private final Duration sweepInterval;

  private ExpiryOptions(InstantSource clock, Duration sweepInterval) {
    this.clock = clock;
    this.sweepInterval = sweepInterval;
  }

  /**
   * The defaults.
   *
   * @return the options that the others are made from
   */
  public static ExpiryOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the clock that says what time it is. It is asked once in each transaction, when that meets
   * the first row that may expire, by a load and a snapshot when they begin, and by the sweep; in
   * any thread. For tests, or where an application has a time of its own. Where a clock goes back,
   * rows that were hidden and not yet removed are there again.
   *
   * @param clock the default is the system's
   * @return new options
   */
  public ExpiryOptions clock(InstantSource clock) {
    return new ExpiryOptions(Objects.requireNonNull(clock, "clock"), sweepInterval);
  }

  /**
   * The clock that says what time it is.
   *
   * @return the clock
   */
  public InstantSource clock() {
    return clock;
  }

  /**
   * Sets how often the background looks for rows that have expired. It removes all that it finds.
   * Rows are hidden at once, whatever is set here; until they are removed they take room, and count
   * in estimates.
   *
   * @param interval the default is a second; zero for never, where the application calls {@link
   *     Database#sweepExpired}
   * @return new options
   * @throws IllegalArgumentException if it is negative or more than a year
   */
  public ExpiryOptions sweepInterval(Duration interval) {
    Options.check(
        !interval.isNegative() && interval.compareTo(INTERVAL_MAX) <= 0,
        "ExpiryOptions.sweepInterval is a year at most and not negative",
        interval);
    return new ExpiryOptions(clock, interval);
  }

  /**
   * How often the background looks for rows that have expired.
   *
   * @return the interval; zero for never
   */
  public Duration sweepInterval() {
    return sweepInterval;
  }

  Expirations.Timing timing() {
    return new Expirations.Timing(clock, sweepInterval.toNanos());
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ExpiryOptions o
        && clock.equals(o.clock)
        && sweepInterval.equals(o.sweepInterval);
  }

  @Override
  public int hashCode() {
    return Objects.hash(clock, sweepInterval);
  }

  @Override
  public String toString() {
    return "ExpiryOptions[clock=" + clock + ", sweepInterval=" + sweepInterval + "]";
  }
}
