package io.fovea.tpcc.ycsb;

import io.fovea.DatabaseStats;
import io.fovea.tpcc.bench.Series;
import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * The results of a run, without the warm-up unless stated.
 *
 * @param latencies of transactions in nanoseconds by kind, retries included
 * @param opLatencies of operations, by {@link Op}; null for those outside the workload
 * @param series values per second, including the warm-up
 * @param replaced fields replaced by committed transactions in the whole run
 * @param inserted records inserted in the whole run
 * @param wroteWhole whether records were written without being read
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

  double goodput() {
    return counts.get(Tally.What.COMMITS) / seconds;
  }

  double operationsPerSecond() {
    return counts.operations() / seconds;
  }

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
