package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.tpcc.bench.Rng;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class IntSetTest {
  @Test
  void agreesWithASet() {
    IntSet set = new IntSet(300);
    Rng rng = new Rng(1);
    for (int round = 0; round < 100; round++) {
      set.clear();
      Set<Integer> model = new HashSet<>();
      int range = round % 2 == 0 ? 100_000 : 200;
      for (int i = 0; i < 300; i++) {
        int v = rng.between(1, range);
        assertEquals(model.add(v), set.add(v), "seed 1, round " + round);
      }
    }
  }

  @Test
  void holdsItsCapacity() {
    IntSet set = new IntSet(1);
    assertTrue(set.add(5));
    IntSet full = new IntSet(512);
    for (int i = 1; i <= 512; i++) {
      assertTrue(full.add(i * 1_024));
    }
  }
}
