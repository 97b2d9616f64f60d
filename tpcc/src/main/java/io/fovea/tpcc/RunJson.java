package io.fovea.tpcc;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.fovea.error.AbortCause;
import io.fovea.tpcc.bench.JsonReport;
import io.fovea.tpcc.bench.LogFigures;
import io.fovea.tpcc.bench.ThreadTimes;
import java.util.List;
import org.HdrHistogram.Histogram;

/** The TPC-C part of a JSON report. */
final class RunJson {
  private RunJson() {}

  static JsonReport of(String command, Settings settings) {
    return new JsonReport(command, options(settings), settings.engine().logged());
  }

  private static JsonObject options(Settings s) {
    JsonObject o = new JsonObject();
    o.addProperty("path", s.inMemory() ? null : s.path().toString());
    o.addProperty("warehouses", s.warehouses());
    o.addProperty("threads", s.threads());
    o.addProperty("clients", s.clients());
    o.addProperty("durationSeconds", s.duration().toNanos() / 1e9);
    o.addProperty("warmupSeconds", s.warmup().toNanos() / 1e9);
    o.addProperty("seed", s.seed());
    s.engine().addTo(o, s.inMemory());
    o.addProperty("mix", s.mix().name());
    o.addProperty("affinity", s.affinity());
    o.addProperty("snapshot", s.snapshot());
    o.addProperty("rate", s.rate());
    o.addProperty("wait", s.waiting());
    return o;
  }

  static LogFigures log(Runner.Result r) {
    Tally.Totals counts = r.counts();
    return LogFigures.of(
        r.before(),
        r.after(),
        counts.get(Tally.What.COMMITS),
        counts.get(TxnType.NEW_ORDER, Tally.What.COMMITS)
            + counts.get(TxnType.PAYMENT, Tally.What.COMMITS)
            + counts.get(TxnType.DELIVERY, Tally.What.COMMITS),
        r.seconds());
  }

  static void run(JsonReport json, Runner.Result r) {
    Tally.Totals counts = r.counts();
    json.add("clientThreads", r.threads());
    json.add("measuredSeconds", JsonReport.round(r.seconds()));
    json.add("transactionsPerSecond", JsonReport.round(r.perSecond()));
    json.add("tpmCLike", JsonReport.round(r.newOrdersPerMinute()));
    json.add("commits", counts.get(Tally.What.COMMITS));
    json.add("userRollbacks", counts.get(Tally.What.ROLLBACKS));
    json.add("retries", counts.get(Tally.What.RETRIES));
    JsonObject aborts = new JsonObject();
    for (AbortCause cause : Tally.CAUSES) {
      aborts.addProperty(JsonReport.lower(cause), counts.get(cause));
    }
    json.add("aborts", aborts);
    json.add("skippedDistricts", counts.get(Tally.What.SKIPPED_DISTRICTS));
    JsonObject types = new JsonObject();
    for (TxnType type : TxnType.values()) {
      Histogram h = r.latencies()[type.ordinal()];
      if (h != null) {
        types.add(type.id, type(type, h, counts));
      }
    }
    json.add("transactions", types);
    json.add("threadTimes", ThreadTimes.json(r.times()));
    json.add("engine", JsonReport.engine(r.before(), r.after()));
    json.log(log(r));
    json.series(r.series());
  }

  static void recovery(JsonReport json, RecoverBench.Result r) {
    JsonObject o = new JsonObject();
    o.addProperty("logBytes", r.logBytes());
    o.addProperty("seconds", JsonReport.round(r.seconds()));
    o.addProperty("megabytesPerSecond", JsonReport.round(r.megabytesPerSecond()));
    o.addProperty("openSeconds", JsonReport.round(r.openSeconds()));
    json.add("recovery", o);
  }

  private static JsonObject type(TxnType type, Histogram h, Tally.Totals counts) {
    JsonObject o = new JsonObject();
    o.addProperty("commits", counts.get(type, Tally.What.COMMITS));
    o.addProperty("userRollbacks", counts.get(type, Tally.What.ROLLBACKS));
    o.addProperty("retries", counts.get(type, Tally.What.RETRIES));
    JsonObject aborts = new JsonObject();
    for (AbortCause cause : Tally.CAUSES) {
      aborts.addProperty(JsonReport.lower(cause), counts.get(type, cause));
    }
    o.add("aborts", aborts);
    o.add("latencyMicros", JsonReport.latency(h));
    return o;
  }

  static void conditions(JsonReport json, List<Condition> conditions) {
    json.add("consistent", conditions.stream().allMatch(Condition::holds));
    JsonArray list = new JsonArray();
    for (Condition c : conditions) {
      JsonObject o = new JsonObject();
      o.addProperty("condition", c.number());
      o.addProperty("statement", c.statement());
      o.addProperty("holds", c.holds());
      o.addProperty("violations", c.violations());
      JsonArray examples = new JsonArray();
      c.examples().forEach(examples::add);
      o.add("examples", examples);
      list.add(o);
    }
    json.add("conditions", list);
  }

  static void acknowledged(JsonReport json, AcknowledgedCheck.Result result) {
    JsonObject o = new JsonObject();
    o.addProperty("transactions", result.records());
    o.addProperty("missing", result.missing());
    JsonArray examples = new JsonArray();
    result.examples().forEach(examples::add);
    o.add("examples", examples);
    json.add("acknowledged", o);
  }
}
