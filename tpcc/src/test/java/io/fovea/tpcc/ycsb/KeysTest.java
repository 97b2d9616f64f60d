package io.fovea.tpcc.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.tpcc.bench.Rng;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests distributions with Pearson's test and fixed seeds. */
class KeysTest {
  private static final int DRAWS = 400_000;

  /** Returns Pearson's statistic of counts against expected weights. */
  private static double chiSquare(long[] counts, double[] weights) {
    double sum = 0;
    for (double w : weights) {
      sum += w;
    }
    double statistic = 0;
    for (int i = 0; i < counts.length; i++) {
      double expected = DRAWS * weights[i] / sum;
      statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return statistic;
  }

  /** Returns four standard deviations above the mean of the chi-square distribution. */
  private static double limit(int cells) {
    return cells - 1 + 4 * Math.sqrt(2.0 * (cells - 1));
  }

  private static long[] draw(Keys keys, int n, long seed) {
    Rng rng = new Rng(seed);
    long[] counts = new long[n];
    for (int i = 0; i < DRAWS; i++) {
      counts[Math.toIntExact(keys.next(rng, n))]++;
    }
    return counts;
  }

  private static double[] zipf(int n, double theta) {
    double[] weights = new double[n];
    for (int i = 0; i < n; i++) {
      weights[i] = Math.pow(i + 1, -theta);
    }
    return weights;
  }

  @ParameterizedTest
  @ValueSource(doubles = {.6, .9, .99})
  void zipfian(double theta) {
    int n = 1_000;
    long[] counts = draw(Keys.of(Keys.Shape.ZIPFIAN, theta, .2, .8), n, 1);
    assertTrue(chiSquare(counts, zipf(n, theta)) < limit(n), "theta " + theta);
    assertFalse(chiSquare(counts, zipf(n, theta - .1)) < limit(n), "the test can fail");
  }

  @Test
  void latestIsZipfianFromTheEnd() {
    int n = 500;
    long[] counts = draw(Keys.of(Keys.Shape.LATEST, .99, .2, .8), n, 2);
    double[] weights = zipf(n, .99);
    double[] mirrored = new double[n];
    for (int i = 0; i < n; i++) {
      mirrored[i] = weights[n - 1 - i];
    }
    assertTrue(chiSquare(counts, mirrored) < limit(n));
  }

  /** If the number of records grows, the distribution must be that of the new number. */
  @ParameterizedTest
  @ValueSource(strings = {"ZIPFIAN", "LATEST"})
  void growingTableIsRenormalized(Keys.Shape shape) {
    Keys keys = Keys.of(shape, .99, .2, .8);
    Rng rng = new Rng(3);
    for (int n = 1; n <= 400; n++) {
      long k = keys.next(rng, n);
      assertTrue(k >= 0 && k < n, k + " of " + n);
    }
    long[] counts = draw(keys, 400, 4);
    double[] weights = zipf(400, .99);
    if (shape == Keys.Shape.LATEST) {
      for (int i = 0; i < 200; i++) {
        double w = weights[i];
        weights[i] = weights[399 - i];
        weights[399 - i] = w;
      }
    }
    assertTrue(chiSquare(counts, weights) < limit(400));
  }

  @Test
  void uniform() {
    double[] weights = new double[777];
    Arrays.fill(weights, 1);
    long[] counts = draw(Keys.of(Keys.Shape.UNIFORM, .99, .2, .8), weights.length, 5);
    assertTrue(chiSquare(counts, weights) < limit(weights.length));
  }

  @ParameterizedTest
  @CsvSource({".2,.8", ".01,.9"})
  void hotspot(double hotKeys, double hotOperations) {
    int n = 1_000;
    int hot = (int) Math.round(hotKeys * n);
    double[] weights = new double[n];
    for (int i = 0; i < n; i++) {
      weights[i] = i < hot ? hotOperations / hot : (1 - hotOperations) / (n - hot);
    }
    long[] counts = draw(Keys.of(Keys.Shape.HOTSPOT, .99, hotKeys, hotOperations), n, 6);
    assertTrue(chiSquare(counts, weights) < limit(n));
  }

  /** The dissertation: with .99, 10 % of the pairs get 80 % of the operations; with .6, 40 %. */
  @ParameterizedTest
  @CsvSource({".99,.80,.12", ".6,.40,.05"})
  void aTenthGetsTheShareInTheDissertation(double theta, double share, double tolerance) {
    int n = 1_000_000;
    Keys keys = Keys.of(Keys.Shape.ZIPFIAN, theta, .2, .8);
    Rng rng = new Rng(7);
    int hits = 0;
    for (int i = 0; i < DRAWS; i++) {
      hits += keys.next(rng, n) < n / 10 ? 1 : 0;
    }
    assertEquals(share, (double) hits / DRAWS, tolerance);
  }

  /** Popular records are spread over the key space: no tenth of it has much more than a tenth. */
  @Test
  void popularRecordsAreScattered() {
    int[] tenths = new int[10];
    for (int number = 0; number < 10_000; number++) {
      long hash = Records.hash(number) ^ Long.MIN_VALUE;
      tenths[(int) Math.unsignedMultiplyHigh(hash, 10)]++;
    }
    for (int t : tenths) {
      assertEquals(1_000, t, 150);
    }
  }

  @Test
  void hashesAreInvertible() {
    Rng rng = new Rng(8);
    for (int i = 0; i < 100_000; i++) {
      long number = i % 2 == 0 ? i : rng.nextLong();
      assertEquals(number, Records.number(Records.hash(number)));
    }
  }
}
