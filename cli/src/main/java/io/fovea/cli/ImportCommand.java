package io.fovea.cli;

import io.fovea.Database;
import io.fovea.Durability;
import io.fovea.Options;
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

/** Sets the records that an export has written, or another program. */
@Command(
    name = "import",
    header = "Sets records from JSON lines or CSV.",
    description = {
      "Sets records of a table of a database that nobody has open, from what 'export' writes: one"
          + " JSON object a line, or CSV. A table that is not there is made, if the first line says"
          + " what it is, as exports do. A record that is there already"
          + " is replaced; of a row, fields that are not named stay as they are, and are null"
          + " in a new one, or 0 or empty.",
      "FILE is opened for that, with a log, which recovers it if it was not closed. Records are"
          + " committed some at a time: where a line is wrong, those of the lines before are there,"
          + " and the message says how many. A table with an index by a computed key is written by"
          + " its application alone."
    })
final class ImportCommand extends TableCommand {
  @Mixin final ProgressOption progress = new ProgressOption();

  /** A transaction has so many characters of values at most, and a record. */
  private static final long CHARACTERS = 1 << 20;

  /** Of the database that takes the records of a trial. */
  private static final long TRIAL_BYTES = 64 << 20;

  private static final char BYTE_ORDER_MARK = '\uFEFF';

  @Mixin final FormatOption as = new FormatOption();

  @Option(
      names = "--input",
      paramLabel = "FILE",
      description = "The file to read, instead of the standard input.")
  @Nullable Path input;

  @Option(
      names = "--batch",
      paramLabel = "N",
      description = "So many records a transaction, at most. The default is ${DEFAULT-VALUE}.")
  int batch = 1000;

  @Option(
      names = "--dry-run",
      description = {
        "Reads all, looks whether each value fits, and changes nothing. What other records have in"
            + " unique indexes is looked at with --copy."
      })
  boolean dryRun;

  @Option(
      names = "--copy",
      description = {
        "With --dry-run: imports into a copy, which is removed at the end. So unique indexes refuse what"
            + " they would refuse, and another process may have FILE open, with a log or for reading."
      })
  boolean copy;

  /** A record that was read. */
  private record Line(long number, List<String> key, Map<String, @Nullable String> values) {}

  private volatile long imported;

  /** Lines before the first that the format knows of. */
  private int linesBefore;

  @Override
  public Integer call() throws IOException {
    if (!dryRun) {
      requireWritingShell();
    }
    if (input == null && session() != null) {
      throw mistake("a shell has the standard input itself: give --input");
    }
    if (copy && !dryRun) {
      throw mistake("--copy goes with --dry-run: what is imported into a copy is gone with it");
    }
    if (batch < 1) {
      throw mistake("--batch takes a number of records, at least 1");
    }
    try (BufferedReader in = reader();
        Opened db = opened(schemaLine(in))) {
      Records records = records(db);
      try (Format.Source source = as.format.source(in)) {
        try (Progress p =
            progress.of(err(), dryRun ? "read" : "imported", "records", () -> imported, 0)) {
          p.start();
          read(db, records, source);
        }
      }
    } catch (Format.WrongInput e) {
      throw wrong(1, e);
    } catch (CharacterCodingException e) {
      throw mistake("the input is not UTF-8; " + before());
    }
    said(imported);
    return Main.OK;
  }

  /** What the table is, if the input says it. */
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
      throw mistake("line 1: it does not say what the table is");
    }
    return line;
  }

  /** The database, with the table; for a trial one in memory, with such a table. */
  private Opened opened(@Nullable SchemaLine schema) {
    Opened db = copy ? ofCopy() : dryRun ? toRead(new CopyOption()) : toChange();
    boolean done = false;
    try {
      TableSpec there = db.database().describe(table);
      requireSame(there, schema);
      requireNoComputedIndex(there);
      TableSpec spec = there == null && schema != null ? made(schema) : there;
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

  /** A copy of the database, to change it. */
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

  private TableSpec made(SchemaLine schema) {
    try {
      return schema.spec(table);
    } catch (IllegalArgumentException e) {
      throw mistake(
          "there is no table "
              + NameText.of(table)
              + ", and it can't be made as the first line says it: "
              + e.getMessage());
    }
  }

  /** Objects are bytes: those of another kind would be taken for what they are not. */
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
    if (input == null) {
      in = new BufferedReader(new InputStreamReader(in(), StandardCharsets.UTF_8.newDecoder()));
    } else if (Files.isReadable(input)) {
      in = Files.newBufferedReader(input);
    } else {
      throw mistake("there is no file " + input + " that may be read");
    }
    in.mark(1);
    if (in.read() != BYTE_ORDER_MARK) {
      in.reset();
    }
    return in;
  }

  private void read(Opened db, Records records, Format.Source source) throws IOException {
    List<Line> lines = new ArrayList<>();
    long characters = 0;
    for (Line line = next(records, source); line != null; line = next(records, source)) {
      goOn();
      lines.add(line);
      characters += line.values.values().stream().mapToLong(v -> v == null ? 0 : v.length()).sum();
      if (lines.size() == batch || characters >= CHARACTERS) {
        put(db, records, lines);
        lines.clear();
        characters = 0;
      }
    }
    put(db, records, lines);
  }

  private @Nullable Line next(Records records, Format.Source source) throws IOException {
    Map<String, @Nullable String> all;
    try {
      all = source.next();
    } catch (Format.WrongInput e) {
      throw records.table.spec().objects() == null
          ? wrong(line(source), e)
          : notAsBytes(source, String.valueOf(e.getMessage()));
    }
    if (all == null) {
      return null;
    }
    if (records.table.spec().objects() != null
        && !all.keySet().equals(Set.copyOf(records.columns()))) {
      throw notAsBytes(source, "it has " + String.join(", ", all.keySet()));
    }
    Map<String, @Nullable String> values = new LinkedHashMap<>();
    all.forEach((column, value) -> values.put(column, word(records, column, value)));
    List<String> key = new ArrayList<>();
    for (String column : records.columns().subList(0, records.keyParts())) {
      String part = values.remove(column);
      if (part == null) {
        throw mistake(at(line(source)) + "the key has no '" + column + "'; " + before());
      }
      key.add(part);
    }
    return new Line(line(source), key, values);
  }

  /** Components say neither the version nor the bytes, and who makes objects checks them. */
  private ParameterException notAsBytes(Format.Source source, String what) {
    return mistake(
        at(line(source))
            + what
            + ", where a key and a value as bytes are expected: objects are imported as 'export'"
            + " writes them without --objects; of their components only the application makes some; "
            + before());
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

  private void put(Opened db, Records records, List<Line> lines) {
    long[] at = {0};
    try {
      db.run(
          tx -> {
            for (Line line : lines) {
              at[0] = line.number;
              records.put(tx, line.key, line.values);
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
    String what = String.valueOf(e.getMessage()).strip();
    return mistake(
        at(line)
            + (what.endsWith(".") ? what.substring(0, what.length() - 1) : what)
            + "; "
            + before());
  }

  private static String at(long line) {
    return "line " + line + ": ";
  }

  private String before() {
    return imported + (dryRun ? " records before are right" : " records were imported before");
  }
}
