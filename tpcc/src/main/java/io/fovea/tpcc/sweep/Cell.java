package io.fovea.tpcc.sweep;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** One combination of options, with the results of its rounds. One thread. */
final class Cell {
  final Map<String, String> options;

  private final List<JsonObject> reports = new ArrayList<>();

  private final List<Integer> failures = new ArrayList<>();

  Cell(Map<String, String> options) {
    this.options = options;
  }

  void add(JsonObject report) {
    reports.add(report);
  }

  void failed(int code) {
    failures.add(code);
  }

  List<Integer> failures() {
    return failures;
  }

  /** Returns committed transactions per second, by round. */
  double[] goodput() {
    return values(
        r -> first(r, "goodputPerSecond", "transactionsPerSecond", "operationsPerSecond"));
  }

  /**
   * Returns operations per second in committed transactions, by round; NaN if the report lacks it.
   */
  double[] operations() {
    return values(r -> first(r, "operationsPerSecond", "lookupsPerSecond"));
  }

  /** Returns the share of aborted attempts, by round; NaN if unknown. */
  double[] abortRate() {
    return values(Cell::abortRate);
  }

  /**
   * Returns a latency percentile of all transactions in microseconds, by round; NaN if it is not in
   * the report.
   */
  double[] latency(String percentile) {
    return values(
        r ->
            r.get("latencyMicros") instanceof JsonObject o && o.has(percentile)
                ? o.get(percentile).getAsDouble()
                : Double.NaN);
  }

  private interface Figure {
    double of(JsonObject report);
  }

  private double[] values(Figure figure) {
    return reports.stream().mapToDouble(figure::of).toArray();
  }

  private static double first(JsonObject report, String... names) {
    for (String name : names) {
      if (report.has(name)) {
        return report.get(name).getAsDouble();
      }
    }
    return Double.NaN;
  }

  private static double abortRate(JsonObject report) {
    if (report.has("abortRate")) {
      return report.get("abortRate").getAsDouble();
    }
    if (!(report.get("aborts") instanceof JsonObject aborts) || !report.has("commits")) {
      return Double.NaN;
    }
    double sum = 0;
    for (Map.Entry<String, JsonElement> e : aborts.entrySet()) {
      sum += e.getKey().equals("user") ? 0 : e.getValue().getAsDouble();
    }
    double commits = report.get("commits").getAsDouble();
    return sum == 0 ? 0 : sum / (sum + commits);
  }

  /** Returns the median; NaN if there are no values or one is NaN. */
  static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int n = sorted.length;
    if (n == 0 || Double.isNaN(sorted[n - 1])) {
      return Double.NaN;
    }
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  }

  JsonObject toJson() {
    JsonObject o = new JsonObject();
    JsonObject given = new JsonObject();
    options.forEach(given::addProperty);
    o.add("options", given);
    JsonObject medians = new JsonObject();
    medians.add("goodputPerSecond", number(median(goodput())));
    medians.add("operationsPerSecond", number(median(operations())));
    medians.add("abortRate", number(median(abortRate())));
    medians.add("p50Micros", number(median(latency("p50"))));
    medians.add("p99Micros", number(median(latency("p99"))));
    o.add("medians", medians);
    o.add("goodputPerSecond", array(goodput()));
    o.add("abortRate", array(abortRate()));
    JsonArray codes = new JsonArray();
    failures.forEach(codes::add);
    o.add("failures", codes);
    return o;
  }

  private static JsonArray array(double[] values) {
    JsonArray a = new JsonArray();
    for (double v : values) {
      a.add(number(v));
    }
    return a;
  }

  private static JsonElement number(double v) {
    return Double.isNaN(v) ? JsonNull.INSTANCE : new JsonPrimitive(v);
  }
}
