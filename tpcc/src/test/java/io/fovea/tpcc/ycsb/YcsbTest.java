package io.fovea.tpcc.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.config.Durability;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.tpcc.DriverCommand;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Percentiles;
import io.fovea.tpcc.bench.Series;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.HdrHistogram.HistogramLogReader;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the subcommand from arguments to output, on a few megabytes. */
@Tag("slow")
class YcsbTest {
  private static final int RECORDS = 8_000;
  private static final Options SMALL =
      Options.defaults().bufferBytes(8 << 20).durability(Durability.ASYNC);

  @TempDir Path folder;

  private final DriverCommand tpcc = new DriverCommand();

  private Path file() {
    return folder.resolve("ycsb.fovea");
  }

  private Path json() {
    return folder.resolve("report.json");
  }

  private JsonObject report() throws IOException {
    return JsonParser.parseString(Files.readString(json())).getAsJsonObject();
  }

  /** Runs a command on the file, with default options unless a test overrides them. */
  private int onFile(String command, String... more) {
    List<String> args = new ArrayList<>(List.of("ycsb", command, "--path=" + file()));
    args.addAll(List.of(more));
    List<String> others = new ArrayList<>(List.of("--records=" + RECORDS, "--log=16m"));
    others.addAll(List.of("--buffer=4m", "--json=" + json()));
    if (command.equals("run")) {
      others.addAll(List.of("--duration=300ms", "--warmup=50ms"));
    }
    for (String other : others) {
      String name = other.substring(0, other.indexOf('=') + 1);
      if (args.stream().noneMatch(arg -> arg.startsWith(name))) {
        args.add(other);
      }
    }
    return tpcc.run(args);
  }

  private void inMemory(String options) {
    List<String> args = new ArrayList<>(List.of("ycsb", "run", "--io=memory", "--buffer=64m"));
    args.addAll(List.of("--records=" + RECORDS, "--warmup=50ms", "--json=" + json()));
    args.addAll(List.of(options.split(" ")));
    tpcc.expect(Exit.OK, tpcc.run(args));
  }

  /** Runs each for a second, with more threads than processors. */
  @ParameterizedTest
  @EnumSource(Workload.class)
  void everyWorkload(Workload workload) throws IOException {
    inMemory("--threads=4 --duration=1s --workload=" + YcsbReport.name(workload));
    JsonObject r = report();
    assertTrue(r.get("consistent").getAsBoolean());
    long commits = r.get("commits").getAsLong();
    double seconds = r.get("measuredSeconds").getAsDouble();
    assertTrue(commits > 0);
    double goodput = r.get("goodputPerSecond").getAsDouble();
    assertEquals(commits / seconds, goodput, .01 * goodput);

    long aborts = sum(r.getAsJsonObject("aborts"));
    assertEquals(aborts, r.get("abortedAttempts").getAsLong());
    assertEquals((double) aborts / (aborts + commits), r.get("abortRate").getAsDouble(), 1e-6);
    long kindCommits = 0;
    for (Kind kind : workload.kinds(1, false)) {
      JsonObject k = r.getAsJsonObject("transactions").getAsJsonObject(kind.id);
      kindCommits += k.get("commits").getAsLong();
      percentiles(k.getAsJsonObject("latencyMicros"));
    }
    assertEquals(commits, kindCommits);
    JsonObject ops = r.getAsJsonObject("operations");
    long operations = 0;
    for (String op : ops.keySet()) {
      operations += ops.getAsJsonObject(op).get("committed").getAsLong();
      percentiles(ops.getAsJsonObject(op).getAsJsonObject("latencyMicros"));
    }
    assertEquals(
        operations / seconds, r.get("operationsPerSecond").getAsDouble(), .01 * operations);
    assertTrue(Series.of(r).has("abortRate"));
    JsonObject check = r.getAsJsonObject("check");
    long records = check.get("records").getAsLong();
    boolean inserts = workload == Workload.D || workload == Workload.E;
    assertTrue(inserts ? records >= RECORDS : records == RECORDS, "records: " + records);
    boolean counts = !check.get("fieldsReplacedExpected").isJsonNull();
    assertEquals(!workload.kinds(1, false).getFirst().ops().contains(Op.WRITE), counts);
    assertTrue(tpcc.out().contains("goodput"), tpcc.out());
    assertTrue(tpcc.out().contains("consistent after"), tpcc.out());
  }

