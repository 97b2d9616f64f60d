package io.fovea.tpcc.lookups;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.RowCursor;
import io.fovea.ScanOrder;
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
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the subcommand from arguments to output, on a few megabytes. */
@Tag("slow")
class LookupsTest {
  /** 5.5 MB; the pool holds a third of it. */
  private static final int RECORDS = 40_000;

  private static final Options SMALL = Options.defaults().bufferBytes(2 << 20);

  @TempDir Path folder;

  private final DriverCommand tpcc = new DriverCommand();

  /** Runs a command on the file, with default options unless a test overrides them. */
  private int lookups(String... more) {
    List<String> args = new ArrayList<>(List.of("lookups", "--path=" + file()));
    args.addAll(List.of(more));
    for (String other :
        List.of(
            "--records=" + RECORDS,
            "--buffer=2m",
            "--log=16m",
            "--duration=300ms",
            "--warmup=50ms",
            "--json=" + json())) {
      String name = other.substring(0, other.indexOf('=') + 1);
      if (args.stream().noneMatch(arg -> arg.startsWith(name))) {
        args.add(other);
      }
    }
    return tpcc.run(args);
  }

  private Path file() {
    return folder.resolve("lookups.fovea");
  }

  private Path json() {
    return folder.resolve("report.json");
  }

  private JsonObject report() throws IOException {
    return JsonParser.parseString(Files.readString(json())).getAsJsonObject();
  }

  /** Returns the sum of the update counts in the records. */
  private long updates() {
    try (Database db = Database.open(file(), SMALL)) {
      LookupTable lookup = LookupTable.open(db, LookupTable.shape(db));
      return db.read(
          tx -> {
            long sum = 0;
            long next = 0;
            try (RowCursor c = lookup.table.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              while (c.next()) {
                assertEquals(next, c.key().getLong(0));
                assertEquals(next++, c.row().getLong(lookup.number));
                sum += c.row().getLong(lookup.updates);
              }
            }
            assertEquals(RECORDS, next);
            return sum;
          });
    }
  }

  @Test
  void loadsOnceAndCounts() throws IOException {
    tpcc.expect(Exit.OK, lookups("--threads=2"));
    assertTrue(tpcc.out().contains("loading 40,000 records"), tpcc.out());
    JsonObject r = report();
    assertEquals("lookups", r.get("command").getAsString());
    assertEquals(RECORDS, r.getAsJsonObject("load").get("rows").getAsLong());
    long lookups = r.get("lookups").getAsLong();
    assertTrue(lookups > 0);
    assertEquals(lookups, r.get("operations").getAsLong());
    double seconds = r.get("measuredSeconds").getAsDouble();
    double perSecond = r.get("lookupsPerSecond").getAsDouble();
    assertEquals(lookups / seconds, perSecond, 0.001 * perSecond);
    JsonObject engine = r.getAsJsonObject("engine");
    double misses = r.get("missesPerLookup").getAsDouble();
    assertEquals(engine.get("bufferMisses").getAsDouble() / lookups, misses, 1e-4);
    assertTrue(misses > 0.3 && misses < 1.1, "two thirds are not in the pool: " + misses);
    double reads = r.get("deviceReadsPerSecond").getAsDouble();
    assertEquals(engine.get("reads").getAsDouble() / seconds, reads, 0.001 * reads);
    assertTrue(r.get("cpuMicrosPerLookup").getAsDouble() > 0);
    assertTrue(r.get("cpuMicrosPerDeviceRead").getAsDouble() > 0);
    assertTrue(r.get("workingSetRatio").getAsDouble() > 2);
    for (String share : List.of("hintedShare", "predictedShare", "preferredShare")) {
      double d = r.get(share).getAsDouble();
      assertTrue(d > 0 && d <= 1, share + " " + d);
    }
    assertTrue(r.get("copiedBytesPerAccess").getAsDouble() >= 0);
    latencies(r.getAsJsonObject("transactions").getAsJsonObject("reading"));
    assertFalse(r.getAsJsonObject("transactions").has("changing"));
    Series series = Series.of(r);
    assertTrue(series.has("workingSetRatio"));
    assertTrue(tpcc.out().contains("device reads/s"), tpcc.out());

    tpcc.expect(Exit.OK, lookups());
    assertFalse(tpcc.out().contains("loading"), tpcc.out());
    assertFalse(report().has("load"));

    tpcc.expect(Exit.OK, lookups("--fresh"));
    assertTrue(tpcc.out().contains("loading"), tpcc.out());
    assertEquals(0, updates());
  }

