package io.fovea.tpcc.ycsb;

import io.fovea.tpcc.bench.Rng;
import io.fovea.tpcc.bench.Zipf;

/**
 * Draws the numbers of records, from 0 to one below how many there are at that moment.
 *
 * <p>YCSB scrambles the ranks of its zipf distribution by a hash of them modulo the number of
 * records, which lets some records have several ranks and others none. Here the rank is the number,
 * and the key is a bijection of it ({@link Records#hash}): as scattered, and exactly the
 * distribution. The normalisation is that of the number of records there are: {@link Zipf} needs no
 * sum over all ranks for it, so that a table that grows costs a few logarithms where YCSB adds to
 * its sum.
 *
 * <p>One thread.
 */
abstract class Keys {
  /** How popular which records are. */
  enum Shape {
    /** Rank k has the weight 1 / k^theta; which records those are does not change. */
    ZIPFIAN,
    /** The same, where the newest record has the first rank. */
    LATEST,
    /** All alike. */
    UNIFORM,
    /** A part of the records gets a part of the operations, uniform within both. */
    HOTSPOT
  }

  /**
   * Draws one.
   *
   * @param count how many records there are, at least 1 and never fewer than before
   */
  abstract long next(Rng rng, long count);

  /**
   * Makes a generator.
   *
   * @param theta of the zipf distributions, above 0
   * @param hotKeys the part of the records that is hot, above 0 and below 1
   * @param hotOperations the part of the operations that they get
   */
  static Keys of(Shape shape, double theta, double hotKeys, double hotOperations) {
    return switch (shape) {
      case ZIPFIAN -> new Zipfian(theta, false);
      case LATEST -> new Zipfian(theta, true);
      case UNIFORM -> new Uniform();
      case HOTSPOT -> new Hotspot(hotKeys, hotOperations);
    };
  }

  /** The high half of a product: uniform but for a part in 2^64 / count. */
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
