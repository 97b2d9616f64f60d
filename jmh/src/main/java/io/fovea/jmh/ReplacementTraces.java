package io.fovea.jmh;

import io.fovea.buffer.ReplayPool;
import io.fovea.config.Replacement;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * Replays traces of page accesses through the engine's replacement policies, for pools of 5, 10, 25
 * and 50 % of the pages of each trace, and prints hit ratios, with those of the offline optimum
 * (Belady's MIN) and of LRU.
 *
 * <pre>
 *   java -cp jmh/target/benchmarks.jar --enable-native-access=ALL-UNNAMED \
 *       io.fovea.jmh.ReplacementTraces [--json FILE] [NAME=FILE ...]
 * </pre>
 *
 * <p>NAME=FILE is a trace of real accesses. An engine writes one if its JVM is started with {@code
 * -javaagent:jmh/target/benchmarks.jar=trace=FILE}; the first {@value #READ} accesses are replayed.
 * For a trace of TPC-C, with one thread for reproducibility:
 *
 * <pre>
 *   tpcc/tpcc.sh load --path trace.fovea --durability none --warehouses 1 --threads 1
 *   FOVEA_JAVA_OPTS=-javaagent:jmh/target/benchmarks.jar=trace=tpcc.trace \
 *     tpcc/tpcc.sh run --path trace.fovea \
 *       --durability none --threads 1 --warmup 0 --duration 20s
 * </pre>
 *
 * <p>Nothing depends on time: the figures are the same on every machine.
 */
public final class ReplacementTraces {
  private static final int READ = 3_000_000;
  private static final int PAGES = 40_000;
  private static final int LENGTH = 2_000_000;
  private static final int BETWEEN_SCANS = 60_000;
  private static final int DRIFT_INTERVAL = 200_000;
  private static final int[] PERCENT = {5, 10, 25, 50};

  private static final String[] COLUMNS = {
    "MIN", "LRU", "second chance", "sampling", "second chance, preferred", "sampling, preferred"
  };

  private ReplacementTraces() {}

  /** A trace, and its number of distinct pages. */
  private record Trace(int[] accesses, int pages) {}

  /** Misses of a trace for one pool size, by column. */
  private record Line(String trace, int percent, int frames, int accesses, long[] misses) {}

  /**
   * Replays all traces.
   *
   * @param args {@code --json FILE}, {@code NAME=FILE}
   * @throws IOException if a trace cannot be read, or the report not be written
   */
  public static void main(String[] args) throws IOException {
    Path json = null;
    Map<String, IntFunction<Trace>> traces = synthetic();
    for (int i = 0; i < args.length; i++) {
      int equals = args[i].indexOf('=');
      if (args[i].equals("--json") && i + 1 < args.length) {
        json = Path.of(args[++i]);
      } else if (equals > 0) {
        traces.put(args[i].substring(0, equals), read(Path.of(args[i].substring(equals + 1))));
      } else {
        System.err.println("usage: ReplacementTraces [--json FILE] [NAME=FILE ...]");
        System.exit(2);
      }
    }
    List<Supplier<Line>> replays = new ArrayList<>();
    traces.forEach(
        (name, trace) -> {
          for (int percent : PERCENT) {
            replays.add(() -> replay(name, percent, trace.apply(percent)));
          }
        });
    List<Line> lines = replays.parallelStream().map(Supplier::get).toList();
    System.out.print(table(lines, "hits, %", ReplacementTraces::hitPercent));
    System.out.println();
    System.out.print(table(lines, "misses, of MIN's", ReplacementTraces::ofMin));
    if (json != null) {
      Files.writeString(json, json(lines));
    }
  }

  /** Returns the synthetic traces by name, as functions of the pool size in percent. */
  private static Map<String, IntFunction<Trace>> synthetic() {
    Map<String, IntFunction<Trace>> traces = new LinkedHashMap<>();
    for (double theta : new double[] {0.6, 0.8, 0.99}) {
      traces.put("zipf " + theta, same(PageTraces.zipf(PAGES, LENGTH, theta, 1)));
    }
    traces.put("scans, zipf 0.8", same(PageTraces.scans(PAGES, LENGTH, 0.8, BETWEEN_SCANS, 2)));
    traces.put("drift", same(PageTraces.drift(PAGES, LENGTH, DRIFT_INTERVAL, 3)));
    traces.put(
        "loop of 1.1 x pool",
        percent -> new Trace(PageTraces.loop(PAGES * percent / 100 * 11 / 10, LENGTH), PAGES));
    return traces;
  }

  private static IntFunction<Trace> read(Path file) throws IOException {
    return same(PageTraces.read(file, READ));
  }

  private static IntFunction<Trace> same(int[] accesses) {
    Trace trace = new Trace(accesses, (int) Arrays.stream(accesses).distinct().count());
    return percent -> trace;
  }

  private static Line replay(String name, int percent, Trace trace) {
    int[] accesses = trace.accesses;
    int frames = trace.pages * percent / 100;
    long[] misses = {
      accesses.length - ReferenceCaches.min(accesses, frames),
      accesses.length - ReferenceCaches.lru(accesses, frames),
      misses(accesses, frames, Replacement.SECOND_CHANCE, false),
      misses(accesses, frames, Replacement.SAMPLING, false),
      misses(accesses, frames, Replacement.SECOND_CHANCE, true),
      misses(accesses, frames, Replacement.SAMPLING, true)
    };
    return new Line(name, percent, frames, accesses.length, misses);
  }

  static long misses(int[] accesses, int frames, Replacement kind, boolean preferred) {
    long misses = 0;
    try (ReplayPool pool = new ReplayPool(frames, kind, preferred)) {
      for (int pid : accesses) {
        if (!pool.access(pid)) {
          misses++;
        }
      }
    }
    return misses;
  }

  private static String hitPercent(Line line, int column) {
    return String.format(
        Locale.ROOT, "%.2f", 100.0 * (line.accesses - line.misses[column]) / line.accesses);
  }

  private static String ofMin(Line line, int column) {
    return String.format(Locale.ROOT, "%.2f", (double) line.misses[column] / line.misses[0]);
  }

  private interface Cell {
    String of(Line line, int column);
  }

  private static String table(List<Line> lines, String what, Cell cell) {
    StringBuilder out = new StringBuilder("| ").append(what).append(" | pool |");
    for (String column : COLUMNS) {
      out.append(' ').append(column).append(" |");
    }
    out.append("\n|---|---:|").append("---:|".repeat(COLUMNS.length)).append('\n');
    for (Line line : lines) {
      out.append("| ").append(line.trace).append(" | ").append(line.percent).append(" % |");
      for (int column = 0; column < COLUMNS.length; column++) {
        out.append(' ').append(cell.of(line, column)).append(" |");
      }
      out.append('\n');
    }
    return out.toString();
  }

  private static String json(List<Line> lines) {
    StringBuilder out = new StringBuilder("[\n");
    for (int i = 0; i < lines.size(); i++) {
      Line line = lines.get(i);
      out.append(
          String.format(
              Locale.ROOT,
              "  {\"trace\": \"%s\", \"poolPercent\": %d, \"frames\": %d, \"accesses\": %d,"
                  + " \"misses\": {",
              line.trace,
              line.percent,
              line.frames,
              line.accesses));
      for (int column = 0; column < COLUMNS.length; column++) {
        out.append(column == 0 ? "" : ", ")
            .append('"')
            .append(COLUMNS[column])
            .append("\": ")
            .append(line.misses[column]);
      }
      out.append(i + 1 < lines.size() ? "}},\n" : "}}\n");
    }
    return out.append("]\n").toString();
  }
}
