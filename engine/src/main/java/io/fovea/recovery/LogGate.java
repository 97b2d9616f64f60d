package io.fovea.recovery;

import io.fovea.buffer.PoolLog;
import io.fovea.wal.Log;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The pool's view of the log, which works before the log is open.
 *
 * <pre>
 *   recovery, first pass       durable up to the proven position; any page LSN is allowed
 *   open                       the log decides
 * </pre>
 *
 * <p>Proof comes from the log's watermarks and groups, and from the pages that are read: each was
 * written when the log was durable up to its LSN. Without the latter, pages that are newer than the
 * part of the log read so far could not be evicted, and a small pool would fill with them.
 *
 * <p>The last groups may be unsynced: a killed process, or a failed sync, may have left them in a
 * cache. Pages with changes from them are written only after {@link Log#open} has made them
 * durable. Otherwise a power loss could leave pages with changes of a transaction that the log does
 * not have. {@link Analysis} keeps their number below that of the frames.
 *
 * <p>Safe for use by any thread.
 */
public final class LogGate implements PoolLog {
  private volatile @Nullable Log log;
  private final AtomicLong proven = new AtomicLong();

  /**
   * Raises the durable position during the first pass of recovery.
   *
   * @param lsn the log is durable at least up to here
   */
  void proven(long lsn) {
    long before = proven.get();
    while (lsn > before && !proven.compareAndSet(before, lsn)) {
      before = proven.get();
    }
  }

  @Override
  public void wasDurable(long lsn) {
    proven(lsn);
  }

  /**
   * Sets the open log.
   *
   * @param open decides from now on
   */
  public void open(Log open) {
    log = open;
  }

  @Override
  public long durableLsn() {
    Log l = log;
    return l == null ? proven.get() : l.durableLsn();
  }

  @Override
  public long lsnLimit() {
    Log l = log;
    return l == null ? Long.MAX_VALUE : l.durableLsn();
  }

  /** Waits unless the log is full: then the pages are written later. */
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
