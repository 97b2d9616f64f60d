package io.fovea.explorer;

import java.util.Map;
import java.util.TreeMap;

/** The values that a sequence has returned in this life: disjoint intervals. */
final class IssuedValues {
  private final TreeMap<Long, Long> ends = new TreeMap<>();

  synchronized void take(long first, int n) {
    Map.Entry<Long, Long> below = ends.floorEntry(first);
    Map.Entry<Long, Long> above = ends.ceilingEntry(first);
    if (below != null && below.getValue() >= first || above != null && above.getKey() < first + n) {
      throw new Violation("the sequence returned " + first + " twice, of " + n);
    }
    long from = first;
    if (below != null && below.getValue() == first - 1) {
      from = below.getKey();
    }
    ends.put(from, first + n - 1);
  }
}
