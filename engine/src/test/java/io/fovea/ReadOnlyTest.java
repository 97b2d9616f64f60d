package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.UncleanShutdownException;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A database opened read-only is complete and stays unchanged. */
@SuppressWarnings("try") // a database is closed while another is open
class ReadOnlyTest {
  private static final int RECORDS = 2000;
  private static final Layout.Definition LAYOUT = Layout.define();
  private static final Field OWNER = LAYOUT.text("owner", 16);
  private static final Field CENTS = LAYOUT.int64("cents");
  private static final TableSpec SPEC =
      TableSpec.of("accounts", KeySpec.of(FieldType.INT64), LAYOUT.build())
          .with(IndexSpec.on("by_cents", CENTS));

  @TempDir Path folder;

  private enum Left {
    CLEAN,
    CLEAN_WITHOUT_LOG,
    KILLED,
    KILLED_AFTER_CHECKPOINT
  }

  private static Options options() {
    // The buffer is smaller than the data: recovered pages must be evicted.
    return Options.defaults()
        .device(dev -> dev.pageSize(4096))
        .bufferBytes(1 << 20)
        .memory(mem -> mem.timestampBytes(1 << 20));
  }

  private static Options reading() {
    return options().readOnly(true);
  }

  private Path make(Left left) {
    Path file = folder.resolve("bank.fovea");
    boolean logged = left != Left.CLEAN_WITHOUT_LOG;
    Database db =
        Database.open(file, options().durability(logged ? Durability.SYNC : Durability.NONE));
    fill(db, 0);
    if (left == Left.KILLED_AFTER_CHECKPOINT) {
      db.checkpoint();
    }
    fill(db, RECORDS);
    if (left == Left.CLEAN || left == Left.CLEAN_WITHOUT_LOG) {
      db.close();
    } else {
      db.abandon();
    }
    return file;
  }

  private static void fill(Database db, long from) {
    RowTable accounts = db.table(SPEC);
    Key key = accounts.key();
    Row row = accounts.row();
    for (long i = from; i < from + RECORDS; i += 100) {
      long first = i;
      db.run(
          tx -> {
            for (long id = first; id < first + 100; id++) {
              row.clear().setText(OWNER, "o" + id).setLong(CENTS, id);
              accounts.insert(tx, key.set(id), row);
            }
          });
    }
  }

  private static void assertComplete(Database db) {
    RowTable accounts = db.table(SPEC);
    Key key = accounts.key();
    Row row = accounts.row();
    long sum =
        db.read(
            tx -> {
              long s = 0;
              for (long id = 0; id < 2 * RECORDS; id++) {
                assertTrue(accounts.get(tx, key.set(id), row));
                s += row.getLong(CENTS);
              }
              return s;
            });
    assertEquals((2L * RECORDS - 1) * RECORDS, sum);
    assertEquals(List.of(), db.verify().problems());
  }

