package io.fovea.buffer;

import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;

/**
 * A page that the high-water mark has passed and that is in no frame yet, as an allocation leaves
 * it in between whose thread has lost the processor.
 */
public final class HalfGivenOut {
  /** What the page's first word is when it is entered. */
  public static final long WORD = 0x1234_5678_9ABC_DEF0L;

  private final BufferPool pool;

  /** The page. */
  public final long pid;

  /** Moves the mark, and does nothing more. */
  public HalfGivenOut(BufferPool pool) {
    this.pool = pool;
    this.pid = pool.allocator.highWater();
    pool.allocator.entering.incrementAndGet();
    pool.allocator.raise(pid + 1);
  }

  /** Does the rest. */
  public void enter() {
    int frame = pool.allocateAt(pid, 1, PageHeader.LEAF, LogSession.NONE);
    pool.allocator.entering.decrementAndGet();
    Mem.putLong(pool.pages(), pool.base(frame) + Pools.WORD, WORD);
    pool.releaseExclusive(frame);
  }

  /** Its thread has failed with an error: the pool stops. */
  public void stop(Error cause) {
    pool.frames.stop(cause);
  }

  /** Where the word is in a page. */
  public static int wordAt() {
    return (int) Pools.WORD;
  }
}
