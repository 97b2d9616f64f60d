package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.catalog.DeferredDrops;
import io.fovea.config.Durability;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reports on and dumps of the files of a killed process do not change them. */
@Tag("slow")
class UnclosedFileTest {
  /** The minimum number of flipped bits; more until some were detected. */
  private static final int FLIPS = 25;

  private static final int FLIPS_MAX = 500;
  private static final int FOUND = 4;

  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .durability(Durability.SYNC)
          .log(
              log ->
                  log.bufferBytes(256 << 10)
                      .segmentBytes(256 << 10)
                      .maxBytes(64 << 20)
                      .checkpointInterval(Duration.ZERO));

  private static final int WRITERS = 2;
  private static final int LOADED = 7;
  private static final List<String> SUFFIXES = List.of("", ".log", ".dwb");

  @TempDir Path dir;

  private Path file;

  private FileReport verified(boolean good) {
    FileReport report = FileReport.verify(file, SMALL);
    assertEquals(good, report.ok(), () -> report.problems().toString());
    return report;
  }

  private List<Map<String, Object>> records(long from, long to, boolean bodies) {
    List<Map<String, Object>> records = new ArrayList<>();
    try (FileDump dump = FileDump.open(file)) {
      dump.log(from, to, bodies, r -> records.add(new LinkedHashMap<>(r)));
    }
    return records;
  }

  /** Creates an unclosed database with every kind of log record. */
  @BeforeEach
  void make() {
    file = dir.resolve("db");
    Database db = Database.open(file, SMALL);
    try (BackupLoad load = new BackupLoad(db, WRITERS, 1).start()) {
      load.awaitMore(150);
      db.checkpoint();
      load.awaitMore(300);
    }
    db.table(TableSpec.bytes("loaded", 20))
        .bytes()
        .load(
            into -> {
              for (int i = 0; i < LOADED; i++) {
                into.add(("l" + i).getBytes(StandardCharsets.UTF_8), new byte[5]);
              }
            });
    Table<byte[], byte[]> t = db.table(TableSpec.bytes("gone", 20)).bytes();
    db.run(
        tx -> {
          for (int i = 0; i < 300; i++) {
            byte[] key = ("k" + i).getBytes(StandardCharsets.UTF_8);
            t.put(tx, key, new byte[i % 50 == 0 ? 9000 : 100]);
          }
        });
    db.dropTable("gone");
    boolean[] freeing = {true};
    while (freeing[0]) {
      freeing[0] = false;
      Thread.onSpinWait();
      DeferredDrops.forEach(db.store().catalog(), (id, root, from, to) -> freeing[0] = true);
    }
    db.table(TableSpec.bytes("last", 8)); // durable, as is everything before it
    db.dropTable("last");
    db.abandon();
  }

  private byte[][] contents() throws IOException {
    byte[][] all = new byte[SUFFIXES.size()][];
    for (int i = 0; i < all.length; i++) {
      all[i] = Files.readAllBytes(dir.resolve("db" + SUFFIXES.get(i)));
    }
    return all;
  }

  private void write(byte[][] contents) throws IOException {
    for (int i = 0; i < contents.length; i++) {
      Files.write(dir.resolve("db" + SUFFIXES.get(i)), contents[i]);
    }
  }

  private static void assertSame(byte[][] expected, byte[][] found) {
    for (int i = 0; i < expected.length; i++) {
      assertArrayEquals(expected[i], found[i]);
    }
  }

  @Test
  void filesAreUnchanged() throws IOException {
    byte[][] before = contents();
    assertEquals(FileReport.State.NEEDS_RECOVERY, verified(true).header().state());
    FileReport report = FileReport.inspect(file, SMALL);
    assertEquals(FileReport.State.NEEDS_RECOVERY, report.header().state());
    assertTrue(
        report.trees().stream()
            .anyMatch(t -> t.table().equals("lines") && t.index().equals("byWriter")),
        report::toString);
    assertTrue(records(-1, Long.MAX_VALUE, false).size() > 100);
    try (FileDump dump = FileDump.open(file)) {
      assertEquals(report.header().id(), dump.header().id());
      assertEquals(FileReport.State.NEEDS_RECOVERY, dump.header().state());
      assertEquals("superblock", dump.page(0).get("type"));
      assertTrue(dump.page(1).get("newest") instanceof Map<?, ?>);
      assertEquals(dump.header().pageSize(), dump.bytes(2).length);
      assertThrows(InvalidUseException.class, () -> dump.page(-1));
      assertThrows(InvalidUseException.class, () -> dump.bytes(dump.pages()));
    }
    assertSame(before, contents());
    try (Database db = Database.open(file, SMALL)) {
      assertEquals(List.of(), db.verify().problems());
    }
    assertEquals(FileReport.State.CLEAN, verified(true).header().state());
  }

