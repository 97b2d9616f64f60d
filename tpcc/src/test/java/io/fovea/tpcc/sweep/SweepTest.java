package io.fovea.tpcc.sweep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.tpcc.DriverCommand;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Progress;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Matrices, medians and tables. */
class SweepTest {
  private static final List<String> COMMAND = List.of("ycsb", "run", "--io=memory");

  @TempDir Path folder;

  private final StringWriter out = new StringWriter();

  private Sweep sweep(int rounds, String... vary) {
    return new Sweep(
        Matrix.parse(List.of(vary)),
        Matrix.parse(List.of()),
        rounds,
        COMMAND,
        folder,
        new Progress(new PrintWriter(out)));
  }

  private static Path json(List<String> args) {
    String last = args.getLast();
    assertTrue(last.startsWith("--json="));
    return Path.of(last.substring("--json=".length()));
  }

  @Test
  void cellsRunInTurn() throws IOException {
    List<String> runs = new ArrayList<>();
    Sweep sweep = sweep(2, "protocol=tictoc,silo", "threads=2,16");
    int[] n = {0};
    int worst =
        sweep.run(
            (args, output) -> {
              assertEquals(COMMAND, args.subList(0, 3));
              runs.add(args.get(3) + " " + args.get(4));
              Files.writeString(
                  json(args), "{\"goodputPerSecond\": " + ++n[0] * 100 + ", \"abortRate\": 0.25}");
              return Exit.OK;
            });
    assertEquals(Exit.OK, worst);
    List<String> once =
        List.of(
            "--protocol=tictoc --threads=2",
            "--protocol=tictoc --threads=16",
            "--protocol=silo --threads=2",
            "--protocol=silo --threads=16");
    assertEquals(once, runs.subList(0, 4));
    assertEquals(once, runs.subList(4, 8));
    String table = sweep.markdown("Protocols");
    assertTrue(table.contains("| protocol | threads | goodput"), table);
    assertTrue(table.contains("| tictoc | 2 | 300 | 100 to 500 | - | 25.00 % | - | - |"), table);
    assertTrue(table.contains("--vary protocol=tictoc,silo --vary threads=2,16"), table);
    JsonObject o = JsonParser.parseString(sweep.json("Protocols")).getAsJsonObject();
    JsonObject last = o.getAsJsonArray("cells").get(3).getAsJsonObject();
    assertEquals("silo", last.getAsJsonObject("options").get("protocol").getAsString());
    assertEquals(600, last.getAsJsonObject("medians").get("goodputPerSecond").getAsDouble());
    assertEquals(2, last.getAsJsonArray("goodputPerSecond").size());
    sweep.write("Protocols");
    assertTrue(Files.exists(folder.resolve("sweep.md")));
  }

