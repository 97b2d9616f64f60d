package io.fovea.jmh;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Replacement;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReplacementTracesTest {
  @TempDir Path folder;

  /** No sequence of evictions has more hits than MIN; tries all of them. */
  @Test
  void minIsOptimal() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 200; i++) {
      int[] trace = random.ints(10, 1, 6).toArray();
      int frames = 1 + i % 3;
      assertEquals(
          most(trace, 0, frames, new LinkedHashSet<>()),
          ReferenceCaches.min(trace, frames),
          () -> frames + " frames, " + Arrays.toString(trace));
    }
  }

  private static long most(int[] trace, int at, int frames, LinkedHashSet<Integer> there) {
    if (at == trace.length) {
      return 0;
    }
    int page = trace[at];
    if (there.contains(page)) {
      return 1 + most(trace, at + 1, frames, there);
    }
    long most = 0;
    for (int victim : there.size() < frames ? new int[] {0} : ints(there)) {
      LinkedHashSet<Integer> next = new LinkedHashSet<>(there);
      next.remove(victim);
      next.add(page);
      most = Math.max(most, most(trace, at + 1, frames, next));
    }
    return most;
  }

  private static int[] ints(LinkedHashSet<Integer> set) {
    return set.stream().mapToInt(Integer::intValue).toArray();
  }

  @Test
  void lruEvictsTheLeastRecentlyUsed() {
    int[] trace = PageTraces.zipf(100, 5_000, 0.8, 3);
    LinkedHashSet<Integer> there = new LinkedHashSet<>();
    long hits = 0;
    for (int page : trace) {
      if (there.remove(page)) {
        hits++;
      } else if (there.size() == 20) {
        there.remove(there.iterator().next());
      }
      there.add(page);
    }
    assertEquals(hits, ReferenceCaches.lru(trace, 20));
  }

  @Test
  void replaysAreTheSameEachTime() {
    int[] trace = PageTraces.zipf(1_000, 50_000, 0.8, 5);
    for (Replacement kind : Replacement.values()) {
      long misses = ReplacementTraces.misses(trace, 100, kind, false);
      assertEquals(misses, ReplacementTraces.misses(trace, 100, kind, false));
      assertTrue(misses >= trace.length - ReferenceCaches.min(trace, 100), "MIN is a bound");
      assertEquals(
          1_000, ReplacementTraces.misses(PageTraces.loop(1_000, 9_000), 1_000, kind, true));
    }
  }

  /** The summary of the benchmark page, whose figures would change with a policy. */
  @Test
  void samplingMissesLess() {
    int[][] traces = {
      PageTraces.zipf(4_000, 200_000, 0.8, 1),
      PageTraces.scans(4_000, 200_000, 0.8, 6_000, 2),
      PageTraces.drift(4_000, 200_000, 20_000, 3),
      PageTraces.loop(1_100, 200_000)
    };
    for (int[] trace : traces) {
      long clock = ReplacementTraces.misses(trace, 1_000, Replacement.SECOND_CHANCE, false);
      long sampling = ReplacementTraces.misses(trace, 1_000, Replacement.SAMPLING, false);
      assertTrue(sampling < 1.02 * clock, sampling + " misses against " + clock);
    }
  }

  @Test
  void tracesMatchTheirDescription() throws IOException {
    int[] scans = PageTraces.scans(100, 1_000, 0.8, 50, 1);
    for (int i = 0; i < 50; i++) {
      assertEquals(1 + i, scans[50 + i], "the first half");
      assertEquals(51 + i, scans[150 + i], "the second half");
    }
    assertArrayEquals(new int[] {1, 2, 3, 1, 2}, PageTraces.loop(3, 5));
    assertArrayEquals(PageTraces.drift(100, 500, 50, 1), PageTraces.drift(100, 500, 50, 1));
    Path file = folder.resolve("trace");
    try (DataOutputStream out = new DataOutputStream(Files.newOutputStream(file))) {
      for (long pid : new long[] {7, 1 << 20, 9}) {
        out.writeLong(pid);
      }
    }
    assertArrayEquals(new int[] {7, 1 << 20, 9}, PageTraces.read(file, 10));
    assertArrayEquals(new int[] {7, 1 << 20}, PageTraces.read(file, 2));
  }
}
