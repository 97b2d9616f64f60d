package io.fovea.tpcc.bench;

import io.fovea.DatabaseStats;

/**
 * What the log had to do in the measured time.
 *
 * @param bytes records, of commits and of changed structure
 * @param bytesWritten what reached the device: records and the padding of groups
 * @param groups writes of the log
 * @param syncs of the log's file
 * @param waits transactions that waited for the log after they had ended
 * @param waitNanos how long, together
 * @param checkpoints that ended
 * @param commitWaits commits that waited because checkpoints were behind
 * @param commits of all types
 * @param writingCommits of the kinds of transactions that write
 * @param seconds the measured time
 */
public record LogFigures(
    long bytes,
    long bytesWritten,
    long groups,
    long syncs,
    long waits,
    long waitNanos,
    long checkpoints,
    long commitWaits,
    long commits,
    long writingCommits,
    double seconds) {

  /**
   * Of a run with a log.
   *
   * @param from the engine's statistics as the measured time began
   * @param to the engine's statistics as it ended
   */
  public static LogFigures of(
      DatabaseStats from, DatabaseStats to, long commits, long writingCommits, double seconds) {
    DatabaseStats.Log before = from.log();
    DatabaseStats.Log after = to.log();
    return new LogFigures(
        after.bytes() - before.bytes(),
        after.writtenBytes() - before.writtenBytes(),
        after.groups() - before.groups(),
        after.syncs() - before.syncs(),
        after.waits() - before.waits(),
        after.waitNanos() - before.waitNanos(),
        to.checkpoints().made() - from.checkpoints().made(),
        to.checkpoints().commitWaits() - from.checkpoints().commitWaits(),
        commits,
        writingCommits,
        seconds);
  }

  /** How many commits that had something to write shared a sync. */
  public double commitsPerSync() {
    return (double) writingCommits / Math.max(1, syncs);
  }

  /** Log of a transaction of the mix, whether it writes or not. */
  public double bytesPerTransaction() {
    return (double) bytes / Math.max(1, commits);
  }

  /** How long a transaction that waited for the log did so. */
  public double meanWaitMicros() {
    return waitNanos / 1e3 / Math.max(1, waits);
  }

  /** Of 1,000,000 bytes, to the device. */
  public double megabytesPerSecond() {
    return bytesWritten / 1e6 / seconds;
  }
}
