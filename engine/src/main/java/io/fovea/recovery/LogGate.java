package io.fovea.recovery;

import io.fovea.buffer.PoolLog;
import io.fovea.wal.Log;
import org.jspecify.annotations.Nullable;

/**
 * The log as a pool sees it, which has pages before the log is open.
 *
 * <pre>
 *   recovery, first pass       all that was read is durable: pages may be written; any page LSN
 *   open                       the log decides
 * </pre>
 *
 * <p>Any thread.
 */
public final class LogGate implements PoolLog {
  private final boolean broken;
  private volatile @Nullable Log log;

  /**
   * A gate without a log yet.
   *
   * @param broken for tests: pages are written without waiting for the log
   */
  public LogGate(boolean broken) {
    this.broken = broken;
  }

  /**
   * The log is open.
   *
   * @param open what decides from here on
   */
  public void open(Log open) {
    log = open;
  }

  @Override
  public long durableLsn() {
    Log l = log;
    return l == null || broken ? Long.MAX_VALUE : l.durableLsn();
  }

  /**
   * The largest LSN that a page of the file may have.
   *
   * @return a position of the log
   */
  public long lsnLimit() {
    return durableLsn();
  }

  @Override
  public void awaitDurable(long lsn) {
    Log l = log;
    if (l != null && !broken) {
      l.awaitDurable(lsn);
    }
  }

  @Override
  public void fail(Throwable reason) {
    Log l = log;
    if (l != null) {
      l.fail(reason);
    }
  }
}
