package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.lines;
import static io.fovea.cli.Fixture.ran;
import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.RowTable;
import io.fovea.config.Durability;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Imports that load a whole table, and those that create it. */
class ImportTest {
  private static final KeySpec.Definition K = KeySpec.define();
  private static final Field ID = K.int32("id");
  private static final Layout.Definition B = Layout.define();
  private static final Field NAME = B.nullable().varText("name", 300);
  private static final Field SIZE = B.int64("size");
  private static final KeySpec KEY = K.build();
  private static final Layout ROW = B.build();
  private static final TableSpec PLAIN = TableSpec.of("t", KEY, ROW);
  private static final TableSpec UNIQUE = PLAIN.with(IndexSpec.unique("by size", SIZE));

  private static final String NAMES = "id,name,size\r\n";

  @TempDir Path dir;

  private Path file(TableSpec spec, int rows) {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, SMALL)) {
      RowTable t = db.table(spec);
      db.run(
          tx -> {
            for (int i = 0; i < rows; i++) {
              t.put(tx, t.key().set(i), t.row().clear().setText(NAME, "n" + i).setLong(SIZE, i));
            }
          });
    }
    return file;
  }

  private Path input(String name, String text) throws IOException {
    return Files.writeString(dir.resolve(name), text);
  }

  private List<String> folder() throws IOException {
    try (Stream<Path> all = Files.list(dir)) {
      return all.map(p -> p.getFileName().toString()).sorted().toList();
    }
  }

  private static String csv(int from, int to) {
    StringBuilder s = new StringBuilder(NAMES);
    IntStream.range(from, to)
        .map(i -> from + (i * 7919) % (to - from)) // in no order
        .forEach(i -> s.append(i).append(",name ").append(i).append(',').append(i).append("\r\n"));
    return s.toString();
  }

  @Test
  void loadsRecordsInAnyOrder() throws IOException {
    Path file = file(UNIQUE, 0);
    Path in = input("in.csv", csv(0, 5000));
    assertEquals(List.of("5000 records"), lines("import", "--write", file, "t", in));
    assertEquals(List.of("5000"), lines("count", file, "t"));
    assertEquals(
        List.of("id 4711  name name 4711  size 4711"),
        lines("scan", file, "t", "--index", "by size", "4711"));
    run(0, "verify", file);
  }

  @Test
  void aWrongLineLeavesAnEmptyTableEmpty() throws IOException {
    Path file = file(UNIQUE, 0);
    String good = csv(0, 3000);
    String[][] wrong = {
      {"x,a,1\r\n", "line 3002: 'x' is not a value of id INT32; nothing was imported"},
      {"1\r\n", "line 3002: 1 values for 3 columns; nothing was imported"},
      {"1,\"a\r\n", "line 3002: a quoted value has no closing quote; nothing was imported"},
      {"1,a,\r\n", "line 3002: '' is not a value of size INT64; nothing was imported"},
      {"3000,a,7\r\n3001,a,8000\r\n", "line 3002: Two records would have the key"}
    };
    for (String[] each : wrong) {
      Path in = input("in.csv", good + each[0]);
      byte[] piped = Files.readAllBytes(in);
      for (Fixture.Ran ran :
          List.of(
              ran("import", "--write", file, "t", in),
              ran(piped, "import", "--write", file, "t", "--format", "CSV"))) {
        assertEquals(2, ran.code(), ran::toString);
        assertTrue(ran.err().contains(each[1]), ran::toString);
        assertTrue(ran.err().contains("nothing was imported"), ran::toString);
        assertEquals(List.of("0"), lines("count", file, "t"));
      }
    }
    run(0, "verify", file);
  }

  /** Batches are committed one by one. */
  @Test
  void batchesBeforeAWrongLineStay() throws IOException {
    Path file = file(PLAIN, 0);
    Path in = input("in.csv", csv(0, 25) + "x,a,1\r\n");
    String err = run(2, "import", "--write", file, "t", in, "--batch", 10).err();
    assertTrue(err.contains("line 27: 'x' is not a value of id INT32; 20 records were"), err);
    assertEquals(List.of("20"), lines("count", file, "t"));
  }

  @Test
  void theLastOfTwoRecordsWithOneKeyStays() throws IOException {
    Path file = file(PLAIN, 0);
    Path in = input("in.csv", NAMES + "2,b,1\n1,a,1\n2,,2\n");
    run(0, "import", "--write", file, "t", in);
    assertEquals(
        List.of("id 1  name a  size 1", "id 2  name none  size 2"), lines("scan", file, "t"));
  }

  /** As in transactions: a row keeps the fields that a later line does not name. */
  @Test
  void linesThatNameDifferentFields() throws IOException {
    String text = "{\"id\":1,\"name\":\"a\",\"size\":3}\n{\"id\":2,\"name\":\"b\"}\n";
    String twice = "{\"id\":1,\"size\":4}\n";
    for (String piped : new String[] {text + twice, text + twice + twice.replace("}", " }")}) {
      Path file = dir.resolve("db" + piped.length());
      try (Database db = Database.open(file, SMALL)) {
        db.table(PLAIN);
      }
      run(0, ran(piped.getBytes(StandardCharsets.UTF_8), "import", "--write", file, "t"));
      assertEquals(
          List.of("id 1  name a  size 4", "id 2  name b  size 0"), lines("scan", file, "t"));
    }
    Path same = file(PLAIN, 0);
    String line = "{\"id\":1,\"name\":\"a\",\"size\":3}\n";
    Path in = input("in.jsonl", line + line.replace("3", "5"));
    assertEquals(List.of("2 records"), lines("import", "--write", same, "t", in));
    assertEquals(List.of("id 1  name a  size 5"), lines("scan", same, "t"));
  }

  private static void run(int expected, Fixture.Ran ran) {
    assertEquals(expected, ran.code(), ran::toString);
  }

  private static Fixture.Ran run(int expected, Object... args) {
    return Fixture.run(expected, args);
  }

  /** A CSV larger than the table replaces it at once, or not at all. */
  @Test
  void loadsIntoATableWithRecords() throws IOException {
    Path file = file(UNIQUE, 10);
    Path in = input("in.csv", csv(5, 1005) + "x,,\n");
    String err = run(2, "import", "--write", file, "t", in).err();
    assertTrue(err.contains("nothing was imported"), err);
    assertEquals(List.of("10"), lines("count", file, "t"));
    Path taken = input("in.csv", csv(5, 1005) + "2000,,3\n");
    err = run(2, "import", "--write", file, "t", taken).err();
    assertTrue(err.contains("by size") && err.contains("nothing was imported"), err);
    Files.writeString(in, csv(5, 1005));
    run(0, "import", "--write", file, "t", in);
    assertEquals(List.of("1005"), lines("count", file, "t"));
    assertEquals("name  name 5", lines("get", file, "t", "5").get(1));
    // Fields that are not named keep their values.
    Path some = input("some.csv", "id,size\n5,-1\n" + "6,-2\n".repeat(10_000));
    run(0, "import", "--write", file, "t", some);
    assertEquals(List.of("id    5", "name  name 5", "size  -1"), lines("get", file, "t", "5"));
  }

  /** Subscribers see the records of transactions, and not those of a load. */
  @Test
  void subscribersSeeImportedRecords() throws IOException {
    Path file = dir.resolve("db");
    Options followed =
        SMALL.durability(Durability.ASYNC).log(l -> l.changeRetentionBytes(16 << 20));
    try (Database db = Database.open(file, followed)) {
      db.table(PLAIN);
    }
    run(0, "import", "--write", file, "t", input("in.csv", NAMES + "1,a,1\n"));
    List<String> tail = lines("tail", file, "t");
    assertTrue(tail.stream().anyMatch(l -> l.contains("PUT")), tail::toString);
  }

  @Test
  void createsFileAndTable() throws IOException {
    Path file = dir.resolve("new");
    String bom = "\uFEFF";
    Path in =
        input(
            "in.CSV",
            bom
                + "id,day,n,price,open,zip,note\r\n"
                + "-1,2026-11-28T00:00:00Z,-9223372036854775808,-0.5,true,00501,\"a"
                + " \"\"b\"\",\"\r\n"
                + "2,2026-11-29T00:00:00Z,5,12,false,10001,\r\n");
    assertEquals(List.of("2 records"), lines("import", file, "t", in, "--key", "id"));
    assertEquals(
        List.of(
            "table t of rows",
            "  key    id INT64",
            "  row    day INSTANT, n INT64, price FLOAT64, open BOOLEAN, zip VARTEXT(255), note"
                + " VARTEXT(255) NULL"),
        lines("schema", file));
    assertEquals("note   a \"b\",", lines("get", file, "t", "--", "-1").get(6));
  }

  /** As numbers 1.1 and 1.10 would be one key, and the second record would replace the first. */
  @Test
  void keysThatAreEqualNumbersStayApart() throws IOException {
    Path in = input("versions.csv", "version,note\n1,a\n1.1,b\n1.10,c\n");
    Path file = dir.resolve("new");
    run(0, "import", file, "t", in, "--key", "version");
    assertEquals(List.of("3"), lines("count", file, "t"));
    assertTrue(lines("get", file, "t", "1.10").get(1).endsWith(" c"));
  }

  @Test
  void typesOfColumns() throws IOException {
    Path in = input("in.csv", "id,price,note\n1,1.50,a\n2,2,b\n");
    Path file = dir.resolve("new");
    String[] types = {"--type", "id INT32", "--type", "price DECIMAL(10, 2) NULL"};
    run(0, "import", file, "t", in, "--key", "id", types[0], types[1], types[2], types[3]);
    assertEquals(
        List.of(
            "table t of rows",
            "  key    id INT32",
            "  row    price DECIMAL(10, 2) NULL, note VARTEXT(255)"),
        lines("schema", file));
    assertEquals("price  1.50", lines("get", file, "t", "1").get(1));

    Path other = dir.resolve("other");
    String[][] wrong = {
      {"price INT32", "line 2: '1.50' is not a value of price INT32; nothing was imported"},
      {"note VARCHAR(3)", "'VARCHAR', the type of note, is not one of"},
      {"none INT32", "there is no column 'none': there are id, price, note"},
      {"note", "'note' is not a field"}
    };
    List<String> before = folder();
    for (String[] each : wrong) {
      String err = run(2, "import", other, "t", in, "--key", "id", "--type", each[0]).err();
      assertTrue(err.contains(each[1]), err);
      assertEquals(before, folder(), "nothing is left");
    }
    String twice =
        run(2, "import", other, "t", in, "--key=id", "--type=id INT32", "--type=id INT64").err();
    assertTrue(twice.contains("'id' has two types"), twice);
    run(2, "import", "--write", file, "t", in, "--type", "id INT32");
  }

  /** A failed import removes what it has created, and nothing else. */
  @Test
  void removesWhatItHasCreated() throws IOException {
    input("new.txt", "mine");
    Path in = input("in.csv", "id,id2\n1,2\nx\n");
    List<String> before = folder();
    run(2, "import", dir.resolve("new"), "t", in, "--key", "id");
    run(
        2,
        "import",
        dir.resolve("new"),
        "t",
        in,
        "--key",
        "id",
        "--type=id INT32",
        "--type=id2 INT32");
    assertEquals(before, folder());
    Path file = file(PLAIN, 1);
    run(2, "import", "--write", file, "u", in, "--key=id", "--type=id INT32", "--type=id2 INT32");
    assertEquals(
        List.of("t"),
        lines("schema", file, "t").stream().map(l -> l.split(" ")[1]).limit(1).toList());
    assertTrue(run(2, "schema", file, "u").err().contains("no table u"));
  }

  @Test
  void nameOfTheInput() throws IOException {
    Path file = file(PLAIN, 0);
    Path in = input("in.csv", NAMES + "1,a,1\n");
    assertTrue(run(2, "import", "--write", file, "t", in, "--input", in).err().contains("INPUT"));
    Path json = input("in.csv", "{\"id\":1}\n");
    assertEquals(
        List.of("1 record"), lines("import", "--write", file, "t", json, "--format", "JSON"));
  }

  /** Types are inferred from the whole input, while the first reader has only begun. */
  @Test
  void allRecordsOfALongPipeAreImported() {
    Path file = dir.resolve("new");
    byte[] in = csv(0, 5000).getBytes(StandardCharsets.UTF_8);
    assertTrue(in.length > 1 << 16, "longer than all buffers");
    assertEquals(0, ran(in, "import", file, "t", "--format", "CSV", "--key", "id").code());
    assertEquals(List.of("5000"), lines("count", file, "t"));
  }
}
