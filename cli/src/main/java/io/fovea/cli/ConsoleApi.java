package io.fovea.cli;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import io.fovea.BackupOptions;
import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.FileDump;
import io.fovea.FileReport;
import io.fovea.cli.console.Failure;
import io.fovea.cli.console.Reply;
import io.fovea.cli.console.Request;
import io.fovea.cli.console.Route;
import io.fovea.error.AbortCause;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ParameterException;

/**
 * The requests that a console answers.
 *
 * <pre>
 *   GET    info           the file, how it is open, sequences
 *   GET    tables         tables: size, schema, columns
 *   GET    records        a page of records                table, index, part, mode, order, at
 *   GET    record         a record                         table, key
 *   GET    value          all bytes of a value             table, key, column
 *   PUT    record         sets a record                    {table, key, values, create}
 *   DELETE record         deletes a record                 {table, key}
 *   GET    stats          figures
 *   GET    transactions   figures of slow and retried transactions, by cause and body
 *   POST   attach         connects to the process that has the original open
 *   POST   refresh        starts the operation "copy", which replaces the copy
 *   GET    page           describes a page                 number
 *   GET    jobs           the operations and their results
 *   POST   jobs           starts an operation              {kind: verify|backup|pages, name}
 *   DELETE jobs           cancels an operation             {kind}
 * </pre>
 *
 * <p>Thread-safe.
 */
final class ConsoleApi {
  private final ServeCommand command;
  private final ConsoleDatabase database;
  private final ConsoleRecords records;

  ConsoleApi(ServeCommand command, ConsoleDatabase database) {
    this.command = command;
    this.database = database;
    this.records = new ConsoleRecords(command, database);
  }

  Map<String, Route> routes() {
    Map<String, Route> all = new TreeMap<>();
    all.put("GET info", r -> reply(info()));
    all.put("GET tables", r -> reply(database.with(this::tables)));
    all.put("GET records", r -> reply(records.page(r)));
    all.put("GET record", r -> reply(records.get(r.required("table"), r.all("key"))));
    all.put("GET value", r -> Reply.download(records.value(r)));
    all.put("PUT record", this::put);
    all.put("DELETE record", this::delete);
    all.put("GET stats", r -> reply(stats()));
    all.put("GET transactions", r -> reply(transactions()));
    all.put("POST attach", r -> done(database::attach));
    all.put("POST refresh", r -> done(database::refresh));
    all.put("GET page", r -> reply(page(r)));
    all.put("GET jobs", r -> reply(database.jobs().all()));
    all.put("POST jobs", this::startJob);
    all.put("DELETE jobs", r -> done(() -> database.jobs().cancel(text(r.body(), "kind"))));
    return all;
  }

  /** The status and message of an exception or error. */
  static Failure failure(Throwable e) {
    return switch (e) {
      case Failure f -> f;
      case Session.Stopped s -> new Failure(503, "the console is shutting down");
      case ParameterException p -> new Failure(400, Text.reason(p));
      case JsonParseException p -> new Failure(400, "the body of the request is malformed");
      case InvalidUseException i -> new Failure(409, Text.reason(i));
      case FoveaException f -> new Failure(500, Text.reason(f));
      case UncheckedIOException io -> new Failure(500, Text.why(io.getCause()));
      case IOException io -> new Failure(500, Text.why(io));
      default -> {
        System.getLogger("io.fovea.cli").log(System.Logger.Level.ERROR, "A request failed", e);
        yield new Failure(500, "the request failed: " + e);
      }
    };
  }

  private static Reply reply(Object value) {
    return Reply.json(Json.compact(value));
  }

  private static Reply done(Runnable work) {
    work.run();
    return reply(Map.of("done", true));
  }

  static String text(JsonObject body, String name) {
    JsonElement value = body.get(name);
    if (value == null || !value.isJsonPrimitive()) {
      throw new Failure(400, name + " is missing");
    }
    return value.getAsString();
  }

  // ------------------------------------------------------------------------------------ the schema

