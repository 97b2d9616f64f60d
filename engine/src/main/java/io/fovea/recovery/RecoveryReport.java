package io.fovea.recovery;

/**
 * The result of a recovery.
 *
 * @param redoLsn where the replay began
 * @param endLsn where the log ended
 * @param pagesRestored the number of torn pages restored from the double-write area
 * @param records the number of log records
 * @param images the number of page images
 * @param operations the number of record changes replayed
 * @param named how many of these named a page that could be their leaf
 * @param steps the number of nodes visited on descents from roots to leaves
 * @param readAhead the number of pages prefetched because changes named them
 * @param treesDropped the number of trees dropped that no catalog knows
 * @param pagesReclaimed the number of allocated pages that were unused
 * @param analysisNanos the time of the first pass over the log, including images
 * @param replayNanos the time of the second pass
 * @param nanos the total time
 */
public record RecoveryReport(
    long redoLsn,
    long endLsn,
    long pagesRestored,
    long records,
    long images,
    long operations,
    long named,
    long steps,
    long readAhead,
    long treesDropped,
    long pagesReclaimed,
    long analysisNanos,
    long replayNanos,
    long nanos) {
  /** The report for a file that was closed cleanly. */
  public static final RecoveryReport NONE =
      new RecoveryReport(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

  public long logBytes() {
    return endLsn - redoLsn;
  }
}
