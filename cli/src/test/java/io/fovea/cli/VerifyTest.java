package io.fovea.cli;

import static io.fovea.cli.Fixture.make;
import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.FileReport;
import io.fovea.Options;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The verifier accepts a good file and reports every damaged page. */
class VerifyTest {
  @TempDir Path dir;

  @Test
  void acceptsGoodFileWithoutChange() throws IOException {
    Path file = make(dir, Options.defaults());
    byte[] before = Files.readAllBytes(file);
    FileReport report = FileReport.verify(file, Opening.options());
    assertTrue(report.ok(), report::toString);
    assertEquals(4, report.trees().size());
    assertEquals(Fixture.ROWS + Fixture.LONGS, report.records());
    assertTrue(report.freePages() > 20);
    assertTrue(run(0, "verify", file).out().contains("Nothing is wrong"));
    assertArrayEquals(before, Files.readAllBytes(file));
  }

  @Tag("slow")
  @Test
  void findsEveryDamagedPage() throws IOException {
    Path file = make(dir, Options.defaults());
    byte[] good = Files.readAllBytes(file);
    long pages = FileReport.verify(file, Opening.options()).header().pages();
    Random r = new Random(7);
    for (int i = 0; i < 40; i++) {
      long pid = 2 + r.nextLong(pages - 2);
      try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
        f.seek(pid * 4096 + r.nextInt(4096));
        int b = good[(int) f.getFilePointer()];
        f.write(~b);
      }
      FileReport report = FileReport.verify(file, Opening.options());
      assertFalse(report.ok(), "page " + pid);
      assertTrue(
          report.problems().stream().anyMatch(p -> p.contains("page " + pid)), report::toString);
      Files.write(file, good);
    }
  }

  @Tag("slow")
  @Test
  void findsSwappedPages() throws IOException {
    Path file = make(dir, Options.defaults());
    byte[] good = Files.readAllBytes(file);
    byte[] bad = good.clone();
    System.arraycopy(good, 10 * 4096, bad, 11 * 4096, 4096);
    System.arraycopy(good, 11 * 4096, bad, 10 * 4096, 4096);
    Files.write(file, bad);
    assertFalse(FileReport.verify(file, Opening.options()).ok());
    assertTrue(run(1, "verify", file).out().contains("holds page 11"));
  }

  @Test
  void oneSuperblockSuffices() throws IOException {
    Path file = make(dir, Options.defaults());
    byte[] good = Files.readAllBytes(file);
    for (int newer = 0; newer < 2; newer++) {
      byte[] bad = good.clone();
      bad[newer * 4096 + 100] ^= 1;
      Files.write(file, bad);
      int code = Fixture.ran("verify", file).code();
      // The older superblock says that the file was not closed.
      assertTrue(code == 0 || code == 1);
    }
  }
}
