package io.fovea.tpcc.bench;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.fovea.DatabaseStats;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.regex.Pattern;
import org.HdrHistogram.Histogram;

/** The report of {@code --json}. Scripts rely on the names in it. */
public final class JsonReport {
  /** Version of the report's format. Incremented when programs that read it must change. */
  public static final int VERSION = 1;

  /** Arrays of numbers, which go on one line. No string contains a line break. */
  private static final Pattern NUMBERS = Pattern.compile("\\[\\n[-+.\\w,\\s]*\\]");

  private final JsonObject root = new JsonObject();
  private final boolean logged;

  /**
   * Creates a report.
   *
   * @param options the effective options
   * @param logged whether there is a log to report about
   */
  public JsonReport(String command, JsonObject options, boolean logged) {
    this.logged = logged;
    root.addProperty("reportVersion", VERSION);
    root.addProperty("command", command);
    root.addProperty("time", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    root.add("options", options);
    root.add("machine", machine());
  }

  public static String lower(Enum<?> e) {
    return e.name().toLowerCase(Locale.ROOT).replace('_', '-');
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

  public void load(Loaded load) {
    JsonObject o = new JsonObject();
    o.addProperty("rows", load.rows());
    o.addProperty("seconds", round(load.seconds()));
    root.add("load", o);
  }

  /** Adds the values per second, and the marks. */
  public void series(Series series) {
    root.add("series", series.toJson());
    root.add("marks", series.marksToJson());
  }

  public void add(String name, Number figure) {
    root.addProperty(name, figure);
  }

  public void add(String name, String text) {
    root.addProperty(name, text);
  }

  public void add(String name, boolean fact) {
    root.addProperty(name, fact);
  }

  /** Returns percentiles in microseconds, and the mean. */
  public static JsonObject latency(Histogram h) {
    JsonObject latency = new JsonObject();
    latency.addProperty("mean", h.getTotalCount() == 0 ? 0 : round(h.getMean() / 1e3));
    for (int i = 0; i < Percentiles.PERCENTILES.length; i++) {
      latency.addProperty(
          Percentiles.PERCENTILE_NAMES[i],
          round(Percentiles.micros(h, Percentiles.PERCENTILES[i])));
    }
    return latency;
  }

  /** Adds figures of one subcommand. */
  public void add(String name, JsonElement figures) {
    root.add(name, figures);
  }

  /** Adds the figures of the log, if there is one. */
  public void log(LogFigures log) {
    if (!logged) {
      return;
    }
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
    root.add("log", o);
  }

  /** Returns the engine's counters for the measured time. */
  public static JsonObject engine(DatabaseStats before, DatabaseStats after) {
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
    o.addProperty("hinted", a.hinted() - b.hinted());
    o.addProperty("predicted", a.predicted() - b.predicted());
    o.addProperty("mispredicted", a.mispredicted() - b.mispredicted());
    o.add("descents", descents(before.descents(), after.descents()));
    o.addProperty("evictionsClean", a.evictionsClean() - b.evictionsClean());
    o.addProperty("evictionsDirty", a.evictionsDirty() - b.evictionsDirty());
    o.addProperty("unswizzled", a.unswizzled() - b.unswizzled());
    o.addProperty("unswizzlingsRefused", a.unswizzlingsRefused() - b.unswizzlingsRefused());
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
    o.addProperty("positionHints", a.positionHints() - b.positionHints());
    o.addProperty("positionHintsStale", a.positionHintsStale() - b.positionHintsStale());
    return o;
  }

  /** Rounds to three decimals. */
  public static double round(double d) {
    return Math.round(d * 1e3) / 1e3;
  }

  /**
   * Writes the file.
   *
   * @throws DriverException if that fails
   */
  public void write(Path file) {
    try (Writer w = Files.newBufferedWriter(file)) {
      String json = new GsonBuilder().setPrettyPrinting().serializeNulls().create().toJson(root);
      w.write(NUMBERS.matcher(json).replaceAll(array -> array.group().replaceAll("\\s+", " ")));
      w.write(System.lineSeparator());
    } catch (IOException e) {
      throw new DriverException(Exit.ERROR, "cannot write " + file + ": " + e, e);
    }
  }
}
