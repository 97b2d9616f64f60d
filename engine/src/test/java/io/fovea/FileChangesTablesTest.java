package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.ChangesLostException;
import io.fovea.error.CorruptionException;
import io.fovea.error.StorageException;
import io.fovea.error.UncleanShutdownException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lists the tables in the files of an open database, and decodes changes with them. */
class FileChangesTablesTest {
  private static final Layout.Definition A = Layout.define();
  private static final Field NAME = A.text("name", 20);
  private static final TableSpec FIRST =
      TableSpec.of("rows", KeySpec.of(FieldType.INT64), A.build()).with(IndexSpec.on("i", NAME));

  private static final Layout.Definition B = Layout.define();
  private static final Field NAME2 = B.text("name", 20);
  private static final Field SIZE2 = B.int32("size");
  private static final TableSpec SECOND =
      TableSpec.builder("rows", KeySpec.of(FieldType.INT64), B.build())
          .version(2, Step.add("size", 7))
          .index(IndexSpec.on("i", NAME2))
          .build();

  record Thing(String name, int size) {}

  private static final ObjectSpec<Long, Thing> THINGS =
      ObjectSpec.of("things", Long.class, Thing.class).index("bySize", "size");

  @TempDir Path folder;

  private Path file() {
    return folder.resolve("db");
  }

  private Database open() {
    return Database.open(
        file(),
        Options.defaults().durability(Durability.SYNC).log(l -> l.changeRetentionBytes(8 << 20)));
  }

  private static List<String> shown(Path file) {
    List<String> all = new ArrayList<>();
    try (FileChanges changes = FileChanges.first(file)) {
      SortedMap<String, RowTable> tables = changes.tables();
      assertEquals(List.of("bytes", "rows", "things"), List.copyOf(tables.keySet()));
      assertThrows(RuntimeException.class, () -> tables.remove("rows"));
      ChangeBatch batch;
      while ((batch = changes.poll()) != null) {
        for (Change c : batch.changes()) {
          if (c.kind() != Change.Kind.PUT) {
            continue;
          }
          RowTable t = tables.get(c.table());
          assertNotNull(t, c.table());
          if (!t.spec().isBytes()) {
            all.add(c.key(t) + " " + c.row(t));
          } else if (t.spec().objects() != null) {
            ObjectDump dump = ObjectDump.of(t);
            all.add(dump.key(c.keyBytes()) + " " + dump.object(c.valueBytes()));
          } else {
            all.add(c.keyBytes().length + " " + c.valueBytes().length);
          }
        }
      }
    }
    return all;
  }

  @Test
  void ofRowsObjectsAndBytesInUseAndClosed() {
    List<String> inUse;
    try (Database db = open()) {
      RowTable rows = db.table(FIRST);
      db.run(tx -> rows.put(tx, rows.key().set(1), rows.row().setText(NAME, "one")));
      RowTable newer = db.table(SECOND);
      db.run(
          tx ->
              newer.put(
                  tx, newer.key().set(2), newer.row().setText(NAME2, "two").setInt(SIZE2, 22)));
      Table<Long, Thing> things = db.table(THINGS);
      db.run(tx -> things.put(tx, 3L, new Thing("three", 33)));
      Table<byte[], byte[]> bytes = db.table(TableSpec.bytes("bytes", 20)).bytes();
      db.run(tx -> bytes.put(tx, new byte[4], new byte[44]));
      inUse = shown(file());
      assertEquals(4, inUse.size(), inUse::toString);
      assertTrue(inUse.get(0).contains("one") && inUse.get(0).contains("7"), inUse::toString);
      assertTrue(inUse.get(1).contains("two") && inUse.get(1).contains("22"), inUse::toString);
      assertTrue(
          inUse.get(2).contains("name=three") && inUse.get(2).contains("size=33"), inUse::toString);
      assertEquals("4 44", inUse.get(3));
    }
    assertEquals(inUse, shown(file()));
  }

