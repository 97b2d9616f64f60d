package io.fovea.tpcc.ycsb;

import io.fovea.DatabaseStats;
import io.fovea.tpcc.bench.Series;
import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * What was measured; the warm-up is not part of it.
 *
 * @param seconds the measured time
 * @param threads what clients ran on: platform, virtual or pipelined
 * @param kinds the kinds of transactions
 * @param counts what the clients counted
 * @param latencies of transactions in nanoseconds by kind, retries included
 * @param opLatencies of operations, by {@link Op}; null where the workload has none of it
 * @param before the engine's statistics as the measured time began
 * @param after the engine's statistics as it ended
 * @param series what happened in each second, those of the warm-up included
 * @param replaced fields that were replaced by committed transactions, the warm-up and the end of
 *     the run included, as in the next
 * @param inserted records that were made
 * @param wroteWhole whether records were written without having been read
 * @param stamps who wrote what
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

  /** Transactions a second that committed. */
  double goodput() {
    return counts.get(Tally.What.COMMITS) / seconds;
  }

  /** Operations a second of these. */
  double operationsPerSecond() {
    return counts.operations() / seconds;
  }

  /** Commits that had something to write. */
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
