package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.make;
import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Table;
import io.fovea.config.Durability;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command line: output as text and as JSON, and exit codes. */
class FilesTest {
  @TempDir Path dir;

  private static long number(String json, String name) {
    Matcher m = Pattern.compile("\"" + name + "\": (-?\\d+)").matcher(json);
    assertTrue(m.find(), name + " in " + json);
    return Long.parseLong(m.group(1));
  }

  @Test
  void printsHelp() {
    String help = run(0, "--help").out();
    for (String command : new String[] {"verify", "stat", "dump", "backup", "compact"}) {
      assertTrue(help.contains(command), help);
      String own = run(0, command, "--help").out();
      assertTrue(own.contains("--json") && own.contains("FILE"), own);
    }
    assertTrue(help.contains("Exit codes"));
  }

  @Test
  void mistakesExitWithTwo() throws IOException {
    Path file = make(dir, SMALL);
    Path absent = dir.resolve("absent");
    Path text = dir.resolve("text");
    Files.writeString(text, "no database");
    run(2);
    run(2, "frobnicate");
    run(2, "verify");
    run(2, "verify", file, "--frobnicate");
    run(2, "dump", file);
    run(2, "dump", file, "--page", "1", "--log", "..");
    run(2, "dump", file, "--page", "x");
    run(2, "dump", file, "--page", "1000000");
    run(2, "dump", file, "--page", "-1");
    run(2, "dump", file, "--log", "7");
    run(2, "dump", file, "--log", "a..b");
    run(2, "backup", file);
    run(2, "backup", file, dir.resolve("b"), "--rate", "-1");
    run(2, "compact");
    run(2, "compact", "--write", absent);
    run(2, "compact", "--write", file, "--bytes-per-second", "-1");
    run(2, "compact", "--write", file, "--bytes-per-second", "fast");
    for (String command : new String[] {"verify", "stat"}) {
      assertTrue(run(2, command, absent).err().contains("There is no file"));
      assertTrue(run(2, command, dir).err().contains("directory"));
      assertTrue(run(2, command, text).err().contains("not a Fovea database"));
    }
    assertTrue(run(2, "dump", absent, "--page", 0).err().contains("There is no file"));
    assertFalse(Files.exists(absent));
  }

  @Test
  void fileInUseIsRefusedButDumped() {
    Path file = dir.resolve("open");
    try (Database db = Database.open(file, SMALL)) {
      Fixture.fill(db);
      run(2, "verify", file);
      run(2, "stat", file);
      assertTrue(run(0, "dump", file, "--page", "0").out().contains("superblock"));
    }
    run(0, "verify", file);
  }

  @Test
  void compactReturnsSpace() throws IOException {
    Path file = dir.resolve("long");
    try (Database db = Database.open(file, SMALL)) {
      Table<byte[], byte[]> goes = db.table(TableSpec.bytes("goes", 40)).bytes();
      Table<byte[], byte[]> stays = db.table(TableSpec.bytes("stays", 40)).bytes();
      db.run(
          tx -> {
            for (int i = 0; i < 8000; i++) {
              byte[] key = ("key " + i).getBytes(StandardCharsets.UTF_8);
              (i % 4 == 0 ? stays : goes).put(tx, key, new byte[500]);
            }
          });
      db.dropTable("goes");
    }
    long before = Files.size(file);
    String said = run(0, "compact", "--write", file, "--bytes-per-second", "100000000").out();
    Pattern pattern =
        Pattern.compile(
            Pattern.quote(file.toString())
                + ": (\\d+) bytes of pages moved; (\\d+) bytes before, (\\d+) now, (\\d+) of them"
                + " in use; (\\d+) bytes of free pages returned to the file system\\R");
    Matcher m = pattern.matcher(said);
    assertTrue(m.matches(), said);
    assertTrue(Long.parseLong(m.group(1)) > 0, said);
    assertTrue(Long.parseLong(m.group(3)) < Long.parseLong(m.group(2)) / 2, said);
    assertTrue(Long.parseLong(m.group(3)) <= 1.1 * Long.parseLong(m.group(4)), said);
    assertTrue(Files.size(file) < before / 2, before + ", then " + Files.size(file));
    assertEquals(2000, number(run(0, "verify", file, "--json").out(), "records"));
    assertEquals(0, number(run(0, "compact", "--write", file, "--json").out(), "bytesMoved"));
  }

