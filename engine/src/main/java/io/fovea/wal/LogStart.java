package io.fovea.wal;

import java.util.UUID;

/**
 * Where a log goes on.
 *
 * @param database whose log it is
 * @param incarnation counts the openings of the log; durable in the superblock before the first
 *     append, and part of every checksum
 * @param startLsn where the first record goes: the end of what was found to be valid
 * @param redoLsn segments with records from here on are kept
 * @param lastSegment no segment had a higher number, as far as is known elsewhere than in the file;
 *     0 where nothing is
 * @param changesLsn segments with records from here on are kept for who follows changes; {@link
 *     Long#MAX_VALUE} where nobody does
 * @param session of this opening; see {@link LogIdentity}
 * @param previous the session whose records are the last ones there
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
  /** Where sessions are not known. */
  public LogStart(
      UUID database,
      long incarnation,
      long startLsn,
      long redoLsn,
      long lastSegment,
      long changesLsn) {
    this(database, incarnation, startLsn, redoLsn, lastSegment, changesLsn, 0, 0, 0);
  }

  /** Where nobody follows changes. */
  public LogStart(UUID database, long incarnation, long startLsn, long redoLsn, long lastSegment) {
    this(database, incarnation, startLsn, redoLsn, lastSegment, Long.MAX_VALUE);
  }

  /** Where the file has all its numbers. */
  public LogStart(UUID database, long incarnation, long startLsn, long redoLsn) {
    this(database, incarnation, startLsn, redoLsn, 0);
  }

  /** Segments with records from here on are kept. */
  long keepLsn() {
    return Math.min(redoLsn, changesLsn);
  }
}
