package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.schema.TableSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A file with free pages at its end is truncated while the database is open. */
@Timeout(60)
class FileShrinksTest {
  private static final int RECORDS = 6000;

  @TempDir Path dir;

  private static byte[] key(int i) {
    return new byte[] {1, (byte) (i >> 16), (byte) (i >> 8), (byte) i};
  }

  private static void fill(Database db, String name) {
    Table<byte[], byte[]> table = db.table(TableSpec.bytes(name, 40)).bytes();
    for (int from = 0; from < RECORDS; from += 500) {
      int first = from;
      db.run(
          tx -> {
            for (int i = first; i < first + 500; i++) {
              table.put(tx, key(i), new byte[900]);
            }
          });
    }
  }

  @Test
  void afterADropTheFileIsShort() throws Exception {
    Path file = dir.resolve("shrinks.fovea");
    try (Database db = Database.open(file, Options.defaults().bufferBytes(16 << 20))) {
      Table<byte[], byte[]> stays = db.table(TableSpec.bytes("stays", 40)).bytes();
      db.run(tx -> stays.put(tx, key(1), key(2)));
      fill(db, "goes");
      db.checkpoint();
      long before = Files.size(file);
      assertTrue(before > 5 << 20, "bytes: " + before);
      db.dropTable("goes");
      long deadline = System.nanoTime() + 30_000_000_000L;
      while (Files.size(file) > before / 2 && System.nanoTime() < deadline) {
        db.checkpoint();
      }
      assertTrue(Files.size(file) <= before / 2, before + " bytes, then " + Files.size(file));
      assertTrue(db.verify().ok(), () -> db.verify().toString());
      fill(db, "comes");
      assertTrue(db.verify().ok(), () -> db.verify().toString());
    }
    try (Database db = Database.open(file, Options.defaults().bufferBytes(16 << 20))) {
      assertTrue(db.verify().ok(), () -> db.verify().toString());
      Table<byte[], byte[]> stays = db.table(TableSpec.bytes("stays", 40)).bytes();
      assertArrayEquals(key(2), db.call(tx -> stays.get(tx, key(1))));
    }
  }
}
