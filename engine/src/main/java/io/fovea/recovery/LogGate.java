package io.fovea.recovery;

import io.fovea.buffer.PoolLog;
import io.fovea.wal.Log;
import org.jspecify.annotations.Nullable;

/**
 * The log as a pool sees it, which has pages before the log is open.
 *
 * <pre>
 *   recovery, first pass       what was read is durable as far as it is proven; any page LSN
 *   open                       the log decides
 * </pre>
 *
 * <p>Of the last group that is read nobody knows whether it was synced: a killed process, or a sync
 * that failed, may have left it in a cache. Pages that have changes from it are not written before
 * {@link Log#open} has made it durable anew; a machine that dies before would else find pages of a
 * transaction that its log does not know. {@link Analysis} sees to it that they are never so many
 * that no frame is left.
 *
 * <p>Any thread.
 */
public final class LogGate implements PoolLog {
  private volatile @Nullable Log log;
  private volatile long proven;

  /**
   * Recovery, first pass: the log is durable at least up to a position. One thread.
   *
   * @param lsn where the last group that was entered begins
   */
  void proven(long lsn) {
    if (lsn != proven) {
      proven = lsn;
    }
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
    return l == null ? proven : l.durableLsn();
  }

  @Override
  public long lsnLimit() {
    Log l = log;
    return l == null ? Long.MAX_VALUE : l.durableLsn();
  }

  /** Pages that are not written for lack of room in the log are written later. */
  @Override
  public void awaitDurable(long lsn) {
    Log l = log;
    if (l != null) {
      l.awaitDurableUnlessFull(lsn);
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
