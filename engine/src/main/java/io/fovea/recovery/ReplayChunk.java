package io.fovea.recovery;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * A run of records of the log, in memory, and which worker of a {@link Replay} makes which of their
 * operations. Filled by the reader, then read by all workers, which the reader's lock orders.
 */
final class ReplayChunk {
  MemorySegment memory = MemorySegment.NULL;
  long used;
  boolean last;

  /** For each worker its operations: where the record begins (32), and the operation (32). */
  final long[][] operations;

  /** And the page that each one names, 0 for none. */
  final long[][] leaves;

  final int[] counts;

  /** Which chunk of the log is in it. Under the lock. */
  long number = -1;

  /** How many workers are not through with it. Under the lock. */
  int pending;

  ReplayChunk(int workers) {
    operations = new long[workers][256];
    leaves = new long[workers][256];
    counts = new int[workers];
  }

  void add(int worker, long recordAt, long operationAt, long leaf) {
    int n = counts[worker];
    if (n == leaves[worker].length) {
      operations[worker] = Arrays.copyOf(operations[worker], 2 * n);
      leaves[worker] = Arrays.copyOf(leaves[worker], 2 * n);
    }
    operations[worker][n] = recordAt << 32 | operationAt;
    leaves[worker][n] = leaf;
    counts[worker] = n + 1;
  }
}
