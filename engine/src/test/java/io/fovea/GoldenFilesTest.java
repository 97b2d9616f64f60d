package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.recovery.Superblock;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files of earlier formats open, can be changed, and then have the newest format. */
class GoldenFilesTest {
  private static final int ADDED = 9_000;

  @TempDir Path folder;

  private static int format(Path file) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    int newer = bytes.getLong(64) > bytes.getLong(4096 + 64) ? 0 : 4096;
    return bytes.getInt(newer + 40);
  }

  @ParameterizedTest
  @ValueSource(strings = {"v3-closed", "v3-killed"})
  void filesOfEarlierFormatsAreOpenedAndChanged(String name) throws IOException {
    Path file = GoldenFiles.unpack(name, folder);
    assertEquals(name.charAt(1) - '0', format(file));
    try (Database db = Database.open(file, GoldenFiles.options())) {
      GoldenFiles.check(db);
      RowTable people = db.table(GoldenFiles.SPEC);
      db.run(
          tx -> {
            Row row = people.row().clear();
            row.setText(GoldenFiles.NAME, "added").setLong(GoldenFiles.BALANCE, ADDED);
            people.insert(tx, people.key().set((long) ADDED), row);
            assertTrue(people.get(tx, people.key().set(0L), row));
            people.update(tx, row.setText(GoldenFiles.NAME, "changed"));
          });
    }
    assertEquals(Superblock.FORMAT_VERSION, format(file));
    FileReport report = FileReport.verify(file, GoldenFiles.options());
    assertTrue(report.ok(), report::toString);
    try (Database db = Database.open(file, GoldenFiles.options())) {
      RowTable people = db.table(GoldenFiles.SPEC);
      RowIndex byName = people.index("by_name");
      db.run(
          tx -> {
            Row row = people.row();
            assertTrue(byName.get(tx, byName.key().set("added"), row));
            assertEquals(ADDED, row.getLong(GoldenFiles.BALANCE));
            assertTrue(people.delete(tx, people.key().set((long) ADDED)));
            assertTrue(people.get(tx, people.key().set(0L), row));
            assertEquals("changed", row.getText(GoldenFiles.NAME));
            people.update(tx, row.setText(GoldenFiles.NAME, GoldenFiles.name(0)));
          });
      GoldenFiles.check(db);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"v3-closed", "v3-killed"})
  void readingDoesNotUpgrade(String name) throws IOException {
    Path file = GoldenFiles.unpack(name, folder);
    byte[] before = Files.readAllBytes(file);
    try (Database db = Database.open(file, GoldenFiles.options().readOnly(true))) {
      GoldenFiles.check(db);
    }
    assertEquals(ByteBuffer.wrap(before), ByteBuffer.wrap(Files.readAllBytes(file)));
  }
}
