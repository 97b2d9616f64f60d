package io.fovea.buffer;

import io.fovea.wal.Log;

/**
 * Operations of a checkpoint: {@link BufferPool#checkpoint}. For one checkpoint at a time,
 * concurrently with everything else.
 *
 * @since 0.1.0
 */
public final class PoolCheckpoint {
  private final Frames frames;
  private final PageAllocator allocator;
  private final Flusher flusher;
  private final DataSync dataSync;
  private final PoolSpace space;

  PoolCheckpoint(
      Frames frames, PageAllocator allocator, Flusher flusher, DataSync dataSync, PoolSpace space) {
    this.space = space;
    this.frames = frames;
    this.allocator = allocator;
    this.flusher = flusher;
    this.dataSync = dataSync;
  }

  /** Returns the operations on all free pages, and on the length of the file. Thread-safe. */
  public PoolSpace space() {
    return space;
  }

  /**
   * Writes pages whose changes began before a position in the log, and waits for the log if they
   * are newer than the durable log. Does not sync. Pages whose latches are held for longer than the
   * pool waits for a frame stay dirty; {@link #minRecLsn} accounts for them.
   *
   * @throws io.fovea.error.StorageException if a page could not be written
   * @throws io.fovea.error.DurabilityLostException if the log can't become durable any more
   */
  public void flushOlder(long lsn) {
    frames.checkOpen();
    flusher.flushOlder(lsn);
  }

  /**
   * Syncs the data file: makes all previous writes durable.
   *
   * @throws io.fovea.error.StorageException if the sync failed, which is final
   * @throws io.fovea.error.DurabilityLostException if an earlier sync failed
   */
  public void sync() {
    frames.checkOpen();
    dataSync.sync();
  }

  /**
   * Returns the smallest recLsn of all dirty pages, including those being written: redo must not
   * begin after it.
   *
   * @return an LSN, or {@link Long#MAX_VALUE} if no dirty page has one
   */
  public long minRecLsn() {
    return flusher.minRecLsn();
  }

  /**
   * Checks that the pool works.
   *
   * @throws io.fovea.error.DatabaseClosedException if it has stopped: an operation failed while it
   *     changed pages
   */
  public void requireRunning() {
    frames.poolStop.requireRunning();
  }

  /**
   * Returns which pages are in use, with the position in the log at which this was so.
   *
   * @param log the log
   * @param redo the position at which replay will begin: pages named in the log after it are below
   *     {@link AllocatorState#highWaterMax}
   */
  public AllocatorSnapshot snapshot(Log log, long redo) {
    return allocator.snapshot(log, redo);
  }
}
