package io.fovea.tpcc.lookups;

import io.fovea.DatabaseStats;
import io.fovea.tpcc.bench.Series;
import io.fovea.tpcc.lookups.LookupTally.What;
import org.HdrHistogram.Histogram;

/**
 * The results for one working set, without the warm-up.
 *
 * @param ratio the size at the end, in multiples of the pool
 * @param reads latencies of read-only transactions, in nanoseconds
 * @param cpuNanos processor time of the whole process; 0 if the JVM does not provide it
 * @param series values per second, including the warm-up
 */
record LookupResult(
    Share share,
    double ratio,
    double seconds,
    int clients,
    boolean virtual,
    LookupTally.Totals counts,
    Histogram reads,
    Histogram changes,
    DatabaseStats before,
    DatabaseStats after,
    DatabaseStats.Placement placedBefore,
    DatabaseStats.Placement placedAfter,
    long cpuNanos,
    Series series) {

  long get(What what) {
    return counts.get(what);
  }

  long readingOperations() {
    return get(What.OPERATIONS) - get(What.CHANGES);
  }

  double operationsPerSecond() {
    return get(What.OPERATIONS) / seconds;
  }

  double lookupsPerSecond() {
    return get(What.LOOKUPS) / seconds;
  }

  long deviceReads() {
    return after.io().reads() - before.io().reads();
  }

  long deviceWrites() {
    return after.io().writes() - before.io().writes();
  }

  double missesPerLookup() {
    return (double) misses() / get(What.LOOKUPS);
  }

  private long misses() {
    return after.buffer().misses() - before.buffer().misses();
  }

  private long hits() {
    return after.buffer().hits() - before.buffer().hits();
  }

  /** Returns the processor time of the whole process per lookup, including the engine's threads. */
  double cpuMicrosPerLookup() {
    return cpuNanos / 1e3 / get(What.LOOKUPS);
  }

  /** Returns the same time per device read; NaN if there was none. */
  double cpuMicrosPerDeviceRead() {
    return deviceReads() == 0 ? Double.NaN : cpuNanos / 1e3 / deviceReads();
  }

  /**
   * Returns the share of the page accesses without a hint that found the page in its preferred
   * frame.
   */
  double predictedShare() {
    long predicted = after.buffer().predicted() - before.buffer().predicted();
    long mispredicted = after.buffer().mispredicted() - before.buffer().mispredicted();
    long all = predicted + mispredicted;
    return all == 0 ? Double.NaN : (double) predicted / all;
  }

  /** Returns the share of the page accesses that a hint led to the frame. */
  double hintedShare() {
    long hinted = after.buffer().hinted() - before.buffer().hinted();
    return hits() == 0 ? Double.NaN : (double) hinted / hits();
  }

  /** Returns the share of the pages in the pool that were in their preferred frame at the end. */
  double preferredShare() {
    return placedAfter.pages() == 0
        ? Double.NaN
        : (double) placedAfter.pagesInPreferredFrame() / placedAfter.pages();
  }

  double copiedBytesPerAccess() {
    long pages =
        placedAfter.promotions()
            - placedBefore.promotions()
            + placedAfter.demotions()
            - placedBefore.demotions();
    return (double) pages * after.buffer().pageSize() / Math.max(1, hits() + misses());
  }

  /** Returns the point to compare with {@link CostModel}: per lookup and client. */
  CostModel.Point point() {
    return new CostModel.Point(
        missesPerLookup(), clients * seconds * 1e9 / Math.max(1, get(What.LOOKUPS)));
  }
}
