package io.fovea.tpcc.sweep;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The results of sweeps. Rounds of the same combination are merged. */
final class Results {
  /** One combination of options. */
  record Point(Map<String, String> options, List<Double> goodput, List<Double> abortRate) {
    /** Returns the value of an option; {@link Matrix#NONE} if the sweep did not vary it. */
    String get(String option) {
      return options.getOrDefault(option, Matrix.NONE);
    }

    double medianGoodput() {
      return median(goodput);
    }

    double medianAbortRate() {
      return median(abortRate);
    }

    private static double median(List<Double> values) {
      return Cell.median(values.stream().mapToDouble(v -> v).toArray());
    }
  }

  final List<Point> points = new ArrayList<>();

  final List<String> commands = new ArrayList<>();

  /** Reads files. Throws DriverException if a file does not exist or is not a sweep's. */
  static Results read(List<Path> files) {
    Results results = new Results();
    Map<Map<String, String>, Point> byOptions = new LinkedHashMap<>();
    for (Path file : files) {
      try {
        JsonObject o = JsonParser.parseString(Files.readString(file)).getAsJsonObject();
        results.commands.add(command(o));
        for (JsonElement element : o.getAsJsonArray("cells")) {
          JsonObject cell = element.getAsJsonObject();
          Map<String, String> options = new LinkedHashMap<>();
          JsonObject given = cell.getAsJsonObject("options");
          given.keySet().forEach(name -> options.put(name, given.get(name).getAsString()));
          Point point =
              byOptions.computeIfAbsent(
                  options, k -> new Point(k, new ArrayList<>(), new ArrayList<>()));
          add(point.goodput, cell.getAsJsonArray("goodputPerSecond"));
          add(point.abortRate, cell.getAsJsonArray("abortRate"));
        }
      } catch (IOException e) {
        throw new DriverException(Exit.UNUSABLE, "cannot read " + file + ": " + e);
      } catch (RuntimeException e) {
        throw new DriverException(
            Exit.UNUSABLE, file + " is not a sweep.json: " + e.getMessage(), e);
      }
    }
    results.points.addAll(byOptions.values());
    return results;
  }

  private static String command(JsonObject o) {
    StringBuilder b = new StringBuilder("tpcc/tpcc.sh sweep --rounds ");
    b.append(o.get("rounds").getAsInt());
    for (String part : List.of("vary", "then")) {
      String text = o.has(part) ? o.get(part).getAsString() : "";
      b.append(text.isEmpty() ? "" : " \\\n  " + text);
    }
    return b.append(" \\\n  ").append(o.get("command").getAsString()).toString();
  }

  private static void add(List<Double> to, JsonArray values) {
    for (JsonElement v : values) {
      to.add(v.isJsonNull() ? Double.NaN : v.getAsDouble());
    }
  }
}
