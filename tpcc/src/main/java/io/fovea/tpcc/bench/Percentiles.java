package io.fovea.tpcc.bench;

import org.HdrHistogram.Histogram;

/** Defines how latencies are recorded and which percentiles are shown. */
public final class Percentiles {
  /** The longest recorded latency, in nanoseconds; longer ones are capped. */
  public static final long LATENCY_MAX_NANOS = 100_000_000_000L;

  /** The percentiles shown. */
  public static final double[] PERCENTILES = {50, 95, 99, 99.9, 100};

  /** Their names. */
  public static final String[] PERCENTILE_NAMES = {"p50", "p95", "p99", "p99.9", "max"};

  private Percentiles() {}

  /** A histogram of 3 digits takes 220 kB, one of 2 digits 30 kB. With many clients, use 2. */
  public static int latencyDigits(int clients) {
    return clients <= 64 ? 3 : 2;
  }

  /** Returns a percentile in microseconds; 0 if nothing was recorded. */
  public static double micros(Histogram h, double percentile) {
    return h.getTotalCount() == 0 ? 0 : h.getValueAtPercentile(percentile) / 1e3;
  }
}
