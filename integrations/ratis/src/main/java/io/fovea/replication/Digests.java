package io.fovea.replication;

import io.fovea.replication.Replica.Digest;

/**
 * The digest of a replica at the last entries that it has applied, so that it can be compared with
 * one that is not as far, or further.
 *
 * <p>A sum, so that another start is a constant that is added to all of them.
 *
 * <p>Any thread.
 */
final class Digests {
  /** How many entries back: half a megabyte. */
  static final int KEPT = 1 << 15;

  private final long[] indexes = new long[KEPT];
  private final long[] sums = new long[KEPT];
  private long start;

  /** How many were added; the last one is at {@code count - 1}, and wraps around. */
  private long count;

  /** Forgets all, and begins at a position. */
  synchronized void reset(long start, long index, long sum) {
    this.start = start;
    count = 0;
    add(index, sum);
  }

  synchronized void add(long index, long sum) {
    int at = (int) (count % KEPT);
    indexes[at] = index;
    sums[at] = sum;
    count++;
  }

  synchronized long start() {
    return start;
  }

  synchronized long sum() {
    return sums[(int) ((count - 1) % KEPT)];
  }

  /** Whether the start was another one; else nothing changes. */
  synchronized boolean adopt(long index, long newStart, long sum) {
    int at = find(index);
    if (start == newStart || at < 0) {
      return false;
    }
    long more = sum - sums[at];
    for (int i = 0; i < Math.min(count, KEPT); i++) {
      sums[i] += more;
    }
    start = newStart;
    return true;
  }

  /**
   * The digest at an index.
   *
   * @param applied what was applied, read before: all up to there was added, or forgotten by a
   *     {@link #reset}
   */
  synchronized Digest at(long index, long applied) {
    int at = index > applied ? -1 : find(index);
    return new Digest(start, indexes[oldest()], applied, at < 0 ? null : sums[at]);
  }

  private int oldest() {
    return (int) (Math.max(0, count - KEPT) % KEPT);
  }

  /** The last one at or below the index; -1 if it is forgotten. */
  private int find(long index) {
    long low = Math.max(0, count - KEPT);
    long high = count - 1;
    if (indexes[(int) (low % KEPT)] > index) {
      return -1;
    }
    while (low < high) {
      long middle = (low + high + 1) >>> 1;
      if (indexes[(int) (middle % KEPT)] <= index) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return (int) (low % KEPT);
  }

  /** Spreads a number over all 64 bits; the same in each release. */
  static long mix(long value) {
    long v = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
    v = (v ^ v >>> 27) * 0x94d049bb133111ebL;
    return v ^ v >>> 31;
  }
}
