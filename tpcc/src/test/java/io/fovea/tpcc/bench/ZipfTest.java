package io.fovea.tpcc.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ZipfTest {
  @ParameterizedTest
  @ValueSource(doubles = {0.2, 0.6, 0.99, 1, 1.5, 3})
  void ranksHaveTheirWeights(double theta) {
    int n = 20;
    int draws = 200_000;
    double sum = 0;
    for (int k = 1; k <= n; k++) {
      sum += Math.pow(k, -theta);
    }
    Zipf zipf = new Zipf(n, theta);
    Rng rng = new Rng(7);
    int[] counts = new int[n];
    for (int i = 0; i < draws; i++) {
      counts[(int) zipf.next(rng)]++;
    }
    for (int k = 1; k <= n; k++) {
      double expected = draws * Math.pow(k, -theta) / sum;
      // Five standard deviations of a binomial distribution; the seed is fixed.
      assertEquals(expected, counts[k - 1], 5 * Math.sqrt(expected) + 1, "rank " + k);
    }
  }

  @Test
  void aSingleRankIsLegal() {
    Rng rng = new Rng(1);
    for (int i = 0; i < 100; i++) {
      assertEquals(0, new Zipf(1, 0.99).next(rng));
    }
  }

  @Test
  void manyRanksStayInBounds() {
    long n = 100_000_000_000L;
    Zipf zipf = new Zipf(n, 0.5);
    Rng rng = new Rng(1);
    long most = 0;
    for (int i = 0; i < 100_000; i++) {
      long k = zipf.next(rng);
      assertTrue(k >= 0 && k < n, () -> "rank " + k);
      most = Math.max(most, k);
    }
    assertTrue(most > n / 2, "and use them: " + most);
  }
}