  @Test
  void everyKindOfRecordIsDumped() {
    List<Map<String, Object>> all = records(-1, Long.MAX_VALUE, true);
    String text = all.toString();
    for (String kind :
        List.of(
            "COMMIT",
            "STRUCTURE",
            "CHAIN",
            "ALLOCATE",
            "FREE",
            "CREATE_TREE",
            "SCHEMA",
            "DROPPED",
            "LOADED",
            "PUT",
            "DELETE")) {
      assertTrue(text.contains(kind), kind);
    }
    Map<String, Object> load =
        all.stream().filter(r -> r.get("type").equals("LOADED")).findFirst().orElseThrow();
    assertEquals((long) LOADED, load.get("records"));
    assertEquals(7L * LOADED, load.get("dataBytes"));
    long last = -1;
    for (Map<String, Object> record : all) {
      long start = (Long) record.get("lsn");
      assertTrue(last < 0 || start == last, record::toString);
      last = (Long) record.get("end");
      assertEquals(record.get("bytes"), ((byte[]) record.get("body")).length);
      assertFalse(record.containsKey("damaged"), record::toString);
    }
    long from = (Long) all.get(10).get("lsn");
    long to = (Long) all.get(20).get("lsn");
    List<Map<String, Object>> part = records(from, to, false);
    assertEquals(10, part.size());
    assertEquals(from, part.getFirst().get("lsn"));
    assertEquals(all.get(19).get("type"), part.getLast().get("type"));
    assertFalse(part.getFirst().containsKey("body"));
    assertEquals(List.of(), records(last, Long.MAX_VALUE, false));
  }

  @Test
  void aMissingLogIsAProblem() throws IOException {
    Files.delete(dir.resolve("db.log"));
    assertTrue(verified(false).problems().toString().contains("log is missing"));
    assertThrows(InvalidUseException.class, () -> records(-1, Long.MAX_VALUE, false));
  }

  @Test
  void anOutdatedLogIsAProblem() throws IOException {
    byte[] old = Files.readAllBytes(dir.resolve("db.log"));
    Database db = Database.open(file, SMALL);
    try (BackupLoad load = new BackupLoad(db, WRITERS, 2).start()) {
      load.awaitMore(100);
      db.checkpoint();
      load.awaitMore(20);
    }
    db.abandon();
    verified(true);
    byte[] now = Files.readAllBytes(dir.resolve("db.log"));
    Files.write(dir.resolve("db.log"), old);
    verified(false);
    Files.write(dir.resolve("db.log"), now);
    verified(true);
  }

  @Test
  void flippedBitsAreDetectedOrHarmless() throws IOException {
    byte[][] good = contents();
    long expected = verified(true).log().records();
    Random r = new Random(3);
    int found = 0;
    // How much of the log follows the redo point depends on the load and its checkpoints.
    for (int i = 0; i < FLIPS || found < FOUND && i < FLIPS_MAX; i++) {
      byte[][] bad = contents();
      byte[] log = bad[1];
      int at = r.nextInt(log.length);
      log[at] ^= (byte) (1 << r.nextInt(8));
      write(bad);
      FileReport report = FileReport.verify(file, SMALL);
      if (report.ok()) {
        // The bit was before the redo point, after the end, or between groups; or it was in the
        // last group, whose durability nothing later proves, so the log ends before it.
        assertTrue(report.log().records() <= expected, report::toString);
      } else {
        found++;
      }
      assertSame(bad, contents());
      write(good);
    }
    assertTrue(found >= FOUND, "found " + found);
  }
}
