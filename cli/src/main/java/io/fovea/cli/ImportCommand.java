package io.fovea.cli;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.FoveaException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

@Command(
    name = "import",
    header = "Sets records from JSON lines or CSV.",
    description = {
      "Sets records of a table of a database that no process has open, from the output of"
          + " 'export': one JSON object per line, or CSV. A missing table, or FILE, is created if"
          + " the first line describes the table, as in exports; or, from a CSV, if --key names"
          + " the columns of the key. An existing record is replaced. Fields of a row that are"
          + " not named keep their values; in a new row they are null, or 0 or empty. An object"
          + " is replaced as a whole.",
      "Opens FILE with a log, which recovers it if it was not closed. Records are committed in"
          + " batches: if a line is wrong, the records of earlier lines are imported, and the"
          + " message says how many. A table with a computed index can be written only by its"
          + " application."
    })
final class ImportCommand extends TableCommand {
  @Mixin final ProgressOption progress = new ProgressOption();

  /** The maximum number of characters of values in a transaction, and in a record. */
  private static final long CHARACTERS = 1 << 20;

  /** The buffer of the in-memory database for a trial. */
  private static final long TRIAL_BYTES = 64 << 20;

  private static final char BYTE_ORDER_MARK = '\uFEFF';

  @Mixin final FormatOption as = new FormatOption();

  @Option(
      names = "--write",
      description = "Allows an existing FILE to be changed; without it nothing is done.")
  boolean write;

  @Option(
      names = "--key",
      paramLabel = "COLUMN",
      split = ",",
      description = {
        "Creates the table, and FILE, if they do not exist, from the header of a CSV: this"
            + " column is a part of the key. May be repeated. The types of the columns are"
            + " inferred from all of their values."
      })
  List<String> keys = new ArrayList<>();

  @Option(
      names = "--input",
      paramLabel = "FILE",
      description = "The file to read, instead of standard input.")
  @Nullable Path input;

  @Option(
      names = "--batch",
      paramLabel = "N",
      description =
          "The maximum number of records per transaction. The default is" + " ${DEFAULT-VALUE}.")
  int batch = 1000;

  @Option(
      names = "--dry-run",
      description = {
        "Reads everything and checks that each value fits, without changes. Unique indexes of"
            + " existing records are checked only with --copy."
      })
  boolean dryRun;

  @Option(
      names = "--copy",
      description = {
        "With --dry-run: imports into a copy, which is removed at the end. So unique indexes are"
            + " checked, and another process may have FILE open, with a log or for reading."
      })
  boolean copy;

  /** A record that was read. */
  private record Line(
      long number, Records in, List<String> key, Map<String, @Nullable String> values) {}

  private volatile long imported;

  /** Lines before the first one that the format sees. */
  private int linesBefore;

  /** A file with the standard input, if it is read twice. */
  private @Nullable Path spooled;

  /** Whether the table is new. */
  private boolean made;

  /** The records of a table of objects, as bytes. */
  private @Nullable Records asBytes;

  @Override
  public Integer call() throws IOException {
    if (!dryRun && (session() != null || Files.exists(file()))) {
      requireWrite(write);
    }
    if (input == null && session() != null) {
      throw mistake("the shell uses standard input itself: give --input");
    }
    if (copy && !dryRun) {
      throw mistake("--copy requires --dry-run, because the copy is removed");
    }
    if (batch < 1) {
      throw mistake("--batch takes a number of records, at least 1");
    }
    if (!keys.isEmpty() && as.format != Format.CSV) {
      throw mistake("--key needs a header: it requires --format CSV");
    }
    try {
      imports();
    } finally {
      if (spooled != null) {
        Files.deleteIfExists(spooled);
      }
    }
    said(imported);
    return Main.OK;
  }

  private void imports() throws IOException {
    try (BufferedReader in = reader();
        Opened db = opened(schemaLine(in))) {
      Records records = records(db, false);
      requireKey(records);
      boolean objects = records instanceof ObjectRecords;
      asBytes = objects ? records(db, true) : null;
      try (Format.Source source = as.format.source(in, objects)) {
        try (Progress p =
            progress.of(err(), dryRun ? "read" : "imported", "records", () -> imported, 0)) {
          p.start();
          read(db, records, source);
        }
      }
      if (made && !dryRun && records.table.count() < imported) {
        err()
            .println(
                "fovea: "
                    + (imported - records.table.count())
                    + " records have the key of an earlier one, which they have replaced");
      }
    } catch (Format.WrongInput e) {
      throw wrong(1, e);
    } catch (CharacterCodingException e) {
      throw mistake("the input is not UTF-8; " + before());
    }
  }

