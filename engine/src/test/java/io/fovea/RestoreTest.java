package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.schema.TableSpec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A restored backup is a complete, verified, separate database; if restoring fails, no files are
 * left.
 */
@Tag("slow")
class RestoreTest {
  private static final TableSpec SPEC = TableSpec.bytes("t", 100);
  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .log(log -> log.bufferBytes(256 << 10).segmentBytes(256 << 10));

  @TempDir Path dir;

  private Path source;
  private Path target;

  @BeforeEach
  void folders() throws IOException {
    source = dir.resolve("live/db");
    target = dir.resolve("restored/again.fovea");
    Files.createDirectories(source.getParent());
    Files.createDirectories(target.getParent());
  }

  private static void fill(Database db, int from, int to) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    for (int i = from; i < to; i++) {
      int n = i;
      db.run(tx -> t.put(tx, new byte[] {1, (byte) (n >> 8), (byte) n}, new byte[n % 500]));
    }
  }

  private static Map<String, Integer> contents(Database db) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    return db.read(
        tx -> {
          Map<String, Integer> all = new TreeMap<>();
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              all.put(HexFormat.of().formatHex(c.key()), c.value().length);
            }
          }
          return all;
        });
  }

  private void check(Map<String, Integer> expected, FileReport report) throws IOException {
    assertTrue(report.ok());
    assertEquals(List.of("again.fovea"), names());
    FileReport now = FileReport.verify(target, SMALL);
    assertEquals(List.of(), now.problems());
    assertEquals(FileReport.State.CLEAN, now.header().state());
    assertNotEquals(report.header().id(), now.header().id(), "it is another database");
    try (Database db = Database.open(target, SMALL.create(false))) {
      assertEquals(expected, contents(db));
      fill(db, 5_000, 5_050);
    }
    assertEquals(List.of(), FileReport.verify(target, SMALL).problems());
  }

  private List<String> names() throws IOException {
    try (Stream<Path> all = Files.list(target.getParent())) {
      return all.map(p -> p.getFileName().toString()).sorted().toList();
    }
  }

  /** A backup taken while the database was open, which needs its log. */
  @Test
  void ofADirectory() throws IOException {
    Map<String, Integer> expected;
    try (Database db = Database.open(source, SMALL)) {
      fill(db, 0, 1_000);
      db.backup(dir.resolve("monday"));
      expected = contents(db);
      fill(db, 1_000, 1_100);
    }
    check(expected, Restore.from(dir.resolve("monday")).to(target, SMALL));
  }

  @Test
  void ofAnArchiveAndAStream() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Map<String, Integer> expected;
    try (Database db = Database.open(source, SMALL)) {
      fill(db, 0, 300);
      db.backup(bytes);
      expected = contents(db);
    }
    Path tar = dir.resolve("monday.tar");
    Files.write(tar, bytes.toByteArray());
    check(expected, Restore.from(tar).to(target, SMALL));
    Files.delete(target);
    Files.delete(target.resolveSibling("again.fovea.log"));
    Files.deleteIfExists(target.resolveSibling("again.fovea.dwb"));
    Files.deleteIfExists(target.resolveSibling("again.fovea.lock"));
    check(expected, Restore.from(new ByteArrayInputStream(bytes.toByteArray())).to(target, SMALL));
  }

  /** With a page size other than that in the options, without a log, and named by its data file. */
  @Test
  void ofAClosedDatabase() throws IOException {
    Options other = SMALL.device(dev -> dev.pageSize(8192)).durability(Durability.NONE);
    Map<String, Integer> expected;
    try (Database db = Database.open(source, other)) {
      fill(db, 0, 300);
      expected = contents(db);
    }
    assertTrue(Restore.from(source).to(target, SMALL).ok());
    try (Database db = Database.open(target, other.create(false))) {
      assertEquals(expected, contents(db));
    }
  }

  /** The files of a killed process, with their double-write area. */
  @Test
  void ofADatabaseThatWasKilled() throws IOException {
    Database db = Database.open(source, SMALL);
    fill(db, 0, 500);
    Map<String, Integer> expected = contents(db);
    db.abandon();
    check(expected, Restore.from(source.getParent()).to(target, SMALL));
  }

  /** A stream truncated at any length leaves no files. */
  @Test
  void cutAnywhere() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (Database db = Database.open(source, SMALL)) {
      fill(db, 0, 40);
      db.backup(bytes);
    }
    byte[] all = bytes.toByteArray();
    int refused = 0;
    for (int at = 0; at < all.length; at += at < 2_048 || at > all.length - 2_048 ? 256 : 30_011) {
      byte[] part = Arrays.copyOf(all, at);
      StorageException e =
          assertThrows(
              StorageException.class,
              () -> Restore.from(new ByteArrayInputStream(part)).to(target, SMALL));
      assertTrue(e.getMessage().contains("cut short"), e.getMessage());
      assertEquals(List.of(), names());
      refused++;
    }
    assertTrue(refused > 15);
  }

  /** Bits flipped in the backup: it is refused, or the bit did not matter. */
  @Test
  void damagedAnywhere() throws IOException {
    Map<String, Integer> expected;
    try (Database db = Database.open(source, SMALL)) {
      fill(db, 0, 200);
      db.backup(dir.resolve("monday"));
      expected = contents(db);
    }
    Path data = dir.resolve("monday/db");
    byte[] good = Files.readAllBytes(data);
    SplittableRandom random = new SplittableRandom(1);
    int refused = 0;
    for (int i = 0; i < 25; i++) {
      byte[] bad = good.clone();
      bad[random.nextInt(bad.length)] ^= (byte) (1 << random.nextInt(8));
      Files.write(data, bad);
      try {
        Restore.from(dir.resolve("monday")).to(target, SMALL);
        try (Database db = Database.open(target, SMALL.create(false))) {
          assertEquals(expected, contents(db));
        }
      } catch (FoveaException e) {
        refused++;
        assertEquals(List.of(), names());
      }
      try (Stream<Path> left = Files.list(target.getParent())) {
        for (Path f : left.toList()) {
          Files.delete(f);
        }
      }
    }
    assertTrue(refused > 0);
  }

  @Test
  void mistakes() throws IOException {
    Path nowhere = dir.resolve("nowhere");
    refused("There is no backup", nowhere);
    Path empty = Files.createDirectory(dir.resolve("empty"));
    refused("no data file", empty);
    try (Database db = Database.open(source, SMALL)) {
      fill(db, 0, 10);
      assertThrows(DatabaseLockedException.class, () -> Restore.from(source).to(target, SMALL));
      assertEquals(List.of(), names());
    }
    Files.copy(source, source.resolveSibling("other"));
    refused("several", source.getParent());
    Files.createFile(target.resolveSibling("again.fovea.log"));
    refused("never overwrites files", source);
    Files.delete(target.resolveSibling("again.fovea.log"));
    Files.createDirectory(target.resolveSibling("again.fovea.restoring"));
    refused("again.fovea.restoring", source);
    Files.delete(target.resolveSibling("again.fovea.restoring"));
    Path text = Files.writeString(dir.resolve("text"), "no database, and no archive either");
    assertThrows(FoveaException.class, () -> Restore.from(text).to(target, SMALL));
    assertThrows(
        StorageException.class,
        () -> Restore.from(source).to(dir.resolve("no/such/folder/db"), SMALL));
    assertEquals(List.of(), names());
  }

  private void refused(String why, Path backup) {
    InvalidUseException e =
        assertThrows(InvalidUseException.class, () -> Restore.from(backup).to(target, SMALL));
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  /** An archive whose names contain paths, which are treated as plain names. */
  @Test
  void pathsInNamesAreIgnored() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (Database db = Database.open(source, SMALL)) {
      fill(db, 0, 10);
      db.backup(bytes);
    }
    byte[] tar = bytes.toByteArray();
    for (int at = 0; at + 512 <= tar.length; at += 512) {
      if (new String(tar, at + 257, 5, StandardCharsets.US_ASCII).equals("ustar")) {
        rename(tar, at);
      }
    }
    assertTrue(Restore.from(new ByteArrayInputStream(tar)).to(target, SMALL).ok());
    assertEquals(List.of("again.fovea"), names());
    assertFalse(Files.exists(dir.resolve("db")));
  }

  /** Changes {@code db...} to {@code ../db...}. */
  private static void rename(byte[] tar, int at) {
    System.arraycopy(tar, at, tar, at + 3, 90);
    System.arraycopy(new byte[] {'.', '.', '/'}, 0, tar, at, 3);
    Arrays.fill(tar, at + 148, at + 156, (byte) ' ');
    int sum = 0;
    for (int i = 0; i < 512; i++) {
      sum += tar[at + i] & 0xFF;
    }
    byte[] octal = String.format("%06o\0 ", sum).getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(octal, 0, tar, at + 148, 8);
  }

  @Test
  void aDamagedBackupIsNotRestored() throws IOException {
    try (Database db = Database.open(source, SMALL)) {
      fill(db, 0, 10);
      db.backup(dir.resolve("monday"));
    }
    Path damaged = dir.resolve("damaged");
    Files.copy(dir.resolve("monday/db"), damaged); // without its log
    Path third = dir.resolve("third");
    CorruptionException e =
        assertThrows(CorruptionException.class, () -> Restore.from(damaged).to(third, SMALL));
    assertTrue(e.getCause().getMessage().contains("the log is missing"), () -> "" + e.getCause());
    assertFalse(Files.exists(third));
  }
}