  private Map<String, @Nullable Object> info() {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    m.put("file", command.file().toAbsolutePath().toString());
    m.put("write", command.write);
    m.put("copy", database.isCopy());
    m.put("opened", database.opened());
    m.put("holder", database.holder());
    m.put("attached", database.isAttached());
    m.put("backups", command.backups().toString());
    database.with(
        db -> {
          m.put("id", db.id());
          m.put("options", db.options().toString());
          m.put(
              "sequences", db.sequences().stream().map(db::sequence).map(TableFile::map).toList());
          m.put("header", Opening.header(database.file()));
          return m;
        });
    return m;
  }

  private List<Map<String, @Nullable Object>> tables(Database db) {
    List<Map<String, @Nullable Object>> all = new ArrayList<>();
    db.tableSizes()
        .forEach(
            (name, size) -> {
              TableSpec spec = db.describe(name);
              if (spec == null) {
                return; // it was just dropped
              }
              Records r = Records.of(command, db.table(spec), false);
              Map<String, @Nullable Object> m = new LinkedHashMap<>(TablesCommand.map(spec, size));
              m.put("schema", TableFile.map(spec));
              m.put("columns", r.columns());
              m.put("keyParts", r.keyParts());
              m.put("nullable", r.columns().stream().filter(r::mayBeNull).toList());
              m.put("writable", command.write && isWritable(spec));
              all.add(m);
            });
    return all;
  }

  /** Only the application can maintain indexes by computed keys. */
  static boolean isWritable(TableSpec spec) {
    for (IndexSpec i : spec.indexes()) {
      if (TableFile.isComputed(spec, i)) {
        return false;
      }
    }
    return true;
  }

  private Map<String, Object> stats() {
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("millis", System.nanoTime() / 1e6);
    m.put("time", Instant.now());
    m.put("figures", database.figures());
    m.put("attached", database.isAttached());
    return m;
  }

  /** All figures that the engine keeps on slow and retried transactions. */
  private Map<String, Object> transactions() {
    Map<String, ?> figures = database.figures();
    List<Map<String, Object>> causes = causes(figures, "");
    for (Map<String, Object> m : causes) {
      AbortCause cause = AbortCause.valueOf((String) m.get("cause"));
      m.put("retried", cause.retryable());
      m.put("explanation", cause.explanation());
    }
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("millis", System.nanoTime() / 1e6);
    m.put("attached", database.isAttached());
    m.put("commits", number(figures, "commits"));
    m.put("retries", number(figures, "retries"));
    m.put("pessimisticAttempts", number(figures, "pessimisticAttempts"));
    m.put("transactionNanos", number(figures, "transactionNanos"));
    m.put("active", number(figures, "activeTransactions"));
    m.put("waiting", number(figures, "waitingTransactions"));
    m.put("oldestNanos", number(figures, "oldestTransactionNanos"));
    m.put("causes", causes);
    m.put("bodies", bodies(figures));
    return m;
  }

  /** The causes that aborted an attempt, of all bodies or one. */
  private static List<Map<String, Object>> causes(Map<String, ?> figures, String prefix) {
    List<Map<String, Object>> causes = new ArrayList<>();
    for (AbortCause cause : AbortCause.values()) {
      long attempts = number(figures, prefix + "abortsByCause." + cause.name());
      if (attempts > 0) {
        Map<String, Object> m = new LinkedHashMap<>();
        m.put("cause", cause.name());
        m.put("attempts", attempts);
        causes.add(m);
      }
    }
    return causes;
  }

  /** Figures by body: those of {@code NAME} are {@code bodies.NAME.runs} and so on. */
  private static List<Map<String, Object>> bodies(Map<String, ?> figures) {
    List<Map<String, Object>> bodies = new ArrayList<>();
    for (String figure : figures.keySet()) {
      if (figure.startsWith("bodies.") && figure.endsWith(".runs")) {
        String prefix = figure.substring(0, figure.length() - "runs".length());
        Map<String, Object> m = new LinkedHashMap<>();
        m.put("body", prefix.substring("bodies.".length(), prefix.length() - 1));
        for (String each : List.of("runs", "retries", "nanos", "maxNanos")) {
          m.put(each, number(figures, prefix + each));
        }
        m.put("causes", causes(figures, prefix));
        bodies.add(m);
      }
    }
    return bodies;
  }

  /** A figure; 0 if the other process's release does not have it. */
  private static long number(Map<String, ?> figures, String name) {
    return figures.get(name) instanceof Number n ? n.longValue() : 0;
  }

  // ----------------------------------------------------------------------------------------
  // changes