  @Test
  void statAddsUp() {
    Path file = make(dir, SMALL);
    String text = run(0, "stat", file).out();
    assertTrue(text.contains("(catalog)"), text);
    assertTrue(text.contains("t.i"), text);
    assertTrue(text.contains("blobs"), text);
    String json = run(0, "stat", file, "--json").out();
    long pages = number(json, "pages");
    long free = number(json, "freePages");
    long unwritten = number(json, "unwrittenPages");
    long inTrees = 0;
    Matcher m = Pattern.compile("\"(leafPages|innerPages|longPages)\": (\\d+)").matcher(json);
    while (m.find()) {
      inTrees += Long.parseLong(m.group(2));
    }
    assertEquals(pages, 2 + free + unwritten + inTrees, json);
    assertTrue(json.contains("\"state\": \"CLEAN\""), json);
    assertEquals(3L * (20_000 / (4096 - 48) + 1), longPages(json));
  }

  private static long longPages(String json) {
    Matcher m = Pattern.compile("\"longPages\": (\\d+)").matcher(json);
    long n = 0;
    while (m.find()) {
      n += Long.parseLong(m.group(1));
    }
    return n;
  }

  @Test
  void verifyAsJson() throws IOException {
    Path file = make(dir, SMALL);
    String json = run(0, "verify", file, "--json").out();
    assertTrue(json.contains("\"ok\": true"), json);
    assertEquals(Fixture.ROWS + Fixture.LONGS, number(json, "records"));
    byte[] bytes = Files.readAllBytes(file);
    bytes[2 * 4096 + 500] ^= 4;
    Files.write(file, bytes);
    json = run(1, "verify", file, "--json").out();
    assertTrue(json.contains("\"ok\": false"), json);
    assertTrue(json.contains("page 2 "), json);
    assertArrayEquals(bytes, Files.readAllBytes(file));
  }

  @Tag("slow")
  @Test
  void everyPageCanBeDumped() throws IOException {
    Path file = make(dir, SMALL);
    byte[] before = Files.readAllBytes(file);
    long pages = number(run(0, "stat", file, "--json").out(), "pages");
    int types = 0;
    for (long pid = 0; pid < pages; pid += pid < 20 ? 1 : 5) {
      String text = run(0, "dump", file, "--page", pid).out();
      types |= text.contains("leaf") ? 1 : 0;
      types |= text.contains("inner node") ? 2 : 0;
      types |= text.contains("part of a long value") ? 4 : 0;
      types |= text.contains("free") ? 8 : 0;
      types |= text.contains("superblock") ? 16 : 0;
      assertEquals(pid, number(run(0, "dump", file, "--page", pid, "--json").out(), "page"));
    }
    assertEquals(31, types);
    assertArrayEquals(before, Files.readAllBytes(file));
    String catalog = run(0, "dump", file, "--page", 2).out();
    assertTrue(catalog.contains("\"tblobs\""), catalog);
    String hex = run(0, "dump", file, "--page", 2, "--hex").out();
    assertTrue(hex.contains("00000ff0  "), hex);
  }

  @Test
  void dumpsDamagedPage() throws IOException {
    Path file = make(dir, SMALL);
    byte[] bytes = Files.readAllBytes(file);
    for (int at = 4; at < 64; at++) {
      byte[] bad = bytes.clone();
      bad[2 * 4096 + at] ^= (byte) 0xFF;
      Files.write(file, bad);
      assertTrue(run(1, "dump", file, "--page", 2).out().contains("false"));
    }
  }

  @Test
  void backsUpClosedDatabase() throws IOException {
    Path file = make(dir, SMALL);
    Path to = dir.resolve("copies");
    String json = run(0, "backup", file, to, "--json").out();
    assertTrue(number(json, "dataBytes") > 0);
    run(0, "verify", to.resolve("db"));
    run(0, "verify", file);
    assertTrue(run(2, "backup", file, to).err().contains("never overwrites files"));
    run(0, "verify", to.resolve("db"));
    run(2, "backup", dir.resolve("absent"), dir.resolve("other"));
    assertFalse(Files.exists(dir.resolve("other")));
  }

  @Test
  void jsonIsJson() {
    record Point(int x, String name) {}
    assertEquals(
        "{\n  \"x\": 1,\n  \"name\": \"a\\\"\\\\\\n\\u0001😀é\"\n}",
        Json.of(new Point(1, "a\"\\\n\u0001😀é")));
    assertEquals("[]", Json.of(java.util.List.of()));
    assertEquals("\"00ff\"", Json.of(new byte[] {0, -1}));
    assertEquals("\"NaN\"", Json.of(Double.NaN));
    assertEquals("\"x\"", Json.of(new String("x".getBytes(StandardCharsets.UTF_8))));
  }

  @Test
  void mistypedCommandsAreSuggested() {
    String mistyped = run(2, "verfy", "file").err();
    assertTrue(mistyped.contains("Did you mean: fovea verify"), mistyped);
    assertTrue(mistyped.contains("See 'fovea --help'."), mistyped);
    System.setProperty(Main.COMMAND, "cli/fovea.sh");
    try {
      String err = run(2, "verify").err();
      assertTrue(err.contains("See 'cli/fovea.sh verify --help'."), err);
      String usage = run(0, "--help").out();
      assertTrue(usage.contains("Usage: cli/fovea.sh"), usage);
    } finally {
      System.clearProperty(Main.COMMAND);
    }
  }

