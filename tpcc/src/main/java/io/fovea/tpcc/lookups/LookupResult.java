package io.fovea.tpcc.lookups;

import io.fovea.DatabaseStats;
import io.fovea.tpcc.bench.Series;
import io.fovea.tpcc.lookups.LookupTally.What;
import org.HdrHistogram.Histogram;

/**
 * What was measured of one working set, or of one that moved; the warm-up is not part of it.
 *
 * @param share what the size was given as
 * @param ratio the size in pools at the end of the measured time
 * @param seconds the measured time
 * @param clients how many looked up
 * @param virtual whether they were virtual threads
 * @param counts what they counted
 * @param reads latencies of transactions that only read, in nanoseconds
 * @param changes latencies of those that changed something
 * @param before the engine's statistics as the measured time began
 * @param after the engine's statistics as it ended
 * @param placedBefore where the pages lay as it began
 * @param placedAfter where they lay as it ended
 * @param cpuNanos processor time of the whole process; 0 where the JVM doesn't say
 * @param series what happened in each second, those of the warm-up included
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

  /** Transactions that only read. */
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

  /** Processor time of everything that the process did, its own threads and the engine's. */
  double cpuMicrosPerLookup() {
    return cpuNanos / 1e3 / get(What.LOOKUPS);
  }

  /** The same time, as if it had all been spent for reading; NaN where nothing was read. */
  double cpuMicrosPerDeviceRead() {
    return deviceReads() == 0 ? Double.NaN : cpuNanos / 1e3 / deviceReads();
  }

  /**
   * The part of the page accesses that found the page in the frame that was looked at first, of
   * those that no hint led to their frame.
   */
  double predictedShare() {
    long predicted = after.buffer().predicted() - before.buffer().predicted();
    long mispredicted = after.buffer().mispredicted() - before.buffer().mispredicted();
    long all = predicted + mispredicted;
    return all == 0 ? Double.NaN : (double) predicted / all;
  }

  /** The part of the page accesses that a hint led to their frame. */
  double hintedShare() {
    long hinted = after.buffer().hinted() - before.buffer().hinted();
    return hits() == 0 ? Double.NaN : (double) hinted / hits();
  }

  /** The part of the pages in the pool that lay in their preferred frame at the end. */
  double preferredShare() {
    return placedAfter.pages() == 0
        ? Double.NaN
        : (double) placedAfter.pagesInPreferredFrame() / placedAfter.pages();
  }

  /** What was copied from frame to frame, in bytes for each page access. */
  double copiedBytesPerAccess() {
    long pages =
        placedAfter.promotions()
            - placedBefore.promotions()
            + placedAfter.demotions()
            - placedBefore.demotions();
    return (double) pages * after.buffer().pageSize() / Math.max(1, hits() + misses());
  }

  /** Of a client, for each of its look-ups: what {@link CostModel} explains. */
  CostModel.Point point() {
    return new CostModel.Point(
        missesPerLookup(), clients * seconds * 1e9 / Math.max(1, get(What.LOOKUPS)));
  }
}
