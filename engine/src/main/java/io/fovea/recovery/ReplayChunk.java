package io.fovea.recovery;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * A run of log records in memory, with the assignment of their operations to the workers of a
 * {@link Replay}. Filled by the reader, then read by all workers, ordered by the reader's lock.
 */
final class ReplayChunk {
  MemorySegment memory = MemorySegment.NULL;
  long used;
  boolean last;

  /** The operations of each worker: offset of the record and of the operation, 32 bits each. */
  final long[][] operations;

  /** The page that each operation names, 0 for none. */
  final long[][] leaves;

  final int[] counts;

  /** The number of the chunk in the log. Guarded by the lock. */
  long number = -1;

  /** The number of workers that have yet to finish it. Guarded by the lock. */
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
