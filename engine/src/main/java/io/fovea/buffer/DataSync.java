package io.fovea.buffer;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.io.BlockDevice;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Syncs the data file, and tracks which batches of writes each sync covers.
 *
 * <pre>
 *   batches   1   2   3   4   5   6
 *             written and synced │ written │ in flight
 *                            synced    completed
 * </pre>
 *
 * <p><b>A failed sync is final</b>: the system may have dropped pages that it could not write, and
 * a later sync that succeeds proves nothing. The log is notified, and all later syncs throw,
 * including those of the superblock in the same file: the device keeps the failure, and runs one
 * sync at a time.
 *
 * <p>{@code completed} is read before the sync begins, and written after the device has completed
 * the batch, so the sync covers it.
 */
final class DataSync {
  private final BlockDevice device;
  private final PoolLog log;

  /** A leaf lock: nothing is taken under it. */
  private final ReentrantLock lock = new ReentrantLock();

  private volatile long completed;
  private volatile long synced;
  private volatile @Nullable Throwable failure;

  /**
   * Creates an instance for batches after the given one.
   *
   * @param done a batch that an earlier user of the file has synced, with all before it
   */
  DataSync(BlockDevice device, PoolLog log, long done) {
    this.device = device;
    this.log = log;
    this.completed = done;
    this.synced = done;
  }

  /** Called when all pages of the batch, and of those before it, are written. */
  void completed(long batch) {
    completed = batch;
  }

  void ensure(long batch) {
    if (synced < batch) {
      sync();
    }
  }

  void sync() {
    lock.lock();
    try {
      Throwable earlier = failure;
      if (earlier != null) {
        throw new DurabilityLostException(
            "An earlier sync of the data file failed, and later ones can't make up for it. Close and"
                + " reopen the database: recovery restores all acknowledged commits.",
            earlier);
      }
      long reached = completed;
      try {
        device.sync();
      } catch (DatabaseClosedException e) {
        throw e;
      } catch (RuntimeException | Error e) {
        failure = e;
        log.fail(e);
        throw e;
      }
      synced = Math.max(synced, reached);
    } finally {
      lock.unlock();
    }
  }
}
