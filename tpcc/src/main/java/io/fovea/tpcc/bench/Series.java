package io.fovea.tpcc.bench;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The values of each interval of a run, as columns of equal length; the first column is the end of
 * the interval. Created by {@link Sampler}; stored as {@code series} and {@code marks} in a {@code
 * --json} report. One thread.
 *
 * <p>Rates are per second, over the actual length of the interval: a rate times the difference of
 * two {@link #SECOND}s is the count. A missing value, such as a percentile of an interval without
 * operations, is NaN here and null in JSON.
 */
public final class Series {
  /** End of an interval, in seconds from the start of the warm-up. */
  public static final String SECOND = "second";

  public static final String OPERATIONS = "operations";
  public static final String P50_MICROS = "p50Micros";
  public static final String P99_MICROS = "p99Micros";
  public static final String P999_MICROS = "p999Micros";
  public static final String MAX_MICROS = "maxMicros";
  public static final String READS = "reads";
  public static final String WRITES = "writes";
  public static final String READ_BYTES = "readBytes";
  public static final String WRITTEN_BYTES = "writtenBytes";
  public static final String MISSES = "misses";
  public static final String FRAME_WAITS = "frameWaits";
  public static final String RETRIES = "retries";

  /** The columns of every series; all others are extra columns of a subcommand. */
  public static final Set<String> STANDARD =
      Set.of(
          SECOND,
          OPERATIONS,
          P50_MICROS,
          P99_MICROS,
          P999_MICROS,
          MAX_MICROS,
          READS,
          WRITES,
          READ_BYTES,
          WRITTEN_BYTES,
          MISSES,
          FRAME_WAITS,
          RETRIES);

  private static final int DECIMALS = 3;

  private final double intervalSeconds;
  private double warmupSeconds;
  private final Map<String, List<Double>> columns = new LinkedHashMap<>();
  private final List<Mark> marks = new ArrayList<>();

  /**
   * An event.
   *
   * @param second seconds from the start of the warm-up
   * @param text a short label
   */
  public record Mark(double second, String text) {}

  /** Creates a series without intervals and columns. */
  public Series(double intervalSeconds) {
    this.intervalSeconds = intervalSeconds;
  }

  /** Returns the intended length of an interval. */
  public double intervalSeconds() {
    return intervalSeconds;
  }

  /** Returns the length of the warm-up; 0 if there was none. */
  public double warmupSeconds() {
    return warmupSeconds;
  }

  public void warmupSeconds(double seconds) {
    warmupSeconds = seconds;
  }

  /** Returns the number of intervals. */
  public int size() {
    return columns.isEmpty() ? 0 : columns.values().iterator().next().size();
  }

  /** Returns the names of the columns in the order of their creation. */
  public Set<String> names() {
    return Collections.unmodifiableSet(columns.keySet());
  }

  public boolean has(String name) {
    return columns.containsKey(name);
  }

  /**
   * Returns the values of a column.
   *
   * @throws IllegalArgumentException if there is no such column
   */
  public double[] column(String name) {
    List<Double> column = columns.get(name);
    if (column == null) {
      throw new IllegalArgumentException("no column " + name + "; there are " + columns.keySet());
    }
    return column.stream().mapToDouble(Double::doubleValue).toArray();
  }

  /** Adds the value of an interval to a column. Each column gets one per interval. */
  public void add(String name, double value) {
    columns.computeIfAbsent(name, n -> new ArrayList<>()).add(value);
  }

  public List<Mark> marks() {
    return Collections.unmodifiableList(marks);
  }

  public void mark(double second, String text) {
    marks.add(new Mark(second, text));
  }

  /** Returns the {@code series} of a report. */
  public JsonObject toJson() {
    JsonObject o = new JsonObject();
    o.add("intervalSeconds", number(intervalSeconds));
    o.add("warmupSeconds", number(warmupSeconds));
    columns.forEach(
        (name, values) -> {
          JsonArray array = new JsonArray(values.size());
          values.forEach(v -> array.add(number(v)));
          o.add(name, array);
        });
    return o;
  }

  /** Returns the {@code marks} of a report. */
  public JsonArray marksToJson() {
    JsonArray array = new JsonArray(marks.size());
    for (Mark mark : marks) {
      JsonObject o = new JsonObject();
      o.add("second", number(mark.second));
      o.addProperty("text", mark.text);
      array.add(o);
    }
    return array;
  }

  private static JsonElement number(double value) {
    if (!Double.isFinite(value)) {
      return JsonNull.INSTANCE;
    }
    BigDecimal d = BigDecimal.valueOf(value).setScale(DECIMALS, RoundingMode.HALF_EVEN);
    return new JsonPrimitive(new BigDecimal(d.stripTrailingZeros().toPlainString()));
  }

  /**
   * Reads the series of a report.
   *
   * @param report the whole report
   * @throws IllegalArgumentException if it has no series, or a broken one
   */
  public static Series of(JsonObject report) {
    if (!(report.get("series") instanceof JsonObject o)) {
      throw new IllegalArgumentException("it has no series");
    }
    try {
      Series series = new Series(o.get("intervalSeconds").getAsDouble());
      series.warmupSeconds = o.get("warmupSeconds").getAsDouble();
      for (Map.Entry<String, JsonElement> e : o.entrySet()) {
        if (e.getValue() instanceof JsonArray array) {
          for (JsonElement v : array) {
            series.add(e.getKey(), v.isJsonNull() ? Double.NaN : v.getAsDouble());
          }
        }
      }
      if (report.get("marks") instanceof JsonArray array) {
        for (JsonElement e : array) {
          JsonObject mark = e.getAsJsonObject();
          series.mark(mark.get("second").getAsDouble(), mark.get("text").getAsString());
        }
      }
      series.requireWhole();
      return series;
    } catch (NullPointerException
        | ClassCastException
        | IllegalStateException
        | NumberFormatException
        | UnsupportedOperationException e) {
      throw new IllegalArgumentException("its series is broken: " + e.getMessage(), e);
    }
  }

  private void requireWhole() {
    if (!has(SECOND) || !has(OPERATIONS)) {
      throw new IllegalArgumentException("its series has no intervals");
    }
    int size = size();
    columns.forEach(
        (name, values) -> {
          if (values.size() != size) {
            throw new IllegalArgumentException(
                "its series is broken: " + values.size() + " of " + size + " values of " + name);
          }
        });
  }
}
