package io.fovea.tpcc.ycsb;

import io.fovea.DatabaseStats;
import io.fovea.tpcc.bench.Series;
import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * The results of a run, without the warm-up unless stated.
 *
 * @param seconds the measured time
 * @param threads the threads of the clients: platform, virtual or pipelined
 * @param kinds the kinds of transactions
 * @param counts the clients' counters
 * @param latencies of transactions in nanoseconds by kind, retries included
 * @param opLatencies of operations, by {@link Op}; null for those outside the workload
 * @param before the engine's statistics at the start of the measured time
 * @param after the engine's statistics at its end
 * @param series values per second, including the warm-up
 * @param replaced fields replaced by committed transactions in the whole run
 * @param inserted records inserted in the whole run
 * @param wroteWhole whether records were written without being read
 * @param stamps the clients' stamps
 */
record Result(
    double seconds,
    String threads,
    List<Kind> kinds,
    Tally.Totals counts,
    Histogram[] latencies,
    Histogram[] opLatencies,
    DatabaseStats before,
    DatabaseStats after,
    Series series,
    long replaced,
    long inserted,
    boolean wroteWhole,
    Stamps[] stamps) {

  /** Returns committed transactions per second. */
  double goodput() {
    return counts.get(Tally.What.COMMITS) / seconds;
  }

  /** Returns operations per second in committed transactions. */
  double operationsPerSecond() {
    return counts.operations() / seconds;
  }

  /** Returns the number of commits with writes. */
  long writingCommits() {
    long sum = 0;
    for (int k = 0; k < kinds.size(); k++) {
      if (kinds.get(k).ops().stream().anyMatch(op -> op.writes)) {
        sum += counts.get(k, Tally.What.COMMITS);
      }
    }
    return sum;
  }
}
