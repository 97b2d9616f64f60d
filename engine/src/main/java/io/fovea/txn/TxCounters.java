package io.fovea.txn;

import io.fovea.btree.Position;
import io.fovea.error.AbortCause;

/**
 * What one context has counted. Written by the transaction's thread alone, with plain stores, and
 * read by anybody: a reader may be a little behind, never wrong by more than that.
 */
final class TxCounters {
  /** Not a power of two: programs do things by twos and fours. */
  private static final int MEASURED = 7;

  long commits;
  long rollbacks;
  long commitNanos;

  /** Of commits that wrote nothing: how many come before one is measured, it included. */
  private int untilMeasured = 1;

  /** How many such commits the next one that is measured stands for. */
  private int measuredFor = 1;

  long pageAccesses;
  long childSteps;
  long placesTried;
  long placesStale;
  long remembered;
  long rememberedRight;
  final long[] aborts = new long[AbortCause.values().length];

  /** A commit that has written something. */
  void committed(long nanos) {
    commits++;
    commitNanos += nanos;
  }

  /**
   * A commit that has written nothing. A look at the clock takes a quarter of the shortest of them,
   * so one in {@value #MEASURED} is measured, and counts for those before it.
   *
   * @param beganNanos when its transaction began
   */
  void committedReading(long beganNanos) {
    commits++;
    if (--untilMeasured == 0) {
      commitNanos += (System.nanoTime() - beganNanos) * measuredFor;
      untilMeasured = MEASURED;
      measuredFor = MEASURED;
    }
  }

  /** Takes over what a position has counted, and sets that back. */
  void take(Position p) {
    pageAccesses += p.pageAccesses;
    childSteps += p.childSteps;
    placesTried += p.placesTried;
    placesStale += p.placesStale;
    remembered += p.remembered;
    rememberedRight += p.rememberedRight;
    p.remembered = 0;
    p.rememberedRight = 0;
    p.pageAccesses = 0;
    p.childSteps = 0;
    p.placesTried = 0;
    p.placesStale = 0;
  }

  void abort(AbortCause cause) {
    aborts[cause.ordinal()]++;
  }
}