  private void requireKey(Records records) {
    List<String> parts = records.columns().subList(0, records.keyParts());
    if (!keys.isEmpty() && !keys.equals(parts)) {
      throw mistake(
          "the key of "
              + NameText.of(table)
              + " is "
              + String.join(", ", parts)
              + ", and not "
              + String.join(", ", keys));
    }
  }

  /** The description of the table, if the input has one. */
  private @Nullable SchemaLine schemaLine(BufferedReader in) throws IOException {
    char[] start = new char[SchemaLine.START_LENGTH];
    in.mark(start.length);
    int n = 0;
    for (int more; n < start.length && (more = in.read(start, n, start.length - n)) > 0; ) {
      n += more;
    }
    in.reset();
    if (!SchemaLine.is(new String(start, 0, n))) {
      return null;
    }
    linesBefore = 1;
    SchemaLine line = SchemaLine.read(in.readLine());
    if (line == null) {
      throw mistake("line 1: it does not describe the table");
    }
    return line;
  }

  /** Returns the database with the table; for a trial, an in-memory one with such a table. */
  private Opened opened(@Nullable SchemaLine schema) throws IOException {
    if (session() == null && !Files.exists(file())) {
      return created(schema);
    }
    Opened db = copy ? ofCopy() : dryRun ? toRead(new CopyOption()) : toChange();
    boolean done = false;
    try {
      TableSpec there = db.database().describe(table);
      requireSame(there, schema);
      requireNoComputedIndex(there);
      TableSpec spec = there == null ? made(schema) : there;
      made = there == null && spec != null;
      if (dryRun && !copy && spec != null) {
        Database trial = Database.inMemory(Options.defaults().bufferBytes(TRIAL_BYTES));
        trial.table(TableFile.withoutIndexes(spec));
        db.close();
        db = Opened.of(trial, () -> {});
      } else if (there == null && spec != null) {
        db.database().table(spec);
      }
      done = true;
      return db;
    } finally {
      if (!done) {
        db.close();
      }
    }
  }

  /** Returns a new database with the table, in memory for a trial. */
  private Opened created(@Nullable SchemaLine schema) throws IOException {
    TableSpec spec = made(schema);
    if (spec == null) {
      throw mistake(
          "there is no file "
              + file()
              + ", and the input does not describe the table: --key COLUMN creates both from a"
              + " CSV");
    }
    made = true;
    Opened db =
        dryRun
            ? Opened.of(Database.inMemory(Options.defaults().bufferBytes(TRIAL_BYTES)), () -> {})
            : toCreate();
    boolean done = false;
    try {
      db.database().table(dryRun ? TableFile.withoutIndexes(spec) : spec);
      done = true;
      return db;
    } finally {
      if (!done) {
        db.close();
      }
    }
  }

  /** Returns a copy of the database that may be changed. */
  private Opened ofCopy() {
    Copy made = Copy.of(file());
    boolean done = false;
    try {
      Options options = Opening.options(Opening.header(made.file()));
      Opened db =
          Opened.of(Database.open(made.file(), options.durability(Durability.ASYNC)), made::close);
      done = true;
      return db;
    } finally {
      if (!done) {
        made.close();
      }
    }
  }

  /**
   * The table according to the input, or to its header and values; null if neither describes it.
   */
  private @Nullable TableSpec made(@Nullable SchemaLine schema) throws IOException {
    if (schema == null && keys.isEmpty()) {
      return null;
    }
    requireNoTransaction();
    if (schema == null) {
      return inferred();
    }
    try {
      return schema.spec(table);
    } catch (IllegalArgumentException e) {
      throw mistake(
          "there is no table "
              + NameText.of(table)
              + ", and it can't be created from the first line: "
              + Text.reason(e));
    }
  }

  private TableSpec inferred() throws IOException {
    try (BufferedReader in = reader();
        Format.Source source = as.format.source(in, false)) {
      return Inferred.table(table, keys, source);
    } catch (Format.WrongInput e) {
      throw wrong(1, e);
    } catch (IllegalArgumentException e) {
      throw mistake(Text.reason(e));
    }
  }

