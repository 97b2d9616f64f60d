package io.fovea.streams;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.fovea.streams.PendingWrites.Cell;
import io.fovea.streams.PendingWrites.Version;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Keys of all kinds are sorted like {@link Arrays#compareUnsigned}. */
class CellSortTest {
  @Property(tries = 400)
  void matchesComparisonSort(
      @ForAll long seed,
      @ForAll @IntRange(max = 3000) int count,
      @ForAll @IntRange(max = 40) int length,
      @ForAll @IntRange(max = 24) int same,
      @ForAll @IntRange(min = 1, max = 256) int values) {
    Random random = new Random(seed);
    byte[] prefix = new byte[same];
    random.nextBytes(prefix);
    Map<Cell, Cell> cells = new HashMap<>();
    for (int i = 0; i < count; i++) {
      // Keys that share a prefix, end within it, or are prefixes of others.
      byte[] key = new byte[random.nextInt(4) == 0 ? random.nextInt(length + 1) : length];
      for (int b = 0; b < key.length; b++) {
        key[b] = (byte) random.nextInt(values);
      }
      System.arraycopy(prefix, 0, key, 0, Math.min(key.length, prefix.length));
      Cell cell = new Cell(key, new Version(i, key, null));
      cells.put(cell, cell);
    }
    Cell[] sorted = cells.values().toArray(new Cell[0]);
    Cell[] expected = sorted.clone();
    Arrays.sort(expected, (a, b) -> Arrays.compareUnsigned(a.key, b.key));
    CellSort.sort(sorted);
    assertArrayEquals(expected, sorted);
  }
}
