package io.fovea.tpcc;

import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Options;
import io.fovea.config.Pretouch;
import io.fovea.error.UncleanShutdownException;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.JsonReport;
import io.fovea.tpcc.bench.Loaded;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Shutdown;
import io.fovea.tpcc.bench.Sizes;
import io.fovea.tpcc.settings.DatabaseFile;
import io.fovea.tpcc.settings.WorkOptions;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** Implements the subcommands, from opening the database to the exit code. */
final class Driver {
  private final Scale scale;
  private final PrintWriter out;
  private final Progress progress;
  private final Arguments.Store store;
  private final WorkOptions work;
  private final Arguments.Measure measure;

  Driver(
      Scale scale,
      PrintWriter out,
      Arguments.Store store,
      WorkOptions work,
      Arguments.Measure measure) {
    this.scale = scale;
    this.out = out;
    this.progress = new Progress(out);
    this.store = store;
    this.work = work;
    this.measure = measure;
  }

  private Settings settings(int warehousesFound) {
    return Arguments.settle(store, work, measure, warehousesFound);
  }

  private static Database open(Settings settings) {
    return DatabaseFile.open(settings.path(), settings.engineOptions());
  }

  /**
   * Opens a database for writing. A file that was in use without a log when its process ended is
   * unusable. If it is at the driver's default path, it is deleted and created again.
   */
  private Database openToWrite(Settings settings) {
    try {
      return open(settings);
    } catch (UncleanShutdownException e) {
      if (store.path != null) {
        throw new DriverException(
            Exit.UNUSABLE, e.getMessage() + " Delete it; load and run create it again.");
      }
      progress.say(
          "%s was in use with durability none when its process died; it is deleted and loaded"
              + " again",
          settings.path());
      DatabaseFile.deleteUnusable(settings.path());
      return open(settings);
    }
  }

  private void recovered(Database db) {
    DatabaseStats.Recovery r = db.stats().recovery();
    if (r.logBytes() > 0) {
      progress.say("recovered from %,d bytes of log in %.2f s", r.logBytes(), r.nanos() / 1e9);
    }
  }

  /** Opens the tables. Drops and recreates them if a load did not finish. */
  private Tables tables(Database db, Settings settings) {
    Tables tables = Tables.open(db);
    Meta meta = Meta.read(tables);
    if (meta == null || meta.complete()) {
      return tables;
    }
    progress.say("%s holds an incomplete load; it is dropped and loaded again", name(settings));
    Tables.drop(db);
    return Tables.open(db);
  }

  int load() {
    Settings settings = settings(1);
    try (Shutdown shutdown = new Shutdown();
        Database db = openToWrite(settings)) {
      Tables tables = tables(db, settings);
      if (Meta.read(tables) != null) {
        throw new DriverException(
            Exit.UNUSABLE,
            settings.path() + " is already loaded; delete it or choose another --path");
      }
      JsonReport json = RunJson.of("load", settings);
      json.load(load(settings, tables, shutdown));
      write(json, settings);
      return Exit.OK;
    }
  }

  private Loaded load(Settings settings, Tables tables, Shutdown shutdown) {
    progress.say(
        "loading %s into %s, durability %s",
        Progress.count(settings.warehouses(), "warehouse"), name(settings), settings.level());
    Loaded result =
        new Loader(
                tables,
                settings.warehouses(),
                scale,
                settings.seed(),
                settings.threads(),
                progress,
                shutdown)
            .load();
    progress.loaded(result);
    if (settings.engine().logged()) {
      // Write the loaded changes now, not during a measurement.
      long start = System.nanoTime();
      tables.database().checkpoint();
      progress.say("%6.1f s  checkpoint after the load", (System.nanoTime() - start) / 1e9);
    }
    return result;
  }

  int run() {
    Settings first = settings(1);
    try (Shutdown shutdown = new Shutdown();
        Database db = openToWrite(first)) {
      recovered(db);
      Tables tables = tables(db, first);
      Meta meta = Meta.read(tables);
      Settings settings = first;
      Loaded loaded = null;
      if (meta == null) {
        loaded = load(settings, tables, shutdown);
        meta = Meta.read(tables);
      } else {
        requireUsable(meta, first);
        settings = settings(meta.warehouses());
        String mistake = store.mistake(settings.threads(), settings.clients());
        if (mistake != null) {
          throw new DriverException(Exit.USAGE, mistake);
        }
      }
      JsonReport json = RunJson.of("run", settings);
      if (loaded != null) {
        json.load(loaded);
      }
      announce(settings, db);
      Runner.Result result = new Runner(settings, tables, meta, progress, shutdown).run();
      Settings s = settings;
      shutdown.results(
          progress,
          result.counts().get(Tally.What.COMMITS),
          () -> Report.table(s, result),
          result.seconds(),
          settings.duration(),
          ", and nothing was checked");
      RunJson.run(json, result);
      boolean consistent = !measure.check || check(tables, json, shutdown);
      write(json, settings);
      return consistent ? Exit.OK : Exit.INCONSISTENT;
    }
  }

