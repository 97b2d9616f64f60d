package io.fovea.tpcc.ycsb;

import io.fovea.Database;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.JsonReport;
import io.fovea.tpcc.bench.Loaded;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Shutdown;
import io.fovea.tpcc.bench.Sizes;
import io.fovea.tpcc.settings.Opening;
import io.fovea.tpcc.settings.RecordOptions;
import java.io.PrintWriter;
import java.util.List;

/** Implements {@code ycsb}, from opening the database to the exit code. */
final class YcsbDriver {
  private static final int CHECKERS = 16;

  private final PrintWriter out;
  private final Progress progress;
  private final Settings settings;

  YcsbDriver(PrintWriter out, Settings settings) {
    this.out = out;
    this.progress = new Progress(out);
    this.settings = settings;
  }

  /** Loads a database; refuses one that is already loaded. */
  int load(RecordOptions given) {
    JsonReport json = YcsbReport.json("ycsb load", settings);
    Opening opening = opening(settings.clients(), given);
    try (Shutdown shutdown = new Shutdown()) {
      try (Database db = opening.loaded()) {
        if (db != null) {
          throw new DriverException(
              Exit.UNUSABLE,
              settings.path() + " is already loaded; choose another --path, or use --fresh");
        }
      }
      opening.load(d -> load(d, json, shutdown));
    }
    return written(json, true);
  }

  /**
   * Executes runs.
   *
   * @param runs in order, all on the database of the first
   */
  int run(RecordOptions given, List<Settings> runs) {
    JsonReport first = YcsbReport.json(YcsbReport.COMMAND, settings);
    int clients = runs.stream().mapToInt(Settings::clients).max().orElseThrow();
    int worst = Exit.OK;
    try (Shutdown shutdown = new Shutdown();
        Database db = opening(clients, given).ready(d -> load(d, first, shutdown))) {
      for (Settings run : runs) {
        JsonReport json = run == runs.getFirst() ? first : YcsbReport.json(YcsbReport.COMMAND, run);
        YcsbDriver driver = new YcsbDriver(out, run);
        worst = Math.max(worst, driver.written(json, driver.measure(db, json, shutdown)));
      }
    }
    return worst;
  }

  private int written(JsonReport json, boolean consistent) {
    if (settings.json() != null) {
      json.write(settings.json());
    }
    return consistent ? Exit.OK : Exit.INCONSISTENT;
  }

  // ------------------------------------------------------------------------------------- opening

  private Opening opening(int clients, RecordOptions given) {
    return new Opening(settings.path(), settings.engine(), clients, given, new Ours(), progress);
  }

  /** The records that the options ask for. */
  private final class Ours implements Opening.Contents {
    @Override
    public String owner() {
      return "ycsb";
    }

    @Override
    public boolean foreign(Database db) {
      return Meta.foreign(db);
    }

    @Override
    public boolean complete(Database db) {
      Meta meta = Meta.read(db);
      if (meta == null || !meta.complete()) {
        return false;
      }
      if (meta.loaded() != settings.records() || meta.fields() != settings.workload().fields) {
        throw new DriverException(
            Exit.UNUSABLE,
            "%s was loaded with %,d records of %s, not %,d of %d; choose another --path, or use --fresh"
                .formatted(
                    settings.path(),
                    meta.loaded(),
                    Progress.count(meta.fields(), "field"),
                    settings.records(),
                    settings.workload().fields));
      }
      return true;
    }

    @Override
    public void drop(Database db) {
      Meta.drop(db);
    }
  }

  private void load(Database db, JsonReport json, Shutdown shutdown) {
    int fields = settings.workload().fields;
    progress.say(
        "loading %,d records of %s into %s",
        settings.records(), Progress.count(fields, "field"), name());
    Loaded result =
        Loading.load(db, fields, settings.records(), settings.threads(), progress, shutdown);
    progress.loaded(result);
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
    shutdown.results(
        progress,
        result.counts().get(Tally.What.COMMITS),
        () -> YcsbReport.table(settings, result),
        result.seconds(),
        settings.duration(),
        ", and nothing was checked");
    YcsbReport.run(json, result);
    if (!settings.check()) {
      meta.ended(meta.count() + result.inserted(), counted(meta, result)).write(db);
      return true;
    }
    Check.Result check = check(records, meta, result, shutdown);
    YcsbReport.check(json, check);
    meta.ended(check.expected(), check.found().counted).write(db);
    return check.holds();
  }

  /** Returns the expected sum of the records' counts after a run; -1 if unknown. */
  private static long counted(Meta meta, Result result) {
    return result.wroteWhole() || meta.counted() < 0 ? -1 : meta.counted() + result.replaced();
  }

  /**
   * Returns the threads of the check; more if the data exceeds the pool, since they then wait for
   * the device.
   */
  private int checkers() {
    return Math.max(CHECKERS, settings.threads());
  }

  /** Compares the records with the clients' counts, and reports the result. */
  private Check.Result check(Records records, Meta meta, Result result, Shutdown shutdown) {
    long start = System.nanoTime();
    Check.Found found =
        new Check(records, meta.runs(), result.stamps()).read(checkers(), progress, shutdown);
    Check.Result check =
        new Check.Result(found, meta.count() + result.inserted(), counted(meta, result));
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

  /** After an interrupted run, counts the records and fills gaps. */
  private Meta takenStock(Records records, Meta meta, Shutdown shutdown) {
    progress.say("the last run was interrupted: counting records");
    Check.Found found =
        new Check(records, meta.runs() + 1, new Stamps[0]).read(checkers(), progress, shutdown);
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
