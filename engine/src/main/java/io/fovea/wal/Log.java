package io.fovea.wal;

import io.fovea.io.BlockDevice;

/** The write-ahead log. */
public final class Log implements AutoCloseable {
  /** The first position of a new log; 0 stands for none. */
  public static final long FIRST_LSN = 4096;

  private Log() {}

  /** Opens a log for appending; what is in the file from {@code start.redoLsn()} on is kept. */
  public static Log open(BlockDevice device, LogConfig config, LogStart start) {
    throw new UnsupportedOperationException();
  }

  /** A new session; kept by its owner as long as the log is open. */
  public LogSession session() {
    throw new UnsupportedOperationException();
  }

  /** The position that the next record will have at least. */
  public long tail() {
    throw new UnsupportedOperationException();
  }

  /** All records that end at or before this position are on stable storage. */
  public long durableLsn() {
    throw new UnsupportedOperationException();
  }

  /**
   * Waits until the log is durable up to a position.
   *
   * @throws io.fovea.error.DurabilityLostException if it can't become so any more
   */
  public void awaitDurable(long lsn) {
    throw new UnsupportedOperationException();
  }

  /** For commits that do not wait: waits only where more than the window is not durable yet. */
  public void awaitWindow() {
    throw new UnsupportedOperationException();
  }

  /**
   * @throws io.fovea.error.DurabilityLostException if nothing can become durable any more
   */
  public void requireAlive() {
    throw new UnsupportedOperationException();
  }

  /**
   * Makes durability lost, for a reason outside of the log (a data file that could not be synced).
   */
  public void fail(Throwable reason) {
    throw new UnsupportedOperationException();
  }

  /** The least position that a session holds back; {@link Long#MAX_VALUE} where none does. */
  public long minActive() {
    throw new UnsupportedOperationException();
  }

  /** Records below this position are not needed any more, except for pins. */
  public void recycleBelow(long lsn) {
    throw new UnsupportedOperationException();
  }

  /** Holds back recycling, for a backup; {@link Pin#close} ends it. */
  public Pin pin() {
    throw new UnsupportedOperationException();
  }

  /** Holds back recycling. */
  public interface Pin extends AutoCloseable {
    /** Records from here on stay. */
    long lsn();

    @Override
    void close();
  }

  /** What was done so far. */
  public LogStats stats() {
    throw new UnsupportedOperationException();
  }

  /** Writes what is complete, syncs, ends the writer. The device stays the caller's. */
  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }

  /** Ends the writer without writing: what a crash leaves. */
  public void abandon() {
    throw new UnsupportedOperationException();
  }
}
