package io.fovea.recovery;

/**
 * What a recovery did.
 *
 * @param redoLsn where it began
 * @param endLsn where the log ended
 * @param pagesRestored how many torn pages the double-write area made whole
 * @param records how many log records there were
 * @param images how many images of pages
 * @param operations how many changes of records were made again
 * @param named how many of these named a page where their leaf might be
 * @param steps how many nodes were gone to on ways from the roots of trees to leaves
 * @param readAhead how many pages were read because changes named them, many at a time
 * @param treesDropped how many trees were dropped that no catalog knows
 * @param pagesReclaimed how many pages were given out that nobody used
 * @param analysisNanos how long the first pass over the log took, images included
 * @param replayNanos how long the second pass took
 * @param nanos how long all of it took
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
  /** The file was closed cleanly. */
  public static final RecoveryReport NONE =
      new RecoveryReport(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

  /** How much log was read. */
  public long logBytes() {
    return endLsn - redoLsn;
  }
}
