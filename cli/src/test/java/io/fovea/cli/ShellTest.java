package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.lines;
import static io.fovea.cli.Fixture.make;
import static io.fovea.cli.Fixture.run;
import static io.fovea.cli.Fixture.shell;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Transcripts of shells without a terminal. */
class ShellTest {
  @TempDir Path dir;

  @Test
  void looks() throws IOException {
    Path file = make(dir, SMALL);
    byte[] before = Files.readAllBytes(file);
    var ran =
        shell(
            List.of(file),
            "# what is there?",
            "",
            "count t",
            "scan t 7",
            "get t 7",
            "scan t --index i 'text 7' --limit 1",
            "schema t",
            "verify",
            "count t",
            "exit",
            "count t");
    assertEquals(0, ran.code(), ran::toString);
    assertEquals("", ran.err());
    List<String> out = ran.out().lines().toList();
    assertEquals(
        List.of(
            "3000",
            "k0 7  x text 53",
            "k0  7",
            "x   text 53",
            "k0 33  x text 7",
            "table t of rows",
            "  key    k0 INT32",
            "  row    x TEXT(100)",
            "  index  i by x TEXT(100)"),
        out.subList(0, 9));
    assertEquals("Nothing is wrong.", out.get(10));
    assertEquals("3000", out.get(11));
    assertEquals(12, out.size());
    assertArrayEquals(before, Files.readAllBytes(file));
  }

  @Test
  void endsAtFirstFailingLine() {
    Path file = make(dir, SMALL);
    var ran = shell(List.of("shell", file), "count t", "get t 100000", "count t");
    assertEquals(4, ran.code());
    assertEquals("3000\n", ran.out());
    assertEquals(
        "fovea: there is no such record\n"
            + "fovea: line 2 failed; the lines after it were not run\n",
        ran.err());
    for (String wrong : new String[] {"frobnicate", "scan", "get t 'x", "restore x", "shell x"}) {
      assertEquals(2, shell(List.of(file), wrong).code(), wrong);
    }
    String unknown = shell(List.of(file), "verfy").err();
    assertTrue(unknown.contains("Did you mean: verify"), unknown);
    assertTrue(unknown.contains("See 'help'."), unknown);
    assertTrue(shell(List.of(file), "get").err().contains("See 'get --help'."));
  }

  @Test
  void changesOnlyWithWrite() {
    Path file = make(dir, SMALL);
    for (String change :
        new String[] {"put t 1 x=new", "delete t 1", "import t --input none", "compact"}) {
      var ran = shell(List.of(file), change);
      assertEquals(2, ran.code(), change);
      assertTrue(ran.err().contains("for reading only"), ran.err());
    }
    var ran = shell(List.of("--write", file), "put t 1 x=new", "get t 1", "delete t 2", "compact");
    assertEquals(0, ran.code(), ran::toString);
    assertTrue(ran.out().startsWith("k0  1\nx   new\n"), ran.out());
    assertEquals(List.of("2999"), lines("count", file, "t"));
    run(0, "verify", file);
  }

  @Test
  void transactions() {
    Path file = make(dir, SMALL);
    var kept =
        shell(
            List.of(file, "--write"),
            "begin",
            "put t 1 x=one",
            "put t 5000 x=more",
            "count t",
            "get t 1",
            "commit",
            "begin",
            "delete t 1",
            "count t 1",
            "rollback",
            "count t");
    assertEquals(0, kept.code(), kept::toString);
    assertEquals("3001\nk0  1\nx   one\n0\n3001\n", kept.out());
    var left = shell(List.of(file, "--write"), "begin", "delete t 1");
    assertEquals(2, left.code());
    assertTrue(left.err().contains("was not committed and is rolled back"), left.err());
    var failed = shell(List.of(file, "--write"), "begin", "delete t 1", "get t 1");
    assertEquals(4, failed.code());
    assertEquals(List.of("3001"), lines("count", file, "t"));
    for (String wrong : new String[] {"commit", "rollback"}) {
      assertEquals(2, shell(List.of(file), wrong).code());
    }
    assertTrue(shell(List.of(file), "begin", "begin").err().contains("already"));
    assertTrue(shell(List.of(file), "begin", "verify").err().contains("commit or roll back first"));
    // A transaction that only reads has one state.
    assertEquals("3001\n", shell(List.of(file), "begin", "count t", "commit").out());
  }

  @Test
  void help() {
    Path file = make(dir, SMALL);
    String all = shell(List.of(file), "help").out();
    assertTrue(all.contains("\nbegin ") && all.contains("\nscan "), all);
    assertFalse(all.contains("\nrestore "), all);
    String scan = shell(List.of(file), "help scan").out();
    assertTrue(scan.contains("Usage: scan") && !scan.contains("FILE"), scan);
    assertEquals(scan, shell(List.of(file), "scan --help").out());
    assertEquals(2, shell(List.of(file), "help nothing").code());
    assertTrue(run(0, "--help").out().contains("FILE [--write]"));
  }

  /** What Ctrl-C does, without a terminal. */
  @Test
  void stopsCommand() throws Exception {
    Path file = make(dir, SMALL);
    StringWriter said = new StringWriter();
    PrintWriter err = new PrintWriter(said);
    try (Session session = new Session(file, false)) {
      session.stop(); // nothing runs, so nothing is stopped
      CountDownLatch began = new CountDownLatch(1);
      Writer endless =
          new Writer() {
            @Override
            public void write(char[] c, int off, int len) {
              began.countDown();
              // blocks until it is stopped
              while (!Thread.currentThread().isInterrupted()) {
                Thread.onSpinWait();
              }
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
          };
      Shell shell = new Shell(session, new PrintWriter(endless), err, false);
      Thread user =
          new Thread(
              () -> {
                try {
                  began.await();
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
                session.stop();
              });
      user.start();
      assertEquals(130, shell.run("scan t --limit 0"));
      user.join();
      assertEquals("fovea: stopped\n", said.toString());
      assertFalse(Thread.currentThread().isInterrupted());
      StringWriter out = new StringWriter();
      assertEquals(0, new Shell(session, new PrintWriter(out), err, false).run("count t"));
      assertEquals("3000\n", out.toString());
    }
  }

  @Test
  void json() {
    Path file = make(dir, SMALL);
    assertEquals(
        "{\n  \"records\": 3000\n}\n{\n  \"k0\": 7,\n  \"x\": \"text 53\"\n}\n",
        shell(List.of(file, "--json"), "count t", "get t 7").out());
  }

  @Test
  void mistypedCommandsAreNotFiles() {
    Path file = make(dir, SMALL);
    String err = run(2, "verfy", file).err();
    assertTrue(err.contains("Did you mean: fovea verify"), err);
    run(2, dir.resolve("absent"));
    run(2, dir);
    run(2, "shell", dir.resolve("absent"));
  }
}
