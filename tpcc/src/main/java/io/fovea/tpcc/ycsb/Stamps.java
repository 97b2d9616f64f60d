package io.fovea.tpcc.ycsb;

import java.util.Arrays;

/**
 * Stamps identify the writer of a record by run, client and attempt, to detect values that no
 * committed transaction has written.
 *
 * <pre>
 *   run 16 | client 12 | attempt 36
 * </pre>
 *
 * <p>An instance belongs to one client and has one bit per attempt: whether it committed. Other
 * threads read it after the client has ended.
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

  long next() {
    return base | ++attempt;
  }

  /** Records that the last attempt committed. */
  void commit() {
    int word = Math.toIntExact(attempt >>> 6);
    if (word >= committed.length) {
      committed = Arrays.copyOf(committed, Math.max(word + 1, 2 * committed.length));
    }
    committed[word] |= 1L << attempt;
  }

  private boolean committed(long stamp) {
    long n = stamp & ATTEMPTS;
    return n >>> 6 < committed.length && (committed[(int) (n >>> 6)] >>> n & 1) != 0;
  }

  /**
   * Tells whether a stamp may have been left by a committed attempt. Known for this run only;
   * stamps of other runs are accepted.
   */
  static boolean plausible(long stamp, int run, Stamps[] clients) {
    if (stamp == 0 || stamp >>> RUN_AT != run % RUNS) {
      return true;
    }
    int client = (int) (stamp >>> CLIENT_AT) & (CLIENTS_MAX - 1);
    return client < clients.length && clients[client].committed(stamp);
  }

  static String text(long stamp) {
    return "attempt "
        + (stamp & ATTEMPTS)
        + " of client "
        + (stamp >>> CLIENT_AT & (CLIENTS_MAX - 1))
        + " of run "
        + (stamp >>> RUN_AT);
  }
}
