package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.byLength;
import static io.fovea.cli.Fixture.lines;
import static io.fovea.cli.Fixture.make;
import static io.fovea.cli.Fixture.ran;
import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.RowTable;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Transcripts of the commands that read and change records. */
class RecordsTest {
  private static final KeySpec.Definition K = KeySpec.define();
  private static final Field SHOP = K.int32("shop");
  private static final Field CODE = K.text("code", 10);
  private static final Field RAW = K.bytes("raw", 4);
  private static final Layout.Definition B = Layout.define();
  private static final Field CODE_TOO = B.text("code", 30);
  private static final Field DUE = B.int64("due");
  private static final Field SIZE = B.int32("size");
  private static final Field BITS = B.bytes("bits", 4);

  private static final TableSpec KINDS =
      TableSpec.of("kinds", K.build(), B.build()).with(IndexSpec.unique("by due", DUE));

  private static final TableSpec COMPUTED =
      TableSpec.of("computed", KeySpec.of(FieldType.INT32), B.build()).with(byLength(CODE_TOO));

  private static final String[] TEXTS = {
    "plain", "", "a,b", "\"quoted\"", "two\nlines", "\u00e9\ud83d\ude00", " edges ", "tab\t", "\\"
  };

  record Thing(String name, int size) {}

  private static final ObjectSpec<String, Thing> THINGS =
      ObjectSpec.of("things", String.class, Thing.class).index("bySize", "size");

  @TempDir Path dir;

  /** A table with every type, the smallest and largest values, and texts that must be quoted. */
  private Path kinds(String name, boolean filled) {
    Path file = dir.resolve(name);
    try (Database db = Database.open(file, SMALL)) {
      RowTable t = db.table(KINDS);
      var things = db.table(THINGS);
      var blobs = db.table(TableSpec.bytes("blobs", 20)).bytes();
      db.table(COMPUTED);
      if (filled) {
        db.run(
            tx -> {
              for (int i = 0; i < TEXTS.length; i++) {
                t.insert(
                    tx,
                    t.key()
                        .clear()
                        .int32(i == 0 ? Integer.MIN_VALUE : i)
                        .text(TEXTS[i])
                        .bytes(new byte[i % 5]),
                    t.row()
                        .clear()
                        .setText(CODE_TOO, TEXTS[i])
                        .setLong(DUE, i == 0 ? Long.MIN_VALUE : Long.MAX_VALUE - i)
                        .setInt(SIZE, -i)
                        .setBytes(BITS, new byte[] {(byte) (16 * i)}));
                things.put(tx, TEXTS[i], new Thing(TEXTS[i], i));
                blobs.put(tx, new byte[] {(byte) i, 'x'}, new byte[i * 1000]);
              }
            });
      }
    }
    return file;
  }

  @Test
  void get() throws IOException {
    Path file = kinds("kinds", true);
    byte[] before = Files.readAllBytes(file);
    assertEquals(
        List.of(
            "shop      2",
            "code      a,b",
            "raw       0000",
            "row.code  a,b",
            "due       9223372036854775805",
            "size      -2",
            "bits      20 \" \""),
        lines("get", file, "kinds", "2", "a,b", "0000"));
    String json = run(0, "get", file, "kinds", "2", "a,b", "0000", "--json").out();
    assertTrue(json.startsWith("{\n  \"shop\": 2,\n  \"code\": \"a,b\","), json);
    assertEquals(
        List.of("key    0178", "value  " + "00".repeat(1000)),
        lines("get", file, "blobs", "0x0178"));
    // The sizes are the indexes in TEXTS, which is not in key order.
    List<String> bySize = lines("scan", file, "things", "--index", "bySize");
    List<String> byKey = lines("scan", file, "things");
    assertTrue(!bySize.equals(byKey), bySize::toString);
    assertEquals(byKey.stream().sorted().toList(), bySize.stream().sorted().toList());
    assertEquals("key plain  name plain  size 0", bySize.getFirst());
    run(2, "scan", file, "things", "--hex", "--index", "bySize", "3");
    String index = run(2, "scan", file, "things", "--index", "byName").err();
    assertTrue(index.contains("there is no index byName: there is bySize"), index);
    String thing = lines("scan", file, "things", "--hex").getFirst().split(" +")[1];
    assertEquals(2, lines("get", file, "things", "--hex", "0x" + thing).size());
    assertEquals(List.of("key   a,b", "name  a,b", "size  2"), lines("get", file, "things", "a,b"));
    assertEquals(
        "[\n  {\n    \"key\": \"a,b\",\n    \"name\": \"a,b\",\n    \"size\": 2\n  }\n]\n",
        run(0, "scan", file, "things", "a,b", "--json").out());
    assertEquals(
        List.of("key a,b  name a,b  size 2"),
        lines("scan", file, "things", "--index", "bySize", "2"));
    assertEquals(List.of("1"), lines("count", file, "things", "--index", "bySize", "2"));
    assertEquals(
        List.of("0"), lines("count", file, "things", "--index", "bySize", "--null-part", "1"));
    run(2, "scan", file, "things", "--index", "bySize", "two");
    run(2, "scan", file, "things", "--index", "bySize", "2", "3");
    run(2, "scan", file, "things", "--null-part", "1");
    run(2, "get", file, "things", "a,b", "c");
    var none = run(4, "get", file, "kinds", "2", "a,b", "00");
    assertEquals("", none.out());
    assertEquals("fovea: there is no such record\n", none.err());
    String few = run(2, "get", file, "kinds", "2").err();
    assertTrue(few.contains("the key has 3 parts, not 1: shop, code, raw"), few);
    run(2, "get", file, "kinds", "x", "a", "00");
    run(2, "get", file, "kinds");
    run(2, "get", file, "no table", "1");
    assertArrayEquals(before, Files.readAllBytes(file));
  }

