package io.fovea.tpcc.ycsb;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.fovea.DatabaseStats;
import io.fovea.error.AbortCause;
import io.fovea.tpcc.bench.JsonReport;
import io.fovea.tpcc.bench.LogFigures;
import io.fovea.tpcc.bench.Percentiles;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Sizes;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/** Formats the output of {@code ycsb} and its part of the JSON. */
final class YcsbReport {
  static final String COMMAND = "ycsb run";

  private final StringBuilder text = new StringBuilder();

  private YcsbReport() {}

  /** Returns a constant as written on the command line. */
  static String name(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  static String level(Settings s) {
    return name(s.engine().durability());
  }

  // -------------------------------------------------------------------------------------- screen

  static String table(Settings settings, Result result) {
    YcsbReport r = new YcsbReport();
    r.transactions(result);
    r.operations(result);
    r.figures(settings, result);
    return r.text.toString();
  }

  private void line(String format, Object... args) {
    text.append(String.format(Locale.ROOT, format, args).stripTrailing());
    text.append(System.lineSeparator());
  }

  private static boolean shown(AbortCause cause, Tally.Totals counts) {
    return cause.retryable() || counts.get(cause) > 0;
  }

  private void transactions(Result r) {
    Tally.Totals counts = r.counts();
    StringBuilder head = new StringBuilder();
    head.append(
        String.format("%-16s %11s %9s %9s", "transactions", "commits", "retries", "abandoned"));
    for (AbortCause cause : Tally.CAUSES) {
      if (shown(cause, counts)) {
        head.append(String.format(" %10s", name(cause)));
      }
    }
    for (String name : Percentiles.PERCENTILE_NAMES) {
      head.append(String.format(" %9s", name));
    }
    line("");
    line("%s  (us)", head);
    for (int k = 0; k < r.kinds().size(); k++) {
      StringBuilder row = new StringBuilder();
      row.append(
          String.format(
              Locale.ROOT,
              "%-16s %,11d %,9d %,9d",
              r.kinds().get(k).id,
              counts.get(k, Tally.What.COMMITS),
              counts.get(k, Tally.What.RETRIES),
              counts.get(k, Tally.What.ABANDONED)));
      for (AbortCause cause : Tally.CAUSES) {
        if (shown(cause, counts)) {
          row.append(String.format(Locale.ROOT, " %,10d", counts.get(k, cause)));
        }
      }
      line("%s%s", row, percentiles(r.latencies()[k]));
    }
    line("");
  }

  private static String percentiles(Histogram h) {
    StringBuilder b = new StringBuilder();
    for (double p : Percentiles.PERCENTILES) {
      b.append(String.format(Locale.ROOT, " %,9.1f", Percentiles.micros(h, p)));
    }
    return b.toString();
  }

  private void operations(Result r) {
    StringBuilder head = new StringBuilder(String.format("%-16s %11s", "operations", "committed"));
    for (String name : Percentiles.PERCENTILE_NAMES) {
      head.append(String.format(" %9s", name));
    }
    line("%s  (us, of one transaction of %d)", head, YcsbClient.TIMED_OF);
    for (Op op : Op.values()) {
      Histogram h = r.opLatencies()[op.ordinal()];
      if (h != null) {
        line("%-16s %,11d%s", op.id, r.counts().get(op), percentiles(h));
      }
    }
    line("");
  }

  private void figures(Settings s, Result r) {
    Tally.Totals counts = r.counts();
    line(
        "goodput %,.0f tx/s, %,.0f operations/s, abort rate %.3f %%, %,d of %,d transactions"
            + " abandoned, workload %s, durability %s",
        r.goodput(),
        r.operationsPerSecond(),
        100 * counts.abortRate(),
        counts.get(Tally.What.ABANDONED),
        counts.get(Tally.What.ABANDONED) + counts.get(Tally.What.COMMITS),
        name(s.workload()),
        level(s));
    line(
        "%.1f s measured after %.1f s of warm-up, %,d records, keys %s, %s %s",
        r.seconds(),
        s.warmup().toNanos() / 1e9,
        s.records(),
        keys(s),
        Progress.count(s.clients(), "client"),
        r.threads().equals("platform")
            ? "on a thread each"
            : "on " + Progress.count(s.threads(), "thread"));
    DatabaseStats.Buffer before = r.before().buffer();
    DatabaseStats.Buffer after = r.after().buffer();
    DatabaseStats.Device io = r.after().io();
    line(
        "buffer %,d MiB of %s, %,d pages read and %,d written in the measured time by %s",
        s.engine().bufferBytes() >> 20,
        Sizes.format(s.engine().pageSize()),
        after.misses() - before.misses(),
        io.writes() - r.before().io().writes(),
        io.kind());
    if (s.engine().logged()) {
      LogFigures log = log(r);
      line(
          "log with durability %s: %.1f commits per sync, %,.0f bytes per transaction, %.1f MB/s to"
              + " the device, %,d syncs, mean wait %,.0f us, %s",
          level(s),
          log.commitsPerSync(),
          log.bytesPerTransaction(),
          log.megabytesPerSecond(),
          log.syncs(),
          log.meanWaitMicros(),
          Progress.count(Math.toIntExact(log.checkpoints()), "checkpoint"));
    }
  }

  static String keys(Settings s) {
    return switch (s.keys()) {
      case ZIPFIAN, LATEST -> String.format(Locale.ROOT, "%s %.2f", name(s.keys()), s.theta());
      case UNIFORM -> name(s.keys());
      case HOTSPOT ->
          String.format(
              Locale.ROOT,
              "hotspot %.0f %% of the operations on %.0f %% of the keys",
              100 * s.hotOperations(),
              100 * s.hotKeys());
    };
  }

  private static LogFigures log(Result r) {
    return LogFigures.of(
        r.before(), r.after(), r.counts().get(Tally.What.COMMITS), r.writingCommits(), r.seconds());
  }

  // ---------------------------------------------------------------------------------------- JSON

  static JsonReport json(String command, Settings s) {
    JsonObject o = new JsonObject();
    o.addProperty("path", s.inMemory() ? null : s.path().toString());
    o.addProperty("workload", name(s.workload()));
    o.addProperty("records", s.records());
    o.addProperty("fields", s.workload().fields);
    o.addProperty("threads", s.threads());
    o.addProperty("clients", s.clients());
    o.addProperty("virtual", s.virtual());
    o.addProperty("ops", s.workload().transactional() ? null : s.ops());
    o.addProperty("readFirst", s.readFirst());
    o.addProperty("distribution", name(s.keys()));
    boolean zipf = s.keys() == Keys.Shape.ZIPFIAN || s.keys() == Keys.Shape.LATEST;
    o.addProperty("theta", zipf ? s.theta() : null);
    boolean hot = s.keys() == Keys.Shape.HOTSPOT;
    o.addProperty("hotKeys", hot ? s.hotKeys() : null);
    o.addProperty("hotOperations", hot ? s.hotOperations() : null);
    o.addProperty("retries", s.retries());
    o.addProperty("backoffMicros", s.backoff().toNanos() / 1e3);
    o.addProperty("durationSeconds", s.duration().toNanos() / 1e9);
    o.addProperty("warmupSeconds", s.warmup().toNanos() / 1e9);
    o.addProperty("seed", s.seed());
    s.engine().addTo(o, s.inMemory());
    return new JsonReport(command, o, s.engine().logged());
  }

  static void run(JsonReport json, Result r) {
    Tally.Totals counts = r.counts();
    long commits = counts.get(Tally.What.COMMITS);
    json.add("clientThreads", r.threads());
    json.add("measuredSeconds", JsonReport.round(r.seconds()));
    json.add("goodputPerSecond", JsonReport.round(r.goodput()));
    json.add("operationsPerSecond", JsonReport.round(r.operationsPerSecond()));
    json.add("commits", commits);
    json.add("abortedAttempts", counts.aborts());
    json.add("abortRate", Math.round(counts.abortRate() * 1e6) / 1e6);
    json.add("retries", counts.get(Tally.What.RETRIES));
    json.add("abandoned", counts.get(Tally.What.ABANDONED));
    JsonObject aborts = new JsonObject();
    for (AbortCause cause : Tally.CAUSES) {
      aborts.addProperty(JsonReport.lower(cause), counts.get(cause));
    }
    json.add("aborts", aborts);
    Histogram all = new Histogram(Percentiles.LATENCY_MAX_NANOS, 3);
    for (Histogram h : r.latencies()) {
      all.add(h);
    }
    json.add("latencyMicros", JsonReport.latency(all));
    JsonObject kinds = new JsonObject();
    for (int k = 0; k < r.kinds().size(); k++) {
      kinds.add(r.kinds().get(k).id, kind(r, k));
    }
    json.add("transactions", kinds);
    JsonObject ops = new JsonObject();
    for (Op op : Op.values()) {
      Histogram h = r.opLatencies()[op.ordinal()];
      if (h != null) {
        JsonObject o = new JsonObject();
        o.addProperty("committed", counts.get(op));
        o.addProperty("timed", h.getTotalCount());
        o.add("latencyMicros", JsonReport.latency(h));
        ops.add(op.id, o);
      }
    }
    json.add("operations", ops);
    json.add("engine", engine(r));
    json.log(log(r));
    json.series(r.series());
  }

  private static JsonObject kind(Result r, int k) {
    Tally.Totals counts = r.counts();
    JsonObject o = new JsonObject();
    o.addProperty("commits", counts.get(k, Tally.What.COMMITS));
    o.addProperty("retries", counts.get(k, Tally.What.RETRIES));
    o.addProperty("abandoned", counts.get(k, Tally.What.ABANDONED));
    JsonObject aborts = new JsonObject();
    for (AbortCause cause : Tally.CAUSES) {
      aborts.addProperty(JsonReport.lower(cause), counts.get(k, cause));
    }
    o.add("aborts", aborts);
    o.add("latencyMicros", JsonReport.latency(r.latencies()[k]));
    return o;
  }

  /** Returns the engine's figures, including its own counts of aborts. */
  private static JsonObject engine(Result r) {
    JsonObject o = JsonReport.engine(r.before(), r.after());
    JsonObject aborts = new JsonObject();
    for (AbortCause cause : Tally.CAUSES) {
      long n = r.after().abortsByCause().get(cause) - r.before().abortsByCause().get(cause);
      aborts.addProperty(JsonReport.lower(cause), n);
    }
    o.addProperty("commits", r.after().commits() - r.before().commits());
    o.add("aborts", aborts);
    return o;
  }

  static void check(JsonReport json, Check.Result c) {
    json.add("consistent", c.holds());
    JsonObject o = new JsonObject();
    o.addProperty("records", c.found().records);
    o.addProperty("recordsExpected", c.expected());
    o.addProperty("fieldsReplaced", c.found().counted);
    o.addProperty("fieldsReplacedExpected", c.counted() < 0 ? null : c.counted());
    JsonArray complaints = new JsonArray();
    c.complaints().forEach(complaints::add);
    o.add("complaints", complaints);
    JsonArray examples = new JsonArray();
    c.found().examples.forEach(examples::add);
    o.add("examples", examples);
    json.add("check", o);
  }
}
