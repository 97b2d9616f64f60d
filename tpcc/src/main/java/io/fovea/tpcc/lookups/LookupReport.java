package io.fovea.tpcc.lookups;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.fovea.tpcc.bench.JsonReport;
import io.fovea.tpcc.bench.Percentiles;
import io.fovea.tpcc.lookups.LookupTally.What;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.List;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/** Formats the output of {@code lookups} and its part of the JSON. */
final class LookupReport {
  private static final MathContext DIGITS = new MathContext(6);

  private LookupReport() {}

  // -------------------------------------------------------------------------------------- screen

  static String table(LookupResult r) {
    StringBuilder b = new StringBuilder();
    line(b, "");
    StringBuilder head = new StringBuilder(String.format("%-10s %13s", "", "operations"));
    for (String name : Percentiles.PERCENTILE_NAMES) {
      head.append(String.format(" %9s", name));
    }
    line(b, "%s  (us)", head);
    row(b, "reading", r.readingOperations(), r.reads());
    row(b, "changing", r.get(What.CHANGES), r.changes());
    line(b, "");
    line(
        b,
        "%,.0f lookups/s, %,.0f operations/s, %,.1f %% of the keys changed, %,d retries",
        r.lookupsPerSecond(),
        r.operationsPerSecond(),
        100.0 * r.get(What.UPDATES) / Math.max(1, r.get(What.LOOKUPS)),
        r.get(What.RETRIES));
    line(
        b,
        "%,.0f device reads/s, %,.0f writes/s, %.4f misses per lookup; working set at the end: %.3f of"
            + " the pool",
        r.deviceReads() / r.seconds(),
        r.deviceWrites() / r.seconds(),
        r.missesPerLookup(),
        r.ratio());
    line(
        b,
        "%.2f us of processor time per lookup, %.2f per device read (whole process)",
        r.cpuMicrosPerLookup(),
        r.cpuMicrosPerDeviceRead());
    line(
        b,
        "page accesses by hint: %.2f %%; of the others, %.2f %% found the page in the preferred"
            + " frame; %.2f %% of the pages in the pool are in it, %.2f bytes copied per access",
        100 * r.hintedShare(),
        100 * r.predictedShare(),
        100 * r.preferredShare(),
        r.copiedBytesPerAccess());
    line(b, "");
    return b.toString();
  }

  static String table(List<LookupResult> results, CostModel model) {
    StringBuilder b = new StringBuilder();
    line(b, "");
    line(
        b,
        "%8s %12s %10s %12s %10s %9s %9s %9s %9s %9s",
        "of pool",
        "lookups/s",
        "misses",
        "model",
        "ratio",
        "cpu us",
        "per read",
        "predicted",
        "preferred",
        "copied B");
    for (LookupResult r : results) {
      CostModel.Point point = r.point();
      line(
          b,
          "%8.3f %,12.0f %10.4f %12s %10s %9.2f %9.2f %8.2f%% %8.2f%% %9.2f",
          r.ratio(),
          r.lookupsPerSecond(),
          r.missesPerLookup(),
          model == null ? "-" : String.format(Locale.ROOT, "%,.0f", modelled(r, model)),
          model == null ? "-" : String.format(Locale.ROOT, "%.3f", model.measuredByModel(point)),
          r.cpuMicrosPerLookup(),
          r.cpuMicrosPerDeviceRead(),
          100 * r.predictedShare(),
          100 * r.preferredShare(),
          r.copiedBytesPerAccess());
    }
    if (model == null) {
      line(b, "no model: the working sets differ too little in their misses");
    } else {
      line(
          b,
          "model: %.2f us per lookup and client without a miss, %.2f us with a miss",
          model.hitNanos() / 1e3,
          model.missNanos() / 1e3);
    }
    line(b, "");
    return b.toString();
  }

  private static void row(StringBuilder b, String name, long operations, Histogram h) {
    if (operations == 0) {
      return;
    }
    StringBuilder rest = new StringBuilder();
    for (double p : Percentiles.PERCENTILES) {
      rest.append(String.format(Locale.ROOT, " %,9.0f", Percentiles.micros(h, p)));
    }
    line(b, "%-10s %,13d%s", name, operations, rest);
  }

  private static void line(StringBuilder b, String format, Object... args) {
    b.append(String.format(Locale.ROOT, format, args).stripTrailing());
    b.append(System.lineSeparator());
  }

  private static double modelled(LookupResult r, CostModel model) {
    CostModel.Point point = r.point();
    return r.lookupsPerSecond() / model.measuredByModel(point);
  }

  // ---------------------------------------------------------------------------------------- JSON

