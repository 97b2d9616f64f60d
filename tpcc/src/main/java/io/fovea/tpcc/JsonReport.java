package io.fovea.tpcc;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.fovea.DatabaseStats;
import io.fovea.error.AbortCause;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.HdrHistogram.Histogram;

/** The report of {@code --json}. Names in it are part of what scripts rely on. */
final class JsonReport {
  /** Of the form of the report; a higher one where programs that read it have to change. */
  static final int VERSION = 1;

  /** Arrays of numbers, which go on one line; text has no line breaks in it. */
  private static final Pattern NUMBERS = Pattern.compile("\\[\\n[-+.\\w,\\s]*\\]");

  private final JsonObject root = new JsonObject();
  private final boolean logged;

  JsonReport(String command, Settings settings) {
    this(command, options(settings), settings.engine().logged());
  }

  /**
   * Begins a report.
   *
   * @param options those in force
   * @param logged whether there is a log to report about
   */
  JsonReport(String command, JsonObject options, boolean logged) {
    this.logged = logged;
    root.addProperty("reportVersion", VERSION);
    root.addProperty("command", command);
    root.addProperty("time", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    root.add("options", options);
    root.add("machine", machine());
  }

  static String lower(Enum<?> e) {
    return e.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private static JsonObject options(Settings s) {
    JsonObject o = new JsonObject();
    o.addProperty("path", s.inMemory() ? null : s.path().toString());
    o.addProperty("warehouses", s.warehouses());
    o.addProperty("threads", s.threads());
    o.addProperty("clients", s.clients());
    o.addProperty("durationSeconds", s.duration().toNanos() / 1e9);
    o.addProperty("warmupSeconds", s.warmup().toNanos() / 1e9);
    o.addProperty("seed", s.seed());
    s.engine().addTo(o, s.inMemory());
    o.addProperty("mix", s.mix().name());
    o.addProperty("affinity", s.affinity());
    o.addProperty("rate", s.rate());
    o.addProperty("wait", s.waiting());
    return o;
  }

  private static JsonObject machine() {
    JsonObject o = new JsonObject();
    o.addProperty("os", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    o.addProperty("arch", System.getProperty("os.arch"));
    o.addProperty("processors", Runtime.getRuntime().availableProcessors());
    o.addProperty("memoryBytes", Memory.physicalBytes());
    o.addProperty("jvm", System.getProperty("java.vm.name") + " " + Runtime.version());
    return o;
  }

  void load(Loader.Result load) {
    JsonObject o = new JsonObject();
    o.addProperty("rows", load.rows());
    o.addProperty("seconds", round(load.seconds()));
    root.add("load", o);
  }

  void run(Runner.Result r) {
    Tally.Totals counts = r.counts();
    root.addProperty("clientThreads", r.threads());
    root.addProperty("measuredSeconds", round(r.seconds()));
    root.addProperty("transactionsPerSecond", round(r.perSecond()));
    root.addProperty("tpmCLike", round(r.newOrdersPerMinute()));
    root.addProperty("commits", counts.get(Tally.What.COMMITS));
    root.addProperty("userRollbacks", counts.get(Tally.What.ROLLBACKS));
    root.addProperty("retries", counts.get(Tally.What.RETRIES));
    JsonObject aborts = new JsonObject();
    for (AbortCause cause : Tally.CAUSES) {
      aborts.addProperty(lower(cause), counts.get(cause));
    }
    root.add("aborts", aborts);
    root.addProperty("skippedDistricts", counts.get(Tally.What.SKIPPED_DISTRICTS));
    JsonObject types = new JsonObject();
    for (TxnType type : TxnType.values()) {
      Histogram h = r.latencies()[type.ordinal()];
      if (h != null) {
        types.add(type.id, type(type, h, counts));
      }
    }
    root.add("transactions", types);
    root.add("engine", engine(r.before(), r.after()));
    if (logged) {
      root.add("log", log(LogFigures.of(r)));
    }
    series(r.series());
  }

  /** What happened in each second, and when something else did. */
  void series(Series series) {
    root.add("series", series.toJson());
    root.add("marks", series.marksToJson());
  }

  /** Figures of a subcommand of its own. */
  void add(String name, JsonElement figures) {
    root.add(name, figures);
  }

  private static JsonObject log(LogFigures log) {
    JsonObject o = new JsonObject();
    o.addProperty("commitsPerSync", round(log.commitsPerSync()));
    o.addProperty("bytesPerTransaction", round(log.bytesPerTransaction()));
    o.addProperty("megabytesPerSecond", round(log.megabytesPerSecond()));
    o.addProperty("bytes", log.bytes());
    o.addProperty("bytesWritten", log.bytesWritten());
    o.addProperty("groups", log.groups());
    o.addProperty("syncs", log.syncs());
    o.addProperty("waits", log.waits());
    o.addProperty("meanWaitMicros", round(log.meanWaitMicros()));
    o.addProperty("checkpoints", log.checkpoints());
    o.addProperty("commitWaits", log.commitWaits());
    o.addProperty("writingCommits", log.writingCommits());
    return o;
  }

  /** The report of {@code recover-bench}. */
  void recovery(RecoverBench.Result r) {
    JsonObject o = new JsonObject();
    o.addProperty("logBytes", r.logBytes());
    o.addProperty("seconds", round(r.seconds()));
    o.addProperty("megabytesPerSecond", round(r.megabytesPerSecond()));
    o.addProperty("openSeconds", round(r.openSeconds()));
    root.add("recovery", o);
  }

  private static JsonObject type(TxnType type, Histogram h, Tally.Totals counts) {
    JsonObject o = new JsonObject();
    o.addProperty("commits", counts.get(type, Tally.What.COMMITS));
    o.addProperty("userRollbacks", counts.get(type, Tally.What.ROLLBACKS));
    o.addProperty("retries", counts.get(type, Tally.What.RETRIES));
    JsonObject aborts = new JsonObject();
    for (AbortCause cause : Tally.CAUSES) {
      aborts.addProperty(lower(cause), counts.get(type, cause));
    }
    o.add("aborts", aborts);
    JsonObject latency = new JsonObject();
    latency.addProperty("mean", h.getTotalCount() == 0 ? 0 : round(h.getMean() / 1e3));
    for (int i = 0; i < Report.PERCENTILES.length; i++) {
      latency.addProperty(
          Report.PERCENTILE_NAMES[i], round(Report.micros(h, Report.PERCENTILES[i])));
    }
    o.add("latencyMicros", latency);
    return o;
  }

  /** What the engine counted in the measured time. */
  static JsonObject engine(DatabaseStats before, DatabaseStats after) {
    DatabaseStats.Buffer b = before.buffer();
    DatabaseStats.Buffer a = after.buffer();
    JsonObject o = new JsonObject();
    o.addProperty("device", after.io().kind());
    o.addProperty("reads", after.io().reads() - before.io().reads());
    o.addProperty("writes", after.io().writes() - before.io().writes());
    o.addProperty("readBytes", after.io().readBytes() - before.io().readBytes());
    o.addProperty("writtenBytes", after.io().writtenBytes() - before.io().writtenBytes());
    o.addProperty("bufferHits", a.hits() - b.hits());
    o.addProperty("bufferMisses", a.misses() - b.misses());
    o.addProperty("predicted", a.predicted() - b.predicted());
    o.addProperty("mispredicted", a.mispredicted() - b.mispredicted());
    o.add("descents", descents(before.descents(), after.descents()));
    o.addProperty("evictionsClean", a.evictionsClean() - b.evictionsClean());
    o.addProperty("evictionsDirty", a.evictionsDirty() - b.evictionsDirty());
    o.addProperty("frameWaits", a.frameWaits() - b.frameWaits());
    o.addProperty("frameWaitMicros", round((a.frameWaitNanos() - b.frameWaitNanos()) / 1e3));
    o.addProperty("storageBytes", after.storage().bytes());
    return o;
  }

  private static JsonObject descents(DatabaseStats.Descents b, DatabaseStats.Descents a) {
    JsonObject o = new JsonObject();
    o.addProperty("steps", a.steps() - b.steps());
    o.addProperty("stepsByHint", a.stepsByHint() - b.stepsByHint());
    o.addProperty("hintsMissing", a.hintsMissing() - b.hintsMissing());
    o.addProperty("hintsStale", a.hintsStale() - b.hintsStale());
    o.addProperty("hintRepairs", a.hintRepairs() - b.hintRepairs());
    o.addProperty("hintRepairsMissed", a.hintRepairsMissed() - b.hintRepairsMissed());
    o.addProperty("places", a.places() - b.places());
    o.addProperty("placesStale", a.placesStale() - b.placesStale());
    return o;
  }

  void conditions(List<Condition> conditions) {
    root.addProperty("consistent", conditions.stream().allMatch(Condition::holds));
    JsonArray list = new JsonArray();
    for (Condition c : conditions) {
      JsonObject o = new JsonObject();
      o.addProperty("condition", c.number());
      o.addProperty("statement", c.statement());
      o.addProperty("holds", c.holds());
      o.addProperty("violations", c.violations());
      JsonArray examples = new JsonArray();
      c.examples().forEach(examples::add);
      o.add("examples", examples);
      list.add(o);
    }
    root.add("conditions", list);
  }

  void acknowledged(AcknowledgedCheck.Result result) {
    JsonObject o = new JsonObject();
    o.addProperty("transactions", result.records());
    o.addProperty("missing", result.missing());
    JsonArray examples = new JsonArray();
    result.examples().forEach(examples::add);
    o.add("examples", examples);
    root.add("acknowledged", o);
  }

  private static double round(double d) {
    return Math.round(d * 1e3) / 1e3;
  }

  /**
   * Writes the file.
   *
   * @throws DriverException if that fails
   */
  void write(Path file) {
    try (Writer w = Files.newBufferedWriter(file)) {
      String json = new GsonBuilder().setPrettyPrinting().serializeNulls().create().toJson(root);
      w.write(NUMBERS.matcher(json).replaceAll(array -> array.group().replaceAll("\\s+", " ")));
      w.write(System.lineSeparator());
    } catch (IOException e) {
      throw new DriverException(Exit.ERROR, "cannot write " + file + ": " + e, e);
    }
  }
}
