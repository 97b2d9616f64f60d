package io.fovea.explorer;

import java.util.Map;
import java.util.TreeMap;

/** Which values a sequence has given in this life: intervals that must not meet. */
final class Given {
  private final TreeMap<Long, Long> ends = new TreeMap<>();

  synchronized void take(long first, int n) {
    Map.Entry<Long, Long> below = ends.floorEntry(first);
    Map.Entry<Long, Long> above = ends.ceilingEntry(first);
    if (below != null && below.getValue() >= first || above != null && above.getKey() < first + n) {
      throw new Violation("the sequence gave " + first + " twice, of " + n);
    }
    long from = first;
    if (below != null && below.getValue() == first - 1) {
      from = below.getKey();
    }
    ends.put(from, first + n - 1);
  }
}