  static JsonReport json(LookupSettings s) {
    JsonObject o = new JsonObject();
    o.addProperty("path", s.inMemory() ? null : s.path().toString());
    o.addProperty("records", s.records());
    o.addProperty("valueBytes", s.valueBytes());
    o.addProperty("threads", s.threads());
    o.addProperty("clients", s.clients());
    o.addProperty("depth", s.depth());
    o.addProperty("writes", s.writes());
    o.addProperty("theta", s.theta());
    JsonArray shares = new JsonArray();
    s.shares().forEach(share -> shares.add(share.toString()));
    o.add("workingSets", shares);
    o.addProperty("growTo", s.growTo() == null ? null : s.growTo().toString());
    o.addProperty("shrink", s.shrink());
    o.addProperty("drift", s.drift());
    o.addProperty("intervalSeconds", s.drift() > 0 ? s.interval().toNanos() / 1e9 : null);
    o.addProperty("durationSeconds", s.duration().toNanos() / 1e9);
    o.addProperty("warmupSeconds", s.warmup().toNanos() / 1e9);
    o.addProperty("seed", s.seed());
    s.engine().addTo(o, s.inMemory());
    return new JsonReport("lookups", o, s.engine().logged());
  }

  static JsonObject figures(LookupResult r) {
    JsonObject o = new JsonObject();
    o.addProperty("workingSet", r.share().toString());
    o.add("workingSetRatio", number(r.ratio()));
    o.addProperty("clientThreads", r.virtual() ? "virtual" : "platform");
    o.add("measuredSeconds", number(r.seconds()));
    o.add("operationsPerSecond", number(r.operationsPerSecond()));
    o.add("lookupsPerSecond", number(r.lookupsPerSecond()));
    o.addProperty("operations", r.get(What.OPERATIONS));
    o.addProperty("lookups", r.get(What.LOOKUPS));
    o.addProperty("updates", r.get(What.UPDATES));
    o.addProperty("retries", r.get(What.RETRIES));
    o.add("deviceReadsPerSecond", number(r.deviceReads() / r.seconds()));
    o.add("deviceWritesPerSecond", number(r.deviceWrites() / r.seconds()));
    o.add("missesPerLookup", number(r.missesPerLookup()));
    o.add("cpuMicrosPerLookup", number(r.cpuMicrosPerLookup()));
    o.add("cpuMicrosPerDeviceRead", number(r.cpuMicrosPerDeviceRead()));
    o.add("hintedShare", number(r.hintedShare()));
    o.add("predictedShare", number(r.predictedShare()));
    o.add("preferredShare", number(r.preferredShare()));
    o.add("copiedBytesPerAccess", number(r.copiedBytesPerAccess()));
    JsonObject kinds = new JsonObject();
    kind(kinds, "reading", r.readingOperations(), r.reads());
    kind(kinds, "changing", r.get(What.CHANGES), r.changes());
    o.add("transactions", kinds);
    JsonObject engine = JsonReport.engine(r.before(), r.after());
    engine.addProperty("pagesInPool", r.placedAfter().pages());
    engine.addProperty("pagesInPreferredFrame", r.placedAfter().pagesInPreferredFrame());
    engine.addProperty("promotions", r.placedAfter().promotions() - r.placedBefore().promotions());
    engine.addProperty("demotions", r.placedAfter().demotions() - r.placedBefore().demotions());
    o.add("engine", engine);
    return o;
  }

  private static void kind(JsonObject kinds, String name, long operations, Histogram h) {
    if (operations == 0) {
      return;
    }
    JsonObject latency = new JsonObject();
    latency.add("mean", number(h.getMean() / 1e3));
    for (int i = 0; i < Percentiles.PERCENTILES.length; i++) {
      latency.add(
          Percentiles.PERCENTILE_NAMES[i],
          number(Percentiles.micros(h, Percentiles.PERCENTILES[i])));
    }
    JsonObject o = new JsonObject();
    o.addProperty("operations", operations);
    o.add("latencyMicros", latency);
    kinds.add(name, o);
  }

  static void sizes(JsonReport json, List<LookupResult> results, CostModel model) {
    JsonArray sizes = new JsonArray();
    for (LookupResult r : results) {
      JsonObject o = figures(r);
      o.add(
          "modelLookupsPerSecond", model == null ? JsonNull.INSTANCE : number(modelled(r, model)));
      o.add(
          "measuredByModel",
          model == null ? JsonNull.INSTANCE : number(model.measuredByModel(r.point())));
      sizes.add(o);
    }
    json.add("sizes", sizes);
    if (model != null) {
      JsonObject o = new JsonObject();
      o.add("hitMicros", number(model.hitNanos() / 1e3));
      o.add("missMicros", number(model.missNanos() / 1e3));
      json.add("model", o);
    }
  }

  /** Rounds to six decimals; null for NaN. */
  private static JsonElement number(double value) {
    if (!Double.isFinite(value)) {
      return JsonNull.INSTANCE;
    }
    BigDecimal d = BigDecimal.valueOf(value).round(DIGITS).stripTrailingZeros();
    return new JsonPrimitive(new BigDecimal(d.toPlainString()));
  }
}