  /** Tables are created and dropped, with checkpoints: permanent tables are always listed. */
  @Tag("slow")
  @Test
  void duringCatalogChanges() throws Exception {
    try (Database db = open()) {
      for (int i = 0; i < 60; i++) {
        db.table(TableSpec.bytes("stays " + i, 20));
      }
      AtomicBoolean over = new AtomicBoolean();
      AtomicLong pause = new AtomicLong(2_000_000); // several times as long as one listing
      Thread other =
          new Thread(
              () -> {
                for (int i = 0; !over.get(); i++) {
                  db.table(TableSpec.bytes("comes " + i % 7, 20));
                  if (i % 3 == 0) {
                    db.dropTable("comes " + (i + 4) % 7);
                  }
                  if (i % 50 == 0) {
                    db.checkpoint();
                  }
                  LockSupport.parkNanos(pause.get());
                }
              });
      other.start();
      try {
        for (int i = 0; i < 10; ) {
          try {
            long stay = tables().stream().filter(n -> n.startsWith("stays ")).count();
            assertEquals(60, stay);
            i++;
          } catch (StorageException e) {
            // Every attempt ran into a change: this machine is slow, so slow down the other thread
            // as well.
            pause.updateAndGet(p -> 2 * p);
          }
        }
      } finally {
        over.set(true);
        other.join();
      }
      db.table(TableSpec.bytes("last", 20));
      assertTrue(tables().contains("last"));
      db.dropTable("last");
      assertFalse(tables().contains("last"));
    }
  }

  /**
   * Without pauses a listing may find no consistent state, and then reports that instead of damage.
   */
  @Tag("slow")
  @Test
  void duringConstantCatalogChanges() throws Exception {
    try (Database db = open()) {
      db.table(TableSpec.bytes("stays", 20));
      AtomicBoolean over = new AtomicBoolean();
      AtomicLong pause = new AtomicLong(2_000_000);
      Thread other =
          new Thread(
              () -> {
                for (int i = 0; !over.get(); i++) {
                  db.table(TableSpec.bytes("comes " + i % 50, 20));
                  db.dropTable("comes " + (i + 20) % 50);
                  if (i % 10 == 0) {
                    db.checkpoint();
                  }
                }
              });
      other.start();
      try {
        assertTrue(tables().contains("stays"));
      } catch (StorageException e) {
        assertTrue(e.getMessage().contains("each of"), e.getMessage());
      } catch (ChangesLostException e) {
        // More was written than is retained since the starting position.
      } finally {
        over.set(true);
        other.join();
      }
      assertTrue(tables().contains("stays"));
    }
  }

  /** Damage in a file that is not being written is reported. */
  @Test
  void damageIsReported() throws IOException {
    try (Database db = open()) {
      db.table(FIRST);
    }
    try (RandomAccessFile f = new RandomAccessFile(file().toFile(), "rw")) {
      f.seek(2 * 4096 + 100);
      int was = f.read();
      f.seek(2 * 4096 + 100);
      f.write(was + 1);
    }
    assertThrows(CorruptionException.class, this::tables);
  }

  @Test
  void nothingOnDiskChanges() throws IOException {
    try (Database db = open()) {
      RowTable rows = db.table(FIRST);
      db.run(tx -> rows.put(tx, rows.key().set(1), rows.row().setText(NAME, "one")));
      Map<String, Long> before = sizes();
      assertEquals(Set.of("rows"), tables());
      assertEquals(before, sizes());
    }
  }

  private Set<String> tables() {
    try (FileChanges changes = FileChanges.last(file())) {
      return Set.copyOf(changes.tables().keySet());
    }
  }

  private Map<String, Long> sizes() throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.collect(
          Collectors.toMap(p -> p.getFileName().toString(), p -> p.toFile().length()));
    }
  }

  /** Repeats with one handle, while the file is reopened and closed. */
  @Test
  void repeatedlyWithOneHandle() {
    try (Database db = open()) {
      db.table(FIRST);
    }
    try (FileChanges changes = FileChanges.last(file())) {
      assertEquals(Set.of("rows"), changes.tables().keySet());
      try (Database db = open()) {
        db.table(THINGS);
        assertEquals(Set.of("rows", "things"), changes.tables().keySet());
      }
      assertEquals(Set.of("rows", "things"), changes.tables().keySet());
      try (Database db = Database.open(file(), Options.defaults().durability(Durability.NONE))) {
        db.dropTable("things");
        assertThrows(UncleanShutdownException.class, changes::tables);
      }
      assertEquals(Set.of("rows"), changes.tables().keySet());
    }
  }
}
