package io.fovea.tpcc.bench;

import org.HdrHistogram.Histogram;

/** How latencies are recorded and which of them are shown. */
public final class Percentiles {
  /** Latencies are in nanoseconds; longer ones count as this long. */
  public static final long LATENCY_MAX_NANOS = 100_000_000_000L;

  /** Percentiles that are shown. */
  public static final double[] PERCENTILES = {50, 95, 99, 99.9, 100};

  /** Their names. */
  public static final String[] PERCENTILE_NAMES = {"p50", "p95", "p99", "p99.9", "max"};

  private Percentiles() {}

  /** Histograms of 3 digits are 220 kB each, of 2 digits 30 kB; many clients need many. */
  public static int latencyDigits(int clients) {
    return clients <= 64 ? 3 : 2;
  }

  /** A percentile in microseconds; 0 where nothing was recorded. */
  public static double micros(Histogram h, double percentile) {
    return h.getTotalCount() == 0 ? 0 : h.getValueAtPercentile(percentile) / 1e3;
  }
}
