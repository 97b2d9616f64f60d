package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Durability;
import io.fovea.Options;
import io.fovea.Order;
import io.fovea.Range;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Percentiles;
import io.fovea.tpcc.bench.Series;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The subcommand as a user sees it, on some megabytes. */
class LookupsTest {
  /** 5.5 MB, of which the pool holds a third. */
  private static final int RECORDS = 40_000;

  private static final Options SMALL = Options.defaults().bufferBytes(2 << 20);

  @TempDir Path folder;

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int tpcc(List<String> args) {
    out.getBuffer().setLength(0);
    err.getBuffer().setLength(0);
    return Main.execute(
        SmallDatabase.SCALE,
        new PrintWriter(out),
        new PrintWriter(err),
        args.toArray(String[]::new));
  }

  /** Runs it on the file, with options of its own where a test doesn't give them. */
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
    return tpcc(args);
  }

  private Path file() {
    return folder.resolve("lookups.fovea");
  }

  private Path json() {
    return folder.resolve("report.json");
  }

  private void expect(int code, int found) {
    assertEquals(code, found, () -> out + "\n" + err);
  }

  private JsonObject report() throws IOException {
    return JsonParser.parseString(Files.readString(json())).getAsJsonObject();
  }

  /** The updates that the records have counted. */
  private long updates() {
    try (Database db = Database.open(file(), SMALL)) {
      LookupTable lookup = LookupTable.open(db, LookupTable.shape(db));
      return db.read(
          tx -> {
            long sum = 0;
            long next = 0;
            try (Cursor c = lookup.table.scan(tx, Range.all(), Order.ASCENDING)) {
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
    expect(Exit.OK, lookups("--threads=2"));
    assertTrue(out.toString().contains("loading 40,000 records"), out.toString());
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
    for (String share : List.of("predictedShare", "atHomeShare")) {
      double d = r.get(share).getAsDouble();
      assertTrue(d > 0 && d <= 1, share + " " + d);
    }
    assertTrue(r.get("copiedBytesPerAccess").getAsDouble() >= 0);
    latencies(r.getAsJsonObject("transactions").getAsJsonObject("reading"));
    assertFalse(r.getAsJsonObject("transactions").has("changing"));
    Series series = Series.of(r);
    assertTrue(series.has("workingSetRatio"));
    assertTrue(out.toString().contains("device reads/s"), out.toString());

    expect(Exit.OK, lookups());
    assertFalse(out.toString().contains("loading"), out.toString());
    assertFalse(report().has("load"));

    expect(Exit.OK, lookups("--fresh"));
    assertTrue(out.toString().contains("loading"), out.toString());
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
  void updatesAreSeen(String options) throws IOException {
    List<String> args = new ArrayList<>(List.of("--writes=30", "--threads=2", "--warmup=0"));
    args.addAll(List.of(options.split(" ")));
    expect(Exit.OK, lookups(args.toArray(String[]::new)));
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
    // The clients go on for a moment before the first sample and after the last.
    long found = updates();
    assertTrue(found >= updates && found > 0, found + " in the records, " + updates + " counted");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--depth=8 --clients=20 --virtual --threads=2",
        "--theta=0.9 --writes=10",
        "--working-set=50%",
        "--page-size=16k --translation=optimistic"
      })
  void inMemory(String options) throws IOException {
    List<String> args = new ArrayList<>(List.of("lookups", "--io=memory", "--records=20000"));
    args.addAll(List.of("--duration=200ms", "--warmup=50ms", "--json=" + json()));
    args.addAll(List.of(options.split(" ")));
    expect(Exit.OK, tpcc(args));
    assertEquals(0.0, report().get("missesPerLookup").getAsDouble());
    assertTrue(report().get("cpuMicrosPerDeviceRead").isJsonNull());
  }

  @Test
  void aSetThatGrowsShowsInTheSeries() throws IOException {
    expect(Exit.OK, lookups("--grow=0.5..2", "--shrink", "--duration=2500ms"));
    double[] ratio = Series.of(report()).column("workingSetRatio");
    assertTrue(ratio.length >= 3);
    assertEquals(2, ratio[1], 0.2, "after the first second, at its largest");
    assertEquals(0.5, ratio[ratio.length - 1], 0.01, "back");
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
  void aSetThatDriftsIsMarked() throws IOException {
    expect(
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
  void sizesAreHeldAgainstTheModel() throws IOException {
    expect(Exit.OK, lookups("--sizes=0.5,1.5,2.5"));
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
    assertEquals(1, last, 0.001, "the model comes from it");
    JsonObject model = report().getAsJsonObject("model");
    double hit = model.get("hitMicros").getAsDouble();
    assertTrue(hit > 0 && hit < model.get("missMicros").getAsDouble());
    assertTrue(out.toString().contains("model: "), out.toString());
  }

  @Test
  void wrongOptionsExitWithOne() {
    expect(Exit.USAGE, lookups("--depth=0"));
    assertTrue(err.toString().startsWith("tpcc: --depth: 1 to "), err.toString());
    assertFalse(Files.exists(file()));
    expect(Exit.USAGE, lookups("--working-set=50"));
    assertEquals(1, err.toString().lines().count(), err.toString());
    assertTrue(err.toString().contains("a working set of 50 pools has"), err.toString());
  }

  @Test
  void otherRecordsAreRefused() {
    expect(Exit.OK, lookups());
    for (String other : List.of("--records=41000", "--value-bytes=60")) {
      expect(Exit.UNUSABLE, lookups(other));
      assertTrue(err.toString().contains("has 40,000 records of 120 bytes"), err.toString());
    }
    expect(Exit.OK, lookups("--value-bytes=60", "--fresh"));
  }

  @Test
  void otherDatabasesAreRefused() throws IOException {
    try (Database db = Database.open(file(), SMALL)) {
      Tables.open(db);
    }
    expect(Exit.UNUSABLE, lookups());
    expect(Exit.UNUSABLE, lookups("--fresh"));
    assertTrue(err.toString().contains("other tables"), err.toString());
    try (Database db = Database.open(file(), SMALL)) {
      assertTrue(db.tables().contains("item"), "nothing was deleted");
    }
  }

  @Test
  void anUnfinishedLoadIsDoneAgain() {
    try (Database db = Database.open(file(), SMALL)) {
      new LookupTable.Shape(false, 5, 40).write(db);
    }
    expect(Exit.OK, lookups());
    assertTrue(out.toString().contains("loading"), out.toString());
    assertEquals(0, updates());
  }

  @Test
  void aFileThatWasLeftOpenIsRefusedUnlessFresh() throws IOException {
    Path original = folder.resolve("original.fovea");
    try (Database db = Database.open(original, SMALL.durability(Durability.NONE))) {
      new LookupTable.Shape(false, 5, 40).write(db);
      Files.copy(original, file());
    }
    expect(Exit.UNUSABLE, lookups());
    assertTrue(err.toString().contains("--fresh"), err.toString());
    expect(Exit.OK, lookups("--fresh"));
    assertEquals(0, updates());
  }

  @ParameterizedTest
  @ValueSource(strings = {"--records=20000000", "--duration=1h --warmup=0"})
  void anInterruptEndsClean(String options) throws Exception {
    AtomicInteger code = new AtomicInteger(-1);
    Thread thread = new Thread(() -> code.set(lookups(options.split(" "))));
    thread.start();
    String sign = options.startsWith("--records") ? "loading" : "looking up";
    while (thread.isAlive() && !out.toString().contains(sign)) {
      Thread.onSpinWait();
    }
    thread.interrupt();
    thread.join();
    expect(Exit.INTERRUPTED, code.get());
    expect(Exit.OK, lookups());
    assertEquals(0, updates());
  }
}
