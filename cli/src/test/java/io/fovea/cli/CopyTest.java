package io.fovea.cli;

import static io.fovea.cli.Fixture.lines;
import static io.fovea.cli.Fixture.run;
import static io.fovea.cli.Fixture.shell;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.RowTable;
import io.fovea.config.Durability;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files in use are refused, and can be read through a copy. */
class CopyTest {
  private static final Options SYNC =
      Options.defaults().durability(Durability.SYNC).bufferBytes(8 << 20);

  @TempDir Path dir;

  @Test
  void copiesFileInUse() {
    Path file = dir.resolve("open");
    try (Database db = Database.open(file, SYNC)) {
      Fixture.fill(db);
      String err = run(2, "count", file, "t").err();
      assertTrue(err.contains("this process (" + ProcessHandle.current().pid() + ")"), err);
      assertTrue(err.contains("--copy"), err);
      assertEquals(List.of("3000"), lines("count", file, "t", "--copy"));
      RowTable t = db.table(Fixture.TABLE);
      db.run(tx -> t.put(tx, t.key().set(5000), t.row().setText(Fixture.X, "new")));
      assertEquals(List.of("k0 5000  x new"), lines("scan", "--copy", file, "t", "5000"));
      assertEquals(List.of("k0  5000", "x   new"), lines("get", "--copy", file, "t", "5000"));
      assertEquals(1, lines("export", "--no-schema", "--copy", file, "t", "5000").size());
      assertEquals(3, lines("tables", "--copy", file).size());
      assertEquals(4, lines("schema", "--copy", file, "t").size());
      assertEquals("Nothing is wrong.", lines("verify", "--copy", file).getLast());
      assertTrue(run(0, "stat", "--copy", file).out().contains("needs recovery"));
      run(0, "picture", "--copy", file, "-o", dir.resolve("map.svg"));
      assertEquals("3001\n", shell(List.of("--copy", file), "count t").out());
      run(2, "shell", "--copy", "--write", file);
      // A backup keeps its copy.
      run(2, "backup", file, dir.resolve("to"));
      assertTrue(
          lines("backup", "--in-use", file, dir.resolve("to")).getFirst().contains("pages of"));
      db.run(tx -> t.delete(tx, t.key().set(5000)));
    }
    assertEquals(List.of("3001"), lines("count", dir.resolve("to").resolve("open"), "t"));
    assertEquals(List.of("3000"), lines("count", file, "t"));
  }

  @Test
  void rejectsUncopyableFiles() {
    Path file = dir.resolve("open");
    try (Database db = Database.open(file, Fixture.SMALL)) {
      Fixture.fill(db);
      String err = run(2, "count", "--copy", file, "t").err();
      assertTrue(err.contains("without a log"), err);
    }
    run(2, "count", "--copy", dir.resolve("absent"), "t");
    assertEquals(List.of("3000"), lines("count", "--copy", file, "t"), "a closed one");
    assertTrue(Files.exists(file));
  }
}
