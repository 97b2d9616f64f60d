package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.byLength;
import static io.fovea.cli.Fixture.lines;
import static io.fovea.cli.Fixture.make;
import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.RowTable;
import io.fovea.config.Durability;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Transcripts of the commands that show tables and records. */
class TablesTest {
  private static final KeySpec.Definition K = KeySpec.define();
  private static final Field SHOP = K.int32("shop");
  private static final Field CODE = K.text("code", 10);
  private static final Field RAW = K.bytes("raw", 4);
  private static final Layout.Definition B = Layout.define();
  private static final Field CODE_TOO = B.text("code", 30);
  private static final Field DUE = B.int64("due");
  private static final Field BITS = B.bytes("bits", 4);

  private static final TableSpec KINDS =
      TableSpec.of("all kinds", K.build(), B.build())
          .with(IndexSpec.unique("by due", DUE, CODE))
          .with(byLength(CODE_TOO))
          .expireAfter(DUE, Duration.ofDays(1));

  record Thing(String name, int size) {}

  @TempDir Path dir;

  private Path kinds() {
    Path file = dir.resolve("kinds");
    try (Database db = Database.open(file, SMALL)) {
      RowTable t = db.table(KINDS);
      db.run(
          tx -> {
            for (int i = 1; i <= 5; i++) {
              t.insert(
                  tx,
                  t.key().clear().int32(i / 3).text("c" + i).bytes(new byte[] {(byte) i, 0}),
                  t.row()
                      .setText(CODE_TOO, "x".repeat(10 - i))
                      .setLong(DUE, -i)
                      .setBytes(BITS, new byte[] {(byte) (16 * i)}));
            }
          });
      var things =
          db.table(ObjectSpec.of("things", String.class, Thing.class).unique("bySize", "size"));
      db.run(tx -> things.put(tx, "one", new Thing("thing", 1)));
    }
    return file;
  }

  @Test
  void tables() throws IOException {
    Path file = make(dir, SMALL);
    byte[] before = Files.readAllBytes(file);
    assertEquals(
        List.of(
            "table     of  records  MiB  indexes  entries  MiB",
            "blobs  bytes        3  0.1        0        0  0.0",
            "t       rows     3000  0.3        1     3000  0.1"),
        lines("tables", file));
    String json = run(0, "tables", file, "--json").out();
    assertTrue(json.contains("\"table\": \"blobs\""), json);
    assertTrue(json.contains("\"records\": 3000"), json);
    assertArrayEquals(before, Files.readAllBytes(file), "nothing has changed");
  }

  @Test
  void schema() {
    Path file = kinds();
    assertEquals(
        List.of(
            "table \"all kinds\" of rows",
            "  key    shop INT32, code TEXT(10), raw BYTES(4)",
            "  row    code TEXT(30), due INT64, bits BYTES(4)",
            "  unique \"by due\" by due INT64, code TEXT(10)",
            "  index  \"by length\" by a computed key of k0 INT32",
            "  rows expire PT24H after due",
            "table things of objects",
            "  key    key BYTES(256)",
            "  is     TEXT \u2192 record(name TEXT, size INT32)",
            "  unique bySize by size"),
        lines("schema", file));
    assertEquals(4, lines("schema", file, "things").size());
    String json = run(0, "schema", file, "--json").out();
    assertTrue(json.contains("\"computed\": true"), json);
    assertTrue(json.contains("\"after\": \"PT24H\""), json);
    String err = run(2, "schema", file, "thing").err();
    assertTrue(err.contains("no table thing: it has \"all kinds\", things"), err);
  }

  @Test
  void sequences() {
    Path file = dir.resolve("sequences");
    try (Database db = Database.open(file, SMALL)) {
      db.sequence("orders").next(41);
      db.sequence(SequenceSpec.of("few").upTo(1)).next();
      db.renameSequence("few", "few ones");
      db.sequence("seats").next();
      db.alterSequence(SequenceSpec.of("seats").from(20).by(5).cached(10));
    }
    assertEquals(
        List.of(
            "sequence \"few ones\" from 1 to 1 by 1, 1000 cached, exhausted",
            "sequence orders from 1 to 9223372036854775807 by 1, 1000 cached, next 42",
            "sequence seats from 20 to 9223372036854775807 by 5, 10 cached, next 20"),
        lines("schema", file));
    String json = run(0, "schema", file, "--json").out();
    assertTrue(json.contains("\"next\": 42"), json);
  }