  private void requireWrite() {
    if (!command.write) {
      throw new Failure(403, "this console is read-only: start it with --write to change records");
    }
  }

  private Reply put(Request r) {
    requireWrite();
    JsonElement create = r.body().get("create");
    records.put(
        text(r.body(), "table"),
        key(r.body()),
        values(r.body()),
        create != null && create.getAsBoolean());
    return reply(Map.of("records", 1));
  }

  private Reply delete(Request r) {
    requireWrite();
    if (!records.delete(text(r.body(), "table"), key(r.body()))) {
      throw new Failure(404, "there is no such record");
    }
    return reply(Map.of("records", 1));
  }

  private static List<String> key(JsonObject body) {
    if (!(body.get("key") instanceof com.google.gson.JsonArray parts)) {
      throw new Failure(400, "key is missing");
    }
    List<String> all = new ArrayList<>();
    for (JsonElement part : parts) {
      if (!part.isJsonPrimitive()) {
        throw new Failure(400, "the parts of a key must be strings");
      }
      all.add(part.getAsString());
    }
    return all;
  }

  private static Map<String, @Nullable String> values(JsonObject body) {
    if (!(body.get("values") instanceof JsonObject values)) {
      throw new Failure(400, "values are missing");
    }
    Map<String, @Nullable String> all = new LinkedHashMap<>();
    values
        .asMap()
        .forEach(
            (name, value) -> {
              if (!value.isJsonNull() && !value.isJsonPrimitive()) {
                throw new Failure(400, "values must be strings or null");
              }
              all.put(name, value.isJsonNull() ? null : value.getAsString());
            });
    return all;
  }

  // -------------------------------------------------------------------------------------
  // operations

  private Map<String, @Nullable Object> page(Request r) {
    long number;
    try {
      number = Long.parseLong(r.required("number"));
    } catch (NumberFormatException e) {
      throw new Failure(400, "number must be a page number");
    }
    return database.with(
        db -> {
          try (FileDump dump = FileDump.open(database.file())) {
            return dump.page(number);
          }
        });
  }

  private Reply startJob(Request r) {
    switch (text(r.body(), "kind")) {
      case "verify" -> {
        long before = bytesRead();
        database.jobs().start("verify", () -> bytesRead() - before, 0, this::verified);
      }
      case "backup" -> backup(text(r.body(), "name"));
      case "pages" -> {
        ConsolePages pages = new ConsolePages();
        long total = database.with(db -> Opening.header(database.file()).pages());
        database.jobs().start("pages", pages::done, total, () -> map(pages));
      }
      default -> throw new Failure(400, "kind must be verify, backup or pages");
    }
    return reply(Map.of("done", true));
  }

  /** What a verification reads: pages of the database, or those of a file that it opens. */
  private long bytesRead() {
    return command.write
        ? database.with(
            db -> {
              DatabaseStats.Buffer b = db.stats().buffer();
              return (b.hits() + b.misses()) * b.pageSize();
            })
        : Progress.bytesRead();
  }

  /** A file that may change is verified by its database, which delays transactions meanwhile. */
  private Object verified() {
    return command.write
        ? Json.components(database.with(Database::verify))
        : Report.verified(FileReport.verify(database.file(), Opening.options()));
  }

  /** A file that may change is copied first, so that its pages belong together. */
  private Object map(ConsolePages pages) {
    if (!command.write) {
      return pages.read(database.file());
    }
    try (Copy copy = Copy.of(database.file())) {
      return pages.read(copy.file());
    }
  }

  private void backup(String name) {
    if (!name.matches("[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")) {
      throw new Failure(
          400, "the name of a backup consists of letters, digits, dots, dashes and underscores");
    }
    Path to = command.backups().resolve(name);
    if (Files.exists(to)) {
      throw new Failure(409, "the directory " + to + " exists");
    }
    Path file = command.file();
    String prefix = Objects.requireNonNull(file.getFileName()).toString();
    database
        .jobs()
        .start(
            "backup",
            () -> Progress.bytes(to, prefix),
            Progress.bytes(file),
            () -> {
              Map<String, @Nullable Object> m = new LinkedHashMap<>();
              m.put("directory", to.toString());
              m.putAll(Json.components(FileDump.backup(file, to, BackupOptions.defaults())));
              return m;
            });
  }
}
