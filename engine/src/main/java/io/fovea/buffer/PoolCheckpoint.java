package io.fovea.buffer;

import io.fovea.wal.Log;

/**
 * What a checkpoint asks of a pool: {@link BufferPool#checkpoint}. One checkpoint at a time, while
 * everything goes on.
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

  /** The free pages as a whole, and the length of the file. Any thread. */
  public PoolSpace space() {
    return space;
  }

  /**
   * Writes pages whose changes began before a position in the log, and waits for the log where they
   * are newer than what is durable. Syncs nothing. Pages whose latches are held for longer than the
   * pool waits for a frame stay dirty; {@link #minRecLsn} says how far it got.
   *
   * @throws io.fovea.error.StorageException where a page could not be written
   * @throws io.fovea.error.DurabilityLostException where the log can't become durable any more
   */
  public void flushOlder(long lsn) {
    frames.checkOpen();
    flusher.flushOlder(lsn);
  }

  /**
   * Syncs the data file: what was written before the call is durable.
   *
   * @throws io.fovea.error.StorageException where the sync failed, which is final
   * @throws io.fovea.error.DurabilityLostException where an earlier one has
   */
  public void sync() {
    frames.checkOpen();
    dataSync.sync();
  }

  /**
   * The least recLsn of all dirty pages, including those whose write is under way: redo must not
   * begin after it.
   *
   * @return an LSN, or {@link Long#MAX_VALUE} where no dirty page has one
   */
  public long minRecLsn() {
    return flusher.minRecLsn();
  }

  /**
   * Does nothing while the pool works.
   *
   * @throws io.fovea.error.DatabaseClosedException if it has stopped: an operation failed while it
   *     changed pages
   */
  public void requireRunning() {
    frames.requireRunning();
  }

  /**
   * Which pages are in use, with the position in the log at which it was so.
   *
   * @param log the log
   * @param redo the log from here on will count: what it names lies below {@link
   *     AllocatorState#highWaterMax}
   */
  public AllocatorSnapshot snapshot(Log log, long redo) {
    return allocator.snapshot(log, redo);
  }
}
