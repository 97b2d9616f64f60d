package io.fovea.tpcc.ycsb;

import io.fovea.tpcc.bench.Rng;
import io.fovea.tpcc.bench.Zipf;

/**
 * Draws record numbers below the current number of records.
 *
 * <p>YCSB scrambles Zipf ranks by a hash modulo the number of records, which gives some records
 * several ranks and others none. Here the rank is the record number, and the key is a bijection of
 * it ({@link Records#hash}): equally scattered, and the distribution is exact. {@link Zipf} needs
 * no sum over all ranks, so a growing table costs a few logarithms per draw.
 *
 * <p>One thread.
 */
abstract class Keys {
  /** The shapes of the distribution. */
  enum Shape {
    /** Rank k has the weight 1 / k^theta; the ranks of records are fixed. */
    ZIPFIAN,
    /** Zipfian, with the newest record first. */
    LATEST,
    /** All records with the same probability. */
    UNIFORM,
    /** A part of the records gets a part of the operations, uniform within both. */
    HOTSPOT
  }

  /**
   * Draws a number.
   *
   * @param count the number of records, at least 1, never decreasing
   */
  abstract long next(Rng rng, long count);

  /**
   * Creates a generator.
   *
   * @param theta skew of Zipf distributions, above 0
   * @param hotKeys the hot part of the records, above 0 and below 1
   */
  static Keys of(Shape shape, double theta, double hotKeys, double hotOperations) {
    return switch (shape) {
      case ZIPFIAN -> new Zipfian(theta, false);
      case LATEST -> new Zipfian(theta, true);
      case UNIFORM -> new Uniform();
      case HOTSPOT -> new Hotspot(hotKeys, hotOperations);
    };
  }

  /** The high half of a product: uniform up to a bias of count / 2^64. */
  static long uniform(Rng rng, long count) {
    return Math.unsignedMultiplyHigh(rng.nextLong(), count);
  }

  private static final class Zipfian extends Keys {
    private final double theta;
    private final boolean latest;
    private Zipf zipf;
    private long normalised;

    Zipfian(double theta, boolean latest) {
      this.theta = theta;
      this.latest = latest;
      this.zipf = new Zipf(1, theta);
      this.normalised = 1;
    }

    @Override
    long next(Rng rng, long count) {
      if (count != normalised) {
        zipf = new Zipf(count, theta);
        normalised = count;
      }
      long rank = zipf.next(rng);
      return latest ? count - 1 - rank : rank;
    }
  }

  private static final class Uniform extends Keys {
    @Override
    long next(Rng rng, long count) {
      return uniform(rng, count);
    }
  }

  private static final class Hotspot extends Keys {
    private final double hotKeys;
    private final double hotOperations;

    Hotspot(double hotKeys, double hotOperations) {
      this.hotKeys = hotKeys;
      this.hotOperations = hotOperations;
    }

    @Override
    long next(Rng rng, long count) {
      long hot = Math.clamp(Math.round(hotKeys * count), 1L, count);
      if (hot == count || rng.unit() <= hotOperations) {
        return uniform(rng, hot);
      }
      return hot + uniform(rng, count - hot);
    }
  }
}
