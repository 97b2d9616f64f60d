package io.fovea.tpcc;

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
 * @param writingCommits of the types that write: New-Order, Payment and Delivery
 * @param seconds the measured time
 */
record LogFigures(
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

  /** Of a run with a log. */
  static LogFigures of(Runner.Result r) {
    DatabaseStats.Log before = r.before().log();
    DatabaseStats.Log after = r.after().log();
    Tally.Totals counts = r.counts();
    return new LogFigures(
        after.bytes() - before.bytes(),
        after.writtenBytes() - before.writtenBytes(),
        after.groups() - before.groups(),
        after.syncs() - before.syncs(),
        after.waits() - before.waits(),
        after.waitNanos() - before.waitNanos(),
        r.after().checkpoints().made() - r.before().checkpoints().made(),
        r.after().checkpoints().commitWaits() - r.before().checkpoints().commitWaits(),
        counts.get(Tally.What.COMMITS),
        counts.get(TxnType.NEW_ORDER, Tally.What.COMMITS)
            + counts.get(TxnType.PAYMENT, Tally.What.COMMITS)
            + counts.get(TxnType.DELIVERY, Tally.What.COMMITS),
        r.seconds());
  }

  /** How many commits that had something to write shared a sync. */
  double commitsPerSync() {
    return (double) writingCommits / Math.max(1, syncs);
  }

  /** Log of a transaction of the mix, whether it writes or not. */
  double bytesPerTransaction() {
    return (double) bytes / Math.max(1, commits);
  }

  /** How long a transaction that waited for the log did so. */
  double meanWaitMicros() {
    return waitNanos / 1e3 / Math.max(1, waits);
  }

  /** Of 1,000,000 bytes, to the device. */
  double megabytesPerSecond() {
    return bytesWritten / 1e6 / seconds;
  }
}
