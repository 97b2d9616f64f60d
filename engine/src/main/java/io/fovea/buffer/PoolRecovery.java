package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.util.function.LongConsumer;

/**
 * What a pool does for recovery, and for whoever checks its outcome: {@link BufferPool#recovery}.
 * One thread, while nobody else uses the pool.
 *
 * @since 0.1.0
 */
public final class PoolRecovery {
  /** The first page that is in the pool: before it are the superblocks. */
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
   * What the allocator was when the log ended. The file is grown to where its last page is. The
   * high-water mark may go back: then there are free pages above it.
   *
   * @param state what it was
   * @param truncated where the last TRUNCATED of the log begins; 0 for none
   * @throws io.fovea.error.CorruptionException where the numbers contradict each other
   * @throws io.fovea.error.StorageFullException where the file cannot grow
   */
  public void recover(AllocatorState state, long truncated) {
    frames.checkOpen();
    allocator.recover(state, truncated);
  }

  /**
   * Refuses pages that were read before the end of the log was known and are newer than that: where
   * it is known, each page is compared when it is read.
   *
   * @param end where the log ends
   * @throws io.fovea.error.CorruptionException where there is such a page
   */
  public void requireUpTo(long end) {
    loader.requireUpTo(end);
  }

  /**
   * Gives a page of the free list its link, where the page is older than the record.
   *
   * @param pid the page
   * @param next the free page behind it; 0 for none
   * @param start where the record begins
   * @param end where it ends
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
   * From this page on, pages were given out after the checkpoint, so that the log has images of all
   * that they ever were, and {@link #fixForImage} does not read them from the file.
   *
   * @param pid the high-water mark at the checkpoint
   */
  public void unreadFrom(long pid) {
    loader.unreadFrom(pid);
  }

  /**
   * From now on each page that is read is written again, even if nothing is replayed on it.
   *
   * <p>Pages are read through the system's cache. If a sync failed and the database is opened again
   * before the machine restarts, the cache may hold pages that the device never received. Later
   * syncs succeed without writing them; only another write does. Every such page was written after
   * the last checkpoint, so the log has records of it behind the redo point, and recovery reads it.
   *
   * @param redo where replay begins, which holds back the redo point until a page is written; 0 to
   *     end it
   */
  public void writeAgain(long redo) {
    loader.writeAgain(redo);
  }

  /**
   * Latches the page of an image exclusively, whatever the file has there: nothing, or a damaged
   * page, whose LSN then is 0 and whose type {@link PageHeader#NEVER_WRITTEN}. The high-water mark
   * is raised, and the file grown, where the page needs it.
   *
   * @throws io.fovea.error.CorruptionException where there can be no such page, or it is newer than
   *     the log
   */
  public int fixForImage(long pid) {
    frames.checkOpen();
    return resolver.fixForImage(pid);
  }

  /**
   * Puts a page into the free list that was given out and that nobody ended up using.
   *
   * @param log has {@link AllocatorRecord#FREE_SPACE} granted and begun
   */
  public void reclaim(long pid, LogSession log) {
    frames.checkOpen();
    if (pid < AllocatorState.FIRST_PID || pid >= allocator.highWater()) {
      throw new CorruptionException("a page that nobody uses", pid, -1, allocator.highWater(), pid);
    }
    // What is there may be anything: the free page that it was before it was given out, even.
    allocator.push(resolver.fixForImage(pid), pid, log, false);
  }

  /**
   * Makes the page of a FREE a link of the free list, where the page is older. Of an ALLOCATE
   * nothing is to be replayed but the state: whatever the page was used for has images.
   *
   * @param record what the log says of the page
   * @param start where the record begins
   * @param end where it ends
   */
  public void replay(AllocatorRecord record, long start, long end) {
    if (record.pageType() == PageHeader.FREE) {
      frames.checkOpen();
      link(record.pid(), record.next(), start, end);
    }
  }

  /**
   * Walks the free list. Nobody allocates or frees pages meanwhile.
   *
   * @param visitor gets each page id once
   * @throws CorruptionException where the list is not what the allocator's state says
   */
  public void freePages(LongConsumer visitor) {
    frames.checkOpen();
    AllocatorState state = allocator.state();
    long pid = state.freeHead();
    for (long i = 0; i < state.freePages(); i++) {
      int frame = resolver.fixShared(pid);
      int type = PageHeader.type(frames.pages, frames.base(frame));
      long next = Mem.getLong(frames.pages, frames.base(frame) + PageAllocator.NEXT_FREE);
      Latch.releaseShared(frames.headers, frame);
      if (type != PageHeader.FREE) {
        throw new CorruptionException(
            "a page of the free list", pid, pid << frames.pageShift, PageHeader.FREE, type);
      }
      visitor.accept(pid);
      pid = next;
    }
    if (pid != 0) {
      throw new CorruptionException("end of the free list", pid, -1, 0, pid);
    }
  }
}
