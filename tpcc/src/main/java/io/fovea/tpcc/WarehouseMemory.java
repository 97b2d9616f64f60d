package io.fovea.tpcc;

import io.fovea.tpcc.bench.Memory;

/** Computes the default size of the buffer pool. */
final class WarehouseMemory {
  /** After a load, a file of one warehouse has 112 MB, including ITEM and the indexes. */
  private static final long WAREHOUSE_BYTES = 120L << 20;

  private static final long ITEM_BYTES = 24L << 20;

  /** Average growth of the file per transaction of the full mix, in bytes; measured: 870. */
  private static final long GROWTH_BYTES = 1_000;

  /** Upper bound of the transactions per second and processor, to estimate the growth. */
  private static final long TRANSACTIONS_PER_SECOND = 50_000;

  private WarehouseMemory() {}

  /**
   * Returns a pool size that holds the data and the growth during a run, capped at half of the
   * memory.
   *
   * @param fileBytes the current size of the file; 0 if there is none
   * @param rate transactions per second, or 0 for unlimited
   */
  static long defaultBuffer(
      int warehouses, long fileBytes, int threads, double seconds, double rate) {
    long data = Math.max(fileBytes, ITEM_BYTES + warehouses * WAREHOUSE_BYTES);
    int busy = Math.min(threads, Runtime.getRuntime().availableProcessors());
    double perSecond = rate > 0 ? rate : (double) busy * TRANSACTIONS_PER_SECOND;
    return Memory.bounded(data + (long) (perSecond * seconds * GROWTH_BYTES));
  }

  /**
   * Returns a pool size that holds the data and the growth from a log of this size, with the same
   * cap.
   */
  static long bufferFor(int warehouses, long logBytes) {
    return Memory.bounded(ITEM_BYTES + warehouses * WAREHOUSE_BYTES + logBytes);
  }
}
