package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.lines;
import static io.fovea.cli.Fixture.run;
import static io.fovea.cli.Fixture.shell;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.RowTable;
import io.fovea.Table;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Transcripts with the bounds of scans, counts and exports. */
class BoundsTest {
  private static final KeySpec.Definition K = KeySpec.define();
  private static final Field A = K.int32("a");
  private static final Field B = K.text("b", 10);
  private static final Layout.Definition L = Layout.define();
  private static final Field N = L.int64("n");
  private static final TableSpec ROWS =
      TableSpec.of("rows", K.build(), L.build()).with(IndexSpec.on("by n", N));

  record Place(int floor, String name) {}

  record Thing(int size) {}

  private static final ObjectSpec<Place, Thing> THINGS =
      ObjectSpec.of("things", Place.class, Thing.class).index("size", "size");

  @TempDir Path dir;

  private Path made() {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, SMALL)) {
      RowTable t = db.table(ROWS);
      Table<Place, Thing> things = db.table(THINGS);
      Table<byte[], byte[]> bytes = db.table(TableSpec.bytes("bytes", 2)).bytes();
      db.run(
          tx -> {
            for (int a = -1; a < 3; a++) {
              for (String b : List.of("x", "y", "z")) {
                long n = a * 10L + b.charAt(0) - 'x';
                t.put(tx, t.key().clear().int32(a).text(b), t.row().setLong(N, n));
                things.put(tx, new Place(a, b), new Thing((int) n));
                bytes.put(
                    tx, ((char) ('b' + a) + b).getBytes(StandardCharsets.UTF_8), new byte[] {1});
              }
            }
            bytes.put(tx, new byte[] {-1, -1}, new byte[] {1});
          });
    }
    return file;
  }

  /** The keys in a scan's output, without names. */
  private static String keys(Object... args) {
    List<String> keys = new ArrayList<>();
    for (String line : lines(args)) {
      String[] words = line.split(" +");
      keys.add(words[1] + words[3]);
    }
    return String.join(" ", keys);
  }

  @Test
  void rows() {
    Path f = made();
    assertEquals("1x 1y 1z 2x 2y 2z", keys("scan", f, "rows", "--from", "1"));
    assertEquals("1y 1z 2x 2y 2z", keys("scan", f, "rows", "--from", "1", "y"));
    assertEquals("2x 2y 2z", keys("scan", f, "rows", "--after", "1"));
    assertEquals("1z 2x 2y 2z", keys("scan", f, "rows", "--after", "1", "y"));
    assertEquals("-1x -1y -1z", keys("scan", f, "rows", "--to", "0"));
    assertEquals("0x 0y 0z 1x", keys("scan", f, "rows", "--from", "0", "--to", "1", "y"));
    assertEquals(
        "1x 0z 0y 0x", keys("scan", f, "rows", "--from", "0", "--to", "1", "y", "--reverse"));
    assertEquals("-1x -1y", keys("scan", f, "rows", "--from=-1", "--limit", "2"));
    assertEquals("1y 1z", keys("scan", f, "rows", "1", "--from", "y"));
    assertEquals("1x", keys("scan", f, "rows", "1", "--to", "y"));
    assertEquals("1z", keys("scan", f, "rows", "1", "--after", "y"));
    assertEquals("1x 1y 1z", keys("scan", f, "rows", "--prefix", "1"));
    assertEquals("", keys("scan", f, "rows", "--from", "1", "--to", "1"));
    assertEquals("", keys("scan", f, "rows", "--after", "2"));
    assertEquals(
        "1y 1z 2x", keys("scan", f, "rows", "--index", "by n", "--from", "11", "--to", "21"));
    assertEquals("2y 2z", keys("scan", f, "rows", "--index", "by n", "--after", "20"));
    assertEquals(List.of("3"), lines("count", f, "rows", "--from", "2"));
    assertEquals(List.of("12"), lines("count", f, "rows"));
    assertEquals(
        List.of("a,b,n", "2,z,22"),
        lines("export", f, "rows", "--format", "CSV", "--after", "2", "y"));
    assertEquals("3\n", shell(List.of(f), "count rows --from 2").out());
  }

  @Test
  void bytesAndObjects() {
    Path f = made();
    assertEquals(List.of("4"), lines("count", f, "bytes", "--from", "dx"));
    assertEquals(List.of("3"), lines("count", f, "bytes", "--after", "dx"));
    assertEquals(List.of("6"), lines("count", f, "bytes", "--from", "b", "--to", "d"));
    assertEquals(List.of("3"), lines("count", f, "bytes", "--to", "b"));
    assertEquals(List.of("3"), lines("count", f, "bytes", "--prefix", "b"));
    assertEquals(List.of("0"), lines("count", f, "bytes", "--after", "0xffff"));
    assertEquals(List.of("10"), lines("count", f, "bytes", "--after", "az"));
    assertEquals("1y 1z 2x 2y 2z", keys("scan", f, "things", "--from", "1", "y"));
    assertEquals("2x 2y 2z", keys("scan", f, "things", "--after", "1"));
    assertEquals("0x 0y 0z 1x", keys("scan", f, "things", "--from", "0", "--to", "1", "y"));
    assertEquals("1z", keys("scan", f, "things", "1", "--after", "y"));
    assertEquals("1x 1y", keys("scan", f, "things", "1", "--to", "z"));
    assertEquals("", keys("scan", f, "things", "--after", "2", "z"));
  }

  @Test
  void mistakes() {
    Path f = made();
    assertTrue(run(2, "scan", f, "rows", "--from", "1", "--after", "2").err().contains("give one"));
    assertTrue(run(2, "scan", f, "rows", "1", "--prefix", "2").err().contains("give one"));
    assertTrue(run(2, "scan", f, "rows", "--from", "x").err().contains("'x' is not a value of"));
    assertTrue(
        run(2, "scan", f, "rows", "--to", "1", "a", "b").err().contains("2 parts at most, not 3"));
    assertTrue(run(2, "scan", f, "bytes", "a", "--from", "b").err().contains("not both"));
    assertTrue(
        run(2, "scan", f, "things", "--index", "size", "--from", "1").err().contains("no bounds"));
  }
}
