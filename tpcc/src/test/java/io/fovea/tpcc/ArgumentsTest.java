package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Hints;
import io.fovea.config.Io;
import io.fovea.config.LocationCacheLayout;
import io.fovea.config.Protocol;
import io.fovea.config.Replacement;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Memory;
import io.fovea.tpcc.bench.Sizes;
import io.fovea.tpcc.settings.HintKind;
import io.fovea.tpcc.settings.WorkOptions;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

class ArgumentsTest {
  /** All options, parsed as by {@code run}. */
  @Command
  private static final class All {
    @Mixin private final Arguments.Store store = new Arguments.Store();
    @Mixin private final WorkOptions work = new WorkOptions();
    @Mixin private final Arguments.Measure measure = new Arguments.Measure();
  }

  private static All parse(String... args) {
    All all = new All();
    new CommandLine(all).parseArgs(args);
    return all;
  }

  private static Settings settle(String... args) {
    All all = parse(args);
    return Arguments.settle(all.store, all.work, all.measure, 1);
  }

  private static String mistake(String... args) {
    All all = parse(args);
    return Arguments.mistake(all.store, all.work, all.measure);
  }

  @Test
  void defaultsRunOneWarehouse() {
    Settings s = settle();
    assertEquals(Path.of("tpcc-1w.fovea"), s.path());
    assertEquals(1, s.warehouses());
    assertEquals(1, s.threads());
    assertEquals(Duration.ofSeconds(10), s.duration());
    assertEquals(Duration.ofSeconds(3), s.warmup());
    assertEquals(Mix.FULL, s.mix());
    assertEquals(Io.AUTO, s.engine().io());
    assertTrue(s.affinity());
    assertFalse(s.waiting());
    assertEquals(0.0, s.rate());
    assertTrue(s.engine().bufferBytes() >= 64 << 20);
  }

  @Test
  void everyOptionIsApplied() {
    Settings s =
        settle(
            "--path=src/y.db",
            "--warehouses=3",
            "--threads=5",
            "--clients=50",
            "--duration=1.5m",
            "--warmup=500ms",
            "--seed=-9",
            "--durability=async",
            "--log=96m",
            "--buffer=96m",
            "--page-size=16k",
            "--io=posix",
            "--translation=predictive-hashed",
            "--hints=frame",
            "--replacement=sampling",
            "--reads=7",
            "--protocol=two-phase-locking",
            "--timestamps=focus-counter",
            "--sketch-bytes=64k",
            "--sketch-bytes-max=1m",
            "--active-timestamp-bytes=16k",
            "--timestamp-bytes=8m",
            "--evict-immediately",
            "--timestamps-in-buffer=true",
            "--mix=half",
            "--no-affinity",
            "--rate=250",
            "--json=out.json",
            "--hlog=out.hlog",
            "--acknowledge=acknowledged");
    assertEquals(Path.of("src/y.db"), s.path());
    assertEquals(3, s.warehouses());
    assertEquals(5, s.threads());
    assertEquals(50, s.clients());
    assertEquals(Path.of("acknowledged"), s.acknowledged());
    assertEquals(Duration.ofSeconds(90), s.duration());
    assertEquals(Duration.ofMillis(500), s.warmup());
    assertEquals(-9, s.seed());
    assertEquals("ASYNC", s.engine().durability().name());
    assertEquals(96 << 20, s.engine().logBytes());
    assertEquals(16 << 20, s.engineOptions().log().segmentBytes());
    assertEquals(96 << 20, s.engine().bufferBytes());
    assertEquals(16_384, s.engine().pageSize());
    assertEquals(Io.POSIX, s.engine().io());
    assertEquals(Translation.PREDICTIVE_HASHED, s.engine().translation());
    assertEquals(HintKind.FRAME, s.engine().hints());
    assertEquals(Hints.FRAME, s.engineOptions().experiments().hints());
    assertEquals(Hints.ALL, settle().engineOptions().experiments().hints());
    assertEquals(Protocol.TWO_PHASE_LOCKING, s.engine().protocol());
    assertEquals(Protocol.TWO_PHASE_LOCKING, s.engineOptions().experiments().protocol());
    assertEquals(Protocol.TICTOC, settle().engine().protocol());
    assertEquals(TimestampStore.FOCUS_COUNTER, s.engineOptions().experiments().timestamps());
    assertEquals(64 << 10, s.engineOptions().memory().sketchBytesMin());
    assertEquals(1 << 20, s.engineOptions().memory().sketchBytesMax());
    assertEquals(16 << 10, s.engineOptions().memory().activeTimestampBytes());
    assertEquals(8 << 20, s.engineOptions().memory().timestampBytes());
    assertTrue(s.engineOptions().experiments().evictImmediately());
    assertTrue(s.engineOptions().experiments().timestampsInBuffer());
    assertEquals(0, settle().engineOptions().memory().activeTimestampBytes());
    assertEquals(256 << 20, settle().engineOptions().memory().timestampBytes());
    assertFalse(settle().engineOptions().experiments().evictImmediately());
    assertFalse(settle().engineOptions().experiments().timestampsInBuffer());
    assertEquals(TimestampStore.FOCUS_SKETCH, settle().engine().timestamps());
    assertEquals(32 << 10, settle().engine().sketchBytesMax());
    assertEquals(Replacement.SAMPLING, s.engine().replacement());
    assertEquals(Replacement.SAMPLING, s.engineOptions().experiments().replacement());
    assertEquals(7, s.engineOptions().device().maxInFlightReads());
    assertEquals(64, settle().engineOptions().device().maxInFlightReads());
    assertEquals(Replacement.SECOND_CHANCE, settle().engine().replacement());
    assertEquals(Mix.HALF, s.mix());
    assertFalse(s.affinity());
    assertEquals(250.0, s.rate());
    assertEquals(Path.of("out.json"), s.json());
    assertEquals(Path.of("out.hlog"), s.hlog());
    assertTrue(settle("--affinity").affinity());
  }

