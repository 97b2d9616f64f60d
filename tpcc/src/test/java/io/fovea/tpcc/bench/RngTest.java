package io.fovea.tpcc.bench;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.BitSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RngTest {
  @Test
  void betweenIsInclusive() {
    Rng rng = new Rng(1);
    BitSet seen = new BitSet();
    for (int i = 0; i < 2_000; i++) {
      int v = rng.between(5, 15);
      assertTrue(v >= 5 && v <= 15, () -> "seed 1 gave " + v);
      seen.set(v);
    }
    assertEquals(11, seen.cardinality());
    assertEquals(7, rng.between(7, 7));
  }

  @Test
  void belowIsUniformForAnyBound() {
    // Chi-square with 2 degrees of freedom is below 13.8 in 999 of 1,000 cases; the seed is fixed.
    int bound = 3;
    int draws = 300_000;
    int[] counts = new int[bound];
    Rng rng = new Rng(2);
    for (int i = 0; i < draws; i++) {
      counts[rng.below(bound)]++;
    }
    double expected = (double) draws / bound;
    double chi = Arrays.stream(counts).mapToDouble(c -> (c - expected) * (c - expected)).sum();
    assertTrue(chi / expected < 13.8, () -> Arrays.toString(counts));
  }

  @Test
  void largeBoundsAreRedrawnToStayUniform() {
    int bound = (1 << 30) + (1 << 29);
    Rng rng = new Rng(3);
    int upper = 0;
    for (int i = 0; i < 30_000; i++) {
      int v = rng.below(bound);
      assertTrue(v >= 0 && v < bound);
      if (v >= bound / 3 * 2) {
        upper++;
      }
    }
    assertEquals(10_000, upper, 300, "a third of the draws");
  }

  @Test
  void oneSeedGivesOneSequence() {
    Rng a = new Rng(42);
    Rng b = new Rng(7);
    b.seed(42);
    for (int i = 0; i < 100; i++) {
      assertEquals(a.nextLong(), b.nextLong());
    }
  }

  @Test
  void derivedSeedsDifferInEveryPart() {
    long seed = Rng.derive(1, 2, 3, 4);
    assertEquals(seed, Rng.derive(1, 2, 3, 4));
    assertNotEquals(seed, Rng.derive(0, 2, 3, 4));
    assertNotEquals(seed, Rng.derive(1, 3, 2, 4));
    assertNotEquals(seed, Rng.derive(1, 2, 4, 3));
    assertNotEquals(Rng.derive(1, 0, 0, 0), Rng.derive(1, 0, 0, 1));
  }

  @Test
  void shufflePermutes() {
    int[] values = IntStream.range(0, 100).toArray();
    new Rng(5).shuffle(values);
    int[] sorted = values.clone();
    Arrays.sort(sorted);
    assertArrayEquals(IntStream.range(0, 100).toArray(), sorted);
    assertNotEquals(Arrays.toString(sorted), Arrays.toString(values));
  }

  @Test
  void unitIsNeverZero() {
    Rng rng = new Rng(6);
    for (int i = 0; i < 10_000; i++) {
      double u = rng.unit();
      assertTrue(u > 0 && u <= 1);
    }
  }
}
