package io.fovea.jmh;

import java.util.SplittableRandom;

/**
 * Draws record numbers: uniform, or Zipfian (theta 0.99) and scattered over all records, as in
 * YCSB.
 *
 * <p>A draw must be cheap relative to the measured operation. Uniform draws are one step of a
 * generator; Zipfian draws, which need a power, are precomputed and read in a cycle: {@value #MADE}
 * of them, 4 MiB read sequentially.
 */
final class KeyChooser {
  private static final int MADE = 1 << 20;
  private static final double THETA = 0.99;

  private final int records;
  private final int[] made;
  private int next;
  private long state;

  /**
   * Creates a chooser.
   *
   * @param records the upper bound of draws, exclusive
   * @param kind {@code uniform} or {@code zipf}
   */
  KeyChooser(int records, String kind, long seed) {
    this.records = records;
    this.state = seed * 0x9E37_79B9_7F4A_7C15L + 1;
    this.made =
        switch (kind) {
          case "uniform" -> new int[0];
          case "zipf" -> zipf(records, new SplittableRandom(seed));
          default -> throw new IllegalArgumentException("keys=" + kind + ": uniform or zipf");
        };
  }

  int next() {
    int[] ahead = made;
    if (ahead.length == 0) {
      return random(records);
    }
    next = (next + 1) & (MADE - 1);
    return ahead[next];
  }

  /** Draws a uniform number below a bound, whatever the kind. */
  int random(int bound) {
    // xorshift64*: three shifts and a multiplication, no division.
    long x = state;
    x ^= x >>> 12;
    x ^= x << 25;
    x ^= x >>> 27;
    state = x;
    return (int) ((x * 0x2545_F491_4F6C_DD1DL >>> 32) * bound >>> 32);
  }

  /** Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994. */
  private static int[] zipf(int n, SplittableRandom random) {
    double zetan = 0;
    for (int i = 1; i <= n; i++) {
      zetan += 1 / Math.pow(i, THETA);
    }
    double alpha = 1 / (1 - THETA);
    double zeta2 = 1 + Math.pow(0.5, THETA);
    double eta = (1 - Math.pow(2.0 / n, 1 - THETA)) / (1 - zeta2 / zetan);
    int[] out = new int[MADE];
    for (int i = 0; i < MADE; i++) {
      double u = random.nextDouble();
      double uz = u * zetan;
      long rank = uz < 1 ? 0 : uz < zeta2 ? 1 : (long) (n * Math.pow(eta * u - eta + 1, alpha));
      out[i] = (int) Long.remainderUnsigned(scatter(Math.min(rank, n - 1)), n);
    }
    return out;
  }

  private static long scatter(long rank) {
    long z = (rank + 1) * 0x9E37_79B9_7F4A_7C15L;
    z = (z ^ z >>> 30) * 0xBF58_476D_1CE4_E5B9L;
    return z ^ z >>> 27;
  }
}
