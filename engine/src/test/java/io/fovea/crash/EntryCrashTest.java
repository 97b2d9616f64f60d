package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.BackupOptions;
import io.fovea.BackupReport;
import io.fovea.CompactOptions;
import io.fovea.Database;
import io.fovea.LoadOptions;
import io.fovea.Options;
import io.fovea.Restore;
import io.fovea.Table;
import io.fovea.config.Durability;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.io.Directories;
import io.fovea.schema.TableSpec;
import io.fovea.support.EntryJournal;
import io.fovea.support.SoakReport;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Cuts the power at every directory operation, and after each operation of the engine ({@link
 * EntryJournal}). An acknowledged result must be present, open and verify. An unacknowledged one is
 * present as a whole or can be repeated; if the engine refuses to repeat it, the error names the
 * conflicting file.
 *
 * <p>{@code -Dcrash.entries=N}: the number of random subsets of uncertain operations per cut,
 * besides none, all, and the last one. {@code -Dcrash.seed=N} selects them.
 */
class EntryCrashTest {
  private static final int SUBSETS = Integer.getInteger("crash.entries", 1);
  private static final TableSpec SPEC = TableSpec.bytes("t", 40);

  @TempDir Path dir;
  private Path folder;

  /** What a folder must hold after a power failure, with a description. */
  private Map<String, Check> expected = Map.of();

  private final List<Moment> moments = new ArrayList<>();
  private EntryJournal journal;

  private interface Check {
    void check(Path folder) throws IOException;
  }

  private interface Scenario {
    void run() throws IOException;
  }

  private record Moment(EntryJournal.Cut cut, Map<String, Check> expected) {}

  // ------------------------------------------------------------------------------- expectations

  /** Adds an expectation that holds from now on, while an operation is running. */
  private void expect(String what, Check check) {
    Map<String, Check> all = new TreeMap<>(expected);
    all.put(what, check);
    expected = Map.copyOf(all);
  }

  /** Records that the operation has returned. */
  private void acknowledge(String what, Check check) {
    expect(what, check);
    journal.cut(what + " returned");
  }

  private static Options options() {
    return Session.small();
  }

