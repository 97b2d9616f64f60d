package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.tpcc.Schema.Warehouse;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Percentiles;
import io.fovea.tpcc.bench.Series;
import io.fovea.tpcc.plot.PlotFonts;
import io.fovea.tpcc.plot.Svg;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.HistogramLogReader;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the whole program, from arguments to output, on fewer rows. */
@Tag("slow")
class EndToEndTest {
  @TempDir Path folder;

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int tpcc(String... args) {
    out.getBuffer().setLength(0);
    err.getBuffer().setLength(0);
    return Main.execute(SmallDatabase.SCALE, new PrintWriter(out), new PrintWriter(err), args);
  }

  private int onFile(String command, String... more) {
    List<String> args = new ArrayList<>(List.of(command, "--path", file().toString()));
    args.addAll(List.of("--buffer=64m", "--log=16m"));
    if (command.equals("run")) {
      args.addAll(List.of("--duration=300ms", "--warmup=100ms"));
    }
    args.addAll(List.of(more));
    return tpcc(args.toArray(String[]::new));
  }

  private Path file() {
    return folder.resolve("small.fovea");
  }

  private void expect(int code, int found) {
    assertEquals(code, found, () -> out + "\n" + err);
  }

  private JsonObject json(Path file) throws IOException {
    return JsonParser.parseString(Files.readString(file)).getAsJsonObject();
  }

  @Test
  void trainingRunsTwiceAndLeavesNoFiles() throws IOException {
    Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
    List<Path> before = trainings(temporary);
    expect(0, tpcc("train", "--seconds", "1"));
    expect(0, tpcc("train", "--seconds", "1", "memory"));
    assertEquals("", out.toString());
    assertEquals(before, trainings(temporary));
  }

