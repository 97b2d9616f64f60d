package io.fovea.cli;

import io.fovea.Database;
import io.fovea.LoadOptions;
import io.fovea.Options;
import io.fovea.cli.Records.Columns;
import io.fovea.cli.Records.Target;
import io.fovea.config.Duplicates;
import io.fovea.config.Durability;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.FoveaException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.channels.Channels;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParseResult;

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
      "  fovea import shop.fovea orders orders.csv --key id",
      "Opens FILE with a log, which recovers it if it was not closed. An empty table, or a table"
          + " smaller than a CSV with all of its columns, is loaded as a whole: if a line is"
          + " wrong, nothing is imported. Otherwise, and with --batch, records are committed in"
          + " batches: if a line is wrong, the records of earlier batches are imported, and the"
          + " message says how many. A table with a computed index can be written only by its"
          + " application."
    })
final class ImportCommand extends TableCommand {
  @Mixin final ProgressOption progress = new ProgressOption();

  /** The maximum number of characters of values in a transaction, and in a record. */
  private static final long CHARACTERS = 1 << 20;

  /** The default of the maximum number of records in a transaction. */
  private static final int BATCH = 1000;

  /** The buffer of the in-memory database for a trial. */
  private static final long TRIAL_BYTES = 64 << 20;

  private static final char BYTE_ORDER_MARK = '\uFEFF';

