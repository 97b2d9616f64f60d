package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.lines;
import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Fields of every type, and nulls, through the commands. */
class TypesTest {
  private static final KeySpec.Definition K = KeySpec.define();
  private static final Field ID = K.uuid("id");
  private static final Field OPEN = K.bool("open");
  private static final Field WEIGHT = K.float64("weight");
  private static final Field SINCE = K.instant("since");
  private static final Field PRICE = K.decimal("price", 20, 3);

  private static final Layout.Definition B = Layout.define();
  private static final Field R_INT = B.nullable().int32("int");
  private static final Field R_LONG = B.int64("long");
  private static final Field R_TEXT = B.nullable().text("text", 20);
  private static final Field R_BYTES = B.nullable().bytes("bytes", 4);
  private static final Field R_NOTE = B.varText("note", 9000);
  private static final Field R_PHOTO = B.nullable().varBytes("photo", 9000);
  private static final Field R_BOOL = B.nullable().bool("bool");
  private static final Field R_DOUBLE = B.nullable().float64("double");
  private static final Field R_UUID = B.nullable().uuid("uuid");
  private static final Field R_INSTANT = B.nullable().instant("instant");
  private static final Field R_DECIMAL = B.nullable().decimal("decimal", 9, 9);

  private static final TableSpec SPEC =
      TableSpec.of("types", K.build(), B.build())
          .with(IndexSpec.on("by instant", R_INSTANT, R_TEXT))
          .with(IndexSpec.on("by note", R_NOTE))
          .with(IndexSpec.unique("by text", R_TEXT, ID));

  private static final Layout.Definition L = Layout.define();
  private static final Field TEXT = L.text("text", 30);
  private static final TableSpec LONGS =
      TableSpec.of("longs", KeySpec.of(FieldType.INT64), L.build());

  private static final double[] DOUBLES = {
    0.0,
    -0.0,
    1e300,
    Double.MIN_VALUE,
    0.1,
    Double.NaN,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY
  };

  private static final Instant[] INSTANTS = {
    Instant.MIN, Instant.MAX, Instant.EPOCH, Instant.parse("2026-11-25T22:00:00.000000001Z")
  };

  private static final String[] DECIMALS = {
    "0.999999999", "-0.999999999", "0", "0.000000001", "0.1"
  };

  private static final String[] TEXTS = {"", "null", "a,b", "\"", "\\N", "two\nlines"};

  private static final int ROWS = 120;

  @TempDir Path dir;

  private Path file(String name, boolean filled) {
    Path file = dir.resolve(name);
    try (Database db = Database.open(file, SMALL)) {
      RowTable t = db.table(SPEC);
      if (filled) {
        db.run(
            tx -> {
              for (int i = 0; i < ROWS; i++) {
                t.insert(
                    tx,
                    t.key()
                        .clear()
                        .uuid(new UUID(i, ~i))
                        .bool(i % 2 == 0)
                        .float64(DOUBLES[i % DOUBLES.length])
                        .instant(INSTANTS[i % INSTANTS.length])
                        .decimal(new BigDecimal("-99999999999999999.001").add(BigDecimal.ONE)),
                    row(t.row().clear(), i));
              }
            });
      }
    }
    return file;
  }

  /** Each field is null in some rows, and all of them in one row. */
  private static Row row(Row row, int i) {
    row.setLong(R_LONG, i);
    return i == 0
        ? row
        : (i % 2 == 0 ? row : row.setInt(R_INT, -i).setBoolean(R_BOOL, i % 4 == 1))
            .setText(R_TEXT, TEXTS[i % TEXTS.length])
            .setBytes(R_BYTES, new byte[i % 3])
            .setText(R_NOTE, TEXTS[i % TEXTS.length].repeat(i % 40))
            .setBytes(R_PHOTO, new byte[i % 5 == 0 ? 9000 : i])
            .setDouble(R_DOUBLE, DOUBLES[i % DOUBLES.length])
            .setUuid(R_UUID, new UUID(~i, i))
            .setInstant(R_INSTANT, INSTANTS[i % INSTANTS.length])
            .setDecimal(R_DECIMAL, new BigDecimal(DECIMALS[i % DECIMALS.length]));
  }

  /** A new type must be added here; keys of some types are in RecordsTest. */
  @Test
  void everyTypeIsThere() {
    Set<FieldType> rows = EnumSet.noneOf(FieldType.class);
    SPEC.layout().fields().forEach(f -> rows.add(f.type()));
    assertEquals(EnumSet.allOf(FieldType.class), rows);
    Set<FieldType> keys = EnumSet.of(FieldType.INT32, FieldType.TEXT, FieldType.BYTES);
    SPEC.key().parts().forEach(f -> assertTrue(keys.add(f.type()), f.name()));
    LONGS.key().parts().forEach(f -> assertTrue(keys.add(f.type()), f.name()));
    assertEquals(EnumSet.allOf(FieldType.class), keys);
  }

