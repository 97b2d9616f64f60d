package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.make;
import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Progress reports of commands. */
class ProgressTest {
  @TempDir Path dir;

  private static void says(Fixture.Ran ran, String pattern) {
    assertTrue(ran.err().matches("(?s)(.*\\n)?fovea: " + pattern + ", \\d+ s\\n"), ran.err());
  }

  @Test
  void onRequest() {
    Path file = make(dir, SMALL);
    String mib = "\\d+\\.\\d MiB";
    says(run(0, "verify", "--progress", file), "read: " + mib);
    Path out = dir.resolve("out");
    says(
        run(0, "export", "--progress", file, "t", "--output", out),
        "exported: 3000 of 3000 \\(100 %\\) records");
    says(
        run(0, "import", "--write", "--progress", file, "t", "--input", out),
        "imported: 3000 records");
    says(
        run(0, "import", "--write", "--progress", file, "t", "--dry-run", "--input", out),
        "read: 3000 records");
    says(run(0, "compact", "--write", "--progress", file), "the file has: " + mib);
    Path backup = dir.resolve("backup");
    says(
        run(0, "backup", "--progress", file, backup),
        "copied: " + mib + " of " + mib + " \\(\\d+ %\\)");
    says(run(0, "restore", "--progress", dir.resolve("restored"), backup), "restored: " + mib);
    assertEquals("", run(0, "verify", file).err());
  }

  /** Progress is on one line, which is erased. */
  @Tag("slow")
  @Test
  void atATerminal() throws Exception {
    StringWriter to = new StringWriter();
    AtomicInteger asked = new AtomicInteger();
    CountDownLatch said = new CountDownLatch(2);
    Progress p =
        new Progress(
            new PrintWriter(to),
            "copied",
            "things",
            () -> {
              said.countDown();
              return asked.incrementAndGet();
            },
            2,
            false,
            true);
    try (p) {
      p.start();
      said.await();
    }
    String text = to.toString();
    assertTrue(text.startsWith("\r\033[Kcopied: 1 of 2 (50 %) things, "), text);
    assertTrue(text.endsWith("\r\033[K"), text);
    Progress none = new Progress(new PrintWriter(to), "copied", "", () -> 0, 0, false, false);
    try (none) {
      none.start();
    }
    assertEquals(text, to.toString());
  }

  @Test
  void completion() {
    String script = run(0, "completion").out();
    assertTrue(script.contains("complete ") && script.contains("--descending"), script);
  }
}
