package io.fovea;

import io.fovea.catalog.Expirations;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Objects;

/**
 * Options of {@linkplain io.fovea.schema.TableSpec#expireAfter expiring rows}: the clock, and how
 * often expired rows are removed. Immutable: each setter returns new options. Safe for any thread.
 * Part of {@link Options}.
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

  /** {@return the default options} */
  public static ExpiryOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the clock, for tests or for an application with its own time. It may be read in any
   * thread: once per transaction, at the first row that may expire; when a load or a snapshot
   * begins; and by the sweep. If the clock goes back, hidden rows that have not been removed yet
   * may reappear.
   *
   * @param clock the clock; the default is the system's
   * @return new options
   */
  public ExpiryOptions clock(InstantSource clock) {
    return new ExpiryOptions(Objects.requireNonNull(clock, "clock"), sweepInterval);
  }

  /** {@return the clock} */
  public InstantSource clock() {
    return clock;
  }

  /**
   * Sets how often a background sweep removes all expired rows. Expired rows are hidden at once,
   * whatever the interval; until they are removed, they occupy space and count in estimates.
   *
   * @param interval the interval; the default is one second. Zero for never: the application then
   *     calls {@link Database#sweepExpired}
   * @return new options
   * @throws IllegalArgumentException if it is negative or more than a year
   */
  public ExpiryOptions sweepInterval(Duration interval) {
    Options.check(
        !interval.isNegative() && interval.compareTo(INTERVAL_MAX) <= 0,
        "ExpiryOptions.sweepInterval must be from zero to a year",
        interval);
    return new ExpiryOptions(clock, interval);
  }

  /** {@return how often expired rows are removed; zero for never} */
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
