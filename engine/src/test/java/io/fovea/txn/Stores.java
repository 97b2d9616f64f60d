package io.fovea.txn;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.txn.TimestampConfig.Release;
import java.util.ArrayDeque;
import java.util.Deque;

/** Creates timestamp stores of every kind and closes them. */
final class Stores implements AutoCloseable {
  private final Deque<Runnable> made = new ArrayDeque<>();

  /** Pages in a minimal pool, so that they are evicted. */
  TimestampPages pages(int contexts) {
    BufferPool pool =
        new BufferPool(
            new MemoryDevice(),
            PoolConfig.ofFrames(4096, PoolConfig.FRAMES_MIN, Translation.PREDICTIVE),
            AllocatorState.EMPTY);
    made.push(pool::abandon);
    return new TimestampPages(pool, contexts);
  }

  Timestamps make(
      int contexts,
      TimestampStore kind,
      Release release,
      long activeTimestampBytes,
      long budgetBytes,
      int columns,
      int columnsMax) {
    Timestamps t =
        new Timestamps(
            contexts,
            new TimestampConfig(
                kind,
                release,
                activeTimestampBytes,
                budgetBytes,
                2,
                columns,
                Math.max(columns, columnsMax)),
            TimestampConfig.onDisk(kind) ? pages(contexts) : null);
    made.push(t::close);
    return t;
  }

  @Override
  public void close() {
    while (!made.isEmpty()) {
      made.pop().run();
    }
  }
}
