package io.fovea.recovery;

import java.lang.System.Logger.Level;

/** Logs the progress of a long recovery from time to time. Used by one thread. */
final class Progress {
  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final long EVERY_NANOS = 5_000_000_000L;

  /** The number of records between two reads of the clock. */
  private static final int RECORDS_PER_CHECK = 1024;

  private final String subject;
  private final String what;
  private final long from;

  /** The end; 0 if not known. */
  private final long to;

  private final long began = System.nanoTime();
  private long next = began + EVERY_NANOS;
  private int count;

  /**
   * Creates the progress of a pass.
   *
   * @param subject the operation and the database
   * @param what the objects that the pass restores
   * @param from the start in the log
   * @param to the end in the log; 0 if not known
   */
  Progress(String subject, String what, long from, long to) {
    this.subject = subject;
    this.what = what;
    this.from = from;
    this.to = to;
  }

  /** Reports that a position was reached. */
  void at(long lsn) {
    if (++count % RECORDS_PER_CHECK == 0) {
      report(lsn);
    }
  }

  private void report(long lsn) {
    long now = System.nanoTime();
    if (now - next < 0) {
      return;
    }
    next = now + EVERY_NANOS;
    double mib = (lsn - from) / 1048576.0;
    String percent =
        to > from ? String.format(", %.0f %%", 100.0 * (lsn - from) / (to - from)) : "";
    LOG.log(
        Level.INFO,
        String.format(
            "%s: %s, %.0f MiB of log%s, %.0f MB/s",
            subject, what, mib, percent, (lsn - from) * 1e3 / Math.max(1, now - began)));
  }
}