  private static void put(Database db, int from, int to) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    db.run(
        tx -> {
          for (int i = from; i < to; i++) {
            t.put(tx, key(i), key(i));
          }
        });
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(4).putInt(i).array();
  }

  /**
   * Returns a check that a database opens, verifies and has between {@code from} and {@code to}
   * records.
   */
  private static Check has(String file, int from, int to) {
    return folder -> {
      try (Database db = Database.open(folder.resolve(file), options().create(false))) {
        assertTrue(db.verify().ok());
        Table<byte[], byte[]> t = db.table(SPEC).bytes();
        long n = t.table().count();
        assertTrue(n >= from && n <= to, () -> file + " has " + n + " records of " + from);
        for (int i = 0; i < n; i++) {
          byte[] k = key(i);
          assertEquals(ByteBuffer.wrap(k), ByteBuffer.wrap(db.call(tx -> t.get(tx, k))));
        }
      }
    };
  }

  /** Returns a check for a database that is being created: it exists, or can be created now. */
  private static Check opens(String file) {
    return folder -> {
      Path path = folder.resolve(file);
      try {
        Database.open(path, options()).close();
      } catch (IncompatibleFormatException e) {
        // The lock created the file, and the marker that identifies it as new was lost.
        says(e, "is an existing empty file");
        Files.delete(path);
        Database.open(path, options()).close();
      }
    };
  }

  /** Checks that deleted temporary files do not reappear. */
  private static void hasNoTemporaries(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      assertEquals(
          Set.of(),
          files
              .map(f -> f.getFileName().toString())
              .filter(n -> !Set.of("db", "db.log", "db.dwb").contains(n))
              .collect(Collectors.toSet()));
    }
  }

  private static void says(FoveaException e, String what) {
    if (!e.getMessage().contains(what)) {
      throw e;
    }
  }

  /** Restores a chain to a new file, which must then have n records. */
  private static void restore(Path folder, List<String> chain, int n) throws IOException {
    Restore restore = Restore.from(folder.resolve(chain.get(0)));
    for (String next : chain.subList(1, chain.size())) {
      restore = restore.then(folder.resolve(next));
    }
    assertTrue(restore.to(folder.resolve("restored"), options()).ok());
    has("restored", n, n).check(folder);
    delete(folder.resolve("restored"));
    delete(folder.resolve("restored.log"));
    delete(folder.resolve("restored.dwb"));
  }

  /** Returns a check for a backup that has returned. */
  private static Check restores(List<String> chain, int n) {
    return folder -> restore(folder, chain, n);
  }

  /**
   * Returns a check for an unfinished backup: whatever has its name is complete, and it can be
   * repeated.
   */
  private static Check restoresOrNot(List<String> chain, String file, int n) {
    String directory = chain.getLast();
    return folder -> {
      if (Files.exists(folder.resolve(directory).resolve(file))) {
        restore(folder, chain, n);
        return;
      }
      try (Database db = Database.open(folder.resolve("db"), options())) {
        try {
          db.backup(folder.resolve(directory), BackupOptions.defaults());
        } catch (InvalidUseException e) {
          says(e, "Choose an empty directory");
          db.backup(folder.resolve(directory + ".again"), BackupOptions.defaults());
          restore(folder, List.of(directory + ".again"), n);
          return;
        }
      }
      restore(folder, List.of(directory), n);
    };
  }

  // ------------------------------------------------------------------------------------ explorer

  /** Returns a folder for the copies, in memory where possible. */
  private Path scratch() throws IOException {
    Path memory = Path.of("/dev/shm");
    return Files.isWritable(memory)
        ? Files.createTempDirectory(memory, "fovea-entries")
        : Files.createTempDirectory(dir, "left");
  }

  private void explore(String name, Scenario before, Scenario scenario) throws IOException {
    folder = Files.createDirectory(dir.resolve(name));
    before.run();
    try (EntryJournal j = new EntryJournal(folder, cut -> moments.add(new Moment(cut, expected)))) {
      journal = j;
      scenario.run();
    }
    Random r = new Random(CrashTest.SEED);
    Map<Check, Set<Map<String, Object>>> passed = new IdentityHashMap<>();
    int trees = 0;
    int uncertain = 0;
    for (Moment m : moments) {
      for (EntryJournal.Tree tree : m.cut.trees(r, SUBSETS)) {
        trees++;
        uncertain = Math.max(uncertain, m.cut.uncertain());
        for (Map.Entry<String, Check> e : m.expected.entrySet()) {
          if (!passed.computeIfAbsent(e.getValue(), c -> new HashSet<>()).add(tree.entries())) {
            continue;
          }
          Path left = scratch();
          try {
            tree.writeTo(left);
            e.getValue().check(left);
          } catch (RuntimeException | IOException | AssertionError failed) {
            throw new AssertionError(
                m.cut.when()
                    + ", -Dcrash.seed="
                    + CrashTest.SEED
                    + ": "
                    + e.getKey()
                    + " does not hold when these are lost: "
                    + tree.lost()
                    + ". There are "
                    + tree.entries().keySet(),
                failed);
          } finally {
            delete(left);
          }
        }
      }
    }
    SoakReport.line(
        "EntryCrashTest." + name,
        moments.size() + " cuts, " + trees + " trees, up to " + uncertain + " uncertain entries");
  }

  private static void delete(Path tree) throws IOException {
    if (!Files.exists(tree)) {
      return;
    }
    try (Stream<Path> all = Files.walk(tree)) {
      for (Path p : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(p);
      }
    }
  }

  /** Creates a closed database in the folder, with records 0 .. n - 1. */
  private void make(int n) {
    try (Database db = Database.open(folder.resolve("db"), options())) {
      put(db, 0, n);
    }
  }

  // ---------------------------------------------------------------------------------- scenarios

  /** Covers the life of a database: log, double-write area and temporary files. */
  @Test
  void database() throws IOException {
    explore(
        "database",
        () -> {},
        () -> {
          expect("db", opens("db"));
          Database db = Database.open(folder.resolve("db"), options());
          acknowledge("db", has("db", 0, 0));
          expect("db", has("db", 0, 100));
          put(db, 0, 100);
          acknowledge("db", has("db", 100, 100));
          db.checkpoint();
          journal.cut("checkpoint returned");
          db.close();
          acknowledge("db", has("db", 100, 100));
          db = Database.open(folder.resolve("db"), options());
          put(db, 100, 200);
          acknowledge("db", has("db", 200, 200));
          expect("db", has("db", 200, 50_200));
          Table<byte[], byte[]> t = db.table(SPEC).bytes();
          t.load(
              LoadOptions.defaults().memoryBytes(1 << 20),
              into -> {
                for (int i = 50_199; i >= 200; i--) { // descending, so that they must be sorted
                  into.add(key(i), key(i));
                }
              });
          acknowledge("db", has("db", 50_200, 50_200));
          try (Database snapshot = db.snapshot()) {
            assertEquals(50_200, snapshot.table(SPEC).count());
            expect("db", has("db", 0, 50_200));
            db.run(tx -> t.deleteRange(tx, key(1000), null));
            acknowledge("db", has("db", 1000, 1000));
            db.compact(CompactOptions.defaults());
            journal.cut("compact returned");
          }
          db.compact(CompactOptions.defaults());
          journal.cut("compact returned");
          db.close();
          acknowledge("close", EntryCrashTest::hasNoTemporaries);
        });
  }

  /** Without a log, a database is durable once it is closed. */
  @Test
  void withoutLog() throws IOException {
    explore(
        "withoutLog",
        () -> {},
        () -> {
          Database.open(folder.resolve("db"), options().durability(Durability.NONE)).close();
          acknowledge("db", has("db", 0, 0));
        });
  }

  /** The database files are elsewhere, reached through links whose targets do not exist yet. */
  @Test
  void links() throws IOException {
    explore(
        "links",
        () -> {
          Files.createDirectory(folder.resolve("elsewhere"));
          Files.createSymbolicLink(folder.resolve("db"), Path.of("elsewhere/data"));
        },
        () -> {
          Database db = Database.open(folder.resolve("db"), options());
          acknowledge("db", has("db", 0, 0));
          expect("db", has("db", 0, 100));
          put(db, 0, 100);
          acknowledge("db", has("db", 100, 100));
          db.close();
        });
  }

  /** A log is created through a link, next to a data file without a link. */
  @Test
  void linkedLog() throws IOException {
    explore(
        "linkedLog",
        () -> {
          make(50);
          Files.deleteIfExists(folder.resolve("db.log"));
          Files.createDirectory(folder.resolve("elsewhere"));
          Files.createSymbolicLink(folder.resolve("db.log"), Path.of("elsewhere/log"));
        },
        () -> {
          acknowledge("db", has("db", 50, 50));
          Database db = Database.open(folder.resolve("db"), options());
          expect("db", has("db", 50, 100));
          put(db, 50, 100);
          acknowledge("db", has("db", 100, 100));
          db.close();
        });
  }

  /** Makes a full and an incremental backup into new directories of new directories. */
  @Test
  void backups() throws IOException {
    explore(
        "backups",
        () -> make(50),
        () -> {
          List<String> chain = new ArrayList<>();
          BackupOptions how = BackupOptions.defaults();
          for (int i = 0; i < 2; i++) {
            int n = 50 + 10 * i;
            try (Database db = Database.open(folder.resolve("db"), options())) {
              put(db, 0, n);
              chain.add("2026/1" + i + "/28");
              List<String> upToHere = List.copyOf(chain);
              String file = i == 0 ? "db" : "db.pages";
              expect("backup " + i, restoresOrNot(upToHere, file, n));
              BackupReport report = db.backup(folder.resolve(chain.getLast()), how);
              how = how.since(Objects.requireNonNull(report.position()));
              acknowledge("backup " + i, restores(upToHere, n));
            }
          }
        });
  }

  /** Repeats a backup that was killed between the creation of a directory and its sync. */
  @Test
  void repeatedBackup() throws IOException {
    explore(
        "repeatedBackup",
        () -> make(50),
        () -> {
          Directories.createDirectory(folder.resolve("2026"));
          try (Database db = Database.open(folder.resolve("db"), options())) {
            db.backup(folder.resolve("2026/11"), BackupOptions.defaults());
            acknowledge("backup", restores(List.of("2026/11"), 50));
          }
        });
  }

  /** Restores a chain and a tar archive. */
  @Test
  void restores() throws IOException {
    explore(
        "restores",
        () -> {
          make(50);
          try (Database db = Database.open(folder.resolve("db"), options())) {
            BackupOptions how = BackupOptions.defaults();
            BackupReport full = db.backup(folder.resolve("full"), how);
            put(db, 50, 60);
            db.backup(folder.resolve("more"), how.since(Objects.requireNonNull(full.position())));
            try (OutputStream out = Files.newOutputStream(folder.resolve("tar"))) {
              db.backup(out, how);
            }
          }
        },
        () -> {
          Restore chain = Restore.from(folder.resolve("full")).then(folder.resolve("more"));
          restoring("one", chain, List.of("full", "more"));
          restoring("two", Restore.from(folder.resolve("tar")), List.of("tar"));
        });
  }

  private void restoring(String name, Restore restore, List<String> chain) {
    expect(
        name,
        left -> {
          Path file = left.resolve(name);
          if (Files.exists(file)) {
            has(name, 60, 60).check(left);
            return;
          }
          Path cutShort = left.resolve(name + ".restoring");
          Restore again = Restore.from(left.resolve(chain.get(0)));
          for (String next : chain.subList(1, chain.size())) {
            again = again.then(left.resolve(next));
          }
          try {
            again.to(file, options());
          } catch (InvalidUseException e) {
            says(e, cutShort.toRealPath() + " belongs to another restore");
            delete(cutShort);
            again.to(file, options());
          }
          has(name, 60, 60).check(left);
        });
    restore.to(folder.resolve(name), options());
    acknowledge(name, has(name, 60, 60));
  }
}