  private static long sum(JsonObject o) {
    return o.entrySet().stream().mapToLong(e -> e.getValue().getAsLong()).sum();
  }

  private static void percentiles(JsonObject micros) {
    double last = 0;
    for (String p : Percentiles.PERCENTILE_NAMES) {
      assertTrue(micros.get(p).getAsDouble() >= last, p);
      last = micros.get(p).getAsDouble();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--workload=write-intensive-high --read-first --threads=8",
        "--workload=write-intensive-high --clients=80 --threads=2",
        "--workload=a --ops=10 --clients=20 --threads=2 --virtual",
        "--workload=d --ops=10 --threads=4",
        "--workload=f --distribution=hotspot --hot-keys=1% --hot-operations=99% --threads=8",
        "--workload=b --distribution=uniform --page-size=16k",
        "--workload=read-intensive-high --theta=1.2 --backoff=1ms --threads=8",
        "--workload=mixed-high --retries=0 --theta=1.5 --threads=8"
      })
  void options(String options) {
    inMemory("--duration=300ms " + options);
  }

  /** Loads, runs, and runs again on the result, with each durability and a pool of a tenth. */
  @ParameterizedTest
  @ValueSource(strings = {"sync", "async", "none"})
  void loadRunRunAgain(String level) throws IOException {
    String durability = "--durability=" + level;
    tpcc.expect(Exit.OK, onFile("load", "--workload=a", "--threads=2"));
    assertEquals(RECORDS, report().getAsJsonObject("load").get("rows").getAsLong());
    tpcc.expect(Exit.UNUSABLE, onFile("load", "--workload=a"));
    assertTrue(tpcc.err().contains("is already loaded"), tpcc.err());

    tpcc.expect(Exit.OK, onFile("run", "--workload=d", "--threads=2", "--clients=8", durability));
    long records = report().getAsJsonObject("check").get("records").getAsLong();
    assertEquals(!level.equals("none"), report().has("log"));
    assertFalse(report().has("load"));
    assertTrue(records >= RECORDS);
    tpcc.expect(Exit.OK, onFile("run", "--workload=f", "--threads=2", durability));
    assertEquals(records, report().getAsJsonObject("check").get("records").getAsLong());
    long replaced = report().getAsJsonObject("check").get("fieldsReplaced").getAsLong();
    assertTrue(report().getAsJsonObject("engine").get("bufferMisses").getAsLong() > 0);
    tpcc.expect(Exit.OK, onFile("run", "--workload=a", "--ops=4", durability));
    assertTrue(report().getAsJsonObject("check").get("fieldsReplaced").getAsLong() >= replaced);
  }

  /** Several runs on one open database: each begins with the result of the previous one. */
  @Test
  void runsAndThenRuns() throws IOException {
    Path second = folder.resolve("second.json");
    Path third = folder.resolve("third.json");
    List<String> args = new ArrayList<>(List.of("--workload=d", "--threads=1"));
    args.addAll(List.of("--then", "workload=f threads=3 clients=6 json=" + second));
    args.addAll(List.of("--then", "duration=200ms json=" + third));
    tpcc.expect(Exit.OK, onFile("run", args.toArray(new String[0])));
    assertEquals(1, tpcc.out().split("loading ", -1).length - 1, tpcc.out());
    assertEquals(3, tpcc.out().split("consistent after", -1).length - 1, tpcc.out());
    List<JsonObject> reports = new ArrayList<>();
    for (Path report : List.of(json(), second, third)) {
      reports.add(JsonParser.parseString(Files.readString(report)).getAsJsonObject());
      assertTrue(reports.getLast().get("commits").getAsLong() > 0);
    }
    assertTrue(reports.get(0).has("load"));
    assertFalse(reports.get(1).has("load"));
    long records = records(reports.get(0));
    assertEquals(records, records(reports.get(1)));
    assertTrue(records > RECORDS && records(reports.get(2)) > records);
    assertEquals(3, reports.get(1).getAsJsonObject("options").get("threads").getAsInt());
    assertEquals(1, reports.get(2).getAsJsonObject("options").get("threads").getAsInt());
    // The database stays as it was opened.
    tpcc.expect(Exit.USAGE, onFile("run", "--workload=c", "--then", "buffer=8m"));
    assertTrue(tpcc.err().contains("--then cannot change"), tpcc.err());
    tpcc.expect(Exit.USAGE, onFile("run", "--workload=c", "--then", "nonsense=1"));
    assertTrue(tpcc.err().contains("--then: "), tpcc.err());
  }

