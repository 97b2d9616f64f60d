package io.fovea;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * Measures several things in turn, a piece of each per round, so that changes in the speed of the
 * machine affect all of them. Returns medians, of the figures and of their ratios within a round.
 */
public final class InTurn {
  static final int PIECE_MILLIS = 50;
  static final long PIECE_NANOS = PIECE_MILLIS * 1_000_000L;

  private InTurn() {}

  /** Returns the median. */
  public static double median(double[] values) {
    return quantile(values, 0.5);
  }

  /** Returns a quantile: 0 is the minimum, 1 the maximum. */
  public static double quantile(double[] values, double part) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[(int) Math.round(part * (sorted.length - 1))];
  }

  /** One of the things measured in turn. */
  @FunctionalInterface
  interface Piece {
    /** Runs for about this long, and returns nanoseconds per lookup. */
    double run(long nanos);
  }

  /** Medians of nanoseconds and of the ratio to the first, with the range of the ratio. */
  record Medians(double[] nanos, double[] ratios, double[] low, double[] high) {
    /** Combines several results: medians, with the minimum and maximum of the ratios. */
    static Medians of(List<Medians> all) {
      int n = all.get(0).nanos.length;
      Medians middle = new Medians(new double[n], new double[n], new double[n], new double[n]);
      for (int i = 0; i < n; i++) {
        int at = i;
        double[] ratios = all.stream().mapToDouble(m -> m.ratios[at]).sorted().toArray();
        middle.nanos[i] = median(all.stream().mapToDouble(m -> m.nanos[at]).toArray());
        middle.ratios[i] = median(ratios);
        middle.low[i] = ratios[0];
        middle.high[i] = ratios[ratios.length - 1];
      }
      return middle;
    }

    String cell(int i) {
      return low[i] == high[i]
          ? String.format(Locale.ROOT, "%,.0f (%.2f)", nanos[i], ratios[i])
          : String.format(
              Locale.ROOT, "%,.0f (%.2f, %.2f-%.2f)", nanos[i], ratios[i], low[i], high[i]);
    }

    String[] cells() {
      String[] cells = new String[nanos.length];
      Arrays.setAll(cells, this::cell);
      return cells;
    }
  }

  /**
   * Runs pieces in turn, with the first quarter of the rounds as warm-up. The range is the
   * quartiles.
   */
  static Medians run(int rounds, List<Piece> pieces) {
    int n = pieces.size();
    int warmUp = rounds / 4;
    double[][] nanos = new double[n][rounds - warmUp];
    double[][] ratios = new double[n][rounds - warmUp];
    for (int round = -warmUp; round < rounds - warmUp; round++) {
      for (int i = 0; i < n; i++) {
        double value = pieces.get(i).run(PIECE_NANOS);
        if (round >= 0) {
          nanos[i][round] = value;
          ratios[i][round] = value / nanos[0][round];
        }
      }
    }
    return new Medians(
        each(nanos, InTurn::median),
        each(ratios, InTurn::median),
        each(ratios, all -> quantile(all, 0.25)),
        each(ratios, all -> quantile(all, 0.75)));
  }

  private static double[] each(double[][] values, ToDoubleFunction<double[]> figure) {
    return Arrays.stream(values).mapToDouble(figure).toArray();
  }
}
