package io.fovea.cli;

import static io.fovea.cli.Fixture.lines;
import static io.fovea.cli.Fixture.ran;
import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.Database;
import io.fovea.Durability;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.TypedTable;
import io.fovea.error.DatabaseLockedException;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commits from the log: transcripts. */
@Timeout(60)
class TailTest {
  private static final Options FOLLOWED =
      Options.defaults()
          .durability(Durability.SYNC)
          .bufferBytes(8 << 20)
          .log(l -> l.changesBytes(1 << 20));

  record Thing(String name, int size) {}

  private static final ObjectSpec<Long, Thing> THINGS =
      ObjectSpec.of("things", Long.class, Thing.class);

  @TempDir Path dir;

  private Path file() {
    return dir.resolve("db");
  }

  private static void fill(Database db) {
    Table t = db.table(Fixture.TABLE);
    db.run(
        tx -> {
          t.put(tx, t.key().set(1), t.row().setText(Fixture.X, "one"));
          t.put(tx, t.key().set(2), t.row().setText(Fixture.X, "two"));
        });
    db.run(tx -> t.delete(tx, t.key().set(1)));
    TypedTable<Long, Thing> things = db.table(THINGS);
    db.run(tx -> things.put(tx, 7L, new Thing("seven", 77)));
    db.table(TableSpec.bytes("old", 20));
    db.renameTable("old", "new");
    db.dropTable("new");
  }

  /** Without what is different in each run. */
  private static List<String> without(List<String> lines) {
    return lines.stream().map(s -> s.replaceAll("position .*/\\d+$", "position P")).toList();
  }

  private static final List<String> ALL =
      List.of(
          "position P",
          "  CREATED  t",
          "position P",
          "  PUT      t  k0 1  x one",
          "  PUT      t  k0 2  x two",
          "position P",
          "  DELETE   t  k0 1",
          "position P",
          "  CREATED  things",
          "position P",
          "  PUT      things  key 7  name seven  size 77",
          "position P",
          "  CREATED  old",
          "position P",
          "  RENAMED  old  to new",
          "position P",
          "  DROPPED  new");

  @Test
  void ofAFileThatNobodyHasOpen() {
    try (Database db = Database.open(file(), FOLLOWED)) {
      fill(db);
    }
    List<String> all = lines("tail", file());
    List<String> said = without(all);
    // What comes behind the last one is of the close.
    assertEquals(ALL, said.subList(0, ALL.size()), all::toString);
    assertTrue(said.size() <= ALL.size() + 1, said::toString);
    String second = all.get(2).substring("position ".length());
    assertEquals(ALL.subList(5, 7), without(lines("tail", file(), "--from", second)).subList(0, 2));
    assertEquals(
        ALL.subList(2, 5),
        without(lines("tail", file(), "--limit", "1", "t", "--from", first(all))));
    assertEquals(
        List.of("position P", "  RENAMED  old  to new"),
        without(lines("tail", file(), "new", "--limit", "1")));
    assertEquals(List.of("position P"), without(lines("tail", file(), "--from", "end")));
    assertEquals(List.of("position P"), without(lines("tail", file(), "nothing")));
    String last = lines("tail", file(), "--from", "end").getFirst().substring("position ".length());
    assertEquals(List.of("position " + last), lines("tail", file(), "--from", last));
  }

  private static String first(List<String> all) {
    return all.getFirst().substring("position ".length());
  }

  @Test
  void asJson() {
    try (Database db = Database.open(file(), FOLLOWED)) {
      fill(db);
    }
    List<JsonObject> all = new ArrayList<>();
    for (String line : lines("tail", file(), "--json")) {
      all.add(JsonParser.parseString(line).getAsJsonObject());
    }
    assertEquals("[{\"change\":\"CREATED\",\"table\":\"t\"}]", changes(all.get(0)));
    assertEquals(
        "[{\"change\":\"PUT\",\"table\":\"t\",\"key\":{\"k0\":1},\"value\":{\"x\":\"one\"}},"
            + "{\"change\":\"PUT\",\"table\":\"t\",\"key\":{\"k0\":2},\"value\":{\"x\":\"two\"}}]",
        changes(all.get(1)));
    assertEquals(
        "[{\"change\":\"DELETE\",\"table\":\"t\",\"key\":{\"k0\":1}}]", changes(all.get(2)));
    assertEquals(
        "[{\"change\":\"PUT\",\"table\":\"things\",\"key\":{\"key\":7},"
            + "\"value\":{\"name\":\"seven\",\"size\":77}}]",
        changes(all.get(4)));
    assertEquals(
        "[{\"change\":\"RENAMED\",\"table\":\"old\",\"newName\":\"new\"}]", changes(all.get(6)));
    String at = all.get(5).get("position").getAsString();
    String next = lines("tail", file(), "--json", "--from", at).getFirst();
    assertEquals(all.get(6), JsonParser.parseString(next));
    String hex = lines("tail", file(), "--json", "--hex", "things").get(1);
    assertTrue(hex.contains("\"value\":{\"value\":\""), hex);
  }

