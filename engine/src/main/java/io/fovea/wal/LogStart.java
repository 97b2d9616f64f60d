package io.fovea.wal;

import java.util.UUID;

/**
 * The state in which a log continues.
 *
 * @param database the database that the log belongs to
 * @param incarnation counts the openings of the log; durable in the superblock before the first
 *     append, and part of every checksum
 * @param startLsn the position of the first new record: the end of the valid records
 * @param redoLsn segments with records at or after this position are kept
 * @param lastSegment the highest segment number known from outside of the file; 0 if not known
 * @param changesLsn segments with records at or after this position are kept for change
 *     subscribers; {@link Long#MAX_VALUE} for none
 * @param session the session of this opening; see {@link LogIdentity}
 * @param previous the session of the last records in the log
 * @param base the session that the data file names
 */
public record LogStart(
    UUID database,
    long incarnation,
    long startLsn,
    long redoLsn,
    long lastSegment,
    long changesLsn,
    long session,
    long previous,
    long base) {
  /** Creates a state without sessions. */
  public LogStart(
      UUID database,
      long incarnation,
      long startLsn,
      long redoLsn,
      long lastSegment,
      long changesLsn) {
    this(database, incarnation, startLsn, redoLsn, lastSegment, changesLsn, 0, 0, 0);
  }

  /** Creates a state without change subscribers. */
  public LogStart(UUID database, long incarnation, long startLsn, long redoLsn, long lastSegment) {
    this(database, incarnation, startLsn, redoLsn, lastSegment, Long.MAX_VALUE);
  }

  /** Creates a state in which the file knows all segment numbers. */
  public LogStart(UUID database, long incarnation, long startLsn, long redoLsn) {
    this(database, incarnation, startLsn, redoLsn, 0);
  }

  /** Returns the position from which segments are kept. */
  long keepLsn() {
    return Math.min(redoLsn, changesLsn);
  }
}