  @Test
  void count() {
    Path file = make(dir, SMALL);
    assertEquals(List.of("" + Fixture.ROWS), lines("count", file, "t"));
    assertEquals(List.of("1"), lines("count", file, "t", "7"));
    assertEquals(List.of("30"), lines("count", file, "t", "--index", "i", "text 7"));
    assertEquals(List.of("3"), lines("count", file, "blobs", "long"));
    assertEquals("{\n  \"records\": 3\n}\n", run(0, "count", file, "blobs", "--json").out());
    assertEquals(List.of("0"), lines("count", file, "t", "--", "-1"));
    run(2, "count", file, "t", "--index", "none");
  }

  @Test
  void putAndDelete() {
    Path file = kinds("kinds", true);
    run(0, "put", "--write", file, "kinds", "50", "new", "", "due=5", "row.code=k=v", "bits=ff");
    assertEquals(
        List.of("shop 50  code new  raw empty  row.code k=v  due 5  size 0  bits ff"),
        lines("scan", file, "kinds", "50"));
    run(0, "put", "--write", file, "kinds", "50", "new", "", "size=-3", "due=6");
    assertEquals(
        List.of("shop 50  code new  raw empty  row.code k=v  due 6  size -3  bits ff"),
        lines("scan", file, "kinds", "--index", "by due", "6"));
    assertEquals(List.of("0"), lines("count", file, "kinds", "--index", "by due", "5"));
    run(0, "put", "--write", file, "blobs", "key", "a value");
    run(0, "put", "--write", file, "blobs", "key", "another");
    assertTrue(lines("get", file, "blobs", "key").getLast().endsWith("\"another\""));

    for (String wrong :
        new String[] {"code=x", "due", "=3", "due=x", "bits=f", "bits=0011223344"}) {
      run(2, "put", "--write", file, "kinds", "50", "new", "", wrong);
    }
    String unknown = run(2, "put", "--write", file, "kinds", "50", "new", "", "code=x").err();
    assertTrue(unknown.contains("no field 'code': it has row.code, due, size, bits"), unknown);
    run(2, "put", "--write", file, "kinds", "50", "new", "", "due=1", "due=2");
    run(2, "put", "--write", file, "kinds", "50", "new");
    run(2, "put", "--write", file, "blobs", "key");
    run(2, "put", "--write", file, "things", "key", "value");
    String computed = run(2, "put", "--write", file, "computed", "1", "due=3").err();
    assertTrue(computed.contains("\"by length\" is by a computed key"), computed);
    run(2, "delete", "--write", file, "computed", "1");
    // The value exists in a unique index.
    var taken = run(1, "put", "--write", file, "kinds", "51", "new", "", "due=6");
    assertTrue(taken.err().contains("by due"), taken.err());

    for (String command : new String[] {"put", "delete"}) {
      String err = run(2, command, file, "kinds", "50", "new", "").err();
      assertTrue(err.contains("give --write"), err);
    }
    assertEquals(List.of(), lines("delete", "--write", file, "kinds", "50", "new", ""));
    assertEquals(List.of("0"), lines("count", file, "kinds", "50"));
    run(4, "delete", "--write", file, "kinds", "50", "new", "");
    run(2, "delete", "--write", file, "kinds", "50");
    run(0, "delete", "--write", file, "blobs", "key");
    run(0, "verify", file);
  }

