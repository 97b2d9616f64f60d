package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.RowTable;
import io.fovea.cli.ConsoleFixture.Served;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pages of records in the order of indexes with many equal keys, of tables of each kind. */
class ConsolePagingTest {
  private static final int RECORDS = 9000;
  private static final int PAGE = 100;

  record Thing(String name, @org.jspecify.annotations.Nullable Integer size) {}

  private static final ObjectSpec<String, Thing> THINGS =
      ObjectSpec.of("things", String.class, Thing.class).index("by size", "size");

  @TempDir Path dir;

  private Path make() {
    Path file = dir.resolve("db");
    Layout.Definition b = Layout.define();
    Field size = b.nullable().int32("size");
    Layout layout = b.build();
    try (Database db = Database.open(file, Fixture.SMALL)) {
      RowTable rows =
          db.table(
              TableSpec.of("rows", KeySpec.of(FieldType.INT32), layout)
                  .with(IndexSpec.on("by size", size)));
      var files = db.table(TableSpec.bytes("files", 20).with(Fixture.bySize())).bytes();
      var things = db.table(THINGS);
      db.run(
          tx -> {
            for (int i = 0; i < RECORDS; i++) {
              int of = i * 7919 % RECORDS;
              int n = size(of);
              rows.put(
                  tx,
                  rows.key().set(of),
                  n == 0 ? rows.row().clear().setNull(size) : rows.row().clear().setInt(size, n));
              files.put(tx, name(of).getBytes(StandardCharsets.UTF_8), new byte[n]);
              things.put(tx, name(of), new Thing(name(of), n == 0 ? null : Integer.valueOf(n)));
            }
          });
    }
    return file;
  }

  private static String name(int i) {
    return String.format("n%04d", i);
  }

  /** A third of the records have size 1; each of the first fifty has another size. */
  private static int size(int i) {
    return i < 50 ? 1000 + i : i % 3 == 0 ? 1 : i % 5;
  }

  private JsonObject read(HttpClient http, Served served, String path) throws Exception {
    HttpResponse<String> answer =
        http.send(
            HttpRequest.newBuilder(URI.create(served.base() + "/api/" + path))
                .header("Fovea-Token", served.url().split("#token=")[1])
                .build(),
            HttpResponse.BodyHandlers.ofString());
    assertEquals(200, answer.statusCode(), answer::body);
    return JsonParser.parseString(answer.body()).getAsJsonObject();
  }

  /** The pages of the tree that were accessed so far. */
  private long accesses(HttpClient http, Served served) throws Exception {
    JsonObject figures = read(http, served, "stats").getAsJsonObject("figures");
    return figures.get("buffer.hits").getAsLong() + figures.get("buffer.misses").getAsLong();
  }

  private record Scanned(List<String> keys, List<Integer> sizes, long first, long last) {}

  private Scanned scan(HttpClient http, Served served, String search) throws Exception {
    List<String> keys = new ArrayList<>();
    List<Integer> sizes = new ArrayList<>();
    long first = 0;
    long most = 0;
    JsonElement next = null;
    do {
      long before = accesses(http, served);
      String at =
          next == null
              ? ""
              : "&at=" + URLEncoder.encode(next.getAsString(), StandardCharsets.UTF_8);
      JsonObject page = read(http, served, "records?limit=" + PAGE + search + at);
      long spent = accesses(http, served) - before;
      first = next == null ? spent : first;
      most = Math.max(most, spent);
      JsonArray columns = page.getAsJsonArray("columns");
      // The first column of the files is the computed key.
      int column = Math.max(0, columns.asList().indexOf(new JsonPrimitive("size")));
      for (JsonElement r : page.getAsJsonArray("records")) {
        keys.add(r.getAsJsonObject().getAsJsonArray("key").get(0).getAsString());
        JsonElement cell = r.getAsJsonObject().getAsJsonArray("cells").get(column);
        sizes.add(cell.isJsonNull() ? 0 : cell.getAsJsonObject().get("text").getAsInt());
      }
      next = page.get("next");
    } while (!next.isJsonNull());
    return new Scanned(keys, sizes, first, most);
  }

  private static int number(String key) {
    return Integer.parseInt(
        key.startsWith("0x")
            ? new String(
                    java.util.HexFormat.of().parseHex(key.substring(2)), StandardCharsets.UTF_8)
                .substring(1)
            : key.replace("n", ""));
  }

  @Test
  void eachPageBeginsWhereTheLastOneEnded() throws Exception {
    try (HttpClient http = HttpClient.newHttpClient();
        Served served = new Served(make())) {
      List<Integer> expected =
          IntStream.range(0, RECORDS)
              .boxed()
              .sorted(
                  (a, b) -> size(a) != size(b) ? Integer.compare(size(a), size(b)) : a.compareTo(b))
              .toList();
      for (String table : List.of("rows", "files", "things")) {
        for (String order : List.of("ascending", "descending")) {
          String by = "&table=" + table + "&index=by+size&order=" + order;
          Scanned all = scan(http, served, by);
          List<Integer> wanted = order.equals("ascending") ? expected : expected.reversed();
          List<Integer> found = all.keys.stream().map(ConsolePagingTest::number).toList();
          assertEquals(RECORDS, new HashSet<>(found).size(), by);
          assertEquals(wanted, found, by);
          assertEquals(wanted.stream().map(ConsolePagingTest::size).toList(), all.sizes, by);
          assertTrue(
              all.last < all.first + 50,
              () -> by + ": " + all.first + " pages read for the first, at most " + all.last);
          Scanned some = scan(http, served, by + "&part=1");
          assertEquals(
              wanted.stream().filter(i -> size(i) == 1).toList(),
              some.keys.stream().map(ConsolePagingTest::number).toList(),
              by);
        }
      }
    }
  }
}
