package io.fovea.wal;

/**
 * A log whose durable records can be read: one that is open here ({@link Log}), or the file of one
 * that another process may have open ({@link ForeignLog}).
 */
public interface DurableLog {
  /** All records that end at or before this position are on stable storage. */
  long durableLsn();

  /** Reads records that are durable, beside everything else; to be closed before the log is. */
  DurableRecords records();
}
