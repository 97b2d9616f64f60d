package io.fovea.txn;

import io.fovea.btree.Position;
import io.fovea.error.AbortCause;

/**
 * Statistics of one context. Plain stores by its thread; other threads read slightly stale values.
 */
final class TxCounters {
  /** Not a power of two, because programs have periods of two and four. */
  private static final int MEASURED = 7;

  long commits;
  long rollbacks;
  long commitNanos;

  /** Read-only commits up to and including the next measured one. */
  private int untilMeasured = 1;

  /** The number of commits that the next measured one stands for. */
  private int measuredFor = 1;

  long pageAccesses;
  long childSteps;
  long positionHints;
  long positionHintsStale;
  long cachedLocations;
  long cachedLocationsRight;
  final long[] aborts = new long[AbortCause.values().length];

  void committed(long nanos) {
    commits++;
    commitNanos += nanos;
  }

  /**
   * Counts a read-only commit. Reading the clock takes a quarter of the shortest ones, so one in
   * {@value #MEASURED} is measured, and counts for those before it.
   */
  void committedReading(long beganNanos) {
    commits++;
    if (--untilMeasured == 0) {
      commitNanos += (System.nanoTime() - beganNanos) * measuredFor;
      untilMeasured = MEASURED;
      measuredFor = MEASURED;
    }
  }

  void take(Position p) {
    pageAccesses += p.pageAccesses;
    childSteps += p.childSteps;
    positionHints += p.hintsTried;
    positionHintsStale += p.hintsStale;
    cachedLocations += p.cachedLocationLookups;
    cachedLocationsRight += p.cachedLocationsRight;
    p.cachedLocationLookups = 0;
    p.cachedLocationsRight = 0;
    p.pageAccesses = 0;
    p.childSteps = 0;
    p.hintsTried = 0;
    p.hintsStale = 0;
  }

  void abort(AbortCause cause) {
    aborts[cause.ordinal()]++;
  }
}
