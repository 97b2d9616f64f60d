package io.fovea.txn;

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
  final long[] aborts = new long[AbortCause.values().length];

  void abort(AbortCause cause) {
    aborts[cause.ordinal()]++;
  }
}
