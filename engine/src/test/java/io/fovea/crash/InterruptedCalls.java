package io.fovea.crash;

import io.fovea.BackupOptions;
import io.fovea.BackupPosition;
import io.fovea.ChangePosition;
import io.fovea.Changes;
import io.fovea.CompactOptions;
import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.FileChanges;
import io.fovea.FileDump;
import io.fovea.FileReport;
import io.fovea.Options;
import io.fovea.Restore;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.config.Durability;
import io.fovea.error.OperationInterruptedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The API calls that {@link InterruptsTest} interrupts, with their preparation and what must hold
 * afterwards. Loaded by {@link InterruptWeaver}; the test calls {@link #run} by reflection.
 */
public final class InterruptedCalls {
  private static final TableSpec BYTES = TableSpec.bytes("b", 20);
  private static final TableSpec MORE = TableSpec.bytes("m", 20);
  private static final Layout.Definition LAYOUT = Layout.define();
  private static final Field NUMBER = LAYOUT.int64("n");
  private static final Field AT = LAYOUT.instant("at");
  private static final TableSpec ROWS =
      TableSpec.of("r", KeySpec.of(FieldType.INT64), LAYOUT.build())
          .expireAfter(AT, Duration.ofHours(1));
  private static final int RECORDS = 120;

  /** A call; resources that it leaves in {@link #opened} are closed. */
  private interface Call {
    void on(InterruptedCalls c) throws Exception;
  }

  private enum State {
    CLOSED,
    KILLED,
    OPEN
  }

  private record Entry(State files, Call call, boolean endsByInterrupts) {}

  private static final Map<String, Entry> CALLS = new LinkedHashMap<>();

  private static void closed(String name, boolean ends, Call call) {
    CALLS.put(name, new Entry(State.CLOSED, call, ends));
  }

  private static void killed(String name, boolean ends, Call call) {
    CALLS.put(name, new Entry(State.KILLED, call, ends));
  }

  private static void open(String name, boolean ends, Call call) {
    CALLS.put(name, new Entry(State.OPEN, call, ends));
  }

  static {
    closed("open a new file", false, c -> c.opens(c.dir.resolve("new"), options()));
    closed("open a new file without a log", false, c -> c.opens(c.dir.resolve("new"), unlogged()));
    closed("open in memory", false, c -> c.opened.add(Database.inMemory(options())));
    closed("open", false, c -> c.opens(c.file, options()));
    closed("open without a log", false, c -> c.opens(c.file, unlogged()));
    closed("open to read", false, c -> c.opens(c.file, options().readOnly(true)));
    killed("recover", false, c -> c.opens(c.file, options()));
    killed("recover without a log", false, c -> c.opens(c.file, unlogged()));
    killed("recover to read", false, c -> c.opens(c.file, options().readOnly(true)));
    open("close", false, c -> c.db.close());
    closed("inspect", true, c -> require(FileReport.inspect(c.file, options())));
    closed("verify a file", true, c -> require(FileReport.verify(c.file, options())));
    killed("verify a file to recover", true, c -> require(FileReport.verify(c.file, options())));
    closed("restore", true, c -> require(Restore.from(c.full).to(c.restored(), options())));
    closed(
        "restore an archive",
        true,
        c -> require(Restore.from(c.archive).to(c.restored(), options())));
    closed(
        "restore increments",
        true,
        c -> require(Restore.from(c.full).then(c.increment).to(c.restored(), options())));
    killed("restore files", true, c -> require(Restore.from(c.file).to(c.restored(), options())));
    open("backup", true, c -> c.db.backup(c.dir.resolve("b2")));
    open("backup to a stream", true, c -> c.db.backup(OutputStream.nullOutputStream()));
    open(
        "incremental backup",
        true,
        c -> c.db.backup(c.dir.resolve("b2"), BackupOptions.defaults().since(c.position())));
    open(
        "backup of an open file",
        true,
        c -> FileDump.backup(c.file, c.dir.resolve("b2"), BackupOptions.defaults()));
    closed("position of a backup", false, InterruptedCalls::position);
    closed(
        "dump",
        false,
        c -> {
          try (FileDump dump = FileDump.open(c.file)) {
            for (long p = 0; p < dump.pages(); p++) {
              dump.page(p);
            }
            dump.log(dump.header().redoLsn(), Long.MAX_VALUE, true, r -> {});
          }
        });
    open(
        "changes of files",
        true,
        c -> {
          try (FileChanges changes = FileChanges.first(c.file)) {
            changes.tables();
            while (changes.poll() != null) {
              changes.position();
            }
          }
        });
    open(
        "changes",
        true,
        c -> {
          ChangePosition here = c.db.changesPosition();
          c.put(5);
          try (Changes changes = c.db.changes(here)) {
            if (changes.poll(Duration.ofSeconds(20)) == null) {
              throw new AssertionError("no changes");
            }
          }
        });
    open("commit", false, c -> c.put(7));
    open(
        "a transaction",
        false,
        c -> {
          try (Transaction tx = c.db.begin()) {
            c.bytes().put(tx, key(8), new byte[9000]);
            c.bytes().get(tx, key(9));
            tx.commitPipelined().await();
          }
        });
    open(
        "submit",
        false,
        c -> c.db.submit(tx -> c.bytes().get(tx, key(1))).toCompletableFuture().join());
    open(
        "scan",
        false,
        c ->
            c.db.read(
                tx -> {
                  int n = 0;
                  try (Cursor<byte[], byte[]> scan =
                      c.bytes().scan(tx, null, null, ScanOrder.DESCENDING)) {
                    while (scan.next()) {
                      n++;
                    }
                  }
                  if (n < RECORDS) {
                    throw new AssertionError("found " + n);
                  }
                  return n;
                }));
    open("delete a range", false, c -> c.db.run(tx -> c.bytes().deleteRange(tx, key(3), key(90))));
    open(
        "load",
        true,
        c ->
            c.bytes()
                .load(
                    in -> {
                      for (int i = 0; i < 300; i++) {
                        in.add(key(1000 + i), new byte[500]);
                      }
                    }));
    open("make a table", true, c -> c.db.table(MORE));
    open("build an index", true, c -> c.db.table(ROWS.with(IndexSpec.on("by_n", NUMBER))));
    open("drop a table", true, c -> c.db.dropTable("b"));
    open("rename a table", true, c -> c.db.renameTable("b", "bb"));
    open("tables in a transaction", true, c -> c.db.run(tx -> tx.table(MORE)));
    open("sequence", true, c -> c.db.sequence("s").next());
    open("drop a sequence", true, c -> c.db.dropSequence("q"));
    open("sweep", true, c -> c.db.sweepExpired());
    open("drop an expiry", true, c -> c.db.dropExpiry("r"));
    open("count", true, c -> c.db.table(BYTES).count());
    open("table sizes", true, c -> c.db.tableSizes());
    open("checkpoint", false, c -> c.db.checkpoint());
    open("compact", true, c -> c.db.compact(CompactOptions.defaults()));
    open("verify", true, c -> c.db.verify());
    open(
        "snapshot",
        true,
        c -> {
          try (Database moment = c.db.snapshot()) {
            moment.table(BYTES).count();
          }
        });
  }

  private final Path dir;
  private final Path file;
  private final Path full;
  private final Path increment;
  private final Path archive;
  private final List<Database> opened = new ArrayList<>();
  private Database db;

  private InterruptedCalls(Path dir) {
    this.dir = dir;
    this.file = dir.resolve("db");
    this.full = dir.resolve("full");
    this.increment = dir.resolve("increment");
    this.archive = dir.resolve("archive");
  }

  /**
   * Creates the files that the calls expect in an empty folder: closed ones in {@code closed},
   * those of a killed process in {@code killed}.
   */
  public static void prepare(Path dir) throws IOException {
    Path closed = Files.createDirectory(dir.resolve("closed"));
    InterruptedCalls c = new InterruptedCalls(closed);
    try (Database db = Database.open(c.file, options())) {
      c.db = db;
      Table<byte[], byte[]> t = c.bytes();
      db.run(
          tx -> {
            for (int i = 0; i < RECORDS; i++) {
              t.put(tx, key(i), new byte[100 + i % 7 * 900]);
            }
          });
      RowTable rows = db.table(ROWS);
      db.run(
          tx -> {
            for (long i = 0; i < RECORDS; i++) {
              Instant at = Instant.now().minusSeconds(i % 2 * 7200);
              rows.put(tx, rows.key().set(i), rows.row().setLong(NUMBER, i).setInstant(AT, at));
            }
          });
      db.sequence("q").next();
      var report = db.backup(c.full);
      try (OutputStream out = Files.newOutputStream(c.archive)) {
        db.backup(out);
      }
      c.put(1);
      db.backup(c.increment, BackupOptions.defaults().since(report.position()));
      c.put(2);
      copy(closed, Files.createDirectory(dir.resolve("killed")));
      Files.delete(dir.resolve("killed").resolve("db.lock"));
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path f : files.toList()) {
        if (!f.equals(from)) {
          Files.copy(f, to.resolve(from.relativize(f).toString()));
        }
      }
    }
  }

  private static Options options() {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .memory(m -> m.timestampBytes(1 << 20)) // without native access a close scans all of it
        .durability(Durability.SYNC)
        .expiry(e -> e.sweepInterval(Duration.ZERO))
        .log(
            l ->
                l.bufferBytes(256 << 10)
                    .segmentBytes(256 << 10)
                    .maxBytes(4 << 20)
                    .changeRetentionBytes(1 << 20));
  }

  private static Options unlogged() {
    return options().durability(Durability.NONE).log(l -> l.changeRetentionBytes(0));
  }

  private static byte[] key(int i) {
    return new byte[] {(byte) (i >> 8), (byte) i};
  }

  private Table<byte[], byte[]> bytes() {
    return db.table(BYTES).bytes();
  }

  private void put(int i) {
    Table<byte[], byte[]> t = bytes();
    db.run(tx -> t.put(tx, key(i), new byte[3000]));
  }

  private void opens(Path path, Options how) {
    opened.add(Database.open(path, how));
  }

  private Path restored() {
    return dir.resolve("restored");
  }

  private BackupPosition position() {
    return BackupPosition.of(full);
  }

  private static void require(FileReport report) {
    if (!report.ok()) {
      throw new AssertionError("reported as damaged: " + report.problems());
    }
  }

  private Set<String> listing() throws IOException {
    try (Stream<Path> files = Files.walk(dir)) {
      return new TreeSet<>(files.map(p -> dir.relativize(p).toString()).toList());
    }
  }

  /** Returns the names of the calls. */
  public static List<String> names() {
    return List.copyOf(CALLS.keySet());
  }

  /**
   * Interrupts one call.
   *
   * @param prepared the folder of {@link #prepare}
   * @param dir an empty folder
   * @param place the call site; -1: before the call begins; beyond the last site: none
   * @param each whether to interrupt at all later sites, too
   * @return the number of call sites passed; the problem, or an empty string; the outcome; the site
   *     that was interrupted last
   */
  public static Object[] run(String name, Path prepared, Path dir, int place, boolean each)
      throws Exception {
    Entry entry = CALLS.get(name);
    InterruptedCalls c = new InterruptedCalls(dir);
    Thread.interrupted();
    copy(prepared.resolve(entry.files == State.KILLED ? "killed" : "closed"), dir);
    if (entry.files == State.OPEN) {
      c.db = Database.open(c.file, options());
    }
    Set<String> before = c.listing();
    Throwable thrown = null;
    InterruptProbe.arm(place, each);
    if (place < 0) {
      Thread.currentThread().interrupt();
    }
    try {
      entry.call.on(c);
    } catch (Throwable t) {
      thrown = t;
    }
    InterruptProbe probe = InterruptProbe.disarm();
    int places = probe.passed();
    boolean interrupted = Thread.interrupted();
    String problem = "";
    if (place < places && !interrupted) {
      problem = "the interrupt flag was lost; " + thrown;
    } else if (thrown instanceof OperationInterruptedException && entry.endsByInterrupts) {
      Set<String> behind = c.listing();
      behind.removeAll(before);
      behind.removeIf(f -> f.startsWith("db.")); // of the open database
      if (!behind.isEmpty()) {
        problem = "leaves " + behind;
      }
    } else if (thrown != null) {
      problem = "throws " + trace(thrown);
    }
    String outcome = thrown == null ? "done" : "ended";
    if (problem.isEmpty() && thrown != null) {
      try {
        entry.call.on(c);
      } catch (Throwable t) {
        problem = "repeated call: " + trace(t);
      }
    }
    return new Object[] {places, c.end(problem), outcome, probe.where()};
  }

  /** Closes everything, and verifies the database. */
  private String end(String problem) {
    String found = problem;
    try {
      for (Database o : opened) {
        o.close();
      }
      if (db != null) {
        db.close();
      }
      try (Database again = Database.open(file, options())) {
        if (!again.verify().ok() || again.tables().isEmpty()) {
          found += " damaged: " + again.verify().problems();
        }
      }
      if (Files.exists(dir.resolve("db.lock"))) {
        found += " the lock file remains";
      }
    } catch (Throwable t) {
      found += " afterwards: " + trace(t);
    }
    return found;
  }

  private static String trace(@Nullable Throwable t) {
    StringWriter out = new StringWriter();
    if (t != null) {
      t.printStackTrace(new PrintWriter(out));
    }
    return out.toString();
  }

  public static void clear(Path dir) {
    try (Stream<Path> files = Files.walk(dir)) {
      for (Path p : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
        if (!p.equals(dir)) {
          Files.delete(p);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
