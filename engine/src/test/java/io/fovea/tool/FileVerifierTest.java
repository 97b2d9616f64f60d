package io.fovea.tool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Field;
import io.fovea.FieldType;
import io.fovea.IndexSpec;
import io.fovea.KeySpec;
import io.fovea.Layout;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.Table;
import io.fovea.TableSpec;
import io.fovea.VerifyReport;
import io.fovea.error.FoveaException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The verifier says nothing of a good file and something of every page that is damaged. */
class FileVerifierTest {
  @TempDir Path dir;

  private Path make() {
    Path file = dir.resolve("db");
    Layout.Builder b = Layout.builder();
    Field x = b.text("x", 100);
    TableSpec spec =
        TableSpec.of("t", KeySpec.of(FieldType.INT32), b.build()).with(IndexSpec.on("i", x));
    try (Database db = Database.open(file, Options.defaults().bufferBytes(4 << 20))) {
      Table t = db.table(spec);
      Table gone = db.table(TableSpec.of("gone", KeySpec.of(FieldType.INT32), b.build()));
      Row row = t.row();
      Row row2 = gone.row();
      db.run(
          tx -> {
            for (int i = 0; i < 3000; i++) {
              t.insert(tx, t.key().set(i * 7919 % 3000), row.setText(x, "text " + i % 100));
              gone.insert(tx, gone.key().set(i), row2.setText(x, "y"));
            }
          });
      db.dropTable("gone");
    }
    return file;
  }

  private static String run(int expected, String... args) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream out = new PrintStream(bytes);
    assertEquals(expected, FileVerifier.run(args, out, out), bytes::toString);
    return bytes.toString();
  }

  @Test
  void aGoodFileIsGood() {
    Path file = make();
    VerifyReport report = FileVerifier.verify(file);
    assertTrue(report.ok(), report::toString);
    assertEquals(3, report.trees());
    assertEquals(3000, report.records());
    assertTrue(report.freePages() > 20);
    assertTrue(run(0, file.toString()).contains("Nothing is wrong"));
  }

  @Test
  void everyDamagedPageIsFound() throws IOException {
    Path file = make();
    byte[] good = Files.readAllBytes(file);
    long pages = FileVerifier.verify(file).pages();
    Random r = new Random(7);
    for (int i = 0; i < 40; i++) {
      long pid = 2 + r.nextLong(pages - 2);
      try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
        f.seek(pid * 4096 + r.nextInt(4096));
        int b = good[(int) f.getFilePointer()];
        f.write(~b);
      }
      boolean found;
      try {
        found = !FileVerifier.verify(file).ok();
      } catch (FoveaException e) {
        found = true; // the catalog can't be read at all
      }
      assertTrue(found, "page " + pid);
      Files.write(file, good);
    }
  }

  @Test
  void swappedPagesAreFound() throws IOException {
    Path file = make();
    byte[] good = Files.readAllBytes(file);
    byte[] bad = good.clone();
    System.arraycopy(good, 10 * 4096, bad, 11 * 4096, 4096);
    System.arraycopy(good, 11 * 4096, bad, 10 * 4096, 4096);
    Files.write(file, bad);
    VerifyReport report = FileVerifier.verify(file);
    assertFalse(report.ok());
    assertTrue(run(1, file.toString()).contains("damaged"));
  }

  @Test
  void wrongUseIsToldInWords() {
    assertTrue(run(2).contains("Usage"));
    assertTrue(run(2, dir.resolve("absent").toString()).contains("There is no file"));
  }
}