  @ParameterizedTest
  @EnumSource(Format.class)
  void longKeys(Format format) throws IOException {
    long[] all = {Long.MIN_VALUE, -1, 0, 1, (1L << 53) + 1, Long.MAX_VALUE};
    Path from = dir.resolve("from");
    try (Database db = Database.open(from, SMALL)) {
      RowTable t = db.table(LONGS);
      db.run(
          tx -> {
            for (long n : all) {
              t.put(tx, t.key().set(n), t.row().setText(TEXT, "n " + n));
            }
          });
    }
    Path to = dir.resolve("to");
    Path first = dir.resolve("first");
    Path second = dir.resolve("second");
    run(0, "export", from, "longs", "--schema", "--format", format, "--output", first);
    Database.open(to, SMALL).close();
    assertEquals(
        List.of("6 records"),
        lines("import", "--write", to, "longs", "--format", format, "--input", first));
    run(0, "export", to, "longs", "--schema", "--format", format, "--output", second);
    assertArrayEquals(Files.readAllBytes(first), Files.readAllBytes(second));
    assertEquals(lines("scan", from, "longs"), lines("scan", to, "longs"));
    for (long n : all) {
      assertEquals("text  n " + n, lines("get", to, "longs", "--", n).get(1));
    }
  }

  @ParameterizedTest
  @EnumSource(Format.class)
  void exportRoundTrips(Format format) throws IOException {
    Path from = file("from", true);
    Path to = file("to", false);
    Path first = dir.resolve("first");
    Path second = dir.resolve("second");
    run(0, "export", from, "types", "--format", format, "--output", first);
    assertEquals(
        List.of(ROWS + " records"),
        lines("import", "--write", to, "types", "--format", format, "--input", first));
    run(0, "export", to, "types", "--format", format, "--output", second);
    assertEquals(Files.readString(first), Files.readString(second));
    for (String index : new String[] {"by instant", "by text", "by note"}) {
      assertEquals(
          lines("scan", from, "types", "--index", index, "--limit", "0"),
          lines("scan", to, "types", "--index", index, "--limit", "0"));
    }
    run(0, "verify", to);
    try (Database a = Database.open(from, SMALL);
        Database b = Database.open(to, SMALL)) {
      assertEquals(rows(a), rows(b));
      assertEquals(ROWS, rows(a).size());
    }
  }

