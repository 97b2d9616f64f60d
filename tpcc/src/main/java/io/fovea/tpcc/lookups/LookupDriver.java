package io.fovea.tpcc.lookups;

import com.google.gson.JsonObject;
import io.fovea.Database;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.JsonReport;
import io.fovea.tpcc.bench.Loaded;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Shutdown;
import io.fovea.tpcc.bench.Sizes;
import io.fovea.tpcc.lookups.LookupTally.What;
import io.fovea.tpcc.settings.Opening;
import io.fovea.tpcc.settings.RecordOptions;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** Implements {@code lookups}, from opening the database to the exit code. */
final class LookupDriver {
  private final Progress progress;
  private final LookupSettings settings;

  private final RecordOptions given;

  LookupDriver(PrintWriter out, LookupSettings settings, RecordOptions given) {
    this.progress = new Progress(out);
    this.settings = settings;
    this.given = given;
  }

  int run() {
    JsonReport json = LookupReport.json(settings);
    Opening opening =
        new Opening(
            settings.path(), settings.engine(), settings.clients(), given, new Ours(), progress);
    try (Shutdown shutdown = new Shutdown();
        Database db = opening.ready(d -> load(d, json, shutdown))) {
      measure(db, json, shutdown);
    }
    if (settings.json() != null) {
      json.write(settings.json());
    }
    return Exit.OK;
  }

  /** The records that the options ask for. */
  private final class Ours implements Opening.Contents {
    @Override
    public String owner() {
      return "lookups";
    }

    @Override
    public boolean foreign(Database db) {
      return LookupTable.foreign(db);
    }

    @Override
    public boolean complete(Database db) {
      LookupTable.Shape shape = LookupTable.shape(db);
      if (shape == null || !shape.complete()) {
        return false;
      }
      if (shape.records() != settings.records() || shape.valueBytes() != settings.valueBytes()) {
        throw new DriverException(
            Exit.UNUSABLE,
            "%s has %,d records of %d bytes, not %,d of %d; choose another --path, or use --fresh"
                .formatted(
                    settings.path(),
                    shape.records(),
                    shape.valueBytes(),
                    settings.records(),
                    settings.valueBytes()));
      }
      return true;
    }

    @Override
    public void drop(Database db) {
      LookupTable.drop(db);
    }
  }

  private void load(Database db, JsonReport json, Shutdown shutdown) {
    progress.say("loading %,d records into %s", settings.records(), name());
    Loaded result = LookupLoader.load(db, shape(), settings.threads(), progress, shutdown);
    progress.loaded(result);
    json.load(result);
  }

  private LookupTable.Shape shape() {
    return new LookupTable.Shape(false, settings.records(), settings.valueBytes());
  }

  private void measure(Database db, JsonReport json, Shutdown shutdown) {
    LookupTable lookup = LookupTable.open(db, shape());
    // Validate all sizes first, so that an invalid one does not appear after the others ran.
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
      LookupResult result = new LookupRunner(settings, lookup, share, progress, shutdown).run();
      boolean stopped = shutdown.requested();
      if (!stopped || result.get(What.OPERATIONS) > 0) {
        results.add(result);
      }
      if (stopped) {
        break; // show the sizes so far
      }
    }
    int left = settings.shares().size() - results.size();
    boolean single = settings.shares().size() == 1;
    CostModel model = CostModel.of(results.stream().map(LookupResult::point).toList());
    shutdown.results(
        progress,
        results.stream().mapToLong(r -> r.get(What.OPERATIONS)).sum(),
        () -> single ? LookupReport.table(results.getFirst()) : LookupReport.table(results, model),
        results.stream().mapToDouble(LookupResult::seconds).sum(),
        settings.duration().multipliedBy(settings.shares().size()),
        left == 0 ? "" : "; sizes not measured: " + left);
    if (single) {
      LookupResult result = results.getFirst();
      JsonObject figures = LookupReport.figures(result);
      figures.entrySet().forEach(e -> json.add(e.getKey(), e.getValue()));
      json.series(result.series());
    } else {
      LookupReport.sizes(json, results, model);
    }
  }

  private String name() {
    return settings.inMemory() ? "memory" : settings.path().toString();
  }
}