  private static void latencies(JsonObject kind) {
    double last = 0;
    for (String p : Percentiles.PERCENTILE_NAMES) {
      double micros = kind.getAsJsonObject("latencyMicros").get(p).getAsDouble();
      assertTrue(micros >= last, p);
      last = micros;
    }
    assertTrue(last > 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"--depth=1", "--depth=32 --durability=none", "--depth=3 --theta=0.99"})
  void updatesAreCounted(String options) throws IOException {
    List<String> args = new ArrayList<>(List.of("--writes=30", "--threads=2", "--warmup=0"));
    args.addAll(List.of(options.split(" ")));
    tpcc.expect(Exit.OK, lookups(args.toArray(String[]::new)));
    JsonObject r = report();
    long updates = r.get("updates").getAsLong();
    long lookups = r.get("lookups").getAsLong();
    assertTrue(updates > 0);
    assertTrue(updates <= 0.4 * lookups, updates + " of " + lookups);
    JsonObject kinds = r.getAsJsonObject("transactions");
    long sum = 0;
    for (String kind : kinds.keySet()) {
      latencies(kinds.getAsJsonObject(kind));
      sum += kinds.getAsJsonObject(kind).get("operations").getAsLong();
    }
    assertEquals(r.get("operations").getAsLong(), sum);
    // The clients run before the first sample and after the last one.
    long found = updates();
    assertTrue(found >= updates && found > 0, found + " in the records, " + updates + " counted");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--depth=8 --clients=20 --virtual --threads=2",
        "--theta=0.9 --writes=10",
        "--working-set=50%",
        "--page-size=16k --translation=optimistic",
        "--translation=direct --cache-locations --buffer=64m",
        "--translation=virtual --cache-locations --location-cache-layout=shortcut --locks=off --threads=1"
      })
  void inMemory(String options) throws IOException {
    List<String> args = new ArrayList<>(List.of("lookups", "--io=memory", "--records=20000"));
    args.addAll(List.of("--duration=200ms", "--warmup=50ms", "--json=" + json()));
    args.addAll(List.of(options.split(" ")));
    tpcc.expect(Exit.OK, tpcc.run(args));
    assertEquals(0.0, report().get("missesPerLookup").getAsDouble());
    assertTrue(report().get("cpuMicrosPerDeviceRead").isJsonNull());
  }

  /**
   * For translations that bound the file: includes the pages reserved for commits of all threads.
   */
  @Test
  void defaultBufferFitsALoadByManyThreads() {
    String[] args = {"--io=memory", "--records=400000", "--translation=direct", "--threads=4"};
    List<String> all = new ArrayList<>(List.of("lookups", "--duration=100ms", "--warmup=0s"));
    all.addAll(List.of(args));
    tpcc.expect(Exit.OK, tpcc.run(all));
  }

  @Test
  void growingSetAppearsInTheSeries() throws IOException {
    tpcc.expect(Exit.OK, lookups("--grow=0.5..2", "--shrink", "--duration=2500ms"));
    double[] ratio = Series.of(report()).column("workingSetRatio");
    assertTrue(ratio.length > 0);
    for (double each : ratio) { // when each sample was taken depends on the machine
      assertTrue(each >= 0.5 && each <= 2.01, () -> "ratio " + each);
    }
    assertEquals(
        List.of(
            "warm-up ends",
            "as large as the pool",
            "2.00 of the pool",
            "shrinks",
            "as large as the pool",
            "0.50 of the pool"),
        texts(report().getAsJsonArray("marks")));
  }

  @Test
  void driftIsMarked() throws IOException {
    tpcc.expect(
        Exit.OK,
        lookups("--working-set=0.5", "--drift=25%", "--interval=300ms", "--duration=1000ms"));
    assertEquals(
        List.of("warm-up ends", "25 % replaced", "25 % replaced", "25 % replaced"),
        texts(report().getAsJsonArray("marks")));
    assertTrue(report().getAsJsonObject("engine").get("reads").getAsLong() > 0);
  }

  private static List<String> texts(JsonArray marks) {
    List<String> texts = new ArrayList<>();
    for (JsonElement mark : marks) {
      texts.add(mark.getAsJsonObject().get("text").getAsString());
    }
    return texts;
  }

  @Test
  void sizesAreComparedWithTheModel() throws IOException {
    // Long enough for lookups in each of them, even on a busy machine.
    tpcc.expect(Exit.OK, lookups("--sizes=0.5,1.5,2.5", "--duration=1000ms"));
    JsonArray sizes = report().getAsJsonArray("sizes");
    assertEquals(3, sizes.size());
    double lastMisses = -1;
    for (JsonElement e : sizes) {
      JsonObject size = e.getAsJsonObject();
      double share = Double.parseDouble(size.get("workingSet").getAsString());
      assertEquals(share, size.get("workingSetRatio").getAsDouble(), 0.01);
      double misses = size.get("missesPerLookup").getAsDouble();
      assertTrue(misses > lastMisses, "more misses with more records: " + misses);
      lastMisses = misses;
      assertTrue(size.get("measuredByModel").getAsDouble() > 0);
    }
    double last = sizes.get(2).getAsJsonObject().get("measuredByModel").getAsDouble();
    assertEquals(1, last, 0.001, "the model is fitted to this point");
    JsonObject model = report().getAsJsonObject("model");
    double hit = model.get("hitMicros").getAsDouble();
    assertTrue(hit > 0 && hit < model.get("missMicros").getAsDouble());
    assertTrue(tpcc.out().contains("model: "), tpcc.out());
  }

  @Test
  void wrongOptionsExitWithOne() {
    tpcc.expect(Exit.USAGE, lookups("--depth=0"));
    assertTrue(tpcc.err().startsWith("tpcc: --depth: 1 to "), tpcc.err());
    assertFalse(Files.exists(file()));
    tpcc.expect(Exit.USAGE, lookups("--working-set=50"));
    assertEquals(1, tpcc.err().lines().count(), tpcc.err());
    assertTrue(tpcc.err().contains("a working set of 50 pools has"), tpcc.err());
  }

  @Test
  void otherRecordsAreRefused() {
    tpcc.expect(Exit.OK, lookups());
    for (String other : List.of("--records=41000", "--value-bytes=60")) {
      tpcc.expect(Exit.UNUSABLE, lookups(other));
      assertTrue(tpcc.err().contains("has 40,000 records of 120 bytes"), tpcc.err());
    }
    tpcc.expect(Exit.OK, lookups("--value-bytes=60", "--fresh"));
  }

  /**
   * A file that another run left unclean may be too large for translations that need all of it in
   * memory.
   */
  @Test
  void fileTooLargeForATranslationIsRefused() {
    tpcc.expect(Exit.OK, lookups("--translation=swizzled"));
    tpcc.expect(Exit.USAGE, lookups("--translation=direct"));
    assertTrue(tpcc.err().startsWith("tpcc: The file has "), tpcc.err());
    assertTrue(
        tpcc.err().contains("enlarge --buffer, or choose --translation predictive"), tpcc.err());
    tpcc.expect(Exit.OK, lookups("--translation=direct", "--buffer=32m"));
    tpcc.expect(Exit.OK, lookups("--translation=virtual"));
  }

  @Test
  void otherDatabasesAreRefused() throws IOException {
    Layout.Definition b = Layout.define();
    b.int32("id");
    try (Database db = Database.open(file(), SMALL)) {
      db.table(TableSpec.of("item", KeySpec.of(FieldType.INT32), b.build()));
    }
    tpcc.expect(Exit.UNUSABLE, lookups());
    tpcc.expect(Exit.UNUSABLE, lookups("--fresh"));
    assertTrue(tpcc.err().contains("do not belong"), tpcc.err());
    try (Database db = Database.open(file(), SMALL)) {
      assertTrue(db.tables().contains("item"), "nothing was deleted");
    }
  }

  @Test
  void incompleteLoadIsRepeated() {
    try (Database db = Database.open(file(), SMALL)) {
      new LookupTable.Shape(false, 5, 40).write(db);
    }
    tpcc.expect(Exit.OK, lookups());
    assertTrue(tpcc.out().contains("loading"), tpcc.out());
    assertEquals(0, updates());
  }

  /** The log next to an unclean file may belong to another database. */
  @Test
  void theLogOfAnotherDatabaseIsNotDeleted() throws IOException {
    Path original = folder.resolve("original.fovea");
    try (Database db = Database.open(original, SMALL.durability(Durability.NONE))) {
      new LookupTable.Shape(false, 5, 40).write(db);
      Files.copy(original, file());
    }
    Path other = folder.resolve("other.fovea");
    Path log = file().resolveSibling(file().getFileName() + ".log");
    try (Database db = Database.open(other, SMALL.durability(Durability.SYNC))) {
      new LookupTable.Shape(false, 5, 40).write(db);
      Files.copy(other.resolveSibling("other.fovea.log"), log);
    }
    byte[] commits = Files.readAllBytes(log);
    tpcc.expect(Exit.UNUSABLE, lookups("--fresh"));
    assertTrue(tpcc.err().contains(log.getFileName() + " has commits of"), tpcc.err());
    assertTrue(tpcc.err().contains("move it away"), tpcc.err());
    assertArrayEquals(commits, Files.readAllBytes(log));
    Files.delete(log);
    tpcc.expect(Exit.OK, lookups("--fresh"));
  }

  @Test
  void uncleanFileIsRefusedUnlessFresh() throws IOException {
    Path original = folder.resolve("original.fovea");
    try (Database db = Database.open(original, SMALL.durability(Durability.NONE))) {
      new LookupTable.Shape(false, 5, 40).write(db);
      Files.copy(original, file());
    }
    tpcc.expect(Exit.UNUSABLE, lookups());
    assertTrue(tpcc.err().contains("--fresh"), tpcc.err());
    tpcc.expect(Exit.OK, lookups("--fresh"));
    assertEquals(0, updates());
  }

  @ParameterizedTest
  @ValueSource(strings = {"--records=20000000", "--duration=1h --warmup=0"})
  void interruptClosesCleanly(String options) throws Exception {
    AtomicInteger code = new AtomicInteger(-1);
    Thread thread = new Thread(() -> code.set(lookups(options.split(" "))));
    thread.start();
    String sign = options.startsWith("--records") ? "loading" : "looking up";
    while (thread.isAlive() && !tpcc.out().contains(sign)) {
      Thread.onSpinWait();
    }
    thread.interrupt();
    thread.join();
    tpcc.expect(Exit.INTERRUPTED, code.get());
    tpcc.expect(Exit.OK, lookups());
    assertEquals(0, updates());
  }
}
