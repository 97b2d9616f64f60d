package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.catalog.DeferredDrops;
import io.fovea.schema.TableSpec;
import io.fovea.tool.Tool;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tools on what a killed process leaves: they tell, and change nothing. */
@Tag("slow")
class ToolRecoveryTest {
  /** Bits that are flipped, as many as it takes until some of them were found to be wrong. */
  private static final int FLIPS = 25;

  private static final int FLIPS_MAX = 500;
  private static final int FOUND = 4;

  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .durability(Durability.SYNC)
          .log(
              log ->
                  log.bufferBytes(256 << 10)
                      .segmentBytes(256 << 10)
                      .bytesMax(64 << 20)
                      .checkpointInterval(Duration.ZERO));

  private static final int WRITERS = 2;
  private static final List<String> SUFFIXES = List.of("", ".log", ".dwb");

  @TempDir Path dir;

  private Path file;

  /** What a command said, and how it ended. */
  private record Ran(int code, String out, String err) {}

  private static Ran run(Object... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    String[] words = Arrays.stream(args).map(Object::toString).toArray(String[]::new);
    int code = Tool.execute(new PrintWriter(out), new PrintWriter(err), words);
    return new Ran(code, out.toString(), err.toString());
  }

  private static Ran run(Expected expected, Object... args) {
    Ran ran = run(args);
    assertEquals(expected.code, ran.code, () -> Arrays.toString(args) + " " + ran);
    return ran;
  }

  private enum Expected {
    OK(0),
    PROBLEMS(1),
    MISTAKE(2);

    private final int code;

    Expected(int code) {
      this.code = code;
    }
  }

  /** A database with everything that a log can have, which is not closed. */
  @BeforeEach
  void make() {
    file = dir.resolve("db");
    Database db = Database.open(file, SMALL);
    try (BackupLoad load = new BackupLoad(db, WRITERS, 1).start()) {
      load.awaitMore(150);
      db.checkpoint();
      load.awaitMore(300);
    }
    ByteTable t = db.table(TableSpec.bytes("gone", 20)).bytes();
    db.run(
        tx -> {
          for (int i = 0; i < 300; i++) {
            byte[] key = ("k" + i).getBytes(StandardCharsets.UTF_8);
            t.put(tx, key, new byte[i % 50 == 0 ? 9000 : 100]);
          }
        });
    db.dropTable("gone");
    boolean[] freeing = {true};
    while (freeing[0]) {
      freeing[0] = false;
      Thread.onSpinWait();
      DeferredDrops.forEach(db.store().catalog(), (id, root) -> freeing[0] = true);
    }
    db.table(TableSpec.bytes("last", 8)); // durable, and what lies before it
    db.dropTable("last");
    db.abandon();
  }

  private byte[][] contents() throws IOException {
    byte[][] all = new byte[SUFFIXES.size()][];
    for (int i = 0; i < all.length; i++) {
      all[i] = Files.readAllBytes(dir.resolve("db" + SUFFIXES.get(i)));
    }
    return all;
  }

  private void write(byte[][] contents) throws IOException {
    for (int i = 0; i < contents.length; i++) {
      Files.write(dir.resolve("db" + SUFFIXES.get(i)), contents[i]);
    }
  }

  private static void assertSame(byte[][] expected, byte[][] found) {
    for (int i = 0; i < expected.length; i++) {
      assertArrayEquals(expected[i], found[i]);
    }
  }

  @Test
  void nothingIsChanged() throws IOException {
    byte[][] before = contents();
    String text = run(Expected.OK, "verify", file).out();
    assertTrue(text.contains("needs recovery"), text);
    assertTrue(text.contains("Nothing is wrong"), text);
    String json = run(Expected.OK, "stat", file, "--json").out();
    assertTrue(json.contains("\"state\": \"NEEDS_RECOVERY\""), json);
    assertTrue(json.contains("\"table\": \"lines\""), json);
    assertTrue(json.contains("\"index\": \"byWriter\""), json);
    assertTrue(run(Expected.OK, "stat", file).out().contains("lines.byWriter"));
    run(Expected.OK, "dump", file, "--log", "..");
    run(Expected.OK, "dump", file, "--page", "0");
    assertSame(before, contents());
    assertEquals(List.of(), FileReport.verify(file, SMALL).problems());
    try (Database db = Database.open(file, SMALL)) {
      assertEquals(List.of(), db.verify().problems());
    }
    assertTrue(run(Expected.OK, "verify", file).out().contains("closed"));
  }