  private static List<Path> trainings(Path folder) throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.filter(p -> p.getFileName().toString().startsWith("tpcc-train")).sorted().toList();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "async", "none"})
  void loadRunCheck(String level) throws IOException {
    Path json = folder.resolve("report.json");
    String durability = "--durability=" + level;
    expect(Exit.OK, onFile("load", "--warehouses=2", durability, "--json", json.toString()));
    assertTrue(json(json).getAsJsonObject("load").get("rows").getAsLong() > 5_000);
    expect(Exit.OK, onFile("check"));
    assertEquals(12, out.toString().lines().filter(l -> l.contains("  holds  ")).count());

    do { // a busy machine may not get to an order in the measured time
      expect(Exit.OK, onFile("run", "--threads=2", durability, "--json", json.toString()));
    } while (json(json).get("tpmCLike").getAsDouble() == 0);
    report(json(json), level);
    assertTrue(out.toString().contains("durability " + level), out.toString());
    assertTrue(out.toString().contains("tx/s"), out.toString());
    assertTrue(out.toString().contains("New-Order/min"), out.toString());

    expect(Exit.OK, onFile("check", "--json", json.toString()));
    JsonObject checked = json(json);
    assertTrue(checked.get("consistent").getAsBoolean());
    assertEquals(12, checked.getAsJsonArray("conditions").size());
    assertEquals(2, checked.getAsJsonObject("options").get("warehouses").getAsInt());
  }

  /** Checks the kernel's counts of each thread; empty if it does not count. */
  private static void threads(JsonArray threads, double seconds) {
    if (!Files.exists(Path.of("/proc/self/schedstat"))) {
      assertEquals(0, threads.size());
      return;
    }
    double clients = 0;
    for (JsonElement e : threads) {
      JsonObject t = e.getAsJsonObject();
      double processor = t.get("processorSeconds").getAsDouble();
      double ready = t.get("readySeconds").getAsDouble();
      int count = t.get("threads").getAsInt();
      assertTrue(ready >= 0 && processor <= 2 * count * seconds + 1, t.toString());
      clients += t.get("name").getAsString().contains("client") ? processor : 0;
    }
    assertTrue(clients > 0, threads.toString());
  }

  private static void report(JsonObject r, String level) {
    assertEquals("run", r.get("command").getAsString());
    assertTrue(r.get("consistent").getAsBoolean());
    long commits = r.get("commits").getAsLong();
    double seconds = r.get("measuredSeconds").getAsDouble();
    assertTrue(commits > 0 && seconds >= 0.3);
    assertEquals(!level.equals("none"), r.has("log"));
    if (r.has("log")) {
      JsonObject log = r.getAsJsonObject("log");
      long bytes = log.get("bytes").getAsLong();
      assertTrue(bytes > 0 && log.get("syncs").getAsLong() > 0, log.toString());
      double each = log.get("bytesPerTransaction").getAsDouble();
      assertEquals((double) bytes / commits, each, 0.01 * each);
      assertTrue(log.get("commitsPerSync").getAsDouble() > 0, log.toString());
    }
    threads(r.getAsJsonArray("threadTimes"), seconds);
    double perSecond = r.get("transactionsPerSecond").getAsDouble();
    assertEquals(commits / seconds, perSecond, 0.01 * perSecond);
    JsonObject types = r.getAsJsonObject("transactions");
    assertEquals(
        Set.of("newOrder", "payment", "orderStatus", "delivery", "stockLevel"), types.keySet());
    long sum = 0;
    for (String type : types.keySet()) {
      JsonObject t = types.getAsJsonObject(type);
      sum += t.get("commits").getAsLong();
      JsonObject latency = t.getAsJsonObject("latencyMicros");
      double last = 0;
      for (String p : List.of("p50", "p95", "p99", "p99.9", "max")) {
        double micros = latency.get(p).getAsDouble();
        assertTrue(micros >= last, type + " " + p);
        last = micros;
      }
      assertTrue(t.getAsJsonObject("aborts").keySet().contains("validation"));
    }
    assertEquals(commits, sum);
    double newOrders = types.getAsJsonObject("newOrder").get("commits").getAsDouble();
    double tpmC = r.get("tpmCLike").getAsDouble();
    assertEquals(60 * newOrders / seconds, tpmC, 0.01 * tpmC);
    assertTrue(r.getAsJsonObject("aborts").keySet().contains("validation"));
    JsonObject engine = r.getAsJsonObject("engine");
    assertTrue(engine.get("frameWaits").getAsLong() >= 0);
    assertTrue(engine.get("frameWaitMicros").getAsDouble() >= 0);
    JsonObject options = r.getAsJsonObject("options");
    for (String option :
        List.of(
            "path",
            "warehouses",
            "threads",
            "clients",
            "durationSeconds",
            "warmupSeconds",
            "seed",
            "durability",
            "bufferBytes",
            "pageSize",
            "io",
            "translation",
            "hints",
            "replacement",
            "protocol",
            "mix",
            "affinity",
            "rate",
            "wait")) {
      assertTrue(options.has(option), option);
    }
    assertEquals(2, options.get("threads").getAsInt());
    assertEquals("full", options.get("mix").getAsString());
    assertEquals(level, options.get("durability").getAsString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--mix=half",
        "--mix=45,43,4,4,4 --no-affinity",
        "--mix=0,0,0,1,0",
        "--rate=500 --threads=2",
        "--wait --threads=3",
        "--threads=8",
        "--threads=2 --clients=16",
        "--threads=1 --clients=80 --rate=500",
        "--wait --clients=30",
        "--page-size=16k",
        "--translation=optimistic --no-huge-pages",
        "--translation=virtual",
        "--translation=direct --buffer=600m",
        "--translation=swizzled --cache-locations --location-cache-layout=shortcut",
        "--locks=off --threads=1",
        "--translation=latched --hints=none",
        "--translation=latched --hints=both",
        "--hints=page",
        "--replacement=sampling"
      })
  void runInMemory(String options) {
    List<String> args = new ArrayList<>(List.of("run", "--io=memory", "--warehouses=2"));
    args.addAll(List.of("--duration=300ms", "--warmup=50ms"));
    args.addAll(List.of(options.split(" ")));
    if (!options.contains("--buffer")) {
      args.add("--buffer=64m");
    }
    expect(Exit.OK, tpcc(args.toArray(String[]::new)));
    assertTrue(out.toString().contains("consistent after"), out.toString());
  }

  @Test
  void runWithoutCheck() throws IOException {
    Path json = folder.resolve("unchecked.json");
    expect(
        Exit.OK,
        tpcc(
            "run",
            "--io=memory",
            "--no-check",
            "--buffer=64m",
            "--duration=100ms",
            "--warmup=0",
            "--json=" + json));
    assertFalse(out.toString().contains("checking"), out.toString());
    assertFalse(json(json).has("consistent"));
  }

  @Test
  void rateIsLimited() throws IOException {
    Path json = folder.resolve("rate.json");
    expect(
        Exit.OK,
        tpcc(
            "run",
            "--io=memory",
            "--rate=400",
            "--buffer=64m",
            "--duration=1s",
            "--warmup=0",
            "--json=" + json));
    double perSecond = json(json).get("transactionsPerSecond").getAsDouble();
    assertTrue(perSecond < 440, "at most the rate: " + perSecond);
  }

  @Test
  void hlogContainsEveryType() throws IOException {
    Path hlog = folder.resolve("latency.hlog");
    expect(
        Exit.OK,
        tpcc(
            "run",
            "--io=memory",
            "--buffer=64m",
            "--duration=1200ms",
            "--warmup=0",
            "--hlog=" + hlog));
    Set<String> tags = new TreeSet<>();
    try (HistogramLogReader reader = new HistogramLogReader(hlog.toFile())) {
      while (reader.hasNext()) {
        EncodableHistogram h = reader.nextIntervalHistogram();
        tags.add(h.getTag());
        assertTrue(h.getMaxValueAsDouble() < Percentiles.LATENCY_MAX_NANOS);
      }
    }
    assertEquals(Set.of("newOrder", "payment", "orderStatus", "delivery", "stockLevel"), tags);
  }

  @Test
  void seriesAddUpToTheTotals() throws IOException {
    Path json = folder.resolve("run.json");
    Path hlog = folder.resolve("run.hlog");
    List<String> args =
        new ArrayList<>(List.of("run", "--io=memory", "--buffer=64m", "--threads=2"));
    args.addAll(List.of("--duration=1300ms", "--warmup=1100ms"));
    args.addAll(List.of("--json=" + json, "--hlog=" + hlog));
    expect(Exit.OK, tpcc(args.toArray(String[]::new)));
    JsonObject report = json(json);
    assertEquals(1, report.get("reportVersion").getAsInt());
    Series series = Series.of(report);
    assertEquals(Series.STANDARD, series.names());
    assertEquals(1, series.intervalSeconds());
    double warmup = series.warmupSeconds();
    assertTrue(warmup >= 1.1, "as long as requested: " + warmup);
    assertEquals(List.of(new Series.Mark(warmup, "warm-up ends")), series.marks());
    double[] ends = series.column(Series.SECOND);
    double measured = report.get("measuredSeconds").getAsDouble();
    assertEquals(warmup + measured, ends[ends.length - 1], 0.01);
    double[] counted = new double[2];
    int[] intervals = new int[2];
    for (int i = 0; i < ends.length; i++) {
      int part = ends[i] <= warmup ? 0 : 1;
      double length = ends[i] - (i == 0 ? 0 : ends[i - 1]);
      counted[part] += length * series.column(Series.OPERATIONS)[i];
      intervals[part]++;
      if (counted[part] > 0) {
        assertTrue(series.column(Series.MAX_MICROS)[i] >= series.column(Series.P50_MICROS)[i]);
      }
    }
    assertTrue(intervals[0] >= 1 && intervals[1] >= 1, "the warm-up is included");
    // Rates and times have three decimals.
    double commits = report.get("commits").getAsDouble();
    assertEquals(commits, counted[1], 2 + 0.01 * commits);

    PlotFonts.assume();
    expect(Exit.OK, tpcc("report", json.toString(), "--out=" + folder));
    List<String> texts = new Svg(Files.readString(folder.resolve("run.svg"))).texts();
    for (String text : List.of("Throughput", "Latency", "Data file", "Latency by percentile")) {
      assertTrue(texts.contains(text), text + " in " + texts);
    }
    for (TxnType type : TxnType.values()) {
      String name = type.title.toLowerCase(Locale.ROOT).replace('-', ' ');
      assertTrue(texts.contains(name), name + " in " + texts);
    }
    expect(Exit.OK, tpcc("report", hlog.toString(), json.toString(), "--out=" + folder));
  }

  @Test
  void runLoadsAnEmptyDatabase() {
    expect(Exit.OK, onFile("run", "--warehouses=1"));
    assertTrue(out.toString().contains("loading 1 warehouse"), out.toString());
    expect(Exit.OK, onFile("run"));
    assertFalse(out.toString().contains("loading"), out.toString());
  }

  @Test
  void unusableDatabasesExitWithFour() {
    expect(Exit.UNUSABLE, onFile("check"));
    assertFalse(Files.exists(file()), "check creates no file");
    expect(Exit.OK, onFile("load"));
    expect(Exit.UNUSABLE, onFile("load"));
    assertTrue(err.toString().contains("already"), err.toString());
    expect(Exit.UNUSABLE, onFile("run", "--warehouses=2"));
    assertTrue(err.toString().contains("has 1 warehouse"), err.toString());
  }

  @Test
  void fileInUseIsRefused() {
    try (Database db = Database.open(file(), Options.defaults().bufferBytes(64 << 20))) {
      expect(Exit.UNUSABLE, onFile("run"));
      assertTrue(db.isOpen());
    }
    assertTrue(err.toString().contains(file().getFileName().toString()), err.toString());
  }

  @Test
  void otherFilesAreRefused() throws IOException {
    Files.writeString(file(), "my diary");
    expect(Exit.UNUSABLE, onFile("run"));
    assertEquals("my diary", Files.readString(file()));
  }

  @Test
  void anotherPageSizeIsRefused() {
    expect(Exit.OK, onFile("load"));
    expect(Exit.UNUSABLE, onFile("check", "--page-size=8k"));
  }

  @Test
  void tooSmallPoolIsRefused() {
    expect(Exit.UNUSABLE, tpcc("run", "--path=" + file(), "--buffer=1k"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"run", "load"})
  void incompleteLoadIsRepeated(String command) {
    try (Database db = Database.open(file(), Options.defaults().bufferBytes(64 << 20))) {
      Tables tables = Tables.open(db);
      new Meta(false, 1, SmallDatabase.SCALE, 0, 0).write(tables);
      db.run(
          tx -> {
            Row item = tables.item().row();
            tables.item().insert(tx, tables.item().key().set(1), item);
          });
    }
    expect(Exit.UNUSABLE, onFile("check"));
    assertTrue(err.toString().contains("incomplete load"), err.toString());
    expect(Exit.OK, onFile(command));
    assertTrue(out.toString().contains("dropped and loaded again"), out.toString());
    expect(Exit.OK, onFile("check"));
  }

  @Test
  void uncleanFileIsRefused() throws IOException {
    Path original = folder.resolve("original.fovea");
    Options options =
        Options.defaults().bufferBytes(64 << 20).durability(io.fovea.config.Durability.NONE);
    try (Database db = Database.open(original, options)) {
      Tables.open(db);
      Files.copy(original, file());
    }
    expect(Exit.UNUSABLE, onFile("run"));
    assertTrue(err.toString().contains("Delete it"), err.toString());
    assertTrue(Files.exists(file()));
  }

  @Test
  void acknowledgedTransactionsArePresent() throws IOException {
    Path list = folder.resolve("acknowledged");
    for (String clients : List.of("--clients=6", "--threads=2")) {
      long before = Files.exists(list) ? Files.size(list) : 0;
      expect(
          Exit.OK,
          onFile(
              "run",
              clients,
              "--warehouses=2",
              "--durability=sync",
              "--json=" + folder.resolve("run.json"),
              "--acknowledge=" + list));
      JsonObject types = json(folder.resolve("run.json")).getAsJsonObject("transactions");
      long counted = 0;
      for (String type : List.of("newOrder", "payment")) {
        counted += types.getAsJsonObject(type).get("commits").getAsLong();
      }
      long listed = (Files.size(list) - before) / Acknowledged.RECORD_BYTES;
      assertTrue(listed >= counted && listed > 0, listed + " of " + counted);
    }
    expect(Exit.OK, onFile("check", "--acknowledged=" + list));
    assertTrue(out.toString().contains("all are present"), out.toString());
  }

  @Test
  void inconsistenciesExitWithTwo() throws IOException {
    expect(Exit.OK, onFile("load"));
    try (Database db = Database.open(file(), Options.defaults().bufferBytes(64 << 20))) {
      Tables tables = Tables.open(db);
      db.run(
          tx -> {
            Row row = tables.warehouse().row();
            tables.warehouse().get(tx, tables.warehouse().key().set(1), row);
            row.setLong(Warehouse.YTD, 1);
            tables.warehouse().update(tx, row);
          });
    }
    Path json = folder.resolve("report.json");
    expect(Exit.INCONSISTENT, onFile("check", "--json", json.toString()));
    assertTrue(out.toString().contains("1  VIOLATED"), out.toString());
    assertTrue(out.toString().contains("warehouse 1: W_YTD is 0.01"), out.toString());
    assertFalse(json(json).get("consistent").getAsBoolean());
    expect(Exit.INCONSISTENT, onFile("run"));
  }
}
