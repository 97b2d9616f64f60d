package io.fovea.tpcc.bench;

import io.fovea.DatabaseStats;

/**
 * The activity of the log in the measured time.
 *
 * @param bytes records, of commits and of structure changes
 * @param bytesWritten bytes that reached the device: records and the padding of groups
 * @param groups writes of the log
 * @param syncs syncs of the log file
 * @param waits transactions that waited for the log after they had ended
 * @param waitNanos total of these waits
 * @param checkpoints checkpoints completed
 * @param commitWaits commits that waited because checkpoints were behind
 * @param commits commits of all types
 * @param writingCommits commits of the types that write
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
   * Returns the figures of a run with a log.
   *
   * @param from the engine's statistics at the start of the measured time
   * @param to the engine's statistics at its end
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

  /** Returns how many writing commits shared a sync. */
  public double commitsPerSync() {
    return (double) writingCommits / Math.max(1, syncs);
  }

  /** Returns the bytes of log per transaction of the mix, read-only ones included. */
  public double bytesPerTransaction() {
    return (double) bytes / Math.max(1, commits);
  }

  /** Returns the mean wait of the transactions that waited for the log. */
  public double meanWaitMicros() {
    return waitNanos / 1e3 / Math.max(1, waits);
  }

  /** Returns MB (10^6 bytes) per second written to the device. */
  public double megabytesPerSecond() {
    return bytesWritten / 1e6 / seconds;
  }
}