  @Test
  void scan() {
    Path file = kinds();
    List<String> all = lines("scan", file, "all kinds");
    assertEquals(5, all.size());
    assertEquals("shop 0  code c1  raw 0100  row.code xxxxxxxxx  due -1  bits 10", all.getFirst());
    assertEquals(all.subList(2, 5), lines("scan", file, "all kinds", "1"));
    assertEquals(all.subList(1, 2), lines("scan", file, "all kinds", "0", "c2"));
    assertEquals(all.subList(1, 2), lines("scan", file, "all kinds", "0", "c2", "0200"));
    assertEquals(List.of(), lines("scan", file, "all kinds", "7"));
    assertEquals(all.reversed(), lines("scan", file, "all kinds", "--index", "by due"));
    assertEquals(all.subList(4, 5), lines("scan", file, "all kinds", "--index", "by length", "5"));
    assertEquals(
        all.subList(4, 5), lines("scan", file, "all kinds", "--descending", "--limit", "1"));
    String json = run(0, "scan", file, "all kinds", "--limit", "2", "--json").out();
    assertTrue(json.startsWith("[\n  {\n") && json.endsWith("  }\n]\n"), json);
    assertTrue(json.contains("\"row.code\": \"xxxxxxxxx\""), json);
    assertEquals("[]\n", run(0, "scan", file, "all kinds", "7", "--json").out());
    assertEquals(1, lines("scan", file, "things").size());

    assertTrue(run(2, "scan", file, "nothing").err().contains("no table nothing"));
    assertTrue(run(2, "scan", file, "all kinds", "x").err().contains("'x' is not a value of shop"));
    assertTrue(run(2, "scan", file, "all kinds", "0", "c", "zz").err().contains("raw"));
    assertTrue(run(2, "scan", file, "all kinds", "0", "c", "00", "1").err().contains("3 parts"));
    assertTrue(run(2, "scan", file, "all kinds", "--index", "x").err().contains("by due"));
    run(2, "scan", file, "all kinds", "--limit", "-1");
    run(2, "scan", file, "things", "--index", "x");
    run(2, "scan", file);
  }

  @Test
  void bytes() throws IOException {
    Path file = make(dir, SMALL);
    assertEquals(3, lines("scan", file, "blobs").size());
    List<String> one = lines("scan", file, "blobs", "long 1");
    assertEquals(1, one.size());
    assertTrue(one.getFirst().startsWith("key 6c6f6e672031 \"long 1\"  value 0000"));
    assertEquals(one, lines("scan", file, "blobs", "0x6c6f6e672031"));
    run(2, "scan", file, "blobs", "0x6");
    assertEquals(100, lines("scan", file, "t").size());
    assertEquals(Fixture.ROWS, lines("scan", file, "t", "--limit", "0").size());
  }

  @Test
  void aFileInUseIsRefused() {
    Path file = dir.resolve("open");
    try (Database db = Database.open(file, SMALL)) {
      Fixture.fill(db);
      for (String command : new String[] {"tables", "schema"}) {
        assertTrue(run(2, command, file).err().contains("open"));
      }
      run(2, "scan", file, "t");
    }
    assertEquals(3, lines("tables", file).size());
  }

  /** An unclosed file is shown as recovery restores it, and is not changed. */
  @Test
  void unclosedFile() throws IOException {
    Path file = dir.resolve("open");
    Path copy = dir.resolve("copy");
    try (Database db = Database.open(file, SMALL.durability(Durability.SYNC))) {
      Fixture.fill(db);
      for (String suffix : new String[] {"", ".log", ".dwb"}) {
        Files.copy(dir.resolve("open" + suffix), dir.resolve("copy" + suffix));
      }
    }
    byte[] before = Files.readAllBytes(copy);
    byte[] logBefore = Files.readAllBytes(dir.resolve("copy.log"));
    assertEquals(lines("tables", file), lines("tables", copy));
    assertEquals(
        lines("scan", file, "t", "--limit", "0"), lines("scan", copy, "t", "--limit", "0"));
    assertArrayEquals(before, Files.readAllBytes(copy));
    assertArrayEquals(logBefore, Files.readAllBytes(dir.resolve("copy.log")));
  }
}