  private static long records(JsonObject report) {
    return report.getAsJsonObject("check").get("records").getAsLong();
  }

  /** After unchecked runs, the counts come from the records; after checked ones, from the runs. */
  @ParameterizedTest
  @ValueSource(strings = {"write-intensive-high", "a"})
  void runsAfterUncheckedRuns(String workload) throws IOException {
    for (int run = 0; run < 2; run++) {
      tpcc.expect(Exit.OK, onFile("run", "--workload=" + workload, "--no-check"));
      assertFalse(report().has("consistent"));
    }
    tpcc.expect(Exit.OK, onFile("run", "--workload=" + workload));
    assertTrue(report().get("consistent").getAsBoolean());
    assertEquals(
        workload.equals("a"),
        !report().getAsJsonObject("check").get("fieldsReplacedExpected").isJsonNull());
  }

  @Test
  void aPoolOfATenth() throws IOException {
    List<String> args = new ArrayList<>(List.of("ycsb", "run", "--path=" + file()));
    args.addAll(List.of("--records=30000", "--pool=10%", "--log=16m", "--threads=4"));
    args.addAll(List.of("--duration=300ms", "--warmup=50ms", "--json=" + json()));
    tpcc.expect(Exit.OK, tpcc.run(args));
    double buffer = report().getAsJsonObject("options").get("bufferBytes").getAsDouble();
    double file = report().getAsJsonObject("engine").get("storageBytes").getAsDouble();
    assertEquals(.1, buffer / file, .03);
  }

  // ------------------------------------------------------------------------ the check can fail

  /** Changes a record outside the driver, and runs. */
  private int runAfter(Workload workload, BiConsumer<Records, Database> change) {
    tpcc.expect(Exit.OK, onFile("load", "--workload=" + YcsbReport.name(workload)));
    try (Database db = Database.open(file(), SMALL)) {
      change.accept(Records.open(db, workload.fields), db);
    }
    return onFile("run", "--workload=" + YcsbReport.name(workload), "--duration=100ms");
  }

  /** A number that a workload with this seed hardly draws. */
  private static final long RARE = RECORDS - 1;

  @Test
  void detectsALostUpdate() throws IOException {
    int code =
        runAfter(
            Workload.A,
            (records, db) -> {
              Key key = Records.set(records.table.key(), RARE);
              Row row = records.table.row();
              db.run(
                  tx -> {
                    assertTrue(records.table.getForUpdate(tx, key, row));
                    records.replace(row, 3, new byte[100], 0);
                    records.table.update(tx, row);
                  });
            });
    tpcc.expect(Exit.INCONSISTENT, code);
    assertTrue(tpcc.out().contains("fields were replaced"), tpcc.out());
    JsonObject check = report().getAsJsonObject("check");
    assertFalse(report().get("consistent").getAsBoolean());
    assertEquals(
        check.get("fieldsReplacedExpected").getAsLong() + 1,
        check.get("fieldsReplaced").getAsLong());
  }

  @Test
  void detectsAnExtraRecord() {
    int code =
        runAfter(
            Workload.LONG,
            (records, db) -> {
              Key key = Records.set(records.table.key(), RARE);
              Row row = records.table.row();
              records.fill(row, RECORDS + 5, 0, new byte[100], 0);
              db.run(tx -> records.table.put(tx, Records.set(key, RECORDS + 5), row));
            });
    tpcc.expect(Exit.INCONSISTENT, code);
    assertTrue(tpcc.out().contains("found 8,001 records"), tpcc.out());
  }

  @Test
  void detectsUncommittedWrites() {
    int code =
        runAfter(
            Workload.READ_INTENSIVE_HIGH,
            (records, db) -> {
              Key key = Records.set(records.table.key(), RARE);
              Row row = records.table.row();
              records.fill(row, RARE, new Stamps(1, 77).next(), new byte[100], 0);
              db.run(tx -> records.table.put(tx, key, row));
            });
    tpcc.expect(Exit.INCONSISTENT, code);
    assertTrue(tpcc.out().contains("attempt 1 of client 77 of run 1"), tpcc.out());
  }

