package io.fovea.buffer;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.io.BlockDevice;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Syncs of the data file, and up to which batch of writes they reach.
 *
 * <pre>
 *   batches   1   2   3   4   5   6
 *             written and synced │ written │ under way
 *                            synced    completed
 * </pre>
 *
 * <p><b>A failed sync is final</b>: the system may have dropped what it could not write, and a
 * later sync that succeeds proves nothing. All that come after the failed one throw; the log is
 * told. So does a sync of the superblock that comes later, which is the same file: the device keeps
 * the failure, and runs one sync at a time.
 *
 * <p>{@code completed} is read before the sync begins and was written after the device had taken
 * the batch: so the sync covers it.
 */
final class DataSync {
  private final BlockDevice device;
  private final PoolLog log;

  /** Nothing is taken under it. */
  private final ReentrantLock lock = new ReentrantLock();

  private volatile long completed;
  private volatile long synced;
  private volatile @Nullable Throwable failure;

  /**
   * Syncs from here on.
   *
   * @param done a batch that was synced, with all before it, by whoever had the file last
   */
  DataSync(BlockDevice device, PoolLog log, long done) {
    this.device = device;
    this.log = log;
    this.completed = done;
    this.synced = done;
  }

  /** All pages of the batch, and of those before it, are written. */
  void completed(long batch) {
    completed = batch;
  }

  /** Makes sure that what the batch has written is durable. */
  void ensure(long batch) {
    if (synced < batch) {
      sync();
    }
  }

  /** Makes durable what was written before. */
  void sync() {
    lock.lock();
    try {
      Throwable earlier = failure;
      if (earlier != null) {
        throw new DurabilityLostException(
            "A sync of the data file failed before, and no later one makes up for it. Close the"
                + " database; what was acknowledged is found again when it is opened anew.",
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
