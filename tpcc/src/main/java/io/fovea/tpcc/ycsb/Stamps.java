package io.fovea.tpcc.ycsb;

import java.util.Arrays;

/**
 * Who wrote a record: which attempt of which client of which run, so that a value that no committed
 * transaction has written can be told from one that some has.
 *
 * <pre>
 *   run 16 | client 12 | attempt 36
 * </pre>
 *
 * <p>One client's: it notes which of its attempts have committed, a bit each. Others read when it
 * has ended.
 */
final class Stamps {
  static final int CLIENTS_MAX = 1 << 12;
  private static final int CLIENT_AT = 36;
  private static final int RUN_AT = 48;
  private static final int RUNS = 1 << 16;
  private static final long ATTEMPTS = (1L << CLIENT_AT) - 1;

  private final long base;
  private long attempt;
  private long[] committed = new long[1 << 10];

  Stamps(int run, int client) {
    base = (long) (run % RUNS) << RUN_AT | (long) client << CLIENT_AT;
  }

  /** The stamp of an attempt that begins now. */
  long next() {
    return base | ++attempt;
  }

  /** Notes that the newest attempt has committed. */
  void commit() {
    int word = Math.toIntExact(attempt >>> 6);
    if (word >= committed.length) {
      committed = Arrays.copyOf(committed, Math.max(word + 1, 2 * committed.length));
    }
    committed[word] |= 1L << attempt;
  }

  /** Whether an attempt has committed. */
  private boolean committed(long stamp) {
    long n = stamp & ATTEMPTS;
    return n >>> 6 < committed.length && (committed[(int) (n >>> 6)] >>> n & 1) != 0;
  }

  /**
   * Whether a stamp that was found is one that a committed attempt may have left: of this run, that
   * one of its clients has committed; of another run, there is nobody to ask.
   */
  static boolean plausible(long stamp, int run, Stamps[] clients) {
    if (stamp == 0 || stamp >>> RUN_AT != run % RUNS) {
      return true;
    }
    int client = (int) (stamp >>> CLIENT_AT) & (CLIENTS_MAX - 1);
    return client < clients.length && clients[client].committed(stamp);
  }

  /** For messages. */
  static String text(long stamp) {
    return "attempt "
        + (stamp & ATTEMPTS)
        + " of client "
        + (stamp >>> CLIENT_AT & (CLIENTS_MAX - 1))
        + " of run "
        + (stamp >>> RUN_AT);
  }
}