  @Parameters(
      index = "2",
      arity = "0..1",
      paramLabel = "INPUT",
      description = "The file to read, instead of standard input.")
  @Nullable Path input;

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      description =
          "One of ${COMPLETION-CANDIDATES}. The default is CSV if the name of the input ends with"
              + " .csv, and otherwise JSON.")
  @Nullable Format asked;

  private Format format = Format.JSON;

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
      names = "--type",
      paramLabel = "FIELD",
      description = {
        "With --key: the type of a column, instead of the inferred one, as in 'price DECIMAL(10,"
            + " 2) NULL'. May be repeated. 'create --help' lists the types."
      })
  List<String> types = new ArrayList<>();

  @Option(names = "--input", paramLabel = "FILE", description = "The same as INPUT.")
  @Nullable Path inputOption;

  @Option(
      names = "--batch",
      paramLabel = "N",
      description =
          "The maximum number of records per transaction. The default is 1000, or to load the"
              + " whole table.")
  int batch;

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
  private record Line(long number, Reading of, @Nullable String[] values) {}

  /** The records to which a line belongs, and its columns there. */
  private record Reading(Records in, Columns columns) {}

  private volatile long imported;

  /** Ends the import after Ctrl-C; null in a shell, which does so itself. */
  private @Nullable UntilExit exit;

  /** Lines before the first one that the format sees. */
  private int linesBefore;

  /** A copy of an input that can be read only once; null until it is read again. */
  private @Nullable Spool spool;

  /** Whether the table is new. */
  private boolean made;

  /** Whether the file is new; its name and those of its companions begin with that of FILE. */
  private @Nullable NewFiles newFiles;

  /** Whether a load will import everything or nothing. */
  private boolean loading;

  /** The records of a table of objects, as bytes. */
  private @Nullable Records asBytes;

  /** The names of the columns of the last line, and what they are. */
  private @Nullable List<String> lastNames;

  private @Nullable Reading last;

  /** Whether the columns of some lines differ. */
  private boolean varied;

  @Override
  public Integer call() throws IOException {
    if (inputOption != null) {
      if (input != null) {
        throw mistake("--input is the same as INPUT: give one of them");
      }
      input = inputOption;
    }
    Path name = input == null ? null : input.getFileName();
    boolean csv = name != null && name.toString().toLowerCase(Locale.ROOT).endsWith(".csv");
    Format given = asked;
    format = given != null ? given : csv ? Format.CSV : Format.JSON;
    if (!dryRun && (session() != null || Files.exists(file()))) {
      requireWrite(write);
    }
    if (input == null && session() != null) {
      throw mistake("the shell uses standard input itself: give --input");
    }
    if (copy && !dryRun) {
      throw mistake("--copy requires --dry-run, because the copy is removed");
    }
    if (batch < 0 || batch == 0 && isGiven("--batch")) {
      throw mistake("--batch takes a number of records, at least 1");
    }
    if (!keys.isEmpty() && format != Format.CSV) {
      throw mistake("--key needs a header: it requires --format CSV");
    }
    if (!types.isEmpty() && keys.isEmpty()) {
      throw mistake("--type is for a table that --key creates");
    }
    try (@Nullable UntilExit until = session() == null ? new UntilExit() : null) {
      exit = until;
      try {
        imports();
      } catch (Exception e) {
        if (!isStopping()) {
          throw e;
        }
        err().println("fovea: stopped; " + before()); // the JVM ends when this is closed
        err().flush();
        throw new Session.Stopped();
      }
    }
    said(imported);
    return Main.OK;
  }

  private boolean isStopping() {
    UntilExit e = exit;
    return e != null && e.isStopping();
  }

  /** Called at each record. */
  private void goOnUnlessStopped() {
    goOn();
    if (isStopping()) {
      throw new Session.Stopped();
    }
  }

  /** Called before something is closed or removed, which an interrupt would prevent. */
  private void cleanUp() {
    UntilExit e = exit;
    if (e != null) {
      e.cleanUp();
    }
  }

  private boolean isGiven(String option) {
    ParseResult parsed = Objects.requireNonNull(spec).commandLine().getParseResult();
    return parsed != null && parsed.hasMatchedOption(option);
  }

  private void imports() throws IOException {
    Throwable cause = null;
    try {
      openAndRead();
    } catch (Throwable e) {
      cause = e;
      throw e;
    } finally {
      cleanUp();
      if (cause != null) {
        removeNewFiles(cause);
      }
      deleteSpool(cause);
    }
  }

  private void openAndRead() throws IOException {
    try (BufferedReader in = reader();
        Opened db = opened(schemaLine(in))) {
      try {
        read(db, in);
      } catch (Throwable e) {
        cleanUp();
        dropNewTable(db, e);
        throw e;
      } finally {
        cleanUp();
      }
    } catch (Format.WrongInput e) {
      throw wrong(1, e);
    } catch (CharacterCodingException e) {
      throw mistake("the input is not UTF-8; " + before());
    }
  }

  private void dropNewTable(Opened db, Throwable cause) {
    if (made && imported == 0 && !dryRun && newFiles == null) {
      drop(db.database(), table, cause, err());
    }
  }

  /** Drops a new table after a failure; another failure does not hide the first. */
  static void drop(Database db, String table, Throwable cause, PrintWriter err) {
    try {
      db.dropTable(table);
    } catch (RuntimeException e) {
      cause.addSuppressed(e);
      err.println(
          "fovea: the new table "
              + NameText.of(table)
              + " remains, empty; Database.dropTable removes it. Dropping it failed: "
              + Text.reason(e));
    }
  }

  private void removeNewFiles(Throwable cause) {
    NewFiles files = newFiles;
    if (files == null || imported > 0) {
      return;
    }
    try {
      files.delete();
    } catch (IOException e) {
      cause.addSuppressed(e);
      err()
          .println(
              "fovea: the new file "
                  + file()
                  + " remains, without records; delete it, and the files whose names begin with its"
                  + " name and a dot. Deleting failed: "
                  + Text.why(e));
    }
  }

  private void deleteSpool(@Nullable Throwable cause) throws IOException {
    Spool s = spool;
    if (s == null) {
      return;
    }
    try {
      s.delete();
    } catch (IOException e) {
      if (cause == null) {
        throw e;
      }
      cause.addSuppressed(e);
    }
  }

  private void read(Opened db, BufferedReader in) throws IOException, Format.WrongInput {
    Records records = records(db, false);
    requireKey(records);
    boolean objects = records instanceof ObjectRecords;
    asBytes = objects ? records(db, true) : null;
    try (Format.Source source = format.source(in, objects)) {
      try (Progress p =
          progress.of(err(), dryRun ? "read" : "imported", "records", () -> imported, 0)) {
        p.start();
        if (isToBeLoaded(db, records, source)) {
          load(db, records, source);
        } else {
          read(db, records, source);
        }
      }
    }
    if (made && !dryRun && records.table.count() < imported) {
      err()
          .println(
              "fovea: "
                  + (imported - records.table.count())
                  + " records replaced an earlier one with the same key");
    }
  }

  // ----------------------------------------------------------------------------------------- loads

  /**
   * Whether to load the records instead of putting them in transactions. A load writes the whole
   * table, and subscribers of the table's changes do not see its records.
   */
  private boolean isToBeLoaded(Opened db, Records records, Format.Source source)
      throws IOException {
    if (batch > 0
        || dryRun
        || db.inTransaction()
        || newFiles == null && Opening.isFollowed(file())) {
      return false;
    }
    if (records.table.count() == 0) {
      return true;
    }
    Path from = input;
    boolean whole =
        !(records instanceof RowRecords)
            || format == Format.CSV && Set.copyOf(source.columns()).containsAll(records.columns());
    return whole
        && from != null
        && Files.isRegularFile(from)
        && Files.size(from) > records.table.dataBytes();
  }

  private void load(Opened db, Records records, Format.Source source)
      throws IOException, Format.WrongInput {
    loading = true;
    // Of two rows with one key, the second one keeps the fields of the first that it does not name:
    // if lines may name different ones, they are loaded only if there are no such rows.
    boolean rows = records instanceof RowRecords && format == Format.JSON;
    try {
      load(records, source, rows ? Duplicates.FAIL : Duplicates.REPLACE);
    } catch (DuplicateKeyException e) {
      if (e.index() != null) {
        throw offending(db, records, e);
      }
      imported = 0;
      try (Format.Source again = again(records)) {
        if (varied) {
          loading = false;
          read(db, records, again);
        } else {
          load(records, again, Duplicates.REPLACE);
        }
      }
    } catch (KeyTooLargeException | ValueTooLargeException e) {
      throw offending(db, records, e);
    } catch (FoveaException e) {
      imported = 0;
      err().println("fovea: " + before());
      throw e;
    }
  }

  private void load(Records records, Format.Source source, Duplicates duplicates)
      throws IOException {
    long[] n = {0};
    boolean done = false;
    try {
      records.load(
          LoadOptions.defaults().duplicates(duplicates),
          to -> {
            for (Line line = next(records, source); line != null; line = next(records, source)) {
              goOnUnlessStopped();
              set(to, line);
              imported = ++n[0]; // for the progress
            }
          });
      done = true;
    } finally {
      imported = done ? n[0] : 0;
    }
  }

  private Format.Source again(Records records) throws IOException, Format.WrongInput {
    BufferedReader in = reader();
    if (linesBefore > 0) {
      in.readLine();
    }
    lastNames = null;
    return format.source(in, records instanceof ObjectRecords);
  }

  /**
   * Finds the line because of which a load has failed after the last line: puts all records into a
   * temporary table, until that fails too.
   */
  private RuntimeException offending(Opened db, Records records, FoveaException why)
      throws IOException, Format.WrongInput {
    imported = 0;
    Path directory = Files.createTempDirectory("fovea-import");
    Throwable cause = null;
    try {
      Options options = Opening.options().durability(Durability.NONE);
      try (Opened trial = Opened.of(Database.open(directory.resolve("trial"), options), () -> {});
          Format.Source source = again(records)) {
        TableSpec spec = Objects.requireNonNull(db.database().describe(table));
        trial.database().table(spec);
        read(trial, records(trial, false), source);
      } catch (ParameterException e) {
        return e;
      }
      return mistake(Text.reason(why) + "; " + before()); // an existing record is the other one
    } catch (Throwable e) {
      cause = e;
      throw e;
    } finally {
      imported = 0;
      Folders.deleteAfter(directory, cause);
    }
  }

  // ------------------------------------------------------------------------------------- the table

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
        cleanUp();
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
    Opened db;
    if (dryRun) {
      db = Opened.of(Database.inMemory(Options.defaults().bufferBytes(TRIAL_BYTES)), () -> {});
    } else {
      newFiles = NewFiles.before(file());
      db = toCreate();
    }
    boolean done = false;
    try {
      db.database().table(dryRun ? TableFile.withoutIndexes(spec) : spec);
      done = true;
      return db;
    } finally {
      if (!done) {
        cleanUp();
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
        Format.Source source = format.source(in, false)) {
      return Inferred.table(table, keys, types, source);
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
          "the input contains "
              + (schema.objects() == null ? "no objects" : schema.objects())
              + ", but the table contains "
              + (objects == null ? "none" : objects));
    }
  }

  // ------------------------------------------------------------------------------------- the input

  /** Opens the input; a second time, from its beginning. */
  private BufferedReader reader() throws IOException {
    Path from = input;
    InputStream bytes;
    if (from != null && Files.isRegularFile(from) && Files.isReadable(from)) {
      bytes = Files.newInputStream(from);
    } else if (from == null || Files.isReadable(from) && !Files.isDirectory(from)) {
      Spool s = spool;
      if (s == null) {
        s = new Spool(from == null ? standardInput() : Files.newInputStream(from), isReadTwice());
        spool = s;
        bytes = s;
      } else {
        bytes = s.again();
      }
    } else {
      throw mistake("the file " + input + " does not exist or can't be read");
    }
    BufferedReader in =
        new BufferedReader(new InputStreamReader(bytes, StandardCharsets.UTF_8.newDecoder()));
    in.mark(1);
    if (in.read() != BYTE_ORDER_MARK) {
      in.reset();
    }
    return in;
  }

  /**
   * Returns standard input; as a channel, if it is the process's, because Ctrl-C interrupts that.
   */
  private InputStream standardInput() {
    return in() == System.in
        ? Channels.newInputStream(new FileInputStream(FileDescriptor.in).getChannel())
        : in();
  }

  /** Whether the input may be read again: to infer types, or to find what a load has refused. */
  private boolean isReadTwice() {
    return !keys.isEmpty() || !dryRun && batch == 0;
  }

  private @Nullable Line next(Records records, Format.Source source) throws IOException {
    @Nullable String[] values;
    try {
      values = source.next();
    } catch (Format.WrongInput e) {
      throw wrong(line(source), e);
    }
    if (values == null) {
      return null;
    }
    List<String> names = source.columns();
    Reading of = last;
    if (of == null || names != lastNames) {
      varied |= lastNames != null;
      Records in = as(records, names);
      try {
        of = new Reading(in, in.resolve(names));
      } catch (ParameterException e) {
        throw wrong(line(source), e);
      }
      last = of;
      lastNames = names;
    }
    return new Line(line(source), of, values);
  }

  /**
   * Objects are imported as components or, as 'export' writes them, as a key and a value in bytes.
   * Objects whose only component has the name of that value are bytes if a line before describes
   * the table, as in an export.
   */
  private Records as(Records records, List<String> columns) {
    Records bytes = asBytes;
    return bytes != null
            && Set.copyOf(columns).equals(Set.copyOf(bytes.columns()))
            && (linesBefore > 0 || !Set.copyOf(columns).equals(Set.copyOf(records.columns())))
        ? bytes
        : records;
  }

  private long line(Format.Source source) {
    return source.line() + linesBefore;
  }

  // ---------------------------------------------------------------------------------- transactions

  private void read(Opened db, Records records, Format.Source source) throws IOException {
    int most = batch == 0 ? BATCH : batch;
    List<Line> lines = new ArrayList<>();
    long characters = 0;
    for (Line line = next(records, source); line != null; line = next(records, source)) {
      goOnUnlessStopped();
      lines.add(line);
      for (String value : line.values) {
        characters += value == null ? 0 : value.length();
      }
      if (lines.size() == most || characters >= CHARACTERS) {
        put(db, lines);
        lines.clear();
        characters = 0;
      }
    }
    put(db, lines);
  }

  private void put(Opened db, List<Line> lines) {
    try {
      db.run(
          tx -> {
            Target to = new Target.OfTransaction(tx);
            for (Line line : lines) {
              set(to, line);
            }
            if (dryRun && !copy) {
              tx.rollback();
            }
          });
    } catch (FoveaException e) {
      err().println("fovea: " + before());
      throw e;
    }
    imported = imported + lines.size(); // by one thread
  }

  private void set(Target to, Line line) {
    try {
      line.of.in.set(to, line.of.columns, line.values, format == Format.CSV);
    } catch (ParameterException
        | DuplicateKeyException
        | KeyTooLargeException
        | ValueTooLargeException e) {
      throw wrong(line.number, e);
    }
  }

  private ParameterException wrong(long line, Exception e) {
    return mistake(at(line) + Text.reason(e) + "; " + before());
  }

  private static String at(long line) {
    return "line " + line + ": ";
  }

  private String before() {
    return loading
        ? "nothing was imported"
        : imported + (dryRun ? " records before are valid" : " records were imported before");
  }
}
