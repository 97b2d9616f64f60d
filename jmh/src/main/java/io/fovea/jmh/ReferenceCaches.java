package io.fovea.jmh;

import java.util.Arrays;

/** Baselines for replacement policies: the optimum, and LRU. */
final class ReferenceCaches {
  private ReferenceCaches() {}

  /**
   * Returns the hits of MIN, the offline optimum: it evicts the page whose next access is farthest
   * away.
   *
   * <p>Source: L. A. Belady, "A Study of Replacement Algorithms for a Virtual-Storage Computer",
   * IBM Systems Journal 1966.
   */
  static long min(int[] trace, int frames) {
    int pages = Arrays.stream(trace).max().orElse(0) + 1;
    int[] nextUse = new int[trace.length];
    int[] later = new int[pages];
    Arrays.fill(later, Integer.MAX_VALUE);
    for (int i = trace.length - 1; i >= 0; i--) {
      nextUse[i] = later[trace[i]];
      later[trace[i]] = i;
    }
    // The next use of each resident page. Heap entries that differ from it are stale.
    int[] resident = new int[pages];
    Heap heap = new Heap();
    int size = 0;
    long hits = 0;
    for (int i = 0; i < trace.length; i++) {
      int page = trace[i];
      if (resident[page] != 0) {
        hits++;
      } else if (size < frames) {
        size++;
      } else {
        long top = heap.pop();
        while (resident[(int) top] != (int) (top >>> 32)) {
          top = heap.pop();
        }
        resident[(int) top] = 0;
      }
      // Never 0, since the next use is after this one.
      resident[page] = nextUse[i];
      heap.push((long) nextUse[i] << 32 | page);
    }
    return hits;
  }

  static long lru(int[] trace, int frames) {
    int pages = Arrays.stream(trace).max().orElse(0) + 1;
    // A ring; page ids begin at 1, and 0 is its head: next[0] is the most recently used page,
    // previous[0] the least.
    int[] next = new int[pages];
    int[] previous = new int[pages];
    boolean[] resident = new boolean[pages];
    int size = 0;
    long hits = 0;
    for (int page : trace) {
      if (resident[page]) {
        hits++;
        unlink(page, next, previous);
      } else {
        if (size < frames) {
          size++;
        } else {
          int victim = previous[0];
          resident[victim] = false;
          unlink(victim, next, previous);
        }
        resident[page] = true;
      }
      next[page] = next[0];
      previous[page] = 0;
      previous[next[0]] = page;
      next[0] = page;
    }
    return hits;
  }

  private static void unlink(int page, int[] next, int[] previous) {
    next[previous[page]] = next[page];
    previous[next[page]] = previous[page];
  }

  /** A max-heap of longs. */
  private static final class Heap {
    private long[] items = new long[1 << 10];
    private int size;

    void push(long item) {
      if (size == items.length) {
        items = Arrays.copyOf(items, 2 * size);
      }
      int at = size++;
      while (at > 0 && items[(at - 1) / 2] < item) {
        items[at] = items[(at - 1) / 2];
        at = (at - 1) / 2;
      }
      items[at] = item;
    }

    long pop() {
      long top = items[0];
      long item = items[--size];
      int at = 0;
      while (2 * at + 1 < size) {
        int child = 2 * at + 1;
        if (child + 1 < size && items[child + 1] > items[child]) {
          child++;
        }
        if (items[child] <= item) {
          break;
        }
        items[at] = items[child];
        at = child;
      }
      items[at] = item;
      return top;
    }
  }
}
