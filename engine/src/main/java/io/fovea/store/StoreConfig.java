package io.fovea.store;

import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.PoolShare;
import io.fovea.config.Durability;
import io.fovea.config.PlaceDirectory;
import io.fovea.error.InvalidUseException;
import io.fovea.error.PoolTooSmallException;
import io.fovea.io.DeviceConfig;
import io.fovea.txn.TimestampConfig;
import io.fovea.txn.TxConfig;
import io.fovea.wal.LogConfig;

/**
 * How a store is opened.
 *
 * @param name in log lines; empty for that of the file
 * @param create whether a file that is not there is made
 * @param readOnly whether the files are opened for reading only, and what has to be changed is
 *     changed in a copy in memory
 * @param devices which device, and how
 * @param doubleWrite whether pages are written twice, so that none is torn; with a log only
 * @param log sizes and windows of the log
 * @param checkpointNanos a checkpoint at least so often
 * @param quietNanos after how long without any record the file of the log is made small; 0: never
 * @param pool the whole buffer; what timestamps take of it is taken off by {@link #dataPool}
 * @param timestampsInPool whether timestamps take memory of the buffer, not separate memory
 * @param locationCacheBytes the memory for cached key locations, in addition to the buffer; 0 for
 *     none
 * @param placeDirectory the layout of that cache
 * @param transactions protocol, timestamps, limits; when a commit is durable, with {@link
 *     Durability#NONE} where there is no log
 */
public record StoreConfig(
    String name,
    boolean create,
    boolean readOnly,
    DeviceConfig devices,
    boolean doubleWrite,
    LogConfig log,
    long checkpointNanos,
    long quietNanos,
    PoolConfig pool,
    boolean timestampsInPool,
    long locationCacheBytes,
    PlaceDirectory placeDirectory,
    TxConfig transactions) {

  /** Whether there is a log. */
  boolean logged() {
    return transactions.durability() != Durability.NONE;
  }

  /** The size of pages, in bytes. */
  int pageSize() {
    return pool.pageSize();
  }

  /**
   * The same for a file that is to be looked at: as it says itself, and with a log where it needs
   * one to be recovered.
   *
   * @param otherName in log lines
   * @param filePageSize what the file says
   * @param clean whether it needs no recovery
   */
  public StoreConfig toLookAt(String otherName, int filePageSize, boolean clean) {
    return new StoreConfig(
        otherName,
        false,
        readOnly,
        devices,
        doubleWrite,
        log,
        checkpointNanos,
        quietNanos,
        pool.sized(filePageSize, pool.bufferBytes()),
        timestampsInPool,
        locationCacheBytes,
        placeDirectory,
        transactions.with(clean ? Durability.NONE : Durability.ASYNC, log.bufferBytes()));
  }

  // --------------------------------------------------------------------------------------- memory

  /**
   * Of the pool of the data: the buffer, less what timestamps take of it.
   *
   * @throws PoolTooSmallException if that is too little
   */
  PoolConfig dataPool() {
    PoolConfig all = pool;
    long least = PoolConfig.bytesMin(all.pageSize(), all.translation(), all.replacement());
    long exact = timestampsInPool ? transactions.timestamps().memoryBytes() : 0;
    long pages = timestampsInPool ? TimestampFile.bufferBytes(this) : 0;
    if (all.bufferBytes() - pages - exact < least) {
      throw new PoolTooSmallException(
          all.bufferBytes(), pages == 0 ? least + exact : TimestampFile.least(least, exact));
    }
    return all.sized(all.pageSize(), all.bufferBytes() - pages - exact);
  }

  /** Of the pool of the timestamps, where they have one. */
  PoolConfig timestampPool() {
    return pool.forScratch(TimestampFile.bufferBytes(this));
  }

  /**
   * Refuses what the machine can't have. Timestamps count with what they may take at most, though
   * they are address space until they are needed.
   *
   * @param memory of the machine or the container, in bytes
   * @param heap the largest, in bytes
   * @throws InvalidUseException if it has less
   */
  public void checkMemory(long memory, long heap) {
    TimestampConfig t = transactions.timestamps();
    long timestamps = t.budgetBytes() + (t.onDisk() ? 0 : t.sketchBytesMax());
    timestamps -= timestampsInPool ? Math.min(timestamps, t.memoryBytes()) : 0;
    timestamps += timestampsInPool ? 0 : TimestampFile.bufferBytes(this);
    long left = memory - Math.min(heap, memory) - Math.min(timestamps, memory);
    PoolShare share = pool.share();
    long buffer = share == null ? pool.bufferBytes() : Math.min(pool.bufferBytes(), share.limit());
    if (buffer > left) {
      throw new InvalidUseException(
          "A buffer of "
              + mib(buffer)
              + ", timestamps of "
              + mib(timestamps)
              + " and a heap of "
              + mib(heap)
              + " together exceed the "
              + mib(memory)
              + " that this machine or container has. Lower Options.bufferBytes,"
              + " MemoryOptions.timestampBytes, or the heap, with -Xmx.");
    }
  }

  static String mib(long bytes) {
    return (bytes + (1 << 20) - 1 >> 20) + " MiB";
  }
}