  @ParameterizedTest
  @EnumSource(Format.class)
  void exportRoundTrips(Format format) throws IOException {
    Path from = kinds("from", true);
    Path to = kinds("to", false);
    for (String table : new String[] {"kinds", "things", "blobs"}) {
      Path first = dir.resolve(table + ".first");
      Path second = dir.resolve(table + ".second");
      assertEquals(
          List.of(TEXTS.length + " records"),
          lines("export", from, table, "--format", format, "--output", first));
      assertEquals(
          Files.readString(first), run(0, "export", from, table, "--format", format).out());
      assertEquals(
          List.of(TEXTS.length + " records"),
          lines(
              "import", "--write", to, table, "--format", format, "--input", first, "--batch", 4));
      run(0, "export", to, table, "--format", format, "--output", second);
      assertEquals(Files.readString(first), Files.readString(second));
      assertEquals(
          lines("scan", from, table), lines("scan", to, table), "as the engine reads them");
    }
    assertTrue(run(0, "verify", to).out().contains("closed"));
    try (Database db = Database.open(to, SMALL)) {
      var things = db.table(THINGS);
      assertEquals(new Thing("\\", 8), db.read(tx -> things.get(tx, "\\")));
    }
  }

  @Test
  void exports() throws IOException {
    Path file = kinds("kinds", true);
    assertEquals(
        "{\"shop\":2,\"code\":\"a,b\",\"raw\":\"0000\",\"row.code\":\"a,b\","
            + "\"due\":9223372036854775805,\"size\":-2,\"bits\":\"20\"}\n",
        run(0, "export", "--no-schema", file, "kinds", "2").out());
    assertEquals(
        "shop,code,raw,row.code,due,size,bits\r\n"
            + "2,\"a,b\",0000,\"a,b\",9223372036854775805,-2,20\r\n",
        run(0, "export", file, "kinds", "2", "--format", "CSV").out());
    assertEquals("", run(0, "export", "--no-schema", file, "kinds", "77").out());
    assertEquals(
        "shop,code,raw,row.code,due,size,bits\r\n",
        run(0, "export", file, "kinds", "77", "--format", "CSV").out());
    Path there = Files.writeString(dir.resolve("there"), "mine");
    run(2, "export", file, "kinds", "--output", there);
    assertEquals("mine", Files.readString(there));
    Path not = dir.resolve("not");
    run(2, "export", file, "kinds", "x", "--output", not);
    assertFalse(Files.exists(not));
    run(2, "export", file, "kinds", "--json");
    run(2, "export", file, "kinds", "--format", "XML");
  }