  /** Consecutive cells share a JVM; the first and the last are also its warm-up. */
  @Test
  void cellsOfOneJvm() throws IOException {
    Sweep sweep =
        new Sweep(
            Matrix.parse(List.of("protocol+timestamps=sto+disk,occ+-")),
            Matrix.parse(List.of("threads=2,16")),
            1,
            COMMAND,
            folder,
            new Progress(new PrintWriter(out)));
    List<List<String>> runs = new ArrayList<>();
    sweep.run(
        (args, output) -> {
          runs.add(args);
          for (String arg : args) {
            if (arg.endsWith(".json")) {
              Path file = Path.of(arg.substring(arg.lastIndexOf("json=") + "json=".length()));
              Files.writeString(file, "{\"goodputPerSecond\": 2000, \"abortRate\": 0.5}");
            }
          }
          return Exit.OK;
        });
    assertEquals(2, runs.size());
    List<String> occ = runs.get(1);
    assertEquals(List.of("--protocol=occ", "--threads=2"), occ.subList(3, 5));
    assertEquals(
        List.of("2", "16"),
        occ.stream()
            .filter(a -> a.endsWith(".json"))
            .map(a -> a.replaceAll(".*threads=(\\d+).*", "$1"))
            .toList());
    assertTrue(
        occ.contains("--then=protocol=occ threads=2 json=" + folder.resolve("occ-2-1.json")));
    sweep.write("Then");
    Results results = Results.read(List.of(folder.resolve("sweep.json")));
    Pivot pivot =
        new Pivot(
            results.points,
            List.of("protocol", "threads"),
            List.of("timestamps"),
            Map.of(),
            Map.of());
    assertEquals(List.of("sto 2", "sto 16", "occ 2", "occ 16"), pivot.rows);
    assertTrue(pivot.markdown().contains("| occ 16 |  | 2.00 · 50.0 % |"), pivot.markdown());
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new Pivot(
                results.points, List.of("protocol"), List.of("timestamps"), Map.of(), Map.of()));
  }

  @Test
  void pointWithoutAxisValueIsAReference() {
    List<Results.Point> points =
        List.of(
            new Results.Point(Map.of("size", "32k", "at", "disk"), List.of(1e3), List.of(.1)),
            new Results.Point(Map.of("size", "-", "at", "memory"), List.of(2e3), List.of(.2)));
    Pivot pivot = new Pivot(points, List.of("size"), List.of(), Map.of(), Map.of());
    assertEquals(List.of("32k"), pivot.onAxis);
    assertEquals(List.of("memory (reference)"), pivot.references());
    assertEquals(32 << 10, Drawing.number("32k"));
    assertTrue(Double.isNaN(Drawing.number("disk")));
  }

  /** The ratio is the median of the rounds' ratios, not the ratio of the medians. */
  @Test
  void cellsShowSpreadAndRatio() {
    List<Results.Point> points =
        List.of(
            new Results.Point(
                Map.of("protocol", "tictoc", "timestamps", "memory"),
                List.of(2e3, 8e3, 4e3),
                List.of(.1, .1, .1)),
            new Results.Point(
                Map.of("protocol", "occ", "timestamps", "-"),
                List.of(1e3, 2e3, 3e3),
                List.of(.5, .5, .5)));
    Map<String, String> beside = Map.of("protocol", "tictoc", "timestamps", "memory");
    Pivot pivot = new Pivot(points, List.of("protocol"), List.of("timestamps"), Map.of(), beside);
    String table = pivot.markdown();
    assertTrue(table.contains("| tictoc | 4.00 (2.00-8.00) · 10.0 % |"), table);
    assertTrue(table.contains("2.00 (1.00-3.00) · 50.0 % · 0.50 |"), table);
  }

  @Test
  void failedRunIsNamed() throws IOException {
    Sweep sweep = sweep(1, "threads=2,16");
    int worst =
        sweep.run(
            (args, output) -> {
              if (args.contains("--threads=16")) {
                return Exit.INCONSISTENT;
              }
              Files.writeString(json(args), "{\"transactionsPerSecond\": 7}");
              return Exit.OK;
            });
    assertEquals(Exit.INCONSISTENT, worst);
    String table = sweep.markdown("x");
    assertTrue(table.contains("| 2 | 7 | 7 to 7 |"), table);
    assertTrue(table.contains("| 16 | - (ended with [2]) | - |"), table);
  }

  @ParameterizedTest
  @ValueSource(ints = {Exit.USAGE, Exit.INTERRUPTED})
  void wrongOptionsEndTheSweep(int code) {
    Sweep sweep = sweep(3, "threads=2,16");
    assertThrows(DriverException.class, () -> sweep.run((args, output) -> code));
  }

  @ParameterizedTest
  @ValueSource(strings = {"threads", "threads=", "=2", "threads=2,,3", "Threads=2"})
  void optionsThatVaryNothingAreRefused(String option) {
    assertThrows(IllegalArgumentException.class, () -> Matrix.parse(List.of(option)));
  }

  @Test
  void axisIsANumericOption() {
    assertEquals("threads", Matrix.parse(List.of("threads=2,16", "workload=a,b")).axis());
    assertEquals("theta", Matrix.parse(List.of("threads=2,16", "theta=0.5,0.6")).axis());
    assertNull(Matrix.parse(List.of("threads=2", "workload=a,b")).axis());
    assertThrows(
        IllegalArgumentException.class, () -> Matrix.parse(List.of("threads=1", "threads=2")));
  }

  @Test
  void medians() {
    assertEquals(2, Cell.median(new double[] {3, 1, 2}));
    assertEquals(1.5, Cell.median(new double[] {2, 1}));
    assertTrue(Double.isNaN(Cell.median(new double[0])));
    assertTrue(Double.isNaN(Cell.median(new double[] {1, Double.NaN})));
  }

  /** TPC-C reports have abort causes, but no rate. */
  @Test
  void abortsOfTpcc() {
    Cell cell = new Cell(Map.of());
    cell.add(
        JsonParser.parseString(
                "{\"transactionsPerSecond\": 5, \"commits\": 80,"
                    + " \"aborts\": {\"validation\": 15, \"lock\": 5, \"user\": 900}}")
            .getAsJsonObject());
    assertEquals(.2, Cell.median(cell.abortRate()), 1e-9);
  }

  /** With child JVMs, from the command line. */
  @Tag("slow")
  @Test
  void endToEnd() throws IOException {
    DriverCommand tpcc = new DriverCommand();
    List<String> args = new ArrayList<>(List.of("sweep", "--rounds=1", "--out=" + folder));
    args.addAll(List.of("--vary", "threads=1,2", "--title", "Two", "ycsb", "run", "--io=memory"));
    args.addAll(List.of("--records=1000", "--duration=200ms", "--warmup=0", "--buffer=16m"));
    tpcc.expect(Exit.OK, tpcc.run(args));
    String table = Files.readString(folder.resolve("sweep.md"));
    assertTrue(table.startsWith("# Two\n"), table);
    assertEquals(
        2, table.lines().filter(l -> l.matches("\\| [12] \\| [\\d,]+ \\|.*")).count(), table);
  }
}
