package io.fovea.tpcc;

import io.fovea.DatabaseStats;
import io.fovea.error.AbortCause;
import io.fovea.tpcc.bench.LogFigures;
import io.fovea.tpcc.bench.Percentiles;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Sizes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/** Formats the output at the end of a run. */
final class Report {
  private final StringBuilder text = new StringBuilder();

  private Report() {}

  private void line(String format, Object... args) {
    text.append(String.format(Locale.ROOT, format, args).stripTrailing());
    text.append(System.lineSeparator());
  }

  static String table(Settings settings, Runner.Result result) {
    Report r = new Report();
    r.table(result);
    r.figures(settings, result);
    return r.text.toString();
  }

  /** Returns a line for each of the twelve conditions, with examples of violations. */
  static String conditions(List<Condition> conditions) {
    Report r = new Report();
    for (Condition c : conditions) {
      r.line("%4d  %-8s  %s", c.number(), c.holds() ? "holds" : "VIOLATED", c.statement());
      for (String example : c.examples()) {
        r.line("                  %s", example);
      }
      long more = c.violations() - c.examples().size();
      if (more > 0) {
        r.line("                  and %,d more", more);
      }
    }
    return r.text.toString();
  }

  static String acknowledged(AcknowledgedCheck.Result result) {
    Report r = new Report();
    r.line(
        "%,d acknowledged transactions: %s",
        result.records(),
        result.missing() == 0
            ? "all are present"
            : String.format(Locale.ROOT, "%,d are LOST", result.missing()));
    for (String example : result.examples()) {
      r.line("                  %s", example);
    }
    return r.text.toString();
  }

  /**
   * Returns the abort causes that have a column: conflicts with other transactions, and any that
   * occurred.
   */
  private static List<AbortCause> columns(Tally.Totals counts) {
    List<AbortCause> columns = new ArrayList<>();
    for (AbortCause cause : Tally.CAUSES) {
      if (cause.retryable() || counts.get(cause) > 0) {
        columns.add(cause);
      }
    }
    return columns;
  }

  private void table(Runner.Result result) {
    Tally.Totals counts = result.counts();
    List<AbortCause> causes = columns(counts);
    StringBuilder head = new StringBuilder();
    head.append(String.format("%-12s %11s %9s %9s", "", "commits", "rollbacks", "retries"));
    for (AbortCause cause : causes) {
      head.append(String.format(" %10s", cause.name().toLowerCase(Locale.ROOT)));
    }
    for (String name : Percentiles.PERCENTILE_NAMES) {
      head.append(String.format(" %9s", name));
    }
    line("");
    line("%s  (us)", head);
    for (TxnType type : TxnType.values()) {
      Histogram h = result.latencies()[type.ordinal()];
      if (h != null) {
        row(type, h, causes, counts);
      }
    }
    StringBuilder sums = new StringBuilder();
    for (AbortCause cause : causes) {
      sums.append(String.format(Locale.ROOT, " %,10d", counts.get(cause)));
    }
    line(
        "%-12s %,11d %,9d %,9d%s",
        "all",
        counts.get(Tally.What.COMMITS),
        counts.get(Tally.What.ROLLBACKS),
        counts.get(Tally.What.RETRIES),
        sums);
    line("");
  }

  private void row(TxnType type, Histogram h, List<AbortCause> causes, Tally.Totals counts) {
    StringBuilder rest = new StringBuilder();
    for (AbortCause cause : causes) {
      rest.append(String.format(Locale.ROOT, " %,10d", counts.get(type, cause)));
    }
    for (double p : Percentiles.PERCENTILES) {
      rest.append(String.format(Locale.ROOT, " %,9.1f", Percentiles.micros(h, p)));
    }
    line(
        "%-12s %,11d %,9d %,9d%s",
        type.title,
        counts.get(type, Tally.What.COMMITS),
        counts.get(type, Tally.What.ROLLBACKS),
        counts.get(type, Tally.What.RETRIES),
        rest);
  }

  private void figures(Settings s, Runner.Result result) {
    line(
        "%,.0f tx/s, %,.0f New-Order/min (%s), mix %s, %s",
        result.perSecond(),
        result.newOrdersPerMinute(),
        s.waiting() ? "with wait times" : "tpmC-like: no wait times",
        s.mix(),
        "durability " + s.level());
    line(
        "%.1f s measured after %.1f s of warm-up, %s, %s %s, affinity %s%s%s",
        result.seconds(),
        s.warmup().toNanos() / 1e9,
        Progress.count(s.warehouses(), "warehouse"),
        Progress.count(s.clients(), "client"),
        s.shared() && !s.pipelined() && !result.virtual()
            ? "on a thread each"
            : "on " + Progress.count(s.threads(), "thread"),
        s.affinity() ? "on" : "off",
        s.snapshot() ? ", a snapshot open" : "",
        s.rate() > 0 ? String.format(Locale.ROOT, ", rate %,.0f/s", s.rate()) : "");
    long skipped = result.counts().get(Tally.What.SKIPPED_DISTRICTS);
    if (skipped > 0) {
      line("%,d districts had no order to deliver", skipped);
    }
    DatabaseStats.Buffer before = result.before().buffer();
    DatabaseStats.Buffer after = result.after().buffer();
    DatabaseStats.Device io = result.after().io();
    line(
        "buffer %,d MiB of %s, %,d pages read and %,d written in the measured time by %s",
        s.engine().bufferBytes() >> 20,
        Sizes.format(s.engine().pageSize()),
        after.misses() - before.misses(),
        io.writes() - result.before().io().writes(),
        io.kind());
    if (s.engine().logged()) {
      log(s, RunJson.log(result));
    }
  }

  private void log(Settings s, LogFigures log) {
    line(
        "log with durability %s: %.1f commits per sync, %,.0f bytes per transaction, %.1f MB/s to"
            + " the device, %,d syncs, mean wait %,.0f us, %s",
        s.level(),
        log.commitsPerSync(),
        log.bytesPerTransaction(),
        log.megabytesPerSecond(),
        log.syncs(),
        log.meanWaitMicros(),
        Progress.count(Math.toIntExact(log.checkpoints()), "checkpoint"));
  }
}
