package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.recovery.Superblock;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/**
 * Databases created by a release and kept unchanged: {@code golden/v3-closed.zip} and {@code
 * golden/v3-killed.zip} in the test resources, of file format 3. Their contents are computed, so
 * that each record can be checked.
 *
 * <p>{@link #main} creates the files of the current format. It is run once per format, before the
 * next one is introduced; its files are never created again.
 */
public final class GoldenFiles {
  static final int PEOPLE = 120;
  static final int DOCUMENTS = 8;

  static final KeySpec KEY = KeySpec.of(FieldType.INT64);
  private static final Layout.Definition B = Layout.define();
  static final Field NAME = B.text("name", 20);
  static final Field AGE = B.int32("age");
  static final Field BALANCE = B.int64("balance");
  static final Field PHOTO = B.bytes("photo", 12);
  static final Layout LAYOUT = B.build();
  static final TableSpec SPEC =
      TableSpec.of("people", KEY, LAYOUT)
          .with(IndexSpec.on("by_name", NAME).hints(EntryHints.PAGE_FRAME_SLOT))
          .with(IndexSpec.on("by_age", AGE).hints(EntryHints.NONE))
          .with(IndexSpec.unique("by_balance", BALANCE).hints(EntryHints.PAGE_SLOT))
          .with(
              IndexSpec.extracted(
                  "by_decade",
                  KeySpec.of(FieldType.INT32),
                  false,
                  (key, row, entry) -> {
                    entry.int32(row.getInt(AGE) / 10);
                    return true;
                  }));
  static final TableSpec BYTES = TableSpec.bytes("documents", 40);

  private GoldenFiles() {}

  static Options options() {
    return Options.defaults()
        .bufferBytes(2 << 20)
        .device(dev -> dev.pageSize(4096))
        .memory(mem -> mem.timestampBytes(1 << 20))
        .log(log -> log.bufferBytes(64 << 10).segmentBytes(64 << 10).maxBytes(1 << 20));
  }

  /** Every seventh record was deleted. */
  static boolean exists(int id) {
    return id % 7 != 3;
  }

  static String name(int id) {
    return (id % 5 == 0 ? "Zoë " : "person ") + id;
  }

  /** Records with even numbers were changed in place once. */
  static int age(int id) {
    return id % 2 == 0 ? id % 90 + 1 : id % 90;
  }

  static long balance(int id) {
    return id * 1_000L - 77;
  }

  static byte[] photo(int id) {
    byte[] bytes = new byte[id % 13];
    Arrays.fill(bytes, (byte) id);
    return bytes;
  }

  private static byte[] title(int i) {
    return ("document " + i).getBytes(StandardCharsets.UTF_8);
  }

  /** Short texts, some that fill a page, and some in chains of pages. */
  private static byte[] text(int i) {
    byte[] bytes = new byte[i * i * 300];
    Arrays.fill(bytes, (byte) ('a' + i));
    return bytes;
  }

  private static void fill(RowTable people, Transaction tx, int id, int age) {
    Row row = people.row().clear();
    row.setText(NAME, name(id)).setInt(AGE, age).setLong(BALANCE, balance(id));
    people.insert(tx, people.key().set((long) id), row.setBytes(PHOTO, photo(id)));
  }

  private static void fill(Database db, int half) {
    RowTable people = db.table(SPEC);
    Table<byte[], byte[]> documents = db.table(BYTES).bytes();
    int from = half * PEOPLE / 2;
    int to = from + PEOPLE / 2;
    db.run(
        tx -> {
          for (int id = from; id < to; id++) {
            fill(people, tx, id, id % 90);
          }
          for (int i = half; i < DOCUMENTS; i += 2) {
            documents.put(tx, title(i), text(i));
          }
        });
    db.run(
        tx -> {
          Row row = people.row();
          for (int id = from; id < to; id++) {
            assertTrue(people.get(tx, people.key().set((long) id), row));
            if (!exists(id)) {
              people.delete(tx, people.key().set((long) id));
            } else if (id % 2 == 0) {
              people.update(tx, row.setInt(AGE, row.getInt(AGE) + 1));
            }
          }
        });
  }

