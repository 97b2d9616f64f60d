package io.fovea.buffer;

import io.fovea.wal.Log;

/**
 * What a pool wants of the log: to know what is durable, to make it so, and to say that a sync of
 * the pages has failed.
 *
 * <p>It is no {@link Log}, because recovery has a pool before it has a log that can be appended to.
 *
 * <p>Any thread calls, never with a latch held.
 *
 * @since 0.1.0
 */
public interface PoolLog {
  /** Everything is durable: there is no log. */
  PoolLog NONE = () -> Long.MAX_VALUE;

  /**
   * Up to where the log is durable: no page with a later LSN is written. Never goes back, is cheap
   * and does not wait.
   */
  long durableLsn();

  /**
   * The largest LSN that a page of the file may have: one beyond the end of the log says that the
   * log was lost or replaced. Asked at each miss.
   */
  default long lsnLimit() {
    return Long.MAX_VALUE;
  }

  /**
   * Makes the log durable up to a position, if it can: the pages that wait for it are to leave.
   *
   * @throws io.fovea.error.DurabilityLostException where it can't
   */
  default void awaitDurable(long lsn) {}

  /** A sync of pages, or of the double-write area, has failed: durability is lost. */
  default void fail(Throwable reason) {}

  /** All of a log, which also says what LSN a page may have. */
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
