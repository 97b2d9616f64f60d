package io.fovea.tpcc.lookups;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Io;
import io.fovea.config.Translation;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.settings.EngineOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

class LookupArgumentsTest {
  /** All options, parsed as by {@code lookups}. */
  @Command
  private static final class All {
    @Mixin private final EngineOptions engine = new EngineOptions();
    @Mixin private final LookupArguments lookups = new LookupArguments();
  }

  private static All parse(String... args) {
    All all = new All();
    new CommandLine(all).parseArgs(args);
    return all;
  }

  private static LookupSettings settle(String... args) {
    All all = parse(args);
    assertNull(all.lookups.mistake(all.engine));
    return all.lookups.settle(all.engine);
  }

  @Test
  void defaults() {
    LookupSettings s = settle();
    assertEquals(Path.of("lookups-1000000x120.fovea"), s.path());
    assertEquals(1, s.clients());
    assertEquals(1, s.depth());
    assertEquals(List.of(Share.ALL), s.shares());
    assertEquals(Durability.ASYNC, s.engine().durability());
    assertTrue(s.engine().bufferBytes() > 1_000_000 * 140, "all of it fits the pool");
    assertEquals(new WorkingSet.Fixed(1_000_000), s.workingSet(Share.ALL, 5_000));
  }

  @Test
  void everyOptionIsApplied() {
    LookupSettings s =
        settle(
            "--records=5000",
            "--value-bytes=40",
            "--threads=2",
            "--clients=9",
            "--virtual",
            "--depth=16",
            "--writes=7",
            "--drift=25%",
            "--interval=2s",
            "--working-set=0.5",
            "--duration=20s",
            "--warmup=1s",
            "--seed=3",
            "--buffer=32m",
            "--page-size=8k",
            "--io=posix",
            "--translation=optimistic",
            "--durability=sync");
    assertEquals(Path.of("lookups-5000x40-8k-pages.fovea"), s.path());
    assertEquals(2, s.threads());
    assertEquals(9, s.clients());
    assertEquals(16, s.depth());
    assertEquals(7, s.writes());
    assertEquals(Duration.ofSeconds(20), s.duration());
    assertEquals(Duration.ofSeconds(1), s.warmup());
    assertEquals(3, s.seed());
    assertEquals(32 << 20, s.engine().bufferBytes());
    assertEquals(8192, s.engine().pageSize());
    assertEquals(Io.POSIX, s.engine().io());
    assertEquals(Translation.OPTIMISTIC, s.engine().translation());
    assertEquals(Durability.SYNC, s.engine().durability());
    assertEquals(
        new WorkingSet.Drifting(5000, 500, 125, 2_000_000_000L),
        s.workingSet(s.shares().getFirst(), 1000));
  }

  @Test
  void growth() {
    LookupSettings s = settle("--grow=0.5..80%", "--shrink", "--duration=20s", "--records=5000");
    assertEquals(
        new WorkingSet.Growing(500, 4000, true, 20_000_000_000L, 1000),
        s.workingSet(s.shares().getFirst(), 1000));
  }

  @Test
  void sizes() {
    LookupSettings s = settle("--sizes=0.5,1.1,100%", "--records=5000");
    assertEquals(
        List.of(500L, 1100L, 5000L),
        s.shares().stream().map(share -> s.workingSet(share, 1000).sizeMax()).toList());
  }

  @Test
  void tooLargeWorkingSetIsRefused() {
    for (String option : List.of("--working-set=3", "--grow=1..3", "--sizes=1,3")) {
      LookupSettings s = settle(option, "--records=2999");
      DriverException e =
          assertThrows(
              DriverException.class,
              () -> s.shares().forEach(share -> s.workingSet(share, 1000)),
              option);
      assertEquals(Exit.USAGE, e.exitCode);
    }
    LookupSettings drift = settle("--drift=25%", "--working-set=90%");
    assertThrows(DriverException.class, () -> drift.workingSet(drift.shares().getFirst(), 1000));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--records=0",
        "--value-bytes=18",
        "--value-bytes=1001",
        "--threads=0",
        "--clients=4",
        "--virtual",
        "--virtual --clients=1 --threads=2",
        "--depth=0",
        "--locks=off --threads=2",
        "--locks=off --clients=2 --virtual",
        "--location-cache-layout=shortcut",
        "--writes=101",
        "--writes=-1",
        "--theta=-1",
        "--duration=0",
        "--working-set=1 --grow=1..2",
        "--sizes=1,2 --grow=1..2",
        "--sizes=1,2 --drift=25%",
        "--grow=1..2 --drift=25%",
        "--shrink",
        "--interval=10s",
        "--drift=25% --interval=0",
        "--theta=0.9 --grow=1..2",
        "--theta=0.9 --drift=25%",
        "--io=memory --fresh",
        "--io=memory --path=x",
        "--io=memory --durability=sync",
        "--page-size=5k",
        "--path=/nowhere/at/all/x"
      })
  void mistakes(String args) {
    All all = parse(args.split(" "));
    assertNotNull(all.lookups.mistake(all.engine), args);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--working-set=0",
        "--working-set=110%",
        "--working-set=big",
        "--working-set=-1",
        "--grow=1",
        "--grow=1..1",
        "--grow=1..2..3",
        "--drift=0",
        "--drift=1.5",
        "--sizes=1,,2",
        "--io=tape"
      })
  void invalidValues(String arg) {
    assertThrows(CommandLine.ParameterException.class, () -> parse(arg));
  }

  @ParameterizedTest
  @CsvSource({"1.1, 1.1", "50%, 50%", "2., 2", ".25, 0.25", "12.5%, 12.5%", "100, 100"})
  void shares(String text, String shown) {
    assertEquals(shown, Share.parse(text).toString());
    assertEquals(Share.parse(text), Share.parse(shown));
  }
}