  private static List<String> rows(Database db) {
    RowTable t = db.table(SPEC);
    List<String> all = new ArrayList<>();
    db.run(
        tx -> {
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              all.add(c.key() + " " + c.row());
            }
          }
        });
    return all;
  }

  @Test
  void exports() {
    Path file = file("types", true);
    String key = "00000000-0000-0003-ffff-fffffffffffc";
    assertEquals(
        "{\"id\":\""
            + key
            + "\",\"open\":false,\"weight\":4.9E-324,\"since\":\"2026-11-25T22:00:00.000000001Z\","
            + "\"price\":-99999999999999998.001,\"int\":-3,\"long\":3,\"text\":\"\\\"\","
            + "\"bytes\":\"\",\"note\":\"\\\"\\\"\\\"\",\"photo\":\"000000\",\"bool\":false,\"double\":4.9E-324,\"uuid\":\"ffffffff-ffff-fffc-0000-000000000003\",\"instant\":\"2026-11-25T22:00:00.000000001Z\",\"decimal\":0.000000001}\n",
        run(0, "export", "--no-schema", file, "types", key).out());
    assertEquals(
        "\"id\",\"open\",\"weight\",\"since\",\"price\",\"int\",\"long\",\"text\",\"bytes\","
            + "\"note\",\"photo\",\"bool\",\"double\",\"uuid\",\"instant\",\"decimal\"\r\n"
            + "\"00000000-0000-0000-ffff-ffffffffffff\",\"true\",\"0.0\","
            + "\"-1000000000-01-01T00:00:00Z\",\"-99999999999999998.001\",,\"0\",,,\"\",,,,,,\r\n",
        run(0, "export", file, "types", "00000000-0000-0000-ffff-ffffffffffff", "--format", "CSV")
            .out());
    String infinite = run(0, "export", file, "types", "00000000-0000-0006-ffff-fffffffffff9").out();
    assertTrue(infinite.contains("\"weight\":\"Infinity\""), infinite);
  }

  @Test
  void putAndGet() {
    Path file = file("types", false);
    String id = "00112233-4455-6677-8899-aabbccddeeff";
    Object[] key = {id, "true", "-0.0", "2026-11-25T22:00:00Z", "1.5"};
    Object[] put = {"put", "--write", file, "types", key[0], key[1], key[2], key[3], key[4]};
    run(0, with(put, "text=", "int=5", "decimal=0.25", "bool=true"));
    Object[] get = {"get", file, "types", key[0], key[1], key[2], key[3], key[4]};
    assertEquals(
        List.of(
            "id       " + id,
            "open     true",
            "weight   -0.0",
            "since    2026-11-25T22:00:00Z",
            "price    1.500",
            "int      5",
            "long     0",
            "text     ",
            "bytes    none",
            "note     ",
            "photo    none",
            "bool     true",
            "double   none",
            "uuid     none",
            "instant  none",
            "decimal  0.250000000"),
        lines(get));
    run(0, with(put, "--null", "int", "--null", "text", "long=7"));
    List<String> after = lines(get);
    assertEquals("int      none", after.get(5));
    assertEquals("long     7", after.get(6));
    assertEquals("text     none", after.get(7));
    assertEquals("bool     true", after.get(11));
    assertEquals(
        List.of("1"), lines("count", file, "types", id.toUpperCase(java.util.Locale.ROOT)));
    for (String wrong :
        new String[] {
          "bool=yes", "uuid=1-1-1-1-1", "instant=2026", "decimal=1", "double=x", "decimal=x"
        }) {
      String err = run(2, with(put, wrong)).err();
      assertTrue(err.contains("is not a value of"), err);
    }
    String never = run(2, with(put, "--null", "long")).err();
    assertTrue(never.contains("null is not a value of long INT64"), never);
    run(2, with(put, "--null", "int", "int=5"));
    run(2, with(put, "--null", "other"));
    run(2, "get", file, "types", id, "yes");
  }

  private static Object[] with(Object[] args, Object... more) {
    Object[] all = java.util.Arrays.copyOf(args, args.length + more.length);
    System.arraycopy(more, 0, all, args.length, more.length);
    return all;
  }

  /** An empty CSV value is null if the field is nullable, otherwise empty. */
  @Test
  void csvOfOthers() throws IOException {
    Path file = file("types", false);
    Path in =
        Files.writeString(
            dir.resolve("in"),
            "id,open,weight,since,price,long,text,bytes,double\n"
                + "00112233-4455-6677-8899-aabbccddeeff,true,1,1970-01-01T00:00:00Z,2,3,,\"\",NaN\n");
    run(0, "import", "--write", file, "types", "--format", "CSV", "--input", in);
    assertEquals(
        List.of(
            "{\"id\":\"00112233-4455-6677-8899-aabbccddeeff\",\"open\":true,\"weight\":1.0,"
                + "\"since\":\"1970-01-01T00:00:00Z\",\"price\":2.000,\"int\":null,\"long\":3,"
                + "\"text\":null,\"bytes\":\"\",\"note\":\"\",\"photo\":null,\"bool\":null,\"double\":\"NaN\",\"uuid\":null,"
                + "\"instant\":null,\"decimal\":null}"),
        lines("export", "--no-schema", file, "types"));
  }

  @Test
  void nullsInIndexes() {
    Path file = file("types", true);
    assertEquals(
        List.of("1"), lines("count", file, "types", "--index", "by instant", "--null-part", "1"));
    String one =
        lines(
                "scan",
                file,
                "types",
                "--index",
                "by instant",
                "--null-part",
                "1",
                "--null-part",
                "2",
                "--json")
            .toString();
    assertTrue(one.contains("\"instant\": null"), one);
    assertEquals(
        List.of("0"),
        lines(
            "count",
            file,
            "types",
            "--index",
            "by instant",
            "1970-01-01T00:00:00Z",
            "--null-part",
            "2"));
    run(2, "count", file, "types", "--index", "by text", "--null-part", "3");
    run(2, "count", file, "types", "--index", "by text", "a", "--null-part", "2");
    run(2, "count", file, "types", "--null-part", "1");
  }

  @Test
  void schema() {
    Path file = file("types", false);
    assertEquals(
        List.of(
            "table types of rows",
            "  key    id UUID, open BOOLEAN, weight FLOAT64, since INSTANT, price DECIMAL(20, 3)",
            "  row    int INT32 NULL, long INT64, text TEXT(20) NULL, bytes BYTES(4) NULL, note"
                + " VARTEXT(9000), photo VARBYTES(9000) NULL, bool BOOLEAN NULL, double FLOAT64"
                + " NULL, uuid UUID NULL, instant INSTANT NULL, decimal DECIMAL(9, 9) NULL",
            "  index  \"by instant\" by instant INSTANT NULL, text TEXT(20) NULL",
            "  index  \"by note\" by note VARTEXT(9000)",
            "  unique \"by text\" by text TEXT(20) NULL, id UUID"),
        lines("schema", file, "types"));
    String json = run(0, "schema", file, "types", "--json").out();
    assertTrue(json.contains("\"precision\": 9,"), json);
    assertTrue(json.contains("\"nullable\": true"), json);
    assertTrue(json.contains("\"variable\": true"), json);
  }
}
