package io.fovea.buffer;

import io.fovea.wal.Log;

/**
 * The part of the log that the pool uses: the durable position, making it durable, and reporting a
 * failed sync of pages.
 *
 * <p>Not {@link Log} itself, because recovery has a pool before it has a log to append to.
 *
 * <p>Called by any thread, never with a latch held.
 *
 * @since 0.1.0
 */
public interface PoolLog {
  /** For pools without a log: everything is durable. */
  PoolLog NONE = () -> Long.MAX_VALUE;

  /**
   * Returns the position up to which the log is durable; pages with a later LSN are not written.
   * Never decreases, is cheap and does not wait.
   */
  long durableLsn();

  /**
   * Returns the largest LSN that a page of the file may have: a larger one means that the log was
   * lost or replaced. Called at each miss.
   */
  default long lsnLimit() {
    return Long.MAX_VALUE;
  }

  /**
   * Reports the LSN of a page that was read from the file while {@link #lsnLimit} was unknown. A
   * page is written only once the log is durable up to its LSN, so the log was durable up to there.
   */
  default void wasDurable(long lsn) {}

  /**
   * Makes the log durable up to a position, if possible, because pages that wait for it are to be
   * evicted.
   *
   * @throws io.fovea.error.DurabilityLostException if it can't
   */
  default void awaitDurable(long lsn) {}

  /** Reports that a sync of pages, or of the double-write area, has failed: durability is lost. */
  default void fail(Throwable reason) {}

  /** Returns a view of a log. */
  static PoolLog of(Log log) {
    return new PoolLog() {
      @Override
      public long durableLsn() {
        return log.durableLsn();
      }

      @Override
      public long lsnLimit() {
        return log.durableLsn();
      }

      @Override
      public void awaitDurable(long lsn) {
        log.awaitDurable(lsn);
      }

      @Override
      public void fail(Throwable reason) {
        log.fail(reason);
      }
    };
  }
}