  static void check(Database db) {
    assertEquals(List.of("documents", "people"), db.tables());
    RowTable people = db.table(SPEC);
    Table<byte[], byte[]> documents = db.table(BYTES).bytes();
    db.run(
        tx -> {
          Row row = people.row();
          RowIndex byName = people.index("by_name");
          RowIndex byBalance = people.index("by_balance");
          int exists = 0;
          for (int id = 0; id < PEOPLE; id++) {
            boolean there = people.get(tx, people.key().set((long) id), row);
            assertEquals(exists(id), there, "person " + id);
            if (there) {
              exists++;
              checkRow(row, id);
              assertTrue(byName.get(tx, byName.key().set(name(id)), row));
              checkRow(row, id);
              assertTrue(byBalance.get(tx, byBalance.key().set(balance(id)), row));
              checkRow(row, id);
            }
          }
          assertEquals(exists, count(people.scan(tx, Range.all(), ScanOrder.ASCENDING)));
          for (String index : List.of("by_name", "by_age", "by_balance", "by_decade")) {
            assertEquals(
                exists,
                count(people.index(index).scan(tx, Range.all(), ScanOrder.ASCENDING)),
                index);
          }
          for (int i = 0; i < DOCUMENTS; i++) {
            assertArrayEquals(text(i), documents.get(tx, title(i)));
          }
        });
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  private static void checkRow(Row row, int id) {
    assertEquals(name(id), row.getText(NAME));
    assertEquals(age(id), row.getInt(AGE));
    assertEquals(balance(id), row.getLong(BALANCE));
    assertArrayEquals(photo(id), row.getBytes(PHOTO));
  }

  private static int count(RowCursor cursor) {
    try (cursor) {
      int n = 0;
      while (cursor.next()) {
        checkRow(cursor.row(), (int) cursor.key().getLong(0));
        n++;
      }
      return n;
    }
  }

  /** Unpacks a database to the file {@code db} in a folder. */
  static Path unpack(String what, Path folder) throws IOException {
    try (InputStream in = GoldenFiles.class.getResourceAsStream("/golden/" + what + ".zip");
        ZipInputStream zip = new ZipInputStream(Objects.requireNonNull(in, what))) {
      for (ZipEntry e = zip.getNextEntry(); e != null; e = zip.getNextEntry()) {
        Files.copy(zip, folder.resolve(e.getName()));
      }
    }
    return folder.resolve("db");
  }

  /** Packs a database; a closed one consists of the data file alone. */
  private static void pack(Path folder, boolean alone, Path zip) throws IOException {
    try (OutputStream to = new BufferedOutputStream(Files.newOutputStream(zip));
        ZipOutputStream out = new ZipOutputStream(to);
        Stream<Path> files = Files.list(folder)) {
      out.setLevel(9);
      for (Path file :
          files.filter(f -> kept(f.getFileName().toString(), alone)).sorted().toList()) {
        out.putNextEntry(new ZipEntry(file.getFileName().toString()));
        Files.copy(file, out);
        out.closeEntry();
      }
    }
  }

  private static boolean kept(String file, boolean alone) {
    return alone ? file.equals("db") : !file.endsWith(".lock");
  }

  /**
   * Creates both files of the current format.
   *
   * @param args the target folder
   */
  public static void main(String[] args) throws IOException {
    for (boolean closed : new boolean[] {true, false}) {
      Path folder = Files.createTempDirectory("golden");
      Database db = Database.open(folder.resolve("db"), options());
      RowTable gone = db.table(TableSpec.bytes("gone", 9));
      db.run(tx -> gone.bytes().put(tx, new byte[1], new byte[9_000]));
      fill(db, 0);
      db.checkpoint();
      fill(db, 1);
      assertTrue(db.dropTable("gone"));
      assertFalse(db.tables().contains("gone"));
      check(db);
      if (closed) {
        db.close();
      } else {
        db.abandon();
      }
      String name = "v" + Superblock.FORMAT_VERSION + (closed ? "-closed" : "-killed") + ".zip";
      pack(folder, closed, Path.of(args[0], name));
    }
  }
}
