package io.fovea.checker;

import io.fovea.Database;
import io.fovea.Hints;
import io.fovea.Options;
import io.fovea.SimDatabase;
import io.fovea.config.Durability;
import io.fovea.config.LeakDetection;
import io.fovea.config.Protocol;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import io.fovea.support.SetClock;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.txn.FaultInjection;
import io.fovea.txn.Settings;
import io.fovea.txn.TxConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;
import java.util.random.RandomGenerator;

/**
 * A configuration of the engine and a load for it. A new protocol or timestamp store gets a line in
 * {@link #all}.
 *
 * @param name for reports and failures
 * @param options of the database
 * @param settings changes to settings that options do not cover
 * @param faults the omitted steps, in tests of the checker
 * @param threads the number of threads that run transactions
 * @param generation the number of transactions for which a thread uses the same keys
 * @param pad bytes in each record besides its list
 * @param pessimistic one of this many transactions is pessimistic; 0: none
 * @param misled whether wrong key locations are installed continually
 */
record Setup(
    String name,
    Options options,
    UnaryOperator<TxConfig> settings,
    FaultInjection faults,
    int threads,
    int generation,
    int pad,
    int pessimistic,
    boolean misled) {
  private static final int THREADS = 8;
  private static final int SWEEP_MILLIS = 5;

  /** Returns whether subtree deletes of lists are possible; then lists have no indexes. */
  boolean cutsRanges() {
    return options.experiments().subtreeDeleteThreshold() == 0;
  }

  /** Returns TicToc with few keys and default settings; read-only transactions scan by leaves. */
  static Setup usual(String name) {
    return new Setup(
        name,
        Options.defaults()
            .durability(Durability.NONE)
            .bufferBytes(16 << 20)
            .memory(mem -> mem.timestampBytes(4 << 20))
            .snapshots(snaps -> snaps.bufferBytes(400_000).memoryBytes(64 << 10))
            .transactions(txs -> txs.maxActive(THREADS + 2))
            .expiry(
                e -> e.clock(new SetClock(1_000)).sweepInterval(Duration.ofMillis(SWEEP_MILLIS)))
            .log(log -> log.maxBytes(8 << 20).bufferBytes(256 << 10).segmentBytes(256 << 10))
            .transactions(txs -> txs.leakDetection(LeakDetection.OFF)),
        UnaryOperator.identity(),
        FaultInjection.NONE.byLeaves(),
        THREADS,
        100,
        20,
        0,
        false);
  }

  /** Returns all setups that must be serializable. */
  static List<Setup> all() {
    List<Setup> all = new ArrayList<>(ofTicToc());
    boolean soak = SerializabilityTest.MINUTES > 0;
    for (Translation kind : Translation.values()) {
      int buffer =
          switch (kind) {
            case DIRECT -> 32 << 20; // never evicts
            case VIRTUAL -> 800_000; // its tables grow with the file
            default -> 400_000;
          };
      Setup under =
          usual("translation " + kind)
              .options(o -> o.bufferBytes(buffer).experiments(exp -> exp.translation(kind)))
              .load(8, 20, 500);
      if (kind != Options.defaults().experiments().translation()) {
        all.add(under);
      }
      if (soak) {
        all.add(under.withWrongLocations());
      }
    }
    all.add(
        usual("no concurrency control")
            .options(
                o ->
                    o.experiments(exp -> exp.isolated(false))
                        .transactions(txs -> txs.maxActive(1))));
    for (TimestampStore store : TimestampStore.values()) {
      if (store != Options.defaults().experiments().timestamps()) {
        all.add(
            usual("timestamps " + store).options(o -> o.experiments(exp -> exp.timestamps(store))));
      }
    }
    for (Protocol protocol : Protocol.values()) {
      if (soak || protocol == Protocol.TICTOC || protocol == Protocol.MVTO) {
        all.add(
            usual(protocol.toString())
                .options(o -> o.experiments(exp -> exp.protocol(protocol)))
                .withWrongLocations());
      }
      all.add(
          usual(protocol + ", one in sixteen pessimistic")
              .options(o -> o.experiments(exp -> exp.protocol(protocol)))
              .pessimistic(16));
      all.add(
          usual(protocol + ", one in two pessimistic, one cell")
              .options(o -> o.experiments(exp -> exp.protocol(protocol)))
              .settings(c -> Settings.sketch(c, 1, 1))
              .pessimistic(2));
      if (protocol != Options.defaults().experiments().protocol()) {
        Setup usual =
            usual(protocol.toString()).options(o -> o.experiments(exp -> exp.protocol(protocol)));
        all.add(usual);
        all.add(
            usual
                .named(protocol + ", subtree deletes, one in sixteen pessimistic")
                .options(o -> o.experiments(exp -> exp.subtreeDeleteThreshold(0)))
                .pessimistic(16));
        all.add(
            usual
                .named(protocol + ", a pool smaller than the data, one cell")
                .options(o -> o.bufferBytes(400_000))
                .settings(c -> Settings.sketch(c, 1, 1))
                .load(8, 20, 500));
      }
    }
    return all;
  }

  private static List<Setup> ofTicToc() {
    return List.of(
        usual("exact entries and a sketch"),
        usual("a sketch of one cell").settings(c -> Settings.sketch(c, 1, 1)),
        usual("subtree deletes, a sketch of one cell")
            .options(o -> o.experiments(exp -> exp.subtreeDeleteThreshold(0)))
            .settings(c -> Settings.sketch(c, 1, 1)),
        usual("reference counts, a sketch of one cell")
            .settings(c -> Settings.counting(Settings.sketch(c, 1, 1))),
        usual("reads validated at the present")
            .options(o -> o.transactions(txs -> txs.strictSerializability(true))),
        usual("no hints").options(o -> o.experiments(exp -> exp.hints(Hints.NONE))),
        usual("all key locations cached")
            .options(o -> o.experiments(exp -> exp.cacheAllKeyLocations(true))),
        usual("all key locations cached, a pool smaller than the data, one cell")
            .options(o -> o.bufferBytes(400_000).experiments(exp -> exp.cacheAllKeyLocations(true)))
            .settings(c -> Settings.sketch(c, 1, 1))
            .load(8, 20, 500),
        usual("a pool smaller than the data").options(o -> o.bufferBytes(400_000)).load(8, 20, 500),
        usual("a pool smaller than the data, one cell")
            .options(o -> o.bufferBytes(400_000))
            .settings(c -> Settings.sketch(c, 1, 1))
            .load(8, 20, 500),
        usual("durability ASYNC").options(o -> o.durability(Durability.ASYNC)),
        usual("durability SYNC").options(o -> o.durability(Durability.SYNC)),
        usual("two threads").load(2, 100, 20),
        usual("many threads")
            .options(o -> o.transactions(txs -> txs.maxActive(34)))
            .load(32, 30, 20));
  }

  Setup named(String other) {
    return new Setup(
        other, options, settings, faults, threads, generation, pad, pessimistic, misled);
  }

  Setup options(UnaryOperator<Options> change) {
    return new Setup(
        name,
        change.apply(options),
        settings,
        faults,
        threads,
        generation,
        pad,
        pessimistic,
        misled);
  }

  Setup settings(UnaryOperator<TxConfig> change) {
    return new Setup(name, options, change, faults, threads, generation, pad, pessimistic, misled);
  }

  Setup faults(FaultInjection broken) {
    return new Setup(
        name, options, settings, broken, threads, generation, pad, pessimistic, misled);
  }

  Setup load(int threads, int generation, int pad) {
    return new Setup(
        name, options, settings, faults, threads, generation, pad, pessimistic, misled);
  }

  Setup pessimistic(int oneIn) {
    return new Setup(name, options, settings, faults, threads, generation, pad, oneIn, misled);
  }

  /** Returns the setup with cached key locations for all tables, all of which are wrong. */
  Setup withWrongLocations() {
    return new Setup(
        name + ", wrong key locations",
        options.experiments(exp -> exp.cacheAllKeyLocations(true)),
        settings,
        faults,
        threads,
        generation,
        pad,
        pessimistic,
        true);
  }

  /** Installs wrong key locations again, if the setup requires it. */
  void installWrongLocations(Database db, RandomGenerator random) {
    if (misled) {
      SimDatabase.poisonPlaces(db, new Random(random.nextLong()));
    }
  }

  Database open(SimDisk disk) {
    return SimDatabase.open(new SimStorage(disk), options, faults, settings);
  }

  @Override
  public String toString() {
    return name;
  }
}