  @Test
  void defaultPathNamesTheContents() {
    assertEquals(Path.of("tpcc-2w.fovea"), settle("--warehouses=2").path());
    assertEquals(Path.of("tpcc-1w-16k-pages.fovea"), settle("--page-size=16384").path());
    assertTrue(settle("--io=memory").inMemory());
  }

  @Test
  void waitMeansTenTerminalsPerWarehouse() {
    assertEquals(20, settle("--wait", "--warehouses=2").threads());
    assertEquals(4, settle("--wait", "--warehouses=2", "--threads=4").threads());
  }

  @Test
  void clientsEqualThreadsByDefault() {
    assertEquals(3, settle("--threads=3").clients());
    assertFalse(settle("--threads=3", "--clients=3").shared());
    Settings s = settle("--warehouses=100", "--clients=100");
    assertTrue(s.threads() <= Runtime.getRuntime().availableProcessors());
    assertEquals(100, s.clients());
    assertEquals(1, settle("--warehouses=100", "--clients=1").threads());
    assertEquals(20, settle("--wait", "--warehouses=2").clients());
    assertTrue(settle("--wait", "--warehouses=2", "--clients=20").threads() <= 2);
  }

  @Test
  void onlyFilesHaveALog() {
    assertEquals("async", settle().level());
    assertEquals("sync", settle("--durability=sync").level());
    assertEquals("none", settle("--io=memory").level());
    assertEquals("none", settle("--io=memory", "--durability=none").level());
  }

  @Test
  void bufferGrowsWithTheData() {
    long one = WarehouseMemory.defaultBuffer(1, 0, 1, 10, 1);
    long ten = WarehouseMemory.defaultBuffer(10, 0, 1, 10, 1);
    assertTrue(ten > one && ten <= Memory.physicalBytes() / 2);
    assertTrue(WarehouseMemory.defaultBuffer(1, 0, 1, 1e9, 0) <= Memory.physicalBytes() / 2);
  }

