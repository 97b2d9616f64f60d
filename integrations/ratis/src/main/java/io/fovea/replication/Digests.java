package io.fovea.replication;

import io.fovea.replication.Replica.Digest;

/**
 * The digests of a replica at the entries applied last, for comparison with replicas that are
 * behind or ahead.
 *
 * <p>A digest is a sum, so another start adds the same constant to all of them.
 *
 * <p>Thread-safe.
 */
final class Digests {
  /** How many entries are kept: half a megabyte. */
  static final int KEPT = 1 << 15;

  private final long[] indexes = new long[KEPT];
  private final long[] sums = new long[KEPT];
  private long start;

  /** How many were added; the last one is at {@code count - 1}, modulo {@link #KEPT}. */
  private long count;

  /** Discards all digests, and restarts at a position. */
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

  /**
   * Adopts another start; returns false, with nothing changed, if the start is the same or the
   * index is unknown.
   */
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
   * Returns the digest at an index.
   *
   * @param applied the applied index, read before: everything up to it was added, or discarded by
   *     {@link #reset}
   */
  synchronized Digest at(long index, long applied) {
    int at = index > applied ? -1 : find(index);
    return new Digest(start, indexes[oldest()], applied, at < 0 ? null : sums[at]);
  }

  private int oldest() {
    return (int) (Math.max(0, count - KEPT) % KEPT);
  }

  /** The last one at or below the index; -1 if it was discarded. */
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

  /** Spreads a number over all 64 bits. Must stay the same in all releases. */
  static long mix(long value) {
    long v = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
    v = (v ^ v >>> 27) * 0x94d049bb133111ebL;
    return v ^ v >>> 31;
  }
}
