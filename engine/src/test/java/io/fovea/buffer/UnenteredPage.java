package io.fovea.buffer;

import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;

/**
 * A page below the high-water mark that is in no frame yet, as left by an allocation whose thread
 * was descheduled midway.
 */
public final class UnenteredPage {
  /** The page's first word once the page is entered. */
  public static final long WORD = 0x1234_5678_9ABC_DEF0L;

  private final BufferPool pool;

  /** The page. */
  public final long pid;

  /** Raises the high-water mark and does nothing else. */
  public UnenteredPage(BufferPool pool) {
    this.pool = pool;
    this.pid = pool.allocator.highWater();
    pool.allocator.entering.incrementAndGet();
    pool.allocator.raise(pid + 1);
  }

  /** Completes the allocation. */
  public void enter() {
    int frame = pool.allocateAt(pid, 1, PageHeader.LEAF, LogSession.NONE);
    pool.allocator.entering.decrementAndGet();
    Mem.putLong(pool.pages(), pool.base(frame) + Pools.WORD, WORD);
    pool.releaseExclusive(frame);
  }

  /** Fails the allocation with an error, which stops the pool. */
  public void stop(Error cause) {
    pool.frames.poolStop.stop(cause);
  }

  /** The offset of the word in a page. */
  public static int wordAt() {
    return (int) Pools.WORD;
  }
}
