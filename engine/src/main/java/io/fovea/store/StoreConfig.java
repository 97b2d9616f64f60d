package io.fovea.store;

import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.PoolShare;
import io.fovea.config.Durability;
import io.fovea.config.LocationCacheLayout;
import io.fovea.error.InvalidUseException;
import io.fovea.error.PoolTooSmallException;
import io.fovea.io.DeviceConfig;
import io.fovea.txn.TimestampConfig;
import io.fovea.txn.TxConfig;
import io.fovea.wal.LogConfig;

/**
 * The configuration with which a store is opened.
 *
 * @param name the name in log lines; empty for the name of the file
 * @param create whether to create a missing file
 * @param readOnly whether files are opened for reading only, with changes kept in an in-memory copy
 * @param devices the kind and settings of devices
 * @param doubleWrite whether pages are written twice to protect against torn writes; only with a
 *     log
 * @param log the sizes and windows of the log
 * @param checkpointNanos the maximum time between checkpoints
 * @param quietNanos the idle time after which the log file is trimmed; 0 for never
 * @param pool the whole buffer; see {@link #dataPool}
 * @param timestampsInPool whether timestamps take memory from the buffer
 * @param locationCacheBytes the memory of cached key locations, in addition to the buffer; 0 for
 *     none
 * @param locationCacheLayout the layout of that cache
 * @param transactions the protocol, timestamps, limits and durability; {@link Durability#NONE}
 *     means no log
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
    LocationCacheLayout locationCacheLayout,
    TxConfig transactions) {

  boolean logged() {
    return transactions.durability() != Durability.NONE;
  }

  int pageSize() {
    return pool.pageSize();
  }

  /**
   * Returns this configuration changed for inspecting a file: with the page size of the file, and
   * with a log only if the file needs recovery.
   *
   * @param otherName the name in log lines
   * @param clean whether the file needs no recovery
   */
  public StoreConfig forInspection(String otherName, int filePageSize, boolean clean) {
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
        locationCacheLayout,
        transactions.with(clean ? Durability.NONE : Durability.ASYNC, log.bufferBytes()));
  }

  // --------------------------------------------------------------------------------------- memory

  /**
   * Returns the configuration of the data pool: the buffer minus the share for timestamps.
   *
   * @throws PoolTooSmallException if that is too little
   */
  PoolConfig dataPool() {
    PoolConfig all = pool;
    long min = PoolConfig.bytesMin(all.pageSize(), all.translation(), all.replacement());
    long exact = timestampsInPool ? transactions.timestamps().memoryBytes() : 0;
    long pages = timestampsInPool ? TimestampFile.bufferBytes(this) : 0;
    if (all.bufferBytes() - pages - exact < min) {
      throw new PoolTooSmallException(
          all.bufferBytes(), pages == 0 ? min + exact : TimestampFile.minBufferBytes(min, exact));
    }
    return all.sized(all.pageSize(), all.bufferBytes() - pages - exact);
  }

  /** Returns the configuration of the timestamp pool. */
  PoolConfig timestampPool() {
    return pool.forScratch(TimestampFile.bufferBytes(this));
  }

  /**
   * Checks that the memory suffices. Timestamps count at their maximum.
   *
   * @param memory the memory of the machine or container, in bytes
   * @param heap the maximum heap size, in bytes
   * @throws InvalidUseException if the memory does not suffice
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
              + " that this machine or container has. Lower Options.bufferBytes, "
              + "MemoryOptions.timestampBytes, or the heap size (-Xmx).");
    }
  }

  static String mib(long bytes) {
    return (bytes + (1 << 20) - 1 >> 20) + " MiB";
  }
}
