package io.fovea.tpcc;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.JsonReport;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Sampler;
import io.fovea.tpcc.bench.Series;
import io.fovea.tpcc.bench.Sizes;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;

/**
 * The output of a run: its {@code --json} report with the {@code .hlog} next to it, or an {@code
 * .hlog} alone.
 *
 * @param description the options of the run in one line; empty if unknown
 * @param operation the unit that was counted, in the plural
 * @param series values per second
 * @param latencies in nanoseconds, by name of the transaction type; empty without an .hlog
 */
record RunFile(
    String name,
    String description,
    String operation,
    Series series,
    Map<String, Histogram> latencies) {

  private static final String JSON = ".json";
  private static final String HLOG = ".hlog";
  private static final double MILLIS_PER_SECOND = 1e3;

  /** The name of a histogram without a tag. */
  private static final String UNTAGGED = "all";

  /**
   * Reads a file.
   *
   * @param file a report or histograms, told apart by content
   * @throws DriverException if it is neither, or cannot be drawn
   */
  static RunFile read(Path file) {
    String text = text(file);
    String name = name(file);
    if (text.stripLeading().startsWith("{")) {
      JsonObject report = report(file, text);
      Path hlog = file.resolveSibling(name + HLOG);
      Hlog found = Files.isRegularFile(hlog) ? hlog(hlog, text(hlog)) : null;
      return new RunFile(
          name,
          description(report),
          report.get("command").getAsString().equals("lookups") ? "operations" : "transactions",
          series(file, report),
          found == null ? Map.of() : found.latencies);
    }
    Hlog found = hlog(file, text);
    return new RunFile(name, "", "transactions", found.series, found.latencies);
  }

  private static String name(Path file) {
    String name = file.getFileName().toString();
    String lower = name.toLowerCase(Locale.ROOT);
    return lower.endsWith(JSON) || lower.endsWith(HLOG)
        ? name.substring(0, name.length() - JSON.length())
        : name;
  }

  private static DriverException unusable(Path file, String why) {
    return new DriverException(Exit.USAGE, file + ": " + why);
  }

  private static String text(Path file) {
    try {
      // Malformed UTF-8 is replaced, and then rejected as not being a report.
      return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw unusable(
          file, Files.exists(file) ? "it can't be read: " + e : "the file does not exist");
    }
  }

  private static JsonObject report(Path file, String text) {
    JsonElement json;
    try {
      json = JsonParser.parseString(text);
    } catch (JsonParseException e) {
      throw unusable(file, "it is not a report: it is not JSON");
    }
    if (!(json instanceof JsonObject report)
        || !(report.get("command") instanceof JsonElement command && command.isJsonPrimitive())) {
      throw unusable(file, "it is not a report of this driver");
    }
    if (report.has("reportVersion")
        && !report.get("reportVersion").toString().equals(Integer.toString(JsonReport.VERSION))) {
      throw unusable(
          file,
          "its report version is "
              + report.get("reportVersion")
              + "; this driver reads version "
              + JsonReport.VERSION);
    }
    return report;
  }

  private static Series series(Path file, JsonObject report) {
    try {
      return Series.of(report);
    } catch (IllegalArgumentException e) {
      throw unusable(
          file, e.getMessage() + (report.has("series") ? "" : "; use the report of a run"));
    }
  }

  /** Returns the options that distinguish runs, as far as the report has them. */
  private static String description(JsonObject report) {
    List<String> parts = new ArrayList<>();
    if (report.get("options") instanceof JsonObject o) {
      count(parts, o, "warehouses", "warehouse");
      count(parts, o, "clients", "client");
      count(parts, o, "threads", "thread");
      if (isNumber(o, "bufferBytes")) {
        parts.add("buffer " + Sizes.format(o.get("bufferBytes").getAsLong()));
      }
      for (String option :
          List.of(
              "workload",
              "mix",
              "io",
              "translation",
              "hints",
              "protocol",
              "timestamps",
              "durability")) {
        if (has(o, option)) {
          parts.add(option + " " + o.get(option).getAsString());
        }
      }
    }
    return String.join(", ", parts);
  }

  private static boolean has(JsonObject o, String option) {
    return o.get(option) instanceof JsonElement e && e.isJsonPrimitive();
  }

  private static boolean isNumber(JsonObject o, String option) {
    return has(o, option) && o.getAsJsonPrimitive(option).isNumber();
  }

  private static void count(List<String> parts, JsonObject o, String option, String what) {
    if (isNumber(o, option)) {
      parts.add(Progress.count(o.get(option).getAsInt(), what));
    }
  }

  private record Hlog(Series series, Map<String, Histogram> latencies) {}

  /**
   * Reads histograms. Intervals with different tags and the same start form one second of a run.
   */
  private static Hlog hlog(Path file, String text) {
    Map<String, Histogram> latencies = new LinkedHashMap<>();
    TreeMap<Long, Histogram> intervals = new TreeMap<>();
    if (text.startsWith("#") || text.startsWith("\"")) {
      try (HistogramLogReader reader =
          new HistogramLogReader(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)))) {
        while (reader.hasNext()) {
          EncodableHistogram next = reader.nextIntervalHistogram();
          if (next instanceof Histogram h) {
            String tag = h.getTag() == null ? UNTAGGED : h.getTag();
            merge(latencies.computeIfAbsent(tag, t -> empty(h)), h);
            merge(intervals.computeIfAbsent(h.getStartTimeStamp(), t -> empty(h)), h);
          }
        }
      } catch (RuntimeException e) {
        throw unusable(file, "its histograms are broken: " + e.getMessage());
      }
    }
    if (intervals.isEmpty()) {
      throw unusable(file, "it is neither a report of this driver nor a log of HdrHistogram");
    }
    return new Hlog(series(intervals), latencies);
  }

  private static Histogram empty(Histogram like) {
    Histogram h = new Histogram(like.getNumberOfSignificantValueDigits());
    h.setStartTimeStamp(like.getStartTimeStamp());
    return h;
  }

  private static void merge(Histogram into, Histogram h) {
    into.add(h);
    into.setEndTimeStamp(Math.max(into.getEndTimeStamp(), h.getEndTimeStamp()));
  }

  private static Series series(TreeMap<Long, Histogram> intervals) {
    Series series = new Series(Sampler.INTERVAL_NANOS / 1e9);
    long start = intervals.firstKey();
    intervals.forEach(
        (from, h) -> {
          long to = Math.max(from + 1, h.getEndTimeStamp());
          series.add(Series.SECOND, (to - start) / MILLIS_PER_SECOND);
          series.add(Series.OPERATIONS, h.getTotalCount() / ((to - from) / MILLIS_PER_SECOND));
          Sampler.latencies(series, h);
        });
    return series;
  }
}
