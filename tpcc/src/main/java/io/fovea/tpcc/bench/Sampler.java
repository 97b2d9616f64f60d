package io.fovea.tpcc.bench;

import io.fovea.DatabaseStats;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import org.HdrHistogram.AbstractHistogram;

/**
 * Builds the {@link Series} of a run. The thread that collects the workers' histograms calls {@link
 * #sample} at the end of each interval. Workers are not disturbed: the engine's statistics come
 * from counters that they maintain anyway. One thread.
 */
public final class Sampler {
  /** The intended length of an interval. */
  public static final long INTERVAL_NANOS = 1_000_000_000L;

  public static final String WARMUP_ENDS = "warm-up ends";

  private static final double NANOS_PER_SECOND = 1e9;
  private static final double NANOS_PER_MICRO = 1e3;

  private final Supplier<DatabaseStats> source;
  private final Series series = new Series(INTERVAL_NANOS / NANOS_PER_SECOND);
  private final Map<String, DoubleSupplier> gauges = new LinkedHashMap<>();
  private final long startNanos = System.nanoTime();

  private DatabaseStats stats;
  private long nanos = startNanos;
  private long operations;
  private long retries;

  /**
   * Starts the first interval.
   *
   * @param source the engine's statistics
   * @param operations the count of operations so far
   * @param retries the count of retries so far
   */
  public Sampler(Supplier<DatabaseStats> source, long operations, long retries) {
    this.source = source;
    this.stats = source.get();
    this.operations = operations;
    this.retries = retries;
  }

  /**
   * Adds a column with the value at the end of each interval. Call before the first interval ends.
   */
  public Sampler gauge(String name, DoubleSupplier value) {
    gauges.put(name, value);
    return this;
  }

  /**
   * Ends an interval and starts the next.
   *
   * @param latencies of the operations that ended in the interval, in nanoseconds
   * @param operations the total count so far
   * @param retries the total count so far
   */
  public void sample(AbstractHistogram latencies, long operations, long retries) {
    DatabaseStats after = source.get();
    long now = System.nanoTime();
    double seconds = (now - nanos) / NANOS_PER_SECOND;
    series.add(Series.SECOND, (now - startNanos) / NANOS_PER_SECOND);
    series.add(Series.OPERATIONS, (operations - this.operations) / seconds);
    latencies(series, latencies);
    DatabaseStats.Device io = after.io();
    DatabaseStats.Device was = stats.io();
    series.add(Series.READS, (io.reads() - was.reads()) / seconds);
    series.add(Series.WRITES, (io.writes() - was.writes()) / seconds);
    series.add(Series.READ_BYTES, (io.readBytes() - was.readBytes()) / seconds);
    series.add(Series.WRITTEN_BYTES, (io.writtenBytes() - was.writtenBytes()) / seconds);
    series.add(Series.MISSES, (after.buffer().misses() - stats.buffer().misses()) / seconds);
    series.add(
        Series.FRAME_WAITS, (after.buffer().frameWaits() - stats.buffer().frameWaits()) / seconds);
    series.add(Series.RETRIES, (retries - this.retries) / seconds);
    gauges.forEach((name, value) -> series.add(name, value.getAsDouble()));
    this.stats = after;
    this.nanos = now;
    this.operations = operations;
    this.retries = retries;
  }

  /** Adds the percentiles of an interval to a series, from latencies in nanoseconds. */
  public static void latencies(Series series, AbstractHistogram latencies) {
    series.add(Series.P50_MICROS, micros(latencies, 50));
    series.add(Series.P99_MICROS, micros(latencies, 99));
    series.add(Series.P999_MICROS, micros(latencies, 99.9));
    series.add(Series.MAX_MICROS, micros(latencies, 100));
  }

  private static double micros(AbstractHistogram h, double percentile) {
    return h.getTotalCount() == 0
        ? Double.NaN
        : h.getValueAtPercentile(percentile) / NANOS_PER_MICRO;
  }

  /** Marks everything up to the last sample as warm-up. */
  public void warmupEnds() {
    double second = (nanos - startNanos) / NANOS_PER_SECOND;
    series.warmupSeconds(second);
    series.mark(second, WARMUP_ENDS);
  }

  /** Adds a mark for an event that happens now. */
  public void mark(String text) {
    series.mark((System.nanoTime() - startNanos) / NANOS_PER_SECOND, text);
  }

  /** Returns the engine's statistics at the last sample, or at the start. */
  public DatabaseStats stats() {
    return stats;
  }

  /** Returns the {@link System#nanoTime} of the last sample, or of the start. */
  public long nanos() {
    return nanos;
  }

  public Series series() {
    return series;
  }
}
