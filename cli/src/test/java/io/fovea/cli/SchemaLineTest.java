package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.byLength;
import static io.fovea.cli.Fixture.bySize;
import static io.fovea.cli.Fixture.lines;
import static io.fovea.cli.Fixture.ran;
import static io.fovea.cli.Fixture.run;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Exports that describe their table, imports that create it, and trial imports. */
class SchemaLineTest {
  private static final KeySpec.Definition K = KeySpec.define();
  private static final Field NAME = K.text("name", 20);
  private static final Field ID = K.uuid("id");
  private static final Layout.Definition B = Layout.define();
  private static final Field NAME_TOO = B.nullable().text("name", 30);
  private static final Field UNTIL = B.nullable().instant("until");
  private static final Field PRICE = B.decimal("price", 12, 2);
  private static final Field RATE = B.float64("rate");
  private static final Field OPEN = B.bool("open");
  private static final Field RAW = B.nullable().bytes("raw", 3);
  private static final Field COUNT = B.int32("count");
  private static final Field TOTAL = B.int64("total");

  private static final TableSpec SPEC =
      TableSpec.of("all kinds", K.build(), B.build())
          .with(IndexSpec.on("by price", PRICE, NAME))
          .with(IndexSpec.unique("by name", NAME_TOO, ID))
          .expireAfter(UNTIL, Duration.ofHours(1));

  record Thing(String name, List<Integer> sizes) {}

  private static final ObjectSpec<String, Thing> THINGS =
      ObjectSpec.of("things", String.class, Thing.class).index("byName", "name");

  @TempDir Path dir;

  private Path from() {
    Path file = dir.resolve("from");
    try (Database db = Database.open(file, SMALL)) {
      RowTable t = db.table(SPEC);
      Row row = t.row();
      var bytes = db.table(TableSpec.bytes("bytes", 7)).bytes();
      var things = db.table(THINGS);
      db.table(
          TableSpec.of("computed", KeySpec.of(FieldType.INT32), SPEC.layout())
              .with(byLength(NAME_TOO)));
      var indexed = db.table(TableSpec.bytes("indexed", 7).with(bySize())).bytes();
      db.run(
          tx -> {
            for (int i = 0; i < 20; i++) {
              row.clear().setDecimal(PRICE, new BigDecimal(i).movePointLeft(2)).setDouble(RATE, -i);
              row.setBoolean(OPEN, i % 2 == 0).setInt(COUNT, i).setLong(TOTAL, -i);
              if (i % 3 > 0) {
                row.setText(NAME_TOO, "n\u00e4me " + i).setBytes(RAW, new byte[i % 4]);
                row.setInstant(UNTIL, Instant.parse("2126-01-01T00:00:00Z").plusNanos(i));
              }
              t.insert(tx, t.key().clear().text("k" + i).uuid(new UUID(i, i)), row);
              bytes.put(tx, new byte[] {(byte) i}, new byte[i]);
              indexed.put(tx, new byte[] {(byte) i}, new byte[20 - i]);
              things.put(tx, "t" + i, new Thing("thing " + i, List.of(i, -i)));
            }
          });
    }
    return file;
  }

  @ParameterizedTest
  @EnumSource(Format.class)
  void importCreatesTable(Format format) throws IOException {
    Path from = from();
    Path to = dir.resolve("to");
    Database.open(to, SMALL).close();
    for (String table : new String[] {"all kinds", "bytes"}) {
      Path first = dir.resolve(table + ".1");
      Path second = dir.resolve(table + ".2");
      run(0, "export", from, table, "--schema", "--format", format, "--output", first);
      assertEquals(
          List.of("20 records"),
          lines("import", "--write", to, table, "--dry-run", "--format", format, "--input", first));
      run(2, "count", to, table);
      assertEquals(
          List.of("20 records"),
          lines("import", "--write", to, table, "--format", format, "--input", first));
      run(0, "export", to, table, "--schema", "--format", format, "--output", second);
      assertEquals(Files.readString(first), Files.readString(second));
      assertEquals(lines("schema", from, table), lines("schema", to, table));
      // Under another name, and a second time.
      run(0, "import", "--write", to, "other " + table, "--format", format, "--input", first);
      run(0, "import", "--write", to, table, "--format", format, "--input", first);
      assertEquals(List.of("20"), lines("count", to, "other " + table));
    }
    assertEquals(
        lines("scan", from, "all kinds", "--index", "by price"),
        lines("scan", to, "all kinds", "--index", "by price"));
    run(0, "verify", to);
  }

