package io.fovea.translations;

import io.fovea.InTurn;
import io.fovea.Markdown;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * A working set that drifts: at each interval, the quarter that was in it longest is replaced by
 * new records. The engines take turns in each interval, starting with the replacement. Two threads,
 * one lookup per transaction.
 *
 * <p>The slow time after a replacement lasts from the first bucket to the last one with less than
 * half of the throughput at the end of the interval.
 */
final class Drift {
  private static final long BUCKET_NANOS = 10_000_000;
  private static final double REPLACED = 0.25;

  private final List<Engine> engines;
  private final long records;
  private final double perPool;
  private final double share;
  private final int intervals;
  private final long intervalNanos;

  Drift(List<Engine> engines, long records, double perPool, double share, boolean quick) {
    this.engines = engines;
    this.records = records;
    this.perPool = perPool;
    this.share = share;
    // Up to 1.5 pools of records pass through the working set; with large replacements, at least a
    // few.
    this.intervals = quick ? 3 : (int) Math.max(10, (1.5 - share) / (REPLACED * share));
    this.intervalNanos = (quick ? 100 : share > 0.5 ? 3000 : 800) * 1_000_000L;
  }

  void run() {
    long size = (long) (share * perPool);
    long step = (long) (REPLACED * size);
    int n = (int) (intervalNanos / BUCKET_NANOS);
    engines.forEach(e -> e.ask("fill 0 " + size));
    double[][][] found = new double[engines.size()][intervals][];
    // Warm-up without drift.
    for (int i = -4; i < intervals; i++) {
      long first = Math.max(0, i + 1) * step % records;
      for (int e = 0; e < engines.size(); e++) {
        double[] answer =
            engines
                .get(e)
                .ask("drift 2 " + first + " " + size + " 1 " + intervalNanos + " " + BUCKET_NANOS);
        if (i >= 0) {
          found[e][i] = answer;
        }
      }
    }
    int full = (int) Math.ceil((1 - share) / (REPLACED * share));
    System.out.printf(
        Locale.ROOT,
        "%nA working set of %.1f pools, a quarter of it replaced each %d ms, %d times; the pool is full after"
            + " %d:%n%n",
        share,
        intervalNanos / 1_000_000,
        intervals,
        Math.min(full, intervals));
    Markdown.head(
        "kind",
        "lookups/s at the ends of intervals",
        "of " + engines.getFirst().title + " (quartiles)",
        "lookups/s overall",
        "of " + engines.getFirst().title + " (quartiles)",
        "ms below half, pool not full: median",
        "most",
        "pool full: median",
        "most",
        "device reads per replacement");
    int split = Math.min(full, intervals);
    for (int e = 0; e < engines.size(); e++) {
      double[] ends = ends(found[e], n);
      double[] wholes = wholes(found[e], n);
      double half = average(ends) / 2;
      double[] slow =
          Arrays.stream(found[e]).mapToDouble(interval -> slow(interval, n, half)).toArray();
      double[] before = Arrays.copyOf(slow, split);
      double[] after = Arrays.copyOfRange(slow, split, intervals);
      Markdown.line(
          engines.get(e).title,
          rate(ends),
          ratios(ends, ends(found[0], n)),
          rate(wholes),
          ratios(wholes, wholes(found[0], n)),
          quantile(before, 0.5),
          quantile(before, 1),
          quantile(after, 0.5),
          quantile(after, 1),
          text("%,.0f", Arrays.stream(found[e]).mapToDouble(i -> i[n]).average().orElse(0)));
    }
  }

  /** Returns the lookups per bucket in the last third of each interval. */
  private static double[] ends(double[][] intervals, int buckets) {
    return each(intervals, buckets * 2 / 3, buckets);
  }

  private static double[] wholes(double[][] intervals, int buckets) {
    return each(intervals, 0, buckets);
  }

  private static double[] each(double[][] intervals, int from, int to) {
    return Arrays.stream(intervals)
        .mapToDouble(interval -> average(Arrays.copyOfRange(interval, from, to)))
        .toArray();
  }

  private static double average(double[] values) {
    return Arrays.stream(values).average().orElse(0);
  }

  private static String rate(double[] lookups) {
    return text("%,.0f", average(lookups) * 1e9 / BUCKET_NANOS);
  }

  /** Formats the median and quartiles of the intervals' ratios. */
  private static String ratios(double[] values, double[] beside) {
    double[] ratios = new double[values.length];
    Arrays.setAll(ratios, i -> values[i] / beside[i]);
    return text(
        "%.2f (%.2f-%.2f)",
        InTurn.quantile(ratios, 0.5), InTurn.quantile(ratios, 0.25), InTurn.quantile(ratios, 0.75));
  }

  private static double slow(double[] interval, int n, double half) {
    int last = 0;
    for (int b = 0; b < n; b++) {
      if (interval[b] < half) {
        last = b + 1;
      }
      if (b > last + 20) {
        break; // a later slow bucket is noise, and not caused by the replacement
      }
    }
    return last * (BUCKET_NANOS / 1e6);
  }

  private static String quantile(double[] values, double part) {
    return values.length == 0 ? "-" : text("%.0f", InTurn.quantile(values, part));
  }

  private static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
