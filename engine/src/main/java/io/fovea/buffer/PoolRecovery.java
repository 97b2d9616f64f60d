package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.wal.LogSession;

/**
 * Operations of recovery: {@link BufferPool#recovery}. For one thread, while no other uses the
 * pool.
 *
 * @since 0.1.0
 */
public final class PoolRecovery {
  /** The first page in the pool: the superblocks precede it. */
  static final long FIRST_PAGE = 2;

  private final Frames frames;
  private final PageAllocator allocator;
  private final Loader loader;
  private final Resolver resolver;

  PoolRecovery(Frames frames, PageAllocator allocator, Loader loader, Resolver resolver) {
    this.frames = frames;
    this.allocator = allocator;
    this.loader = loader;
    this.resolver = resolver;
  }

  /**
   * Sets the state of the allocator at the end of the log, and grows the file up to its last page.
   * If the high-water mark is lowered, there are free pages above it.
   *
   * @param state the state
   * @param truncated the start of the log's last TRUNCATED record; 0 for none
   * @throws io.fovea.error.CorruptionException if the numbers contradict each other
   * @throws io.fovea.error.StorageFullException if the file cannot grow
   */
  public void recover(AllocatorState state, long truncated) {
    frames.checkOpen();
    allocator.recover(state, truncated);
  }

  /**
   * Rejects pages that are newer than the log and were read before its end was known. Later reads
   * check each page.
   *
   * @param end the end of the log
   * @throws io.fovea.error.CorruptionException if there is such a page
   */
  public void requireUpTo(long end) {
    loader.requireUpTo(end);
  }

  /**
   * Sets the link of a page of the free list, if the page is older than the record.
   *
   * @param pid the page
   * @param next the next free page; 0 for none
   * @param start the start of the record
   * @param end the end of the record
   */
  public void replayLink(long pid, long next, long start, long end) {
    frames.checkOpen();
    link(pid, next, start, end);
  }

  private void link(long pid, long next, long recLsn, long pageLsn) {
    int frame = resolver.fixForImage(pid);
    if (PageHeader.pageLsn(frames.pages, frames.base(frame)) < pageLsn) {
      allocator.link(frame, pid, next, recLsn, pageLsn);
      Latch.releaseExclusive(frames.headers, frame);
    } else {
      Latch.releaseExclusiveUnchanged(frames.headers, frame);
    }
  }

  /**
   * Declares that this page and all later ones were allocated after the checkpoint: the log
   * contains images of all their contents, and {@link #fixForImage} does not read them from the
   * file.
   *
   * @param pid the high-water mark at the checkpoint
   */
  public void unreadFrom(long pid) {
    loader.unreadFrom(pid);
  }

  /**
   * Causes each page that is read after this call to be written again, even if nothing is replayed
   * on it.
   *
   * <p>After a failed sync and a reopening without a restart of the machine, the system's cache may
   * hold pages that the device never received. Later syncs succeed without writing them; only
   * another write does. Every such page was written after the last checkpoint, so the log contains
   * records of it after the redo point, and recovery reads it.
   *
   * @param redo the start of replay, which holds back the redo point until a page is written; 0 to
   *     stop doing so
   */
  public void writeAgain(long redo) {
    loader.writeAgain(redo);
  }

  /**
   * Latches the page of an image exclusively, even if the file contains nothing or a damaged page
   * there; its LSN is then 0 and its type {@link PageHeader#NEVER_WRITTEN}. Raises the high-water
   * mark and grows the file if the page needs it.
   *
   * @throws io.fovea.error.CorruptionException if there can be no such page, or it is newer than
   *     the log
   */
  public int fixForImage(long pid) {
    frames.checkOpen();
    return resolver.fixForImage(pid);
  }

  /**
   * Adds an allocated but unused page to the free list.
   *
   * @param log a session with {@link AllocatorRecord#FREE_SPACE} granted and begun
   */
  public void reclaim(long pid, LogSession log) {
    frames.checkOpen();
    if (pid < AllocatorState.FIRST_PID || pid >= allocator.highWater()) {
      throw new CorruptionException("an unused page", pid, -1, allocator.highWater(), pid);
    }
    // Its contents may be anything, even the free page that it was before its allocation.
    allocator.push(resolver.fixForImage(pid), pid, log, false);
  }

  /**
   * Makes the page of a FREE record a link of the free list, if the page is older. An ALLOCATE
   * record only changes the state: the contents of the page are in images.
   *
   * @param record the record
   * @param start the start of the record
   * @param end the end of the record
   */
  public void replay(AllocatorRecord record, long start, long end) {
    if (record.pageType() == PageHeader.FREE) {
      frames.checkOpen();
      link(record.pid(), record.next(), start, end);
    }
  }
}
