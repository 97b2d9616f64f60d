package io.fovea.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PidMapTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void behavesLikeAMap(long seed) {
    Random random = new Random(seed);
    PidMap map = new PidMap();
    TreeMap<Long, Integer> model = new TreeMap<>();
    int range = 20 + random.nextInt(3000);
    for (int i = 0; i < 20_000; i++) {
      long pid = 1 + random.nextInt(range);
      Integer expected;
      if (random.nextInt(5) < 2) {
        expected = model.remove(pid);
        assertEquals(expected == null ? PidMap.ABSENT : expected, map.remove(pid));
      } else if (random.nextBoolean()) {
        map.put(pid, i);
        model.put(pid, i);
      } else {
        expected = model.get(pid);
        assertEquals(expected == null ? PidMap.ABSENT : expected, map.get(pid));
      }
      assertEquals(model.size(), map.size());
    }
    List<Long> pids = new ArrayList<>();
    map.forEach(
        (pid, value) -> {
          pids.add(pid);
          assertEquals(model.get(pid), value);
        });
    assertEquals(List.copyOf(model.keySet()), pids);
  }

  /** Only computes lengths, since the arrays would take gigabytes. */
  @Test
  void growsToTheArrayLimitAndReportsIt() {
    int length = 64;
    for (long size = 0; size < (1 << 30) / 16 * 15; size += Math.max(1, size / 97)) {
      int next = PidMap.length(length, (int) size);
      assertTrue(next == length || next == 2 * length, next + " for " + size);
      length = next;
      assertTrue(size < length && length <= 1 << 30, length + " for " + size);
    }
    assertEquals(1 << 30, length);
    assertEquals(1 << 30, PidMap.length(1 << 29, 1 << 28));
    assertEquals(1 << 30, PidMap.length(1 << 30, 1 << 29), "doubling would overflow");
    assertEquals(1 << 30, PidMap.length(1 << 30, (1 << 30) / 16 * 15 - 1));
    IllegalStateException e =
        assertThrows(
            IllegalStateException.class, () -> PidMap.length(1 << 30, (1 << 30) / 16 * 15));
    assertTrue(e.getMessage().contains("pages"), e.getMessage());
  }
}
