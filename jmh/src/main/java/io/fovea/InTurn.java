package io.fovea;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Measures several things in turn, a piece of each in every round, so that each gets the same of a
 * machine whose speed changes; and takes medians, of the figures and of their ratios within a
 * round.
 */
public final class InTurn {
  static final int PIECE_MILLIS = 50;
  static final long PIECE_NANOS = PIECE_MILLIS * 1_000_000L;

  private InTurn() {}

  /** The middle one. */
  public static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** Something that is measured in turn with others. */
  @FunctionalInterface
  interface Piece {
    /** Goes on for about so long; nanoseconds for each lookup. */
    double run(long nanos);
  }

  /** Medians: of the nanoseconds, and of the ratio to the first. */
  record Medians(double[] nanos, double[] ratios) {
    /** Of each, the median over several. */
    static Medians of(List<Medians> all) {
      double[] nanos = new double[all.get(0).nanos.length];
      double[] ratios = new double[nanos.length];
      for (int i = 0; i < nanos.length; i++) {
        int at = i;
        nanos[i] = median(all.stream().mapToDouble(m -> m.nanos[at]).toArray());
        ratios[i] = median(all.stream().mapToDouble(m -> m.ratios[at]).toArray());
      }
      return new Medians(nanos, ratios);
    }

    String cell(int i) {
      return String.format(Locale.ROOT, "%.0f (%.2f)", nanos[i], ratios[i]);
    }

    String[] cells() {
      String[] cells = new String[nanos.length];
      Arrays.setAll(cells, this::cell);
      return cells;
    }
  }

  /** Pieces of each in turn, so often; the first quarter does not count. */
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
        Arrays.stream(nanos).mapToDouble(InTurn::median).toArray(),
        Arrays.stream(ratios).mapToDouble(InTurn::median).toArray());
  }
}
