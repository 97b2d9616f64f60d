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
 * The temporary file and pool of timestamps that are kept in pages ({@link TimestampStore#DISK},
 * {@link TimestampStore#DISK_CACHE}). Opening removes a file left by a crash, and closing deletes
 * the file.
 *
 * <p>The pool has an eighth of the buffer's size: about the share of the 16 bytes of timestamps in
 * the dissertation's records of 124 bytes.
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

  static boolean isNeeded(StoreConfig config) {
    return config.transactions().timestamps().onDisk();
  }

  /** Returns the size of the pool in bytes, whether within the buffer or in addition to it. */
  static long bufferBytes(StoreConfig config) {
    if (!isNeeded(config)) {
      return 0;
    }
    PoolConfig of = config.pool();
    long min = PoolConfig.bytesMin(of.pageSize(), of.translation(), of.replacement());
    return Math.max(min, of.bufferBytes() / BUFFER_SHARE);
  }

  /**
   * Returns the smallest buffer, in bytes, from which pages of timestamps can take their share.
   *
   * @param pool the smallest pool, in bytes
   * @param exact the size of the exact table, in bytes
   */
  static long minBufferBytes(long pool, long exact) {
    long others = pool + exact;
    return Math.max(others + pool, others + others / (BUFFER_SHARE - 1) + 1);
  }

  void onStop(Consumer<Throwable> action) {
    pool.poolStop().onStop(action);
  }

  /**
   * Opens a new file.
   *
   * @param storage the files of the database; null in memory
   * @param of the configuration of the pool
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