  // ------------------------------------------------------------------------- backups, not closed

  private static void put(Path file, int from, int to) {
    // With a log: it knows what was changed since a backup.
    try (Database db = Database.open(file, SMALL.durability(Durability.SYNC))) {
      put(db, from, to);
    }
  }

  private static void put(Database db, int from, int to) {
    Table<byte[], byte[]> t = db.table(Fixture.BLOBS).bytes();
    db.run(
        tx -> {
          for (int i = from; i < to; i++) {
            t.put(tx, ("k" + i).getBytes(StandardCharsets.UTF_8), new byte[50]);
          }
        });
  }

  private static long count(Path file) {
    try (Database db = Database.open(file, SMALL.readOnly(true))) {
      return db.table(Fixture.BLOBS).count();
    }
  }

  @Test
  void backupsAreMadeAndRestored() {
    Path file = dir.resolve("db");
    put(file, 0, 100);
    String first = run(0, "backup", file, dir.resolve("full")).out();
    assertTrue(first.contains("position "), first);
    put(file, 100, 150);
    String said = run(0, "backup", file, dir.resolve("one"), "--since", dir.resolve("full")).out();
    assertTrue(said.contains(" pages of "), said);
    String position = said.lines().filter(l -> l.startsWith("position ")).findFirst().orElseThrow();
    put(file, 150, 170);
    String since = position.substring("position ".length());
    String json = run(0, "backup", "--json", file, dir.resolve("two"), "--since", since).out();
    assertTrue(json.contains("\"position\": \""), json);
    Path to = dir.resolve("restored");
    Path full = dir.resolve("full");
    String restored = run(0, "restore", to, full, dir.resolve("one"), dir.resolve("two")).out();
    assertTrue(restored.contains("the 3 backups were restored"), restored);
    assertEquals(170, count(to));
    assertTrue(run(2, "restore", to, full).err().contains("never overwrites files"));
    Path again = dir.resolve("again");
    String gap = run(2, "restore", again, full, dir.resolve("two")).err();
    assertTrue(gap.contains("a backup is missing between them"), gap);
    String none = run(2, "restore", again, dir.resolve("one")).err();
    assertTrue(none.contains("begins with a full backup"), none);
    assertTrue(run(2, "restore", again).err().contains("BACKUP"));
    assertFalse(Files.exists(again));
  }

  @Test
  void inspectsUnclosedFileWithoutChange() throws IOException {
    Path file = dir.resolve("db");
    Path copy = dir.resolve("copy");
    try (Database db = Database.open(file, SMALL.durability(Durability.SYNC))) {
      Fixture.fill(db);
      db.checkpoint();
      put(db, 0, 100);
      for (String suffix : new String[] {"", ".log", ".dwb"}) {
        Files.copy(dir.resolve("db" + suffix), dir.resolve("copy" + suffix));
      }
    }
    byte[] before = Files.readAllBytes(copy);
    byte[] log = Files.readAllBytes(dir.resolve("copy.log"));
    String text = run(0, "verify", copy).out();
    assertTrue(text.contains("needs recovery") && text.contains("Nothing is wrong"), text);
    assertTrue(run(0, "stat", copy, "--json").out().contains("\"state\": \"NEEDS_RECOVERY\""));
    String records = run(0, "dump", copy, "--log", "..").out();
    assertTrue(records.contains("COMMIT") && records.contains("op PUT"), records);
    String[] heads = records.lines().filter(l -> !l.startsWith(" ")).toArray(String[]::new);
    String from = heads[0].split("\\.\\.")[0];
    String to = heads[1].split("\\.\\.")[0];
    String one = run(0, "dump", copy, "--log", from + ".." + to).out();
    assertTrue(records.startsWith(one) && one.lines().findFirst().orElse("").equals(heads[0]), one);
    String json = run(0, "dump", copy, "--log", from + ".." + to, "--json").out();
    assertTrue(json.startsWith("[") && json.contains("\"lsn\": " + from), json);
    assertTrue(json.strip().endsWith("]"), json);
    String hex = run(0, "dump", copy, "--log", from + ".." + to, "--hex").out();
    assertTrue(hex.contains("00000000 "), hex);
    String last = heads[heads.length - 1].split("[. ]+")[1];
    assertEquals("[]", run(0, "dump", copy, "--log", last + "..", "--json").out().strip());
    assertArrayEquals(before, Files.readAllBytes(copy));
    assertArrayEquals(log, Files.readAllBytes(dir.resolve("copy.log")));
    Files.delete(dir.resolve("copy.log"));
    assertTrue(run(1, "verify", copy).out().contains("log is missing"));
    run(2, "dump", copy, "--log", "..");
  }
}
