package io.fovea.tpcc.ycsb;

import io.fovea.Database;
import io.fovea.Durability;
import io.fovea.error.InvalidUseException;
import io.fovea.error.UncleanShutdownException;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.JsonReport;
import io.fovea.tpcc.bench.Loaded;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Shutdown;
import io.fovea.tpcc.bench.Sizes;
import io.fovea.tpcc.settings.DatabaseFile;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.util.List;

/**
 * What {@code ycsb} does, from opening the database to the exit code.
 *
 * <p>A load runs without a log, whatever the durability of the run is, and closes the database
 * afterwards: it is done again where it was cut short.
 */
final class YcsbDriver {
  private final PrintWriter out;
  private final Progress progress;
  private final Settings settings;

  /** The most that any run on the database has. */
  private final int clients;

  /** Whether the user has named the file, so that it is not the driver's to delete. */
  private final boolean named;

  private final boolean fresh;

  YcsbDriver(PrintWriter out, Settings settings, int clients, boolean named, boolean fresh) {
    this.out = out;
    this.progress = new Progress(out);
    this.settings = settings;
    this.clients = clients;
    this.named = named;
    this.fresh = fresh;
  }

  /** Loads, and refuses where there is something already. */
  int load() {
    JsonReport json = YcsbReport.json("ycsb load", settings);
    try (Shutdown shutdown = new Shutdown()) {
      if (Files.exists(settings.path())) {
        try (Database db = loaded()) {
          if (db != null) {
            throw new DriverException(
                Exit.UNUSABLE,
                settings.path() + " holds a load already; give another --path, or --fresh");
          }
        }
      }
      load(json, shutdown);
    }
    return written(json, true);
  }

  /**
   * Runs.
   *
   * @param runs one after the other, all on the database of the first
   */
  int run(List<Settings> runs) {
    JsonReport json = YcsbReport.json(YcsbReport.COMMAND, settings);
    int worst = Exit.OK;
    try (Shutdown shutdown = new Shutdown();
        Database db = settings.inMemory() ? filled(json, shutdown) : ready(json, shutdown)) {
      for (Settings run : runs) {
        if (run != runs.getFirst()) {
          json = YcsbReport.json(YcsbReport.COMMAND, run);
        }
        YcsbDriver driver = new YcsbDriver(out, run, clients, named, fresh);
        worst = Math.max(worst, driver.written(json, driver.measure(db, json, shutdown)));
      }
    }
    return worst;
  }

  private Database filled(JsonReport json, Shutdown shutdown) {
    Database db = open(settings.engine().durability());
    try {
      load(db, json, shutdown);
      return db;
    } catch (RuntimeException e) {
      db.close();
      throw e;
    }
  }

  private int written(JsonReport json, boolean consistent) {
    if (settings.json() != null) {
      json.write(settings.json());
    }
    return consistent ? Exit.OK : Exit.INCONSISTENT;
  }

  // ------------------------------------------------------------------------------------- opening

  private Database open(Durability durability) {
    try {
      return settings.inMemory()
          ? Database.inMemory(settings.engineOptions(durability, clients))
          : Database.open(settings.path(), settings.engineOptions(durability, clients));
    } catch (InvalidUseException e) {
      throw new DriverException(Exit.USAGE, e.getMessage());
    }
  }

  /** Opens a database that has the records, which are loaded where they are not there. */
  private Database ready(JsonReport json, Shutdown shutdown) {
    if (Files.exists(settings.path())) {
      Database db = loaded();
      if (db != null) {
        return db;
      }
    }
    load(json, shutdown);
    return open(settings.engine().durability());
  }

  /** Opens a database that has the records; null, and closed, where they are to be loaded. */
  private Database loaded() {
    Database db;
    try {
      db = open(settings.engine().durability());
    } catch (UncleanShutdownException e) {
      if (named && !fresh) {
        throw new DriverException(
            Exit.UNUSABLE, e.getMessage() + " --fresh deletes it and loads it anew.");
      }
      progress.say("%s was left without a log: it is loaded again", settings.path());
      DatabaseFile.delete(settings.path());
      return null;
    }
    boolean kept = false;
    try {
      Meta meta = Meta.read(db);
      if (!fresh && meta != null && meta.complete()) {
        requireSame(meta);
        kept = true;
        return db;
      }
      if (Meta.foreign(db)) {
        throw new DriverException(
            Exit.UNUSABLE,
            settings.path() + " has other tables than those of ycsb; give another --path");
      }
    } finally {
      if (!kept) {
        db.close();
      }
    }
    if (fresh) {
      DatabaseFile.delete(settings.path());
    }
    return null;
  }

