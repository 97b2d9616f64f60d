package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.TableSpec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An increment applied to its backup equals the database, or it is rejected. */
@Tag("slow")
class IncrementalBackupTest {
  private static final int WRITERS = 3;
  private static final TableSpec SPEC = TableSpec.bytes("t", 100);

  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .log(
              log ->
                  log.bufferBytes(256 << 10)
                      .segmentBytes(256 << 10)
                      .maxBytes(2 << 20)
                      .checkpointInterval(Duration.ofMillis(20)));

  @TempDir Path dir;

  private static BackupOptions since(BackupReport before) {
    return BackupOptions.defaults().since(position(before));
  }

  private static BackupPosition position(BackupReport report) {
    return Objects.requireNonNull(report.position());
  }

  private static void fill(Database db, int from, int to) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    for (int i = from; i < to; i += 50) {
      int first = i;
      db.run(
          tx -> {
            for (int n = first; n < Math.min(to, first + 50); n++) {
              t.put(tx, new byte[] {1, (byte) (n >> 8), (byte) n}, new byte[n % 500]);
            }
          });
    }
  }

  private static int count(Path file, Options options) {
    try (Database db = Database.open(file, options.create(false))) {
      assertEquals(List.of(), db.verify().problems());
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      return db.read(
          tx -> {
            int n = 0;
            try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
              while (c.next()) {
                n++;
              }
            }
            return n;
          });
    }
  }

  @ParameterizedTest
  @CsvSource({"SYNC, 1, 4096", "ASYNC, 2, 4096", "SYNC, 3, 16384"})
  void everyPrefixUnderLoad(Durability durability, long seed, int pageSize) throws IOException {
    Options options = SMALL.durability(durability).device(dev -> dev.pageSize(pageSize));
    if (pageSize > 4096) {
      options = options.bufferBytes(8 << 20);
    }
    int increments = 2;
    long[][] least = new long[increments + 1][];
    long[][] most = new long[increments + 1][];
    try (Database db = Database.open(dir.resolve("db"), options);
        BackupLoad load = new BackupLoad(db, WRITERS, seed).start()) {
      load.awaitMore(400);
      BackupReport before = null;
      for (int i = 0; i <= increments; i++) {
        Path to = dir.resolve("copy" + i);
        least[i] = load.acknowledged();
        BackupReport report = before == null ? db.backup(to) : db.backup(to, since(before));
        most[i] = load.acknowledged();
        if (before == null) {
          assertEquals(report.pages(), report.pagesCopied());
        }
        before = report;
        load.awaitMore(i % 2 == 0 ? 200 : 5);
      }
    }
    Restore restore = Restore.from(dir.resolve("copy0"));
    for (int i = 0; i <= increments; i++) {
      Path file = dir.resolve("restored" + i);
      assertTrue(restore.to(file, options).ok());
      try (Database copy = Database.open(file, options.create(false))) {
        BackupLoad.check(copy, WRITERS, least[i], most[i]);
      }
      restore = restore.then(dir.resolve("copy" + (i + 1)));
    }
  }

  @Test
  void withoutChangesTheIncrementIsTiny() throws IOException {
    try (Database db = Database.open(dir.resolve("db"), SMALL.durability(Durability.SYNC))) {
      fill(db, 0, 3000);
      BackupReport full = db.backup(dir.resolve("full"));
      BackupReport none = db.backup(dir.resolve("none"), since(full));
      assertEquals(full.pages(), none.pages());
      // The superblocks, and possibly a page changed just before the full backup.
      assertTrue(none.pagesCopied() <= 3, none.toString());
      fill(db, 0, 1);
      BackupReport one = db.backup(dir.resolve("one"), since(none));
      assertTrue(one.pagesCopied() <= 6, one.toString());
      assertEquals(position(one), BackupPosition.of(dir.resolve("one")));
      assertEquals(position(one), BackupPosition.of(dir.resolve("one/db.pages")));
      assertEquals(position(full), BackupPosition.of(dir.resolve("full/db")));
    }
    Path file = dir.resolve("restored");
    Restore.from(dir.resolve("full"))
        .then(dir.resolve("none"))
        .then(dir.resolve("one/db.pages"))
        .to(file, SMALL);
    assertEquals(3000, count(file, SMALL));
  }

  /** In closed files no page needs to be marked, and no log is copied. */
  @Test
  void ofAClosedDatabase() {
    Path file = dir.resolve("db");
    Options none = SMALL.durability(Durability.NONE);
    BackupReport full;
    try (Database db = Database.open(file, SMALL)) {
      fill(db, 0, 1000);
      full = db.backup(dir.resolve("full"));
      fill(db, 1000, 1100);
    }
    BackupReport closed;
    try (Database db = Database.open(file, none)) {
      closed = db.backup(dir.resolve("closed"), since(full));
      assertEquals(0, closed.logBytes());
    }
    try (Database db = Database.open(file, SMALL)) {
      fill(db, 1100, 1150);
      db.backup(dir.resolve("open"), since(closed));
    }
    Path to = dir.resolve("restored");
    Restore.from(dir.resolve("full")).then(dir.resolve("closed")).to(to, SMALL);
    assertEquals(1100, count(to, SMALL));
    Path then = dir.resolve("restored2");
    Restore.from(dir.resolve("full"))
        .then(dir.resolve("closed"))
        .then(dir.resolve("open"))
        .to(then, SMALL);
    assertEquals(1150, count(then, SMALL));
  }

  @Test
  void everyDatabaseHasItsId() throws IOException {
    UUID id;
    try (Database db = Database.open(dir.resolve("db"), SMALL)) {
      id = db.id();
      db.backup(dir.resolve("full"));
      try (Database snapshot = db.snapshot()) {
        assertEquals(id, snapshot.id());
      }
    }
    try (Database db = Database.open(dir.resolve("db"), SMALL.readOnly(true))) {
      assertEquals(id, db.id());
    }
    assertEquals(id, FileReport.inspect(dir.resolve("db"), SMALL).header().id());
    Restore.from(dir.resolve("full")).to(dir.resolve("restored"), SMALL);
    try (Database db = Database.open(dir.resolve("restored"), SMALL);
        Database memory = Database.inMemory(SMALL);
        Database other = Database.inMemory(SMALL)) {
      assertNotEquals(id, db.id());
      assertNotEquals(memory.id(), other.id());
      assertEquals(memory.id(), memory.id());
    }
  }

  @Test
  void positionsAreText() {
    BackupPosition p = BackupPosition.parse("0d9c0f6e-1111-4222-8333-123456789abc/81920/3");
    assertEquals("0d9c0f6e-1111-4222-8333-123456789abc/81920/3", p.toString());
    assertEquals(81920, p.lsn());
    assertEquals(UUID.fromString("0d9c0f6e-1111-4222-8333-123456789abc"), p.database());
    assertEquals(p, BackupPosition.parse(p.toString()));
    assertEquals(p.hashCode(), BackupPosition.parse(p.toString()).hashCode());
    for (String bad :
        List.of(
            "",
            "x",
            "0d9c0f6e-1111-4222-8333-123456789abc/81920",
            "0d9c0f6e-1111-4222-8333-123456789abc/81921/0",
            "0d9c0f6e-1111-4222-8333-123456789abc/-8/0",
            "0d9c0f6e-1111-4222-8333-123456789abc/0/0",
            "0d9c0f6e-1111-4222-8333-123456789abc/081920/0",
            "0d9c0f6e-1111-4222-8333-123456789abc/8/-1",
            "1-1-1-1-1/8/0")) {
      assertThrows(IllegalArgumentException.class, () -> BackupPosition.parse(bad), bad);
    }
  }

  private static void refused(String why, Runnable what) {
    InvalidUseException e = assertThrows(InvalidUseException.class, what::run);
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  @Test
  void unusablePositionsAreRefused() throws IOException {
    Path file = dir.resolve("db");
    BackupReport full;
    try (Database db = Database.open(file, SMALL.durability(Durability.SYNC))) {
      fill(db, 0, 100);
      full = db.backup(dir.resolve("full"));
      BackupPosition p = position(full);
      BackupPosition other = BackupPosition.parse(UUID.randomUUID() + "/4096/0");
      refused("is of database " + other.database(), () -> to(db, "a", other));
      BackupPosition later =
          BackupPosition.parse(p.database() + "/" + (p.lsn() + (1L << 30)) + "/0");
      refused("beyond that of the database", () -> to(db, "b", later));
      BackupPosition ahead = BackupPosition.parse(p.database() + "/" + p.lsn() + "/7");
      refused("beyond that of the database", () -> to(db, "c", ahead));
      for (String name : List.of("a", "b", "c")) {
        assertEquals(0, files(dir.resolve(name)));
      }
    }
    try (Database db = Database.open(file, SMALL.durability(Durability.NONE))) {
      assertNotNull(db.backup(dir.resolve("d"), since(full)).position(), "nothing was changed yet");
      fill(db, 50, 60);
      refused("without a log", () -> to(db, "e", position(full)));
      assertNull(db.backup(dir.resolve("f")).position());
      refused("no position", () -> BackupPosition.of(dir.resolve("f")));
    }
    try (Database db = Database.open(file, SMALL.durability(Durability.SYNC))) {
      refused("changed without a log since", () -> to(db, "g", position(full)));
      BackupReport again = db.backup(dir.resolve("h"));
      fill(db, 100, 110);
      to(db, "i", position(again));
    }
    Path restored = dir.resolve("restored");
    Restore.from(dir.resolve("h")).then(dir.resolve("i")).to(restored, SMALL);
    assertEquals(110, count(restored, SMALL));
    refused(
        "a backup is missing",
        () -> Restore.from(dir.resolve("full")).then(dir.resolve("i")).to(dir.resolve("x"), SMALL));
    try (Database db = Database.inMemory(SMALL)) {
      assertNull(db.backup(dir.resolve("m")).position());
      refused("without a log", () -> to(db, "n", position(full)));
    }
    refused("There is no backup", () -> BackupPosition.of(dir.resolve("nowhere")));
    Files.delete(dir.resolve("h/db.manifest"));
    refused("no manifest", () -> BackupPosition.of(dir.resolve("h")));
  }

  private void to(Database db, String name, BackupPosition since) {
    db.backup(dir.resolve(name), BackupOptions.defaults().since(since));
  }

  /** Returns the number of files in a folder, which a failed backup removes. */
  private static int files(Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return 0;
    }
    try (Stream<Path> all = Files.list(directory)) {
      return (int) all.count();
    }
  }

  @Test
  void invalidChainsAreRefused() throws IOException {
    Path to = dir.resolve("restored");
    Path other = dir.resolve("other");
    try (Database db = Database.open(dir.resolve("a"), SMALL.durability(Durability.SYNC))) {
      fill(db, 0, 200);
      BackupReport full = db.backup(dir.resolve("full"));
      fill(db, 200, 300);
      BackupReport one = db.backup(dir.resolve("one"), since(full));
      fill(db, 300, 400);
      BackupReport two = db.backup(dir.resolve("two"), since(one));
      fill(db, 400, 500);
      db.backup(dir.resolve("three"), since(two));
      db.backup(dir.resolve("all"), since(full));
    }
    try (Database db = Database.open(dir.resolve("b"), SMALL.durability(Durability.SYNC))) {
      fill(db, 0, 200);
      db.backup(other);
    }
    refused("begins with a full backup", () -> Restore.from(dir.resolve("one")).to(to, SMALL));
    refused("a backup is missing", () -> chain(to, "full", "two"));
    refused("a backup is missing", () -> chain(to, "full", "one", "three"));
    refused(
        "is earlier than that of the backup before it",
        () -> chain(to, "full", "one", "two", "one"));
    refused("is earlier than that of the backup before it", () -> chain(to, "full", "all", "one"));
    refused("is a full backup", () -> chain(to, "full", "full"));
    refused("is a full backup", () -> chain(to, "full", "one", "other"));
    refused("belongs to database", () -> chain(to, "other", "one"));
    Path bare = Files.createDirectory(dir.resolve("bare"));
    Files.copy(dir.resolve("full/a"), bare.resolve("a"));
    Files.copy(dir.resolve("full/a.log"), bare.resolve("a.log"));
    refused("has no manifest", () -> chain(to, "bare", "one"));
    try (Stream<Path> left = Files.list(dir)) {
      assertEquals(0, left.filter(p -> p.getFileName().toString().startsWith("restored")).count());
    }
    chain(to, "full", "all"); // everything changed since the full backup
    assertEquals(500, count(to, SMALL));
    chain(dir.resolve("restored2"), "full", "one", "all");
    assertEquals(500, count(dir.resolve("restored2"), SMALL));
  }

  private void chain(Path to, String first, String... then) {
    Restore restore = Restore.from(dir.resolve(first));
    for (String name : then) {
      restore = restore.then(dir.resolve(name));
    }
    restore.to(to, SMALL);
  }

  /**
   * Any byte of any file is changed, or a file is missing: the restore is rejected and leaves
   * nothing behind.
   */
  @Test
  void damageAnywhere() throws IOException {
    try (Database db = Database.open(dir.resolve("db"), SMALL.durability(Durability.SYNC))) {
      fill(db, 0, 300);
      BackupReport full = db.backup(dir.resolve("full"));
      fill(db, 200, 400);
      db.backup(dir.resolve("one"), since(full));
    }
    SplittableRandom random = new SplittableRandom(7);
    Path to = dir.resolve("restored");
    for (String name :
        List.of(
            "full/db",
            "full/db.log",
            "full/db.manifest",
            "one/db.pages",
            "one/db.log",
            "one/db.manifest")) {
      Path file = dir.resolve(name);
      byte[] good = Files.readAllBytes(file);
      for (int i = 0; i < 6; i++) {
        byte[] bad = good.clone();
        int at = random.nextInt(bad.length);
        switch (i) {
          case 0 -> bad = Arrays.copyOf(bad, at);
          case 1 -> bad = Arrays.copyOf(bad, bad.length + 1 + random.nextInt(5000));
          case 2 -> bad = new byte[0];
          case 3 -> Arrays.fill(bad, at, Math.min(bad.length, at + 4096), (byte) (bad[at] + 1));
          default -> bad[at] ^= (byte) (1 << random.nextInt(8));
        }
        Files.write(file, bad);
        FoveaException e =
            assertThrows(
                FoveaException.class,
                () -> chain(to, "full", "one"),
                name + ", " + i + " at " + at);
        assertTrue(e instanceof CorruptionException || name.endsWith("manifest"), e.toString());
        assertTrue(Files.notExists(to));
      }
      Files.delete(file);
      assertThrows(FoveaException.class, () -> chain(to, "full", "one"), name + " is missing");
      Files.write(file, good);
    }
    chain(to, "full", "one");
    assertEquals(400, count(to, SMALL));
  }

  @Test
  void truncatedArchives() {
    ByteArrayOutputStream full = new ByteArrayOutputStream();
    ByteArrayOutputStream one = new ByteArrayOutputStream();
    try (Database db = Database.open(dir.resolve("db"), SMALL.durability(Durability.SYNC))) {
      fill(db, 0, 100);
      BackupReport first = db.backup(full);
      fill(db, 100, 150);
      db.backup(one, since(first));
    }
    Path to = dir.resolve("restored");
    byte[] all = one.toByteArray();
    for (int length = all.length - 512; length >= 0; length -= 1 + all.length / 20) {
      byte[] part = Arrays.copyOf(all, length);
      assertThrows(
          FoveaException.class,
          () ->
              Restore.from(new ByteArrayInputStream(full.toByteArray()))
                  .then(new ByteArrayInputStream(part))
                  .to(to, SMALL));
    }
    Restore.from(new ByteArrayInputStream(full.toByteArray()))
        .then(new ByteArrayInputStream(all))
        .to(to, SMALL);
    assertEquals(150, count(to, SMALL));
  }

  /** A full backup that was opened in place has become a database, and accepts no increment. */
  @Test
  void backupOpenedInPlace() throws IOException {
    try (Database db = Database.open(dir.resolve("db"), SMALL.durability(Durability.SYNC))) {
      fill(db, 0, 100);
      BackupReport full = db.backup(dir.resolve("full"));
      db.backup(dir.resolve("one"), since(full));
    }
    try (Database db = Database.open(dir.resolve("full/db"), SMALL)) {
      fill(db, 100, 110);
    }
    Path to = dir.resolve("restored");
    CorruptionException e = assertThrows(CorruptionException.class, () -> chain(to, "full", "one"));
    assertTrue(e.getMessage().contains("has become a database"), e.getMessage());
    Files.delete(dir.resolve("full/db.manifest"));
    chain(to, "full");
    assertEquals(110, count(to, SMALL));
  }
}
