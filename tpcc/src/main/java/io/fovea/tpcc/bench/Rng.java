package io.fovea.tpcc.bench;

/**
 * SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): one
 * addition and a few multiplications per draw, no allocation. Not thread-safe: one per worker, or
 * per piece of a load.
 */
public final class Rng {
  private static final long GAMMA = 0x9e37_79b9_7f4a_7c15L;

  private long state;

  public Rng(long seed) {
    state = seed;
  }

  /** Resets the generator to a seed. */
  public void seed(long seed) {
    state = seed;
  }

  /** Derives the seed of a named part. Parts of one root are independent, in any order of use. */
  public static long derive(long root, long a, long b, long c) {
    return mix(mix(mix(mix(root + GAMMA) + a + GAMMA) + b + GAMMA) + c + GAMMA);
  }

  private static long mix(long z) {
    z = (z ^ (z >>> 30)) * 0xbf58_476d_1ce4_e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d0_49bb_1331_11ebL;
    return z ^ (z >>> 31);
  }

  public long nextLong() {
    return mix(state += GAMMA);
  }

  /** Returns a uniform number in {@code [0, bound)}, without bias (Lemire's multiplication). */
  public int below(int bound) {
    long product = (nextLong() >>> 32) * bound;
    if ((int) product + Integer.MIN_VALUE < bound + Integer.MIN_VALUE) {
      product = redraw(bound, product);
    }
    return (int) (product >>> 32);
  }

  private long redraw(int bound, long product) {
    int threshold = Integer.remainderUnsigned(-bound, bound);
    while (Integer.compareUnsigned((int) product, threshold) < 0) {
      product = (nextLong() >>> 32) * bound;
    }
    return product;
  }

  /** Returns a uniform number in {@code [low, high]}, as the specification writes its ranges. */
  public int between(int low, int high) {
    return low + below(high - low + 1);
  }

  /** Returns true in {@code percent} of 100 draws. */
  public boolean percent(int percent) {
    return below(100) < percent;
  }

  /**
   * Returns a uniform number in (0, 1], for the negative exponential distribution of think times.
   */
  public double unit() {
    return ((nextLong() >>> 11) + 1) * 0x1p-53;
  }

  /** Shuffles {@code values} (Fisher-Yates). */
  public void shuffle(int[] values) {
    for (int i = values.length - 1; i > 0; i--) {
      int j = below(i + 1);
      int v = values[i];
      values[i] = values[j];
      values[j] = v;
    }
  }
}
