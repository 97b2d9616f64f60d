package io.fovea.tpcc.lookups;

import com.google.gson.JsonObject;
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
import java.util.ArrayList;
import java.util.List;

/**
 * What {@code lookups} does, from opening the database to the exit code.
 *
 * <p>A load runs without a log, whatever the durability of the run is, and closes the database
 * afterwards: it is done again where it was cut short.
 */
final class LookupDriver {
  private final PrintWriter out;
  private final Progress progress;
  private final LookupSettings settings;

  /** Whether the user has named the file, so that it is not the driver's to delete. */
  private final boolean named;

  private final boolean fresh;

  LookupDriver(PrintWriter out, LookupSettings settings, boolean named, boolean fresh) {
    this.out = out;
    this.progress = new Progress(out);
    this.settings = settings;
    this.named = named;
    this.fresh = fresh;
  }

  int run() {
    JsonReport json = LookupReport.json(settings);
    try (Shutdown shutdown = new Shutdown()) {
      if (settings.inMemory()) {
        try (Database db = open(settings.engine().durability())) {
          load(db, json, shutdown);
          measure(db, json, shutdown);
        }
      } else {
        Database db = ready(json, shutdown);
        try (db) {
          measure(db, json, shutdown);
        }
      }
    }
    if (settings.json() != null) {
      json.write(settings.json());
    }
    return Exit.OK;
  }

  private Database open(Durability durability) {
    try {
      return settings.inMemory()
          ? Database.inMemory(settings.engineOptions(durability))
          : Database.open(settings.path(), settings.engineOptions(durability));
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
    try (Database db = open(Durability.NONE)) {
      LookupTable.drop(db);
      load(db, json, shutdown);
    }
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
      LookupTable.Shape shape = LookupTable.shape(db);
      if (!fresh && shape != null && shape.complete()) {
        requireSame(shape);
        kept = true;
        return db;
      }
      requireOwn(db);
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

  private void requireOwn(Database db) {
    if (LookupTable.foreign(db)) {
      throw new DriverException(
          Exit.UNUSABLE,
          settings.path() + " has other tables than those of lookups; give another --path");
    }
  }

  private void requireSame(LookupTable.Shape shape) {
    if (shape.records() != settings.records() || shape.valueBytes() != settings.valueBytes()) {
      throw new DriverException(
          Exit.UNUSABLE,
          "%s has %,d records of %d bytes, not %,d of %d; give another --path, or --fresh"
              .formatted(
                  settings.path(),
                  shape.records(),
                  shape.valueBytes(),
                  settings.records(),
                  settings.valueBytes()));
    }
  }

  private void load(Database db, JsonReport json, Shutdown shutdown) {
    progress.say("loading %,d records into %s", settings.records(), name());
    Loaded result = LookupLoader.load(db, shape(), settings.threads(), progress, shutdown);
    progress.say(
        "%6.1f s  loaded    %,13d rows, %,.0f rows/s",
        result.seconds(), result.rows(), result.rows() / result.seconds());
    json.load(result);
  }

  private LookupTable.Shape shape() {
    return new LookupTable.Shape(false, settings.records(), settings.valueBytes());
  }

  private void measure(Database db, JsonReport json, Shutdown shutdown) {
    LookupTable lookup = LookupTable.open(db, shape());
    // All of them now: one that does not fit should not come to light after the others.
    settings.shares().forEach(s -> settings.workingSet(s, lookup.poolRecords()));
    progress.say(
        "looking up on %s: %,d records of %.1f bytes, %s on %s, %s at a time, buffer %,d MiB of %s"
            + " pages (%,d records), io %s, translation %s, hints %s, replacement %s, durability"
            + " %s",
        name(),
        settings.records(),
        lookup.bytesPerRecord(),
        Progress.count(settings.clients(), "client"),
        Progress.count(settings.threads(), "thread"),
        Progress.count(settings.depth(), "key"),
        settings.engine().bufferBytes() >> 20,
        Sizes.format(settings.engine().pageSize()),
        lookup.poolRecords(),
        db.stats().io().kind(),
        JsonReport.lower(settings.engine().translation()),
        JsonReport.lower(settings.engine().hints()),
        JsonReport.lower(settings.engine().replacement()),
        JsonReport.lower(settings.engine().durability()));
    List<LookupResult> results = new ArrayList<>();
    for (Share share : settings.shares()) {
      results.add(new LookupRunner(settings, lookup, share, progress, shutdown).run());
    }
    if (results.size() == 1) {
      LookupResult result = results.getFirst();
      out.print(LookupReport.table(result));
      JsonObject figures = LookupReport.figures(result);
      figures.entrySet().forEach(e -> json.add(e.getKey(), e.getValue()));
      json.series(result.series());
    } else {
      CostModel model = CostModel.of(results.stream().map(LookupResult::point).toList());
      out.print(LookupReport.table(results, model));
      LookupReport.sizes(json, results, model);
    }
  }

  private String name() {
    return settings.inMemory() ? "memory" : settings.path().toString();
  }
}