  /**
   * Checks the database.
   *
   * @param acknowledged a list of transactions that must be present, or null
   */
  int check(Path acknowledged) {
    Settings first = settings(1);
    if (!Files.exists(first.path())) {
      throw new DriverException(
          Exit.UNUSABLE,
          "there is no database at " + first.path() + "; create it with load or run");
    }
    try (Shutdown shutdown = new Shutdown();
        Database db = open(first)) {
      recovered(db);
      Tables tables = Tables.open(db);
      Meta meta = Meta.read(tables);
      if (meta == null) {
        throw new DriverException(Exit.UNUSABLE, first.path() + " was never loaded");
      }
      requireUsable(meta, first);
      Settings settings = settings(meta.warehouses());
      JsonReport json = RunJson.of("check", settings);
      boolean consistent = check(tables, json, shutdown);
      if (acknowledged != null) {
        AcknowledgedCheck.Result result = new AcknowledgedCheck(tables).check(acknowledged);
        out.print(Report.acknowledged(result));
        RunJson.acknowledged(json, result);
        consistent &= result.missing() == 0;
      }
      write(json, settings);
      return consistent ? Exit.OK : Exit.INCONSISTENT;
    }
  }

  /** Fills a log without checkpoints and halts this JVM, as a crash would. */
  void fillAndHalt(long bytes) {
    Settings settings = settings(1);
    try (Shutdown shutdown = new Shutdown();
        Database db = Database.open(settings.path(), RecoverBench.options(settings))) {
      Tables tables = Tables.open(db);
      load(settings, tables, shutdown);
      RecoverBench.fill(settings, bytes, tables, progress, shutdown);
      Runtime.getRuntime().halt(Exit.OK);
    }
  }

  /** Measures the opening of a database left by {@link #fillAndHalt}, and checks it. */
  int recover() {
    Settings settings = settings(1);
    // Pretouch would touch the buffer's memory while the log is replayed. Measure without it.
    Options options = RecoverBench.options(settings).memory(mem -> mem.pretouch(Pretouch.NONE));
    long start = System.nanoTime();
    try (Shutdown shutdown = new Shutdown();
        Database db = Database.open(settings.path(), options)) {
      double seconds = (System.nanoTime() - start) / 1e9;
      RecoverBench.Result result = RecoverBench.result(db.stats().recovery(), seconds);
      progress.say(
          "recovered %,d bytes of log in %.2f s, %.0f MB/s; open took %.2f s",
          result.logBytes(), result.seconds(), result.megabytesPerSecond(), result.openSeconds());
      progress.say("%s", result.details());
      JsonReport json = RunJson.of("recover-bench", settings);
      RunJson.recovery(json, result);
      boolean consistent = check(Tables.open(db), json, shutdown);
      write(json, settings);
      return consistent ? Exit.OK : Exit.INCONSISTENT;
    }
  }

  void delete() {
    DatabaseFile.delete(settings(1).path());
  }

  private boolean check(Tables tables, JsonReport json, Shutdown shutdown) {
    long start = System.nanoTime();
    progress.say("checking the conditions of clause 3.3.2");
    List<Condition> conditions = new Checker(tables, Meta.read(tables), progress, shutdown).check();
    out.print(Report.conditions(conditions));
    long broken = conditions.stream().filter(c -> !c.holds()).count();
    progress.say(
        "%s after %.1f s",
        broken == 0 ? "consistent" : "NOT CONSISTENT: " + broken + " of 12 conditions are violated",
        (System.nanoTime() - start) / 1e9);
    RunJson.conditions(json, conditions);
    return broken == 0;
  }

  private void requireUsable(Meta meta, Settings settings) {
    if (!meta.complete()) {
      throw new DriverException(
          Exit.UNUSABLE,
          settings.path() + " holds an incomplete load; load it again with load or run" + " again");
    }
    if (store.warehouses != null && store.warehouses != meta.warehouses()) {
      throw new DriverException(
          Exit.UNUSABLE,
          settings.path()
              + " has "
              + Progress.count(meta.warehouses(), "warehouse")
              + ", not "
              + store.warehouses
              + "; choose another --path");
    }
  }

  private void announce(Settings s, Database db) {
    progress.say(
        "running mix %s on %s: %s, %s on %s, buffer %,d MiB of %s pages, io %s,"
            + " translation %s, hints %s, replacement %s, protocol %s, timestamps %s, durability %s",
        s.mix(),
        name(s),
        Progress.count(s.warehouses(), "warehouse"),
        Progress.count(s.clients(), "client"),
        Progress.count(s.threads(), "thread"),
        s.engine().bufferBytes() >> 20,
        Sizes.format(s.engine().pageSize()),
        db.stats().io().kind(),
        s.engine().translation().name().toLowerCase(Locale.ROOT),
        JsonReport.lower(s.engine().hints()),
        JsonReport.lower(s.engine().replacement()),
        s.engine().locks() ? JsonReport.lower(s.engine().protocol()) : "none (locks off)",
        JsonReport.lower(s.engine().timestamps()),
        s.level());
  }

  private String name(Settings settings) {
    return store.inMemory() ? "memory" : settings.path().toString();
  }

  private static void write(JsonReport json, Settings settings) {
    if (settings.json() != null) {
      json.write(settings.json());
    }
  }
}