  /** As left by a run that was killed while one insert was in flight and a later one had ended. */
  @Test
  void gapsOfAKilledRunAreFilled() throws IOException {
    tpcc.expect(Exit.OK, onFile("load", "--workload=d"));
    try (Database db = Database.open(file(), SMALL)) {
      Records records = Records.open(db, Workload.D.fields);
      Meta.read(db).begun().write(db);
      Loading.fillGaps(records, RECORDS + 3, RECORDS + 4);
    }
    tpcc.expect(Exit.OK, onFile("run", "--workload=c"));
    assertTrue(tpcc.out().contains("was interrupted"), tpcc.out());
    assertEquals(RECORDS + 4, report().getAsJsonObject("check").get("records").getAsLong());
  }

  // ------------------------------------------------------------------------------- existing files

  @Test
  void otherRecordsAndOtherDatabasesAreRefused() {
    tpcc.expect(Exit.OK, onFile("load", "--workload=a"));
    tpcc.expect(Exit.UNUSABLE, onFile("run", "--workload=long"));
    assertTrue(tpcc.err().contains("8,000 records of 10 fields"), tpcc.err());
    tpcc.expect(Exit.UNUSABLE, onFile("run", "--workload=a", "--records=9000"));
    tpcc.expect(Exit.OK, onFile("run", "--workload=long", "--fresh"));
  }

  @Test
  void foreignTablesAreKept() {
    try (Database db = Database.open(file(), SMALL)) {
      Layout.Definition b = Layout.define();
      b.int32("x");
      db.table(TableSpec.of("mine", KeySpec.of(FieldType.INT32), b.build()));
    }
    tpcc.expect(Exit.UNUSABLE, onFile("run", "--fresh"));
    assertTrue(tpcc.err().contains("do not belong"), tpcc.err());
    try (Database db = Database.open(file(), SMALL)) {
      assertTrue(db.tables().contains("mine"));
    }
  }

  @Test
  void incompleteLoadIsRepeated() {
    try (Database db = Database.open(file(), SMALL)) {
      Meta.loading(10, 5).write(db);
    }
    tpcc.expect(Exit.OK, onFile("run"));
    assertTrue(tpcc.out().contains("loading 8,000 records"), tpcc.out());
  }

  @Test
  void hlogHasEveryKind() throws IOException {
    Path hlog = folder.resolve("latency.hlog");
    inMemory("--duration=500ms --workload=mixed-high --hlog=" + hlog);
    List<String> tags = new ArrayList<>();
    try (HistogramLogReader reader = new HistogramLogReader(hlog.toFile())) {
      while (reader.hasNext()) {
        tags.add(reader.nextIntervalHistogram().getTag());
      }
    }
    assertTrue(tags.containsAll(List.of("2Reads2Writes", "28Reads")), tags.toString());
  }

  @Test
  void mistakes() {
    Map<String, String> mistakes =
        Map.ofEntries(
            Map.entry("--records=0", "--records: 1 to"),
            Map.entry("--records=3999 --workload=long", "--records: at least 4000"),
            Map.entry("--threads=0", "--threads: 1 to"),
            Map.entry("--threads=4 --clients=2", "--clients: from"),
            Map.entry("--ops=0", "--ops: 1 to"),
            Map.entry("--ops=2 --workload=long", "--ops works only"),
            Map.entry("--read-first", "--read-first does not"),
            Map.entry("--theta=0", "--theta must be more than 0"),
            Map.entry("--theta=.5 --distribution=uniform", "--theta works only"),
            Map.entry("--hot-keys=10%", "--hot-keys and"),
            Map.entry("--retries=-1", "--retries: 0 to"),
            Map.entry("--pool=10% --buffer=4m", "--pool and --buffer"),
            Map.entry("--pool=100%", "'100%' is not a fraction"),
            Map.entry("--workload=g", "'g' is not one of a, b, c"),
            Map.entry("--io=memory --fresh", "--io memory excludes"),
            Map.entry("--io=memory --durability=sync", "--io memory has no log"),
            Map.entry("--duration=0", "--duration must be more than 0"));
    mistakes.forEach(
        (options, message) -> {
          List<String> args = new ArrayList<>(List.of("ycsb", "run"));
          args.addAll(List.of(options.split(" ")));
          tpcc.expect(Exit.USAGE, tpcc.run(args));
          assertTrue(tpcc.err().contains(message), options + ": " + tpcc.err());
        });
    tpcc.expect(Exit.USAGE, tpcc.run(List.of("ycsb")));
    tpcc.expect(Exit.USAGE, tpcc.run(List.of("ycsb", "load", "--io=memory")));
  }
}