  /** Objects are imported as bytes, so those of another type would be misinterpreted. */
  private void requireSame(@Nullable TableSpec there, @Nullable SchemaLine schema) {
    if (there == null || schema == null) {
      return;
    }
    String objects = there.objects() == null ? null : there.objects().toString();
    if (!Objects.equals(objects, schema.objects())) {
      throw mistake(
          "the records are "
              + (schema.objects() == null ? "no objects" : schema.objects())
              + ", and those of the table are "
              + (objects == null ? "none" : objects));
    }
  }

  private BufferedReader reader() throws IOException {
    BufferedReader in;
    Path from = input;
    if (from == null && !keys.isEmpty()) {
      from = spooled();
    }
    if (from == null) {
      in = new BufferedReader(new InputStreamReader(in(), StandardCharsets.UTF_8.newDecoder()));
    } else if (Files.isRegularFile(from) && Files.isReadable(from) || isStream(from)) {
      in = Files.newBufferedReader(from);
    } else {
      throw mistake("there is no file " + input + " that can be read");
    }
    in.mark(1);
    if (in.read() != BYTE_ORDER_MARK) {
      in.reset();
    }
    return in;
  }

  /** A pipe or device, which can be read only once. */
  private boolean isStream(Path from) {
    return keys.isEmpty() && Files.isReadable(from) && !Files.isDirectory(from);
  }

  /** Writes the standard input to a file: the inferred types depend on all of it. */
  private Path spooled() throws IOException {
    Path there = spooled;
    if (there == null) {
      there = Files.createTempFile("fovea-import", ".csv");
      spooled = there;
      Files.copy(in(), there, StandardCopyOption.REPLACE_EXISTING);
    }
    return there;
  }

  private void read(Opened db, Records records, Format.Source source) throws IOException {
    List<Line> lines = new ArrayList<>();
    long characters = 0;
    for (Line line = next(records, source); line != null; line = next(records, source)) {
      goOn();
      lines.add(line);
      characters += line.values.values().stream().mapToLong(v -> v == null ? 0 : v.length()).sum();
      if (lines.size() == batch || characters >= CHARACTERS) {
        put(db, lines);
        lines.clear();
        characters = 0;
      }
    }
    put(db, lines);
  }

  private @Nullable Line next(Records records, Format.Source source) throws IOException {
    Map<String, @Nullable String> all;
    try {
      all = source.next();
    } catch (Format.WrongInput e) {
      throw wrong(line(source), e);
    }
    if (all == null) {
      return null;
    }
    Records of = as(records, all.keySet());
    Map<String, @Nullable String> values = new LinkedHashMap<>();
    all.forEach((column, value) -> values.put(column, word(of, column, value)));
    List<String> key = new ArrayList<>();
    for (String column : of.columns().subList(0, of.keyParts())) {
      String part = values.remove(column);
      if (part == null) {
        throw mistake(at(line(source)) + "the key has no '" + column + "'; " + before());
      }
      key.add(part);
    }
    return new Line(line(source), of, key, values);
  }

  /**
   * Objects are imported as components or, as 'export' writes them, as a key and a value in bytes.
   * Objects whose only component has the name of that value are bytes if a line before describes
   * the table, as in an export.
   */
  private Records as(Records records, Set<String> columns) {
    Records bytes = asBytes;
    return bytes != null
            && columns.equals(Set.copyOf(bytes.columns()))
            && (linesBefore > 0 || !columns.equals(Set.copyOf(records.columns())))
        ? bytes
        : records;
  }

  private long line(Format.Source source) {
    return source.line() + linesBefore;
  }

  private @Nullable String word(Records records, String column, @Nullable String value) {
    if (value == null && as.format == Format.CSV && !records.mayBeNull(column)) {
      return records.word(""); // nothing between two commas
    }
    return value == null ? null : records.word(value);
  }

  private void put(Opened db, List<Line> lines) {
    long[] at = {0};
    try {
      db.run(
          tx -> {
            for (Line line : lines) {
              at[0] = line.number;
              line.in.put(tx, line.key, line.values);
            }
            if (dryRun && !copy) {
              tx.rollback();
            }
          });
    } catch (ParameterException
        | DuplicateKeyException
        | KeyTooLargeException
        | ValueTooLargeException e) {
      throw wrong(at[0], e);
    } catch (FoveaException e) {
      err().println("fovea: " + before());
      throw e;
    }
    imported = imported + lines.size(); // by one thread
  }

  private ParameterException wrong(long line, Exception e) {
    return mistake(at(line) + Text.reason(e) + "; " + before());
  }

  private static String at(long line) {
    return "line " + line + ": ";
  }

  private String before() {
    return imported + (dryRun ? " records before are valid" : " records were imported before");
  }
}