  @ParameterizedTest
  @CsvSource({
    "0,0",
    "4096,4096",
    "4k,4096",
    "4 K,4096",
    "4KiB,4096",
    "1m,1048576",
    "2gb,2147483648",
    "1t,1099511627776",
    "7b,7"
  })
  void sizes(String text, long bytes) {
    assertEquals(bytes, Sizes.parse(text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "k", "-1", "1x", "1.5g", "99999999999g", "9223372036854775808"})
  void invalidSizes(String text) {
    assertThrows(IllegalArgumentException.class, () -> Sizes.parse(text));
  }

  @Test
  void sizesAreFormatted() {
    assertEquals("0", Sizes.format(0));
    assertEquals("4k", Sizes.format(4_096));
    assertEquals("1000", Sizes.format(1_000));
    assertEquals("2g", Sizes.format(2L << 30));
    assertEquals("1536m", Sizes.format(1_536L << 20));
  }

  @ParameterizedTest
  @CsvSource({"5,5000", "5s,5000", "250ms,250", "1.5s,1500", "2m,120000", "1h,3600000"})
  void times(String text, long millis) {
    assertEquals(Duration.ofMillis(millis), settle("--duration", text).duration());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--warehouses=0",
        "--warehouses=1000000000",
        "--threads=0",
        "--rate=-1",
        "--rate=NaN",
        "--clients=0",
        "--clients=1000000",
        "--clients=2 --threads=3",
        "--io=memory --durability=sync",
        "--acknowledge=x",
        "--acknowledge=x --durability=async",
        "--rate=5 --wait",
        "--io=memory --path=x",
        "--page-size=5000",
        "--page-size=8g",
        "--json=no/such/folder/x.json",
        "--path=no/such/folder/x.fovea",
        "--path=/",
        "--hlog=.",
        "--buffer=0",
        "--log=100k",
        "--locks=off --threads=2",
        "--locks=off --threads=1 --clients=2",
        "--locks=off --protocol=silo",
        "--location-cache-layout=flat"
      })
  void mistakes(String args) {
    assertTrue(mistake(args.split(" ")) != null, args);
  }

  @Test
  void withoutLocksOneThreadIsRequired() {
    assertEquals(
        "--locks off needs a single client: use --threads 1 without --clients",
        mistake("--locks=off", "--threads=2"));
    Settings s = settle("--locks=off", "--threads=1");
    assertFalse(s.engineOptions().experiments().isolated());
    assertEquals(1, s.engineOptions().transactions().maxActive());
    assertTrue(settle("--locks=on").engineOptions().experiments().isolated());
  }

  @Test
  void placesHaveADirectory() {
    Settings s = settle("--cache-locations", "--location-cache-layout=shortcut");
    assertEquals(
        LocationCacheLayout.SHORTCUT, s.engineOptions().experiments().locationCacheLayout());
    assertEquals(
        LocationCacheLayout.FLAT,
        settle("--cache-locations").engineOptions().experiments().locationCacheLayout());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "walk",
        "run --no-such-option",
        "run --duration=soon",
        "run --duration=-5",
        "run --duration=0",
        "run --io=carrier-pigeon",
        "run --mix=1,2",
        "run --threads=x",
        "run --warehouses=0",
        "load --io=memory",
        "check --io=memory",
        "check --mix=half",
        "load --duration=3",
        "report",
        "report a.json b.json c.json",
        "report a.json --format=pdf",
        "report a.json --out=a.pdf",
        "report a.json --out=a.png --format=svg",
        "report a.json --warehouses=1"
      })
  void usageErrorsExitWithOne(String args) {
    StringWriter err = new StringWriter();
    int code =
        Main.execute(
            Scale.FULL,
            new PrintWriter(new StringWriter()),
            new PrintWriter(err),
            args.isEmpty() ? new String[0] : args.split(" "));
    assertEquals(Exit.USAGE, code, err.toString());
    assertTrue(err.toString().startsWith("tpcc: "), err.toString());
  }

  @ParameterizedTest
  @CsvSource({
    "chek, Did you mean: java -jar tpcc.jar check",
    "chek, 'java -jar tpcc.jar --help' shows all options.",
    "run --waerhouses=1, Possible solutions: --warehouses",
    "run --waerhouses=1, 'java -jar tpcc.jar run --help' shows all options."
  })
  void suggestsCorrections(String args, String hint) {
    StringWriter err = new StringWriter();
    PrintWriter out = new PrintWriter(new StringWriter());
    assertEquals(Exit.USAGE, Main.execute(Scale.FULL, out, new PrintWriter(err), args.split(" ")));
    assertTrue(err.toString().contains(hint), err.toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"--help", "run --help", "load --help", "check -h", "report --help", "--version"})
  void helpSucceeds(String args) {
    StringWriter out = new StringWriter();
    int code =
        Main.execute(
            Scale.FULL, new PrintWriter(out), new PrintWriter(new StringWriter()), args.split(" "));
    assertEquals(Exit.OK, code);
    assertFalse(out.toString().isBlank());
  }
}