  private static String changes(JsonObject commit) {
    return commit.get("changes").toString();
  }

  @Test
  void ofAFileInUse() {
    try (Database db = Database.open(file(), FOLLOWED)) {
      fill(db);
      Fixture.Ran bytes = ran("tail", file());
      assertEquals(0, bytes.code(), bytes::toString);
      assertTrue(bytes.err().contains("is in use"), bytes.err());
      List<String> said = without(bytes.out().lines().toList());
      assertEquals(ALL.subList(0, 3), said.subList(0, 3));
      assertTrue(said.get(3).startsWith("  PUT      t  key "), said.get(3));
      assertEquals(ALL, without(lines("tail", file(), "--copy")).subList(0, ALL.size()));
    }
  }

  @Test
  void follows() throws Exception {
    try (Database db = Database.open(file(), FOLLOWED)) {
      fill(db);
    }
    String last = lines("tail", file(), "--from", "end").getFirst().substring("position ".length());
    CompletableFuture<Fixture.Ran> tail =
        CompletableFuture.supplyAsync(
            () -> ran("tail", file(), "--follow", "--from", last, "--limit", "3", "t"));
    // It holds no lock while it follows; but it may have one while it looks at the tables.
    Database open = null;
    for (int i = 0; open == null; i++) {
      try {
        open = Database.open(file(), FOLLOWED);
      } catch (DatabaseLockedException e) {
        assertTrue(i < 200, "It holds the file.");
        Thread.sleep(50);
      }
    }
    try (Database db = open) {
      Table t = db.table(Fixture.TABLE);
      for (int i = 10; i < 12; i++) {
        int n = i;
        db.run(tx -> t.put(tx, t.key().set(n), t.row().setText(Fixture.X, "v" + n)));
      }
      TypedTable<Long, Thing> things = db.table(THINGS);
      db.run(tx -> things.put(tx, 8L, new Thing("eight", 8)));
      db.checkpoint();
    }
    try (Database db = Database.open(file(), FOLLOWED)) {
      Table t = db.table(Fixture.TABLE);
      db.run(tx -> t.delete(tx, t.key().set(10)));
      Fixture.Ran ran = tail.get(30, TimeUnit.SECONDS);
      assertEquals(0, ran.code(), ran::toString);
      List<String> said = without(ran.out().lines().toList());
      assertEquals(6, said.size(), said::toString);
      if (ran.err().isEmpty()) {
        assertEquals("  PUT      t  k0 10  x v10", said.get(1));
        assertEquals("  DELETE   t  k0 10", said.get(5));
      }
    }
  }

  @Test
  void whatCanNotBeFollowed() {
    Path plain = dir.resolve("plain");
    try (Database db = Database.open(plain, Options.defaults().bufferBytes(8 << 20))) {
      fill(db);
    }
    String err = run(2, "tail", plain).err();
    assertTrue(err.contains("LogOptions.changesBytes"), err);
    run(2, "tail", dir.resolve("absent"));
    try (Database db = Database.open(file(), FOLLOWED)) {
      fill(db);
    }
    assertTrue(run(2, "tail", file(), "--from", "17").err().contains("is no position"));
    assertTrue(run(2, "tail", file(), "--limit", "-1").err().contains("--limit"));
    String at = lines("tail", file(), "--from", "end").getFirst().substring("position ".length());
    Path other = dir.resolve("other");
    try (Database db = Database.open(other, FOLLOWED)) {
      db.table(TableSpec.bytes("b", 20));
    }
    assertTrue(run(1, "tail", other, "--from", at).err().contains("Begin anew"));
  }
}