  /** The schema line says how byte strings expire, and the command keeps their index. */
  @ParameterizedTest
  @EnumSource(Format.class)
  void byteStringsThatExpire(Format format) {
    TableSpec spec = TableSpec.bytes("brief", 7).expireAfter(0, Duration.ofHours(1));
    Path from = dir.resolve("from");
    try (Database db = Database.open(from, SMALL)) {
      var t = db.table(spec).bytes();
      db.run(
          tx -> {
            t.put(tx, new byte[] {1}, new byte[8]); // never expires
            t.put(tx, new byte[] {2}, late());
          });
    }
    Path to = dir.resolve("to");
    Database.open(to, SMALL).close();
    Path out = dir.resolve("out");
    run(0, "export", from, "brief", "--schema", "--format", format, "--output", out);
    List<String> two = List.of("2 records");
    assertEquals(
        two,
        lines("import", "--write", to, "brief", "--dry-run", "--format", format, "--input", out));
    assertEquals(two, lines("import", "--write", to, "brief", "--format", format, "--input", out));
    List<String> schema = lines("schema", to, "brief");
    assertEquals(lines("schema", from, "brief"), schema);
    assertTrue(
        schema.contains("  byte strings expire PT1H after the time at byte 0"), schema::toString);
    // A record of 1970, and one that is too short for a time.
    run(0, "put", "--write", to, "brief", "0x03", "0x0000000000000001");
    String err = run(2, "put", "--write", to, "brief", "k", "short").err();
    assertTrue(err.contains("expire by the time in bytes 0 to 7"), err);
    try (Database db = Database.open(to, SMALL)) {
      assertEquals(spec.expiry(), db.describe("brief").expiry());
      db.sweepExpired(); // unless the background of the command has done so
      assertEquals(2, db.table(spec).count());
      assertEquals(List.of(), db.verify().problems());
    }
  }

  private static byte[] late() {
    return new byte[] {0, 0, 0x70, 0, 0, 0, 0, 0, 'x'};
  }

