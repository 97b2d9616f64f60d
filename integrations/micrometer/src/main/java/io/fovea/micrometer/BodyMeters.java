package io.fovea.micrometer;

import io.fovea.DatabaseStats;
import io.fovea.error.AbortCause;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/**
 * The meters of each named body. Each read of the figures adds meters of new names, with effect
 * from the next scrape; the engine limits the number of names.
 *
 * <p>Thread-safe.
 */
final class BodyMeters {
  private final Supplier<Map<String, DatabaseStats.Body>> figures;
  private final MeterRegistry registry;
  private final OwnMeters own;
  private final Tags tags;

  /** The names that have meters; guarded by this. */
  private final Set<String> names = new HashSet<>();

  private boolean removed;

  BodyMeters(
      Supplier<Map<String, DatabaseStats.Body>> figures,
      MeterRegistry registry,
      OwnMeters own,
      Tags tags) {
    this.figures = figures;
    this.registry = registry;
    this.own = own;
    this.tags = tags;
  }

  /** Returns the number of names, after adding the meters of new ones. */
  synchronized double bodies() {
    Map<String, DatabaseStats.Body> all = figures.get();
    if (!removed) {
      for (String name : all.keySet()) {
        if (names.add(name)) {
          add(name);
        }
      }
    }
    return all.size();
  }

  /** Adds no meters from now on. */
  synchronized void remove() {
    removed = true;
  }

  private double value(String name, ToLongFunction<DatabaseStats.Body> what) {
    DatabaseStats.Body body = figures.get().get(name);
    return body == null ? Double.NaN : what.applyAsLong(body);
  }

  private void add(String name) {
    Tags of = tags.and("body", name);
    own.add(
        FunctionTimer.builder(
                "fovea.body.duration",
                this,
                x -> (long) x.value(name, DatabaseStats.Body::runs),
                x -> x.value(name, DatabaseStats.Body::nanos),
                TimeUnit.NANOSECONDS)
            .description("Runs of a body with all of their attempts")
            .tags(of)
            .register(registry));
    own.add(
        TimeGauge.builder(
                "fovea.body.duration.longest",
                this,
                TimeUnit.NANOSECONDS,
                x -> x.value(name, DatabaseStats.Body::maxNanos))
            .description("Longest run of a body since the database was opened")
            .tags(of)
            .strongReference(true)
            .register(registry));
    counter("retries", "Attempts of a body after the first", of, name, DatabaseStats.Body::retries);
    for (AbortCause c : AbortCause.values()) {
      counter(
          "aborts",
          "Aborted attempts of a body",
          of.and("cause", c.name().toLowerCase(Locale.ROOT)),
          name,
          body -> body.abortsByCause().getOrDefault(c, 0L));
    }
  }

  private void counter(
      String meter, String what, Tags of, String name, ToLongFunction<DatabaseStats.Body> value) {
    own.add(
        FunctionCounter.builder("fovea.body." + meter, this, x -> x.value(name, value))
            .description(what)
            .tags(of)
            .register(registry));
  }
}