  private Map<String, String> contents() throws IOException {
    Map<String, String> found = new TreeMap<>();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        if (!Mem.isRaw() && file.toString().endsWith(".lock")) {
          continue; // without native access readers lock the file
        }
        CRC32C sum = new CRC32C();
        sum.update(Files.readAllBytes(file));
        found.put(
            file.getFileName().toString(),
            Files.size(file) + " " + sum.getValue() + " " + Files.getLastModifiedTime(file));
      }
    }
    return found;
  }

  @ParameterizedTest
  @EnumSource(Left.class)
  void nothingInTheFolderChanges(Left left) throws IOException {
    Path file = make(left);
    Map<String, String> before = contents();
    for (int i = 0; i < 2; i++) {
      try (Database db = Database.open(file, reading())) {
        assertComplete(db);
        assertRefusesWrites(db);
        assertComplete(db);
        assertEquals(before, contents());
      }
      assertEquals(before, contents());
    }
    try (Database db = Database.open(file, options())) {
      assertComplete(db);
    }
  }

  /** Another process may be writing the file, whose pages are then newer than what was read. */
  @ParameterizedTest
  @EnumSource(Left.class)
  void aCloseReadsNothing(Left left) throws IOException {
    Path file = make(left);
    try (Database db = Database.open(file, options())) {
      for (int i = 0; i < 120; i++) {
        fill(db, "t" + i);
      }
      for (int i = 0; i < 60; i++) {
        db.dropTable("t" + i);
      }
      db.checkpoint();
      for (int i = 60; i < 120; i++) {
        fill(db, "t" + i);
      }
      if (left == Left.KILLED || left == Left.KILLED_AFTER_CHECKPOINT) {
        db.abandon();
      }
    }
    Database db = Database.open(file, reading());
    try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
      f.seek(2 * 4096);
      byte[] noise = new byte[(int) f.length() - 2 * 4096];
      new Random(1).nextBytes(noise);
      f.write(noise);
    }
    db.close();
  }

  private static void fill(Database db, String name) {
    Table<byte[], byte[]> t = db.table(TableSpec.bytes(name, 20)).bytes();
    db.run(
        tx -> {
          for (int i = 0; i < 10; i++) {
            t.put(tx, new byte[] {(byte) i}, new byte[500]);
          }
        });
  }

  private static void assertRefusesWrites(Database db) {
    RowTable accounts = db.table(SPEC);
    Key key = accounts.key();
    Row row = accounts.row();
    TableSpec other = TableSpec.of("other", KeySpec.of(FieldType.INT32), Layout.define().build());
    List<Executable> writes =
        List.of(
            () -> db.run(tx -> accounts.insert(tx, key.set(-1L), row.clear().setLong(CENTS, 1))),
            () -> db.run(tx -> accounts.put(tx, key.set(1L), row.clear().setLong(CENTS, 1))),
            () -> db.run(tx -> accounts.delete(tx, key.set(1L))),
            () ->
                db.run(
                    tx -> {
                      assertTrue(accounts.get(tx, key.set(2L), row));
                      accounts.update(tx, row.setText(OWNER, "x"));
                    }),
            () ->
                db.run(
                    tx -> {
                      assertTrue(accounts.get(tx, key.set(2L), row));
                      accounts.update(tx, row.setLong(CENTS, 1));
                    }),
            () -> db.table(other),
            () -> db.dropTable("accounts"),
            () -> db.dropIndex("accounts", "by_cents"));
    for (Executable write : writes) {
      InvalidUseException e = assertThrows(InvalidUseException.class, write);
      assertTrue(e.getMessage().contains("opened read-only"), e.getMessage());
      assertTrue(e.getMessage().contains("bank.fovea"), e.getMessage());
    }
    // A body that only reads may run here.
    db.run(tx -> assertTrue(accounts.get(tx, key.set(3L), row)));
  }

  @Test
  void readersShareTheFileAndBlockWriters() {
    Path file = make(Left.KILLED);
    try (Database one = Database.open(file, reading());
        Database two = Database.open(file, reading())) {
      assertComplete(one);
      assertComplete(two);
      assertThrows(DatabaseLockedException.class, () -> Database.open(file, options()));
      one.close();
      assertThrows(DatabaseLockedException.class, () -> Database.open(file, options()));
      assertComplete(two);
      assertTrue(FileReport.verify(file, options()).ok(), "a reader may run concurrently");
    }
    try (Database writer = Database.open(file, options())) {
      assertComplete(writer);
      DatabaseLockedException e =
          assertThrows(DatabaseLockedException.class, () -> Database.open(file, reading()));
      assertEquals(ProcessHandle.current().pid(), e.holderPid());
    }
  }

  @Test
  void nothingIsCreated() throws IOException {
    Path file = folder.resolve("none.fovea");
    assertThrows(IncompatibleFormatException.class, () -> Database.open(file, reading()));
    assertThrows(IncompatibleFormatException.class, () -> Database.open(folder, reading()));
    assertEquals(Map.of(), contents());
    Files.createFile(file);
    assertThrows(IncompatibleFormatException.class, () -> Database.open(file, reading()));
    assertEquals(0, Files.size(file));
    assertEquals(1, contents().size());
  }

  @Test
  void thePageSizeOfTheFileIsUsed() {
    Path file = folder.resolve("large.fovea");
    Database.open(file, options().device(dev -> dev.pageSize(16384)).bufferBytes(4 << 20)).close();
    try (Database db = Database.open(file, reading().bufferBytes(4 << 20))) {
      assertEquals(16384, db.options().device().pageSize());
      assertFalse(db.options().create());
    }
  }

  @Test
  void unrecoverableFilesAreRefused() throws IOException {
    Path file = folder.resolve("torn.fovea");
    Database db = Database.open(file, options().durability(Durability.NONE));
    fill(db, 0);
    db.abandon();
    Map<String, String> before = contents();
    assertThrows(UncleanShutdownException.class, () -> Database.open(file, reading()));
    assertEquals(before, contents());
  }
}
