package io.fovea.txn;

import io.fovea.btree.Position;
import io.fovea.error.AbortCause;

/**
 * What one context has counted. Written by the transaction's thread alone, with plain stores, and
 * read by anybody: a reader may be a little behind, never wrong by more than that.
 */
final class TxCounters {
  long commits;
  long rollbacks;
  long commitNanos;
  long pageAccesses;
  long childSteps;
  long placesTried;
  long placesStale;
  final long[] aborts = new long[AbortCause.values().length];

  /** Takes over what a position has counted, and sets that back. */
  void take(Position p) {
    pageAccesses += p.pageAccesses;
    childSteps += p.childSteps;
    placesTried += p.placesTried;
    placesStale += p.placesStale;
    p.pageAccesses = 0;
    p.childSteps = 0;
    p.placesTried = 0;
    p.placesStale = 0;
  }

  void abort(AbortCause cause) {
    aborts[cause.ordinal()]++;
  }
}