  @Test
  void tablesOnlyApplicationsCreate() throws IOException {
    Path from = from();
    Path to = dir.resolve("to");
    Database.open(to, SMALL).close();
    for (String table : new String[] {"things", "computed", "indexed"}) {
      Path out = dir.resolve(table);
      run(0, "export", from, table, "--output", out);
      String err = run(2, "import", "--write", to, table, "--input", out).err();
      assertTrue(err.contains("application"), err);
    }
    // Byte strings with an index: readable in its order, writable by their application only.
    List<String> bySize = lines("scan", from, "indexed", "--index", "by size");
    assertEquals(20, bySize.size());
    List<String> byKey = lines("scan", from, "indexed").reversed();
    for (int i = 0; i < 20; i++) {
      assertEquals("k0 " + (i + 1) + "  " + byKey.get(i), bySize.get(i));
    }
    assertTrue(lines("schema", from, "indexed").toString().contains("\"by size\""));
    Object[] scan = {"scan", from, "indexed", "--index", "by size"};
    assertEquals(bySize.subList(2, 3), lines(with(scan, "3")));
    assertEquals(bySize.subList(17, 20), lines(with(scan, "--from", "18")));
    assertEquals(bySize.subList(3, 6), lines(with(scan, "--after", "3", "--to", "7")));
    assertEquals(bySize.reversed().subList(0, 2), lines(with(scan, "--reverse", "--limit", "2")));
    assertTrue(run(0, with(scan, "3", "--json")).out().contains("\"k0\": 3"));
    assertTrue(run(2, with(scan, "x")).err().contains("'x' is not a value of k0 INT32"));
    assertTrue(run(2, with(scan, "1", "2")).err().contains("1 parts at most"));
    assertEquals(
        List.of("3"), lines("count", from, "indexed", "--index", "by size", "--from", "18"));
    for (String[] change : new String[][] {{"put", "0x01", "value=0x00"}, {"delete", "0x01"}}) {
      String err =
          change.length == 3
              ? run(2, change[0], "--write", from, "indexed", change[1], change[2]).err()
              : run(2, change[0], "--write", from, "indexed", change[1]).err();
      assertTrue(err.contains("\"by size\" is by a computed key"), err);
    }
    // Objects of another type are not imported.
    Path out = dir.resolve("things");
    String err = run(2, "import", "--write", from, "bytes", "--input", out).err();
    assertTrue(err.contains("but the table contains none"), err);
    assertEquals(List.of("20 records"), lines("import", "--write", from, "things", "--input", out));
    // An export by components restores the same objects.
    Path objects = dir.resolve("objects");
    run(0, "export", "--objects", from, "things", "--output", objects);
    for (String how : new String[] {"--dry-run", "--write"}) {
      assertEquals(List.of("20 records"), lines("import", how, from, "things", "--input", objects));
    }
    assertEquals(
        Files.readString(out), run(0, "export", from, "things").out(), "the bytes are as before");
    Path csv =
        Files.writeString(
            dir.resolve("csv"), "key,name,sizes\n\nt3,third,\"[7,8]\"\nt4,,\n", UTF_8);
    assertEquals(
        List.of("2 records"),
        lines("import", "--write", from, "things", "--format", "CSV", "--input", csv));
    assertEquals(
        List.of("key    t3", "name   third", "sizes:", "  7", "  8"),
        lines("get", from, "things", "t3"));
    for (String wrong :
        new String[] {
          "{\"key\":\"t3\",\"none\":1}", "{\"key\":\"t3\",\"sizes\":7}",
          "{\"key\":\"t3\",\"sizes\":[\"x\"]}", "{\"name\":\"x\"}"
        }) {
      String no = ran(wrong.getBytes(UTF_8), "import", "--write", from, "things").err();
      assertTrue(no.startsWith("fovea: line 1: "), no);
    }
    run(0, "import", "--write", from, "things", "--input", objects);
    assertEquals(
        "{\"key\":\"t3\",\"name\":\"thing 3\",\"sizes\":[3,-3]}\n",
        run(0, "export", "--objects", from, "things", "t3").out());
    run(2, "export", "--objects", "--format", "CSV", from, "things");
    byte[] broken = "{\"fovea\":{\"table\":\n".getBytes(StandardCharsets.UTF_8);
    assertEquals(2, ran(broken, "import", "--write", to, "x").code());
    byte[] empty = "{\"fovea\":{}}\n".getBytes(StandardCharsets.UTF_8);
    assertEquals(2, ran(empty, "import", "--write", to, "x").code());
    byte[] none = "{\"key\":\"01\",\"value\":\"\"}\n".getBytes(StandardCharsets.UTF_8);
    String absent = ran(none, "import", "--write", to, "x").err();
    assertTrue(absent.contains("there is no table x"), absent);
  }

  @Test
  void trialChangesNothing() throws IOException {
    Path from = from();
    byte[] before = Files.readAllBytes(from);
    String good = "{\"name\":\"a\",\"id\":\"" + new UUID(1, 2) + "\",\"price\":1.5}\n";
    var ran =
        ran(
            good.getBytes(StandardCharsets.UTF_8),
            "import",
            "--write",
            from,
            "all kinds",
            "--dry-run");
    assertEquals("1 record\n", ran.out(), ran::toString);
    for (String wrong :
        new String[] {
          good.replace("1.5", "1.555"),
          good.replace("price", "cost"),
          good.replace("\"a\"", "\"" + "a".repeat(30) + "\""),
          good.replace("}", ""),
          good.replace("\"name\":\"a\",", "")
        }) {
      var failed =
          ran(
              (good + wrong).getBytes(StandardCharsets.UTF_8),
              "import",
              from,
              "all kinds",
              "--dry-run",
              "--batch",
              "1");
      assertEquals(2, failed.code(), failed::toString);
      assertTrue(failed.err().contains("line 2: "), failed.err());
      assertTrue(failed.err().contains("1 records before are valid"), failed.err());
    }
    assertEquals(2, ran(new byte[0], "import", "--write", from, "none", "--dry-run").code());
    assertFalse(lines("count", from, "all kinds").contains("21"));
    assertEquals(
        new String(before, StandardCharsets.ISO_8859_1),
        new String(Files.readAllBytes(from), StandardCharsets.ISO_8859_1));
  }

  private static Object[] with(Object[] args, Object... more) {
    Object[] all = Arrays.copyOf(args, args.length + more.length);
    System.arraycopy(more, 0, all, args.length, more.length);
    return all;
  }
}