  @Test
  void importsInSeveralTransactions() throws IOException {
    Path file = kinds("kinds", false);
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < 40; i++) {
      String value = "00".repeat(200_000);
      lines.append("{\"key\": \"%02x\", \"value\": \"%s\"}\n".formatted(i, value));
    }
    Path input = Files.writeString(dir.resolve("input"), lines);
    assertEquals(
        List.of("40 records"), lines("import", "--write", file, "blobs", "--input", input));
    assertEquals(List.of("40"), lines("count", file, "blobs"));
  }

  /** Checks the message for a wrong input, and the number of records after it. */
  private void wrong(String input, int expected, String... said) throws IOException {
    Path file = kinds("wrong" + input.hashCode(), false);
    Path in = Files.writeString(dir.resolve("input"), input);
    Object format = input.startsWith("{") || input.startsWith("[") ? Format.JSON : Format.CSV;
    String err =
        run(2, "import", "--write", file, "kinds", "--input", in, "--format", format, "--batch", 1)
            .err();
    for (String part : said) {
      assertTrue(err.contains(part), err);
    }
    assertEquals(List.of("" + expected), lines("count", file, "kinds"));
  }

  @Test
  void reportsWrongLines() throws IOException {
    String good = "{\"shop\":1,\"code\":\"a\",\"raw\":\"00\"}\n";
    wrong(good + "{\"shop\":1,\"raw\":\"00\"}", 1, "line 2: the key has no 'code'; 1 rec");
    wrong(good + good.replace("1", "1.5"), 1, "line 2: '1.5' is not a value of shop");
    wrong(good + good.replace("1", "null"), 1, "line 2: the key has no 'shop'");
    wrong(
        good + good.replace("1", "[]"), 1, "line 2", "'shop' is not a number, string, boolean or");
    wrong(good + good.replace("1", "true"), 1, "line 2: 'true' is not a value of shop");
    wrong(
        good + good.replace("}", ",\"due\":null}"), 1, "line 2: null is not a value of due INT64");
    wrong(good + good.replace("1", "\"x\""), 1, "line 2: 'x' is not a value of shop INT32; 1 rec");
    wrong(good + good.replace("1", "99999999999"), 1, "'99999999999' is not a value of shop");
    wrong(good + good.replace("\"00\"", "\"0\""), 1, "'0' is not a value of raw");
    wrong(good + good.replace("}", ",\"x\":1}"), 1, "line 2", "no field 'x'");
    wrong(good + good.replace("}", ",\"shop\":1}"), 1, "line 2", "'shop' occurs twice");
    wrong(good + "{\"shop\"", 1, "line 2: it is not one JSON object; 1 records");
    wrong(good + "\n\n" + good.strip() + "{}", 1, "line 4: it is not one JSON object");
    wrong("[" + good + "]", 0, "line 1: expected a JSON object");
    // Two records with one value in a unique index.
    wrong(good + good.replace("1", "2"), 1, "line 2", "by due", "; 1 records");
    String names = "shop,code,raw\r\n";
    wrong(names + "1,a,00\r\n2,b\r\n", 1, "line 3: 2 values for 3 columns");
    wrong(names + "1,a,00\r\n2,\"b\r\n", 1, "line 3");
    wrong("shop,code,other\r\n1,a,00\r\n", 0, "line 2: the key has no 'raw'");
    wrong("shop,code,shop\r\n1,a,00\r\n", 0, "shop");
  }

  /** A trial on a copy checks unique indexes, even while the file is in use. */
  @Test
  void trialOnCopyChecksUniqueIndexes() throws IOException {
    Path file = kinds("kinds", true);
    String same = "{\"shop\":50,\"code\":\"a\",\"raw\":\"00\",\"due\":9223372036854775805}\n";
    String other = same.replace("9223372036854775805", "5");
    Path in = Files.writeString(dir.resolve("input"), other + same);
    byte[] before = Files.readAllBytes(file);
    assertEquals(
        List.of("2 records"),
        lines("import", "--write", file, "kinds", "--dry-run", "--input", in));
    Object[] trial = {"import", file, "kinds", "--dry-run", "--copy", "--batch", 1, "--input", in};
    String err = run(2, trial).err();
    assertTrue(err.contains("line 2") && err.contains("by due"), err);
    assertTrue(err.contains("1 records before are valid"), err);
    Files.writeString(in, other);
    assertEquals(List.of("1 record"), lines(trial));
    assertArrayEquals(before, Files.readAllBytes(file));
    run(2, "import", "--write", file, "kinds", "--copy", "--input", in);
  }

  @Test
  void readsStandardInput() {
    Path file = kinds("kinds", false);
    byte[] csv = "\uFEFFkey,value\n6162,63\n".getBytes(StandardCharsets.UTF_8);
    var ran = ran(csv, "import", "--write", file, "blobs", "--format", "CSV");
    assertEquals("1 record\n", ran.out(), ran::toString);
    byte[] notText = {'{', (byte) 0xFF};
    assertTrue(ran(notText, "import", "--write", file, "blobs").err().contains("UTF-8"));
    assertEquals(
        "{\n  \"records\": 0\n}\n", run(0, "import", "--write", file, "blobs", "--json").out());
    assertEquals(
        List.of("key    6162 \"ab\"", "value  63 \"c\""), lines("get", file, "blobs", "ab"));
    run(2, "import", "--write", file, "blobs", "--input", dir.resolve("nothing"));
    run(2, "import", "--write", file, "blobs", "--batch", "0");
    run(2, "import", "--write", file, "computed");
  }

  @ParameterizedTest
  @ValueSource(strings = {"get", "put", "delete", "count", "export", "import"})
  void aFileInUseIsRefused(String command) {
    Path file = dir.resolve("open");
    try (Database db = Database.open(file, SMALL)) {
      Fixture.fill(db);
      List<Object> args = new ArrayList<>(List.of(command, file, "blobs"));
      if (!command.equals("import")) {
        args.add("long 1");
      }
      if (command.equals("put")) {
        args.add("value");
      }
      if (!List.of("get", "count", "export").contains(command)) {
        args.add("--write");
      }
      String err = run(2, args.toArray()).err();
      assertTrue(err.contains("is already open"), err);
    }
  }
}
