package io.fovea.wal;

/**
 * A log whose durable records can be read: one open in this process ({@link Log}), or the file of a
 * log that another process may have open ({@link ForeignLog}).
 */
public interface DurableLog {
  /** Returns the position up to which all records are on stable storage. */
  long durableLsn();

  /**
   * Returns a reader of durable records that runs concurrently with appends. Close it before the
   * log.
   */
  DurableRecords records();
}