  @Test
  void everyKindOfRecordIsDumped() {
    String text = run(Expected.OK, "dump", file, "--log", "..").out();
    for (String kind :
        List.of(
            "COMMIT",
            "STRUCTURE",
            "CHAIN",
            "ALLOCATE",
            "FREE",
            "CREATE_TREE",
            "SCHEMA",
            "DROPPED",
            "PUT",
            "DELETE")) {
      assertTrue(text.contains(kind), kind);
    }
    String[] lines = text.split("\n");
    String[] heads = Arrays.stream(lines).filter(l -> !l.startsWith(" ")).toArray(String[]::new);
    long last = -1;
    for (String head : heads) {
      String[] range = head.split(" ")[0].split("\\.\\.");
      long start = Long.parseLong(range[0]);
      assertTrue(last < 0 || start == last, head);
      last = Long.parseLong(range[1]);
    }
    String from = heads[10].split("\\.\\.")[0];
    String to = heads[20].split("\\.\\.")[0];
    String part = run(Expected.OK, "dump", file, "--log", from + ".." + to).out();
    assertTrue(text.contains(part));
    assertEquals(10, part.lines().filter(l -> !l.startsWith(" ")).count());
    String json = run(Expected.OK, "dump", file, "--log", from + ".." + to, "--json").out();
    assertTrue(json.startsWith("[") && json.strip().endsWith("]"), json);
    assertTrue(json.contains("\"lsn\": " + from), json);
    assertTrue(
        run(Expected.OK, "dump", file, "--log", from + ".." + to, "--hex")
            .out()
            .contains("00000000 "));
    assertEquals(
        "[]", run(Expected.OK, "dump", file, "--log", last + "..", "--json").out().strip());
  }

  @Test
  void aMissingLogIsAProblem() throws IOException {
    Files.delete(dir.resolve("db.log"));
    assertTrue(run(Expected.PROBLEMS, "verify", file).out().contains("log is missing"));
    run(Expected.MISTAKE, "dump", file, "--log", "..");
  }

  @Test
  void aLogOfLongAgoIsAProblem() throws IOException {
    byte[] old = Files.readAllBytes(dir.resolve("db.log"));
    Database db = Database.open(file, SMALL);
    try (BackupLoad load = new BackupLoad(db, WRITERS, 2).start()) {
      load.awaitMore(100);
      db.checkpoint();
      load.awaitMore(20);
    }
    db.abandon();
    run(Expected.OK, "verify", file);
    byte[] now = Files.readAllBytes(dir.resolve("db.log"));
    Files.write(dir.resolve("db.log"), old);
    run(Expected.PROBLEMS, "verify", file);
    Files.write(dir.resolve("db.log"), now);
    run(Expected.OK, "verify", file);
  }

  @Test
  void flippedBitsAreFoundOrDoNotMatter() throws IOException {
    byte[][] good = contents();
    String expected = run(Expected.OK, "verify", file).out();
    Random r = new Random(3);
    int found = 0;
    // How much of the log lies behind the redo point is up to the load and the checkpoints in it.
    for (int i = 0; i < FLIPS || found < FOUND && i < FLIPS_MAX; i++) {
      byte[][] bad = contents();
      byte[] log = bad[1];
      int at = r.nextInt(log.length);
      log[at] ^= (byte) (1 << r.nextInt(8));
      write(bad);
      Ran ran = run("verify", file);
      if (ran.code == 0) {
        // It was before the redo point, or behind the end, or between groups. Or it was in the very
        // last group, of which nothing behind it says that it was durable: then the log ends there.
        assertTrue(logRecords(ran.out) <= logRecords(expected), ran.out);
      } else {
        assertEquals(1, ran.code);
        found++;
      }
      assertSame(bad, contents());
      write(good);
    }
    assertTrue(found >= FOUND, "found " + found);
  }

  private static long logRecords(String text) {
    String number = text.substring(text.indexOf("log of ") + 7);
    return Long.parseLong(number.substring(0, number.indexOf(' ')));
  }

  @Test
  void aFileThatNeedsRecoveryIsBackedUp() {
    run(Expected.OK, "backup", file, dir.resolve("to"));
    run(Expected.OK, "verify", dir.resolve("to").resolve("db"));
    run(Expected.OK, "verify", file);
    long[] least = new long[WRITERS];
    long[] most = new long[WRITERS];
    Arrays.fill(most, Long.MAX_VALUE - 1);
    try (Database db = Database.open(dir.resolve("to").resolve("db"), SMALL)) {
      BackupLoad.check(db, WRITERS, least, most);
    }
  }
}
