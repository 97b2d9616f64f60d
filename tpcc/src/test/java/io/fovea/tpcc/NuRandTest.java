package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.tpcc.bench.Rng;
import java.util.BitSet;
import org.junit.jupiter.api.Test;

class NuRandTest {
  @Test
  void drawsStayInTheirRanges() {
    Rng rng = new Rng(1);
    NuRand n = new NuRand(255, 1023, 8191);
    for (int i = 0; i < 100_000; i++) {
      int last = n.lastName(rng, Scale.FULL);
      int customer = n.customer(rng, Scale.FULL);
      int item = n.item(rng, Scale.FULL);
      assertTrue(last >= 0 && last <= 999, () -> "C_LAST " + last);
      assertTrue(customer >= 1 && customer <= 3_000, () -> "C_ID " + customer);
      assertTrue(item >= 1 && item <= 100_000, () -> "OL_I_ID " + item);
    }
  }

  @Test
  void allLastNamesAndNearlyAllCustomersAreDrawn() {
    Rng rng = new Rng(2);
    NuRand n = new NuRand(17, 4, 0);
    BitSet names = new BitSet();
    BitSet customers = new BitSet();
    for (int i = 0; i < 1_000_000; i++) {
      names.set(n.lastName(rng, Scale.FULL));
      customers.set(n.customer(rng, Scale.FULL));
    }
    assertEquals(1_000, names.cardinality());
    assertTrue(customers.cardinality() > 2_900, "numbers with few bits are rare");
  }

  @Test
  void drawMatchesTheSpecification() {
    int a = NuRand.A_CUSTOMER;
    int c = 77;
    Rng rng = new Rng(3);
    Rng reference = new Rng(3);
    for (int i = 0; i < 1_000; i++) {
      int first = reference.between(0, a);
      int second = reference.between(1, 3_000);
      int expected = (((first | second) + c) % 3_000) + 1;
      assertEquals(expected, NuRand.draw(rng, a, c, 1, 3_000));
    }
  }

  @Test
  void drawsAreNotUniform() {
    // Most bits of A are set, so half of all draws fall on far fewer than half of the values.
    Rng rng = new Rng(4);
    NuRand n = new NuRand(0, 0, 0);
    int[] counts = new int[1_000];
    for (int i = 0; i < 200_000; i++) {
      counts[n.lastName(rng, Scale.FULL)]++;
    }
    java.util.Arrays.sort(counts);
    int top = 0;
    for (int i = 900; i < 1_000; i++) {
      top += counts[i];
    }
    assertTrue(top > 60_000, "the 100 most frequent names are more than 30 %, found " + top);
  }

  @Test
  void deltasOfTheConstantForLastNames() {
    for (int delta = -300; delta <= 300; delta++) {
      int d = Math.abs(delta);
      boolean expected = d >= 65 && d <= 119 && d != 96 && d != 112;
      assertEquals(expected, NuRand.fits(300, 300 + delta), "delta " + delta);
    }
  }

  @Test
  void everyLoadConstantHasRunConstants() {
    Rng rng = new Rng(5);
    for (int load = 0; load <= NuRand.A_LAST; load++) {
      BitSet runs = new BitSet();
      for (int i = 0; i < 200; i++) {
        NuRand n = NuRand.forRun(rng, load);
        assertTrue(NuRand.fits(load, n.cLast()));
        runs.set(n.cLast());
      }
      assertTrue(runs.cardinality() > 10, "constants of runs vary");
    }
  }

  @Test
  void constantsAreInTheirRanges() {
    // A driver that swaps the ranges draws constants above 255 for C_LAST.
    Rng rng = new Rng(6);
    int maxCustomer = 0;
    int maxItem = 0;
    for (int i = 0; i < 5_000; i++) {
      NuRand n = NuRand.forLoad(rng);
      assertTrue(n.cLast() <= 255 && n.cCustomer() <= 1_023 && n.cItem() <= 8_191);
      maxCustomer = Math.max(maxCustomer, n.cCustomer());
      maxItem = Math.max(maxItem, n.cItem());
    }
    assertTrue(maxCustomer > 1_000 && maxItem > 8_000);
    assertThrows(IllegalArgumentException.class, () -> new NuRand(256, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> new NuRand(0, 1_024, 0));
    assertThrows(IllegalArgumentException.class, () -> new NuRand(0, 0, 8_192));
    assertFalse(NuRand.fits(10, 10));
  }
}
