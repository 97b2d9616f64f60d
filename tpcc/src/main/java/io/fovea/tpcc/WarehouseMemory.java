package io.fovea.tpcc;

import io.fovea.tpcc.bench.Memory;

/** How large a buffer pool is where the user doesn't say. */
final class WarehouseMemory {
  /** A file of one warehouse has 112 MB after a load, ITEM and the indexes among them. */
  private static final long WAREHOUSE_BYTES = 120L << 20;

  private static final long ITEM_BYTES = 24L << 20;

  /** What a transaction of the full mix adds to the file, on average; 870 measured. */
  private static final long GROWTH_BYTES = 1_000;

  /** The most transactions a second of one processor that the growth is reckoned with. */
  private static final long TRANSACTIONS_PER_SECOND = 50_000;

  private WarehouseMemory() {}

  /**
   * A pool that holds the data and what a run adds to it, but no more than half of the memory.
   *
   * @param fileBytes the size of the file as it is; 0 where there is none
   * @param seconds of running
   * @param rate transactions a second, or 0 for as many as go
   */
  static long defaultBuffer(
      int warehouses, long fileBytes, int threads, double seconds, double rate) {
    long data = Math.max(fileBytes, ITEM_BYTES + warehouses * WAREHOUSE_BYTES);
    int busy = Math.min(threads, Runtime.getRuntime().availableProcessors());
    double perSecond = rate > 0 ? rate : (double) busy * TRANSACTIONS_PER_SECOND;
    return Memory.bounded(data + (long) (perSecond * seconds * GROWTH_BYTES));
  }

  /** A pool that holds the data and what so much log adds to it, with the same limit. */
  static long bufferFor(int warehouses, long logBytes) {
    return Memory.bounded(ITEM_BYTES + warehouses * WAREHOUSE_BYTES + logBytes);
  }
}
