package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Copies of files in use, made without the cooperation of the process that uses them. */
class CopyInUseTest {
  private static final int WRITERS = 2;

  private static final Options SMALL =
      Options.defaults()
          .durability(Durability.SYNC)
          .bufferBytes(4 << 20)
          .log(log -> log.checkpointInterval(Duration.ZERO));

  @TempDir Path dir;

  private static void check(Path copy, long[] least, long[] most) {
    assertEquals(List.of(), FileReport.verify(copy, SMALL).problems());
    try (Database db = Database.open(copy, SMALL.create(false))) {
      BackupLoad.check(db, WRITERS, least, most);
    }
  }

  /** Checkpoints intervene, so that some copies restart. */
  @Tag("slow")
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void underLoad(long seed) throws Exception {
    Path file = dir.resolve("db");
    AtomicBoolean done = new AtomicBoolean();
    try (Database db = Database.open(file, SMALL);
        BackupLoad load = new BackupLoad(db, WRITERS, seed).start()) {
      Thread checkpoints =
          new Thread(
              () -> {
                for (int i = 0; !done.get(); i++) {
                  load.awaitMore(100 + 100 * (i % 5));
                  db.checkpoint();
                }
              });
      checkpoints.start();
      try {
        int copied = 0;
        for (int i = 0; i < 4; i++) {
          load.awaitMore(60);
          Path to = dir.resolve("copy" + i);
          long[] least = load.acknowledged();
          BackupReport report;
          try {
            report = FileDump.backup(file, to, BackupOptions.defaults());
          } catch (StorageException e) {
            assertTrue(e.getMessage().contains("checkpoint"), e.getMessage());
            assertFalse(Files.exists(to.resolve("db")));
            continue;
          }
          long[] most = load.acknowledged();
          assertEquals(Files.size(to.resolve("db.log")), report.logBytes());
          check(to.resolve("db"), least, most);
          copied++;
        }
        assertTrue(copied > 0, "every copy was aborted because of too many checkpoints");
      } finally {
        done.set(true);
        checkpoints.join();
      }
    }
  }

  @Tag("slow")
  @Test
  void whileTablesAreLoadedAndDropped() throws Exception {
    Path file = dir.resolve("db");
    AtomicBoolean done = new AtomicBoolean();
    try (Database db = Database.open(file, SMALL);
        BackupLoad load = new BackupLoad(db, WRITERS, 3).start()) {
      Thread loads =
          new Thread(
              () -> {
                for (int i = 0; !done.get(); i++) {
                  int n = i;
                  String name = "loaded" + i;
                  db.table(TableSpec.bytes(name, 20))
                      .bytes()
                      .load(
                          to -> {
                            for (int k = 0; k < 1000; k++) {
                              to.add(
                                  "%08d".formatted(k).getBytes(StandardCharsets.UTF_8),
                                  new byte[100 + n % 50]);
                            }
                          });
                  if (i > 1) {
                    db.dropTable("loaded" + (i - 2));
                  }
                }
              });
      loads.start();
      try {
        for (int i = 0; i < 3; i++) {
          load.awaitMore(60);
          Path to = dir.resolve("copy" + i);
          long[] least = load.acknowledged();
          try {
            FileDump.backup(file, to, BackupOptions.defaults());
          } catch (StorageException e) {
            continue; // too many checkpoints, caused by loads
          }
          check(to.resolve("db"), least, load.acknowledged());
        }
      } finally {
        done.set(true);
        loads.join();
      }
    }
  }

  @Test
  void addsToABackup() {
    Path file = dir.resolve("db");
    byte[] key = {1};
    try (Database db = Database.open(file, SMALL)) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 20)).bytes();
      db.run(tx -> t.put(tx, key, new byte[5000]));
      db.checkpoint();
      BackupReport full = FileDump.backup(file, dir.resolve("full"), BackupOptions.defaults());
      db.run(tx -> t.put(tx, key, new byte[] {7}));
      db.checkpoint();
      BackupOptions since = BackupOptions.defaults().since(full.position());
      BackupReport more = FileDump.backup(file, dir.resolve("more"), since);
      assertTrue(more.pagesCopied() < full.pagesCopied(), more::toString);
    }
    Path restored = dir.resolve("restored");
    Restore.from(dir.resolve("full")).then(dir.resolve("more")).to(restored, SMALL);
    try (Database db = Database.open(restored, SMALL)) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 20)).bytes();
      assertEquals(1, db.read(tx -> t.get(tx, key)).length);
    }
  }

  @Test
  void aFileThatIsClosedOrOnlyRead() throws IOException {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, SMALL)) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 20)).bytes();
      db.run(tx -> t.put(tx, new byte[] {1}, new byte[5000]));
    }
    FileDump.backup(file, dir.resolve("closed"), BackupOptions.defaults());
    try (Database db = Database.open(file, SMALL.readOnly(true))) {
      FileDump.backup(file, dir.resolve("read"), BackupOptions.defaults());
      assertEquals(1, db.tables().size());
    }
    for (String copy : new String[] {"closed", "read"}) {
      assertFalse(Files.exists(dir.resolve(copy).resolve("db.log")));
      assertTrue(FileReport.verify(dir.resolve(copy).resolve("db"), SMALL).ok());
    }
  }

  @Test
  void unsupportedCopiesAreRefused() throws IOException {
    Path file = dir.resolve("db");
    assertThrows(
        IncompatibleFormatException.class,
        () -> FileDump.backup(file, dir.resolve("to"), BackupOptions.defaults()));
    try (Database db = Database.open(file, SMALL.durability(Durability.NONE))) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 20)).bytes();
      db.run(tx -> t.put(tx, new byte[] {1}, new byte[5000]));
      InvalidUseException e =
          assertThrows(
              InvalidUseException.class,
              () -> FileDump.backup(file, dir.resolve("to"), BackupOptions.defaults()));
      assertTrue(e.getMessage().contains("without a log"), e.getMessage());
    }
    FileDump.backup(file, dir.resolve("to"), BackupOptions.defaults());
    assertThrows(
        InvalidUseException.class,
        () -> FileDump.backup(file, dir.resolve("to"), BackupOptions.defaults()));
    Thread.currentThread().interrupt();
    assertThrows(
        OperationInterruptedException.class,
        () -> FileDump.backup(file, dir.resolve("third"), BackupOptions.defaults()));
    assertTrue(Thread.interrupted());
    assertFalse(Files.exists(dir.resolve("third").resolve("db")));
  }
}
