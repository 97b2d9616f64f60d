package io.fovea.cli;

import static io.fovea.cli.Fixture.lines;
import static io.fovea.cli.Fixture.ran;
import static io.fovea.cli.Fixture.run;
import static io.fovea.cli.Fixture.shell;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.RowTable;
import io.fovea.Table;
import io.fovea.config.Durability;
import io.fovea.error.DatabaseLockedException;
import io.fovea.schema.TableSpec;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Transcripts of commits from the log. */
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class TailTest {
  private static final Options FOLLOWED =
      Options.defaults()
          .durability(Durability.SYNC)
          .bufferBytes(8 << 20)
          .log(l -> l.changeRetentionBytes(1 << 20));

  record Thing(String name, int size) {}

  private static final ObjectSpec<Long, Thing> THINGS =
      ObjectSpec.of("things", Long.class, Thing.class);

  @TempDir Path dir;

  private Path file() {
    return dir.resolve("db");
  }

  private static void fill(Database db) {
    RowTable t = db.table(Fixture.TABLE);
    db.run(
        tx -> {
          t.put(tx, t.key().set(1), t.row().setText(Fixture.X, "one"));
          t.put(tx, t.key().set(2), t.row().setText(Fixture.X, "two"));
        });
    db.run(tx -> t.delete(tx, t.key().set(1)));
    Table<Long, Thing> things = db.table(THINGS);
    db.run(tx -> things.put(tx, 7L, new Thing("seven", 77)));
    db.table(TableSpec.bytes("old", 20));
    db.renameTable("old", "new");
    db.dropTable("new");
  }

  /** Masks positions, which differ in each run. */
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
  void closedFile() {
    try (Database db = Database.open(file(), FOLLOWED)) {
      fill(db);
    }
    List<String> all = lines("tail", file());
    List<String> said = without(all);
    // The last position is that of the close.
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
  void fileInUse() {
    try (Database db = Database.open(file(), FOLLOWED)) {
      fill(db);
      Fixture.Ran all = ran("tail", file());
      assertEquals(0, all.code(), all::toString);
      assertEquals("", all.err());
      assertEquals(ALL, without(all.out().lines().toList()).subList(0, ALL.size()));
      assertTrue(run(0, "tail", file(), "--hex", "things").out().contains("key 80000000"));
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
            () ->
                ran(
                    "tail",
                    file(),
                    "--follow",
                    "--from",
                    last,
                    "--limit",
                    "6",
                    "t",
                    "things",
                    "more"));
    // It holds no lock.
    try (Database db = Database.open(file(), FOLLOWED)) {
      writeMore(db);
    }
    try (Database db = Database.open(file(), FOLLOWED)) {
      RowTable t = db.table(Fixture.TABLE);
      db.run(tx -> t.delete(tx, t.key().set(10)));
      Fixture.Ran ran = tail.get(30, TimeUnit.SECONDS);
      assertEquals(0, ran.code(), ran::toString);
      assertEquals("", ran.err());
      assertEquals(FOLLOWING, without(ran.out().lines().toList()));
    }
  }

  private static final List<String> FOLLOWING =
      List.of(
          "position P",
          "  PUT      t  k0 10  x v10",
          "position P",
          "  PUT      t  k0 11  x v11",
          "position P",
          "  PUT      things  key 8  name eight  size 8",
          "position P",
          "  CREATED  more",
          "position P",
          "  PUT      more  k0 1  x m",
          "position P",
          "  DELETE   t  k0 10");

  private static void writeMore(Database db) {
    RowTable t = db.table(Fixture.TABLE);
    for (int i = 10; i < 12; i++) {
      int n = i;
      db.run(tx -> t.put(tx, t.key().set(n), t.row().setText(Fixture.X, "v" + n)));
    }
    Table<Long, Thing> things = db.table(THINGS);
    db.run(tx -> things.put(tx, 8L, new Thing("eight", 8)));
    // A table created after it started.
    RowTable more = db.table(TableSpec.of("more", Fixture.TABLE.key(), Fixture.TABLE.layout()));
    db.run(tx -> more.put(tx, more.key().set(1), more.row().setText(Fixture.X, "m")));
    db.checkpoint();
  }

  @Test
  void inAShell() throws Exception {
    try (Database db = Database.open(file(), FOLLOWED)) {
      fill(db);
    }
    Fixture.Ran looks = shell(List.of(file()), "tail t", "count t", "tail things --hex --limit 1");
    assertEquals(0, looks.code(), looks::toString);
    List<String> said = without(looks.out().lines().toList());
    assertEquals(ALL.subList(0, 7), said.subList(0, 7));
    assertTrue(said.contains("1"), said::toString); // the output of count
    // Works in a transaction too, but without --follow.
    assertEquals(0, shell(List.of(file()), "begin", "tail --from end", "commit").code());
    Fixture.Ran no = shell(List.of(file()), "begin", "tail --follow");
    assertEquals(2, no.code());
    assertTrue(no.err().contains("commit or roll back first"), no.err());
    // An application can open the file while the shell follows; it also works on a copy of a file
    // in use.
    String last = lines("tail", file(), "--from", "end").getFirst().substring("position ".length());
    String follow = "tail --follow --limit 6 t things more --from " + last;
    Session session = new Session(file(), false);
    session.database();
    StringWriter out = new StringWriter();
    Shell shell = new Shell(session, new PrintWriter(out), new PrintWriter(out), false);
    CompletableFuture<Integer> one = CompletableFuture.supplyAsync(() -> shell.run(follow));
    Database open = null;
    for (int i = 0; open == null; i++) {
      try {
        open = Database.open(file(), FOLLOWED);
      } catch (DatabaseLockedException e) {
        assertTrue(i < 600, "The shell holds the file.");
        Thread.sleep(50);
      }
    }
    try (Database db = open) {
      writeMore(db);
      RowTable t = db.table(Fixture.TABLE);
      db.run(tx -> t.delete(tx, t.key().set(10)));
      assertEquals(0, one.get(30, TimeUnit.SECONDS), out::toString);
      session.close();
      assertEquals(FOLLOWING, without(out.toString().lines().toList()));
      Fixture.Ran copy = shell(List.of(file(), "--copy"), follow, "tail --from " + last);
      assertEquals(0, copy.code(), copy::toString);
      assertEquals(FOLLOWING, without(copy.out().lines().toList()).subList(0, FOLLOWING.size()));
    }
  }

  @Test
  void rejectsUnfollowableFiles() {
    Path plain = dir.resolve("plain");
    try (Database db = Database.open(plain, Options.defaults().bufferBytes(8 << 20))) {
      fill(db);
    }
    String err = run(2, "tail", plain).err();
    assertTrue(err.contains("LogOptions.changeRetentionBytes"), err);
    run(2, "tail", dir.resolve("absent"));
    try (Database db = Database.open(file(), FOLLOWED)) {
      fill(db);
    }
    assertTrue(run(2, "tail", file(), "--from", "17").err().contains("is not a position"));
    assertTrue(run(2, "tail", file(), "--limit", "-1").err().contains("--limit"));
    String at = lines("tail", file(), "--from", "end").getFirst().substring("position ".length());
    Path other = dir.resolve("other");
    try (Database db = Database.open(other, FOLLOWED)) {
      db.table(TableSpec.bytes("b", 20));
    }
    assertTrue(run(1, "tail", other, "--from", at).err().contains("Take a new snapshot"));
  }
}