  private void requireSame(Meta meta) {
    if (meta.loaded() != settings.records() || meta.fields() != settings.workload().fields) {
      throw new DriverException(
          Exit.UNUSABLE,
          "%s was loaded with %,d records of %s, not %,d of %d; give another --path, or --fresh"
              .formatted(
                  settings.path(),
                  meta.loaded(),
                  Progress.count(meta.fields(), "field"),
                  settings.records(),
                  settings.workload().fields));
    }
  }

  private void load(JsonReport json, Shutdown shutdown) {
    try (Database db = open(Durability.NONE)) {
      Meta.drop(db);
      load(db, json, shutdown);
    }
  }

  private void load(Database db, JsonReport json, Shutdown shutdown) {
    int fields = settings.workload().fields;
    progress.say(
        "loading %,d records of %s into %s",
        settings.records(), Progress.count(fields, "field"), name());
    Loaded result =
        Loading.load(db, fields, settings.records(), settings.threads(), progress, shutdown);
    progress.say(
        "%6.1f s  loaded    %,13d rows, %,.0f rows/s",
        result.seconds(), result.rows(), result.rows() / result.seconds());
    json.load(result);
  }

  // ------------------------------------------------------------------------------------- running

  private boolean measure(Database db, JsonReport json, Shutdown shutdown) {
    Records records = Records.open(db, settings.workload().fields);
    Meta meta = Meta.read(db);
    if (meta.running()) {
      meta = takenStock(records, meta, shutdown);
    }
    meta = meta.begun();
    meta.write(db);
    progress.say(
        "running workload %s on %s: %,d records, keys %s, %s on %s, buffer %,d MiB of %s pages, io"
            + " %s, durability %s",
        YcsbReport.name(settings.workload()),
        name(),
        meta.count(),
        YcsbReport.keys(settings),
        Progress.count(settings.clients(), "client"),
        Progress.count(settings.threads(), "thread"),
        settings.engine().bufferBytes() >> 20,
        Sizes.format(settings.engine().pageSize()),
        db.stats().io().kind(),
        YcsbReport.level(settings));
    Result result =
        new YcsbRunner(settings, records, meta.runs(), meta.count(), progress, shutdown).run();
    out.print(YcsbReport.table(settings, result));
    out.flush();
    YcsbReport.run(json, result);
    Check.Result check = check(records, meta, result, shutdown);
    YcsbReport.check(json, check);
    meta.ended(check.expected(), check.found().counted).write(db);
    return check.holds();
  }

  /** Holds the records against what the clients were told, and says what came out. */
  private Check.Result check(Records records, Meta meta, Result result, Shutdown shutdown) {
    long start = System.nanoTime();
    Check.Found found =
        new Check(records, meta.runs(), result.stamps())
            .read(settings.threads(), progress, shutdown);
    Check.Result check =
        new Check.Result(
            found,
            meta.count() + result.inserted(),
            result.wroteWhole() ? -1 : meta.counted() + result.replaced());
    check.complaints().forEach(c -> progress.say("  VIOLATED  %s", c));
    found.examples.forEach(e -> progress.say("            %s", e));
    progress.say(
        "%s after %.1f s: %,d records, fields replaced %,d times",
        check.holds() ? "consistent" : "NOT CONSISTENT",
        (System.nanoTime() - start) / 1e9,
        found.records,
        found.counted);
    return check;
  }

  /** After a run that did not come to its end: what there is counts, and gaps are filled. */
  private Meta takenStock(Records records, Meta meta, Shutdown shutdown) {
    progress.say("the last run did not come to its end: counting what is there");
    Check.Found found =
        new Check(records, meta.runs() + 1, new Stamps[0])
            .read(settings.threads(), progress, shutdown);
    long count = Math.max(meta.count(), found.numberMax + 1);
    if (found.records < count) {
      Loading.fillGaps(records, meta.loaded(), count);
    }
    return meta.ended(count, found.counted);
  }

  private String name() {
    return settings.inMemory() ? "memory" : settings.path().toString();
  }
}
