package io.fovea.store;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.TimestampStore;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.io.Storage;
import io.fovea.txn.TimestampPages;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The file of timestamps and the pool over it, where they are kept in pages ({@link
 * TimestampStore#DISK}, {@link TimestampStore#DISK_CACHE}).
 *
 * <pre>
 *   open     what is left of a crash is removed ─► file ─► pool
 *   close    pool abandoned ─► file removed: nobody needs timestamps of transactions that are over
 * </pre>
 *
 * <p>The pool has an eighth of the buffer's size: about what 16 bytes are of a record of 124 with
 * its timestamps, the dissertation's. In an index of its own rather than in the records, the
 * timestamps' share of the buffer is fixed instead of found by the replacement.
 */
public final class TimestampFile implements AutoCloseable {
  private static final int BUFFER_SHARE = 8;

  private final @Nullable Storage storage;
  private final BlockDevice device;
  private final BufferPool pool;
  private final TimestampPages pages;

  private TimestampFile(
      @Nullable Storage storage, BlockDevice device, BufferPool pool, TimestampPages pages) {
    this.storage = storage;
    this.device = device;
    this.pool = pool;
    this.pages = pages;
  }

  /** Whether there is to be one. */
  static boolean wanted(StoreConfig config) {
    return config.transactions().timestamps().onDisk();
  }

  /** What the pool of its pages takes, in bytes: of the buffer, or beside it. */
  static long bufferBytes(StoreConfig config) {
    if (!wanted(config)) {
      return 0;
    }
    PoolConfig of = config.pool();
    long least = PoolConfig.bytesMin(of.pageSize(), of.translation(), of.replacement());
    return Math.max(least, of.bufferBytes() / BUFFER_SHARE);
  }

  /**
   * The smallest buffer of which pages of timestamps take their share.
   *
   * @param pool the smallest pool, in bytes
   * @param exact what timestamps take besides
   */
  static long least(long pool, long exact) {
    long others = pool + exact;
    return Math.max(others + pool, others + others / (BUFFER_SHARE - 1) + 1);
  }

  /** See {@link io.fovea.buffer.PoolStop#onStop}. */
  void onStop(Consumer<Throwable> action) {
    pool.stopping().onStop(action);
  }

  /**
   * Opens it.
   *
   * @param storage the files of the database; null in memory
   * @param of what the pool is made from
   */
  static TimestampFile open(@Nullable Storage storage, StoreConfig config, PoolConfig of) {
    BlockDevice device =
        storage == null
            ? new MemoryDevice()
            : Companions.openTemporary(storage, Storage.TIMESTAMPS);
    BufferPool pool = null;
    boolean done = false;
    try {
      pool = new BufferPool(device, of, AllocatorState.EMPTY);
      TimestampFile file =
          new TimestampFile(
              storage, device, pool, new TimestampPages(pool, config.transactions().contexts()));
      done = true;
      return file;
    } finally {
      if (!done) {
        if (pool != null) {
          pool.abandon();
        }
        device.close();
      }
    }
  }

  TimestampPages pages() {
    return pages;
  }

  @Override
  public void close() {
    pool.abandon();
    device.close();
    if (storage != null) {
      storage.delete(Storage.TIMESTAMPS);
    }
  }
}
