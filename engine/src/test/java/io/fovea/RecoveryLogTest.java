package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.schema.TableSpec;
import io.fovea.support.Logged;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Which recoveries are logged. */
@Isolated("reads the log messages of all databases")
class RecoveryLogTest {
  @TempDir Path folder;

  private Path file() {
    return folder.resolve("db");
  }

  private Database open() {
    return Database.open(
        file(),
        Options.defaults()
            .durability(Durability.SYNC)
            .bufferBytes(4 << 20)
            .log(l -> l.changeRetentionBytes(8 << 20)));
  }

  private static void fill(Database db) {
    Table<byte[], byte[]> table = db.table(TableSpec.bytes("t", 8)).bytes();
    db.run(tx -> table.put(tx, new byte[] {1}, new byte[] {2}));
  }

  @Test
  void aFileThatIsOpenElsewhereIsNotCalledUnclosed() {
    try (Database db = open()) {
      fill(db);
      List<String> lines =
          Logged.lines(
              Level.INFO,
              () -> {
                try (FileChanges changes = FileChanges.first(file())) {
                  assertEquals(Set.of("t"), changes.tables().keySet());
                }
              });
      assertEquals(List.of(), lines);
    }
  }

  @Test
  void afterAKillBothEndsOfARecoveryAreLogged() {
    Database db = open();
    fill(db);
    db.abandon();
    List<String> lines = Logged.lines(Level.INFO, () -> open().close());
    assertTrue(
        lines.stream().anyMatch(l -> l.startsWith("Recovering db, which was not closed")),
        lines::toString);
    assertTrue(lines.stream().anyMatch(l -> l.startsWith("Recovered db in ")), lines::toString);
  }
}
