package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Range deletes and their effect on other transactions. */
class RangeDeleteTest {
  private static volatile long REFUSED = -2;

  private static final Layout.Definition B = Layout.define();
  private static final Field COLOUR = B.int32("colour");
  private static final Field CODE = B.int64("code");
  private static final TableSpec PLAIN =
      TableSpec.of("plain", KeySpec.of(FieldType.INT32, FieldType.INT32), B.build());
  private static final TableSpec INDEXED =
      TableSpec.of("indexed", KeySpec.of(FieldType.INT32, FieldType.INT32), B.build())
          .with(IndexSpec.on("by_colour", COLOUR))
          .with(IndexSpec.unique("by_code", CODE))
          .with(
              IndexSpec.extracted(
                  "even",
                  KeySpec.of(FieldType.INT64),
                  false,
                  (k, r, e) -> {
                    if (r.getLong(CODE) == REFUSED) {
                      throw new IllegalArgumentException("no entry for this one");
                    }
                    if (r.getLong(CODE) % 2 != 0) {
                      return false;
                    }
                    e.set(r.getLong(CODE));
                    return true;
                  }));

  @TempDir Path dir;

  private Database open(Protocol protocol) {
    return Database.open(
        dir.resolve("db"), Options.defaults().experiments(e -> e.protocol(protocol)));
  }

  private static void fill(Database db, RowTable t, int groups, int each) {
    db.run(
        tx -> {
          for (int g = 0; g < groups; g++) {
            for (int i = 0; i < each; i++) {
              t.insert(tx, t.key().set(g, i), row(t, g, i));
            }
          }
        });
  }

  private static Row row(RowTable t, int g, int i) {
    return t.row().setInt(COLOUR, i % 7).setLong(CODE, g * 10_000L + i);
  }

  private static List<String> keys(Transaction tx, RowTable t, Range range) {
    List<String> found = new ArrayList<>();
    try (RowCursor c = t.scan(tx, range, ScanOrder.ASCENDING)) {
      while (c.next()) {
        found.add(c.key().getInt(0) + "." + c.key().getInt(1));
      }
    }
    return found;
  }

  private static List<String> keys(Database db, RowTable t) {
    return db.read(tx -> keys(tx, t, Range.all()));
  }

  private static int entries(Transaction tx, RowIndex index) {
    int n = 0;
    try (RowCursor c = index.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      while (c.next()) {
        c.row();
        n++;
      }
    }
    return n;
  }

  @ParameterizedTest
  @EnumSource
  void removesRecordsInTheRangeAndTheirEntries(Protocol protocol) {
    try (Database db = open(protocol)) {
      for (TableSpec spec : List.of(PLAIN, INDEXED)) {
        RowTable t = db.table(spec);
        fill(db, t, 4, 500);
        db.run(tx -> assertEquals(500, t.deleteRange(tx, Range.prefix(t.key().set(1)))));
        db.run(
            tx ->
                assertEquals(
                    3,
                    t.deleteRange(
                        tx, Range.of(t.key().set(2, 10), true, t.key().set(2, 13), false))));
        db.run(
            tx ->
                assertEquals(
                    0, t.deleteRange(tx, Range.between(t.key().set(3, 9), t.key().set(3, 8)))));
        assertEquals(1497, keys(db, t).size());
        if (spec == INDEXED) {
          db.read(
              tx -> {
                assertEquals(1497, entries(tx, t.index("by_colour")));
                assertEquals(1497, entries(tx, t.index("by_code")));
                assertEquals(748, entries(tx, t.index("even")));
                return null;
              });
        }
        db.run(tx -> assertEquals(1497, t.deleteRange(tx, Range.all())));
        db.run(tx -> assertEquals(0, t.deleteRange(tx, Range.all())));
      }
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      assertEquals(0, report.records());
    }
  }

  @ParameterizedTest
  @EnumSource
  void ownWritesAreDeletedToo(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 1, 100);
      db.run(
          tx -> {
            t.insert(tx, t.key().set(0, 1000), row(t, 0, 1000)); // own record, inside
            t.put(tx, t.key().set(0, 7), row(t, 1, 7)); // replaced
            Row row = t.row();
            assertTrue(t.get(tx, t.key().set(0, 8), row));
            t.update(tx, row.setInt(COLOUR, 99)); // patched
            assertTrue(t.delete(tx, t.key().set(0, 9))); // already deleted
            t.insert(tx, t.key().set(1, 0), row(t, 1, 0)); // own record, outside
            assertEquals(100, t.deleteRange(tx, Range.prefix(t.key().set(0))));
            assertEquals(List.of("1.0"), keys(tx, t, Range.all()));
            assertFalse(t.exists(tx, t.key().set(0, 7)));
            assertEquals(0, t.deleteRange(tx, Range.prefix(t.key().set(0))));
            // Frees the values of the unique index; later inserts survive.
            t.insert(tx, t.key().set(0, 50), row(t, 0, 3));
            assertEquals(List.of("0.50", "1.0"), keys(tx, t, Range.all()));
          });
      db.read(
          tx -> {
            assertEquals(List.of("0.50", "1.0"), keys(tx, t, Range.all()));
            assertEquals(2, entries(tx, t.index("by_code")));
            assertEquals(2, entries(tx, t.index("by_colour")));
            return null;
          });
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    }
  }

  @Test
  void aLimitDeletesTheFirstRecords() {
    try (Database db = open(Protocol.TICTOC)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 2, 10);
      db.run(
          tx -> {
            assertEquals(0, t.deleteRange(tx, Range.all(), 0));
            assertEquals(9, t.deleteRange(tx, Range.all(), 9));
            assertEquals("0.9", keys(tx, t, Range.all()).getFirst());
            assertEquals(11, t.deleteRange(tx, Range.all(), 12));
          });
      assertThrows(
          IllegalArgumentException.class, () -> db.run(tx -> t.deleteRange(tx, Range.all(), -1)));
    }
  }

  @Test
  void aRollbackKeepsEverything() {
    try (Database db = open(Protocol.TICTOC)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 1, 300);
      try (Transaction tx = db.begin()) {
        assertEquals(300, t.deleteRange(tx, Range.all()));
      }
      db.read(
          tx -> {
            assertEquals(300, entries(tx, t.index("by_code")));
            return null;
          });
    }
  }

  @Test
  void partlyExecutedStatementCannotCommit() {
    try (Database db = open(Protocol.TICTOC)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 1, 10);
      REFUSED = 5;
      try (Transaction tx = db.begin()) {
        assertThrows(IllegalArgumentException.class, () -> t.deleteRange(tx, Range.all()));
        assertThrows(TransactionAbortedException.class, tx::commit);
      } finally {
        REFUSED = -2;
      }
      try (Transaction tx = db.begin()) {
        Key another = db.table(PLAIN).key().set(1);
        assertThrows(InvalidUseException.class, () -> t.deleteRange(tx, Range.prefix(another)));
        assertEquals(1, t.deleteRange(tx, Range.all(), 1)); // the failed statement had no effect
        tx.commit();
      }
      assertEquals(9, keys(db, t).size());
    }
  }

  @ParameterizedTest
  @EnumSource
  void byteStringsAndTheirLongValues(Protocol protocol) {
    try (Database db = open(protocol)) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("bytes", 40)).bytes();
      db.run(
          tx -> {
            for (int i = 0; i < 100; i++) {
              t.put(tx, key(i), new byte[i % 10 == 0 ? 50_000 : i]);
            }
          });
      long pages = db.verify().pages();
      db.run(
          tx -> {
            t.put(tx, key(500), new byte[40_000]); // the transaction's own long value
            assertEquals(90, t.deleteRange(tx, key(10), key(100)));
            assertEquals(1, t.deletePrefix(tx, key(500)));
            assertNull(t.get(tx, key(20)));
            t.put(tx, key(20), new byte[3]);
          });
      db.run(tx -> assertEquals(4, t.deleteRange(tx, null, null, 4)));
      db.run(tx -> assertEquals(0, t.deleteRange(tx, key(30), key(30))));
      db.run(tx -> assertEquals(0, t.deleteRange(tx, null, new byte[0])));
      db.read(
          tx -> {
            assertArrayEquals(new byte[3], t.get(tx, key(20)));
            assertNull(t.get(tx, key(3)));
            assertArrayEquals(new byte[4], t.get(tx, key(4)));
            return null;
          });
      VerifyReport report = db.verify(); // finds pages without an owner
      assertTrue(report.ok(), report::toString);
      assertEquals(7, report.records());
      assertTrue(pages > 60, "there were no long values");
    }
  }

  private static byte[] key(int n) {
    return String.format("k%03d", n).getBytes(StandardCharsets.US_ASCII);
  }

  @Test
  void typedTables() {
    try (Database db = open(Protocol.TICTOC)) {
      ByteCodec<String> text =
          new ByteCodec<>() {
            @Override
            public byte[] encode(String s) {
              return s.getBytes(StandardCharsets.UTF_8);
            }

            @Override
            public String decode(byte[] b) {
              return new String(b, StandardCharsets.UTF_8);
            }
          };
      Table<String, String> t = db.table(TableSpec.bytes("texts", 40)).as(text, text);
      db.run(
          tx -> {
            for (String s : List.of("a", "b", "c", "d")) {
              t.insert(tx, s, s);
            }
            assertEquals(2, t.deleteRange(tx, "b", "d"));
            assertEquals(2, t.deleteRange(tx, null, null));
          });
    }
  }

  @ParameterizedTest
  @EnumSource
  void concurrentInsertsAreNoPhantoms(Protocol protocol) throws InterruptedException {
    try (Database db = open(protocol)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 1, 20);
      int[] attempts = {0};
      Thread[] other = new Thread[1];
      db.run(
          tx -> {
            long gone = t.deleteRange(tx, Range.prefix(t.key().set(0)));
            if (attempts[0]++ == 0) {
              // Another transaction inserts into a gap that was scanned. If it must wait for the
              // range delete, the insert comes later.
              other[0] =
                  Thread.ofPlatform()
                      .start(() -> db.run(o -> t.put(o, t.key().set(0, 100), row(t, 0, 100))));
              joinFor(other[0]);
              assertEquals(20, gone);
            }
            t.put(tx, t.key().set(5, 0), t.row().setLong(CODE, -1).setInt(COLOUR, (int) gone));
          });
      other[0].join();
      db.read(
          tx -> {
            Row r = t.row();
            assertTrue(t.get(tx, t.key().set(5, 0), r));
            boolean there = t.exists(tx, t.key().set(0, 100));
            // The insert came first and was deleted as the 21st, or it came later and survives.
            assertEquals(there ? 20 : 21, r.getInt(COLOUR));
            return null;
          });
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    }
  }

  /** Waits until the thread has ended or is itself waiting. */
  private static void joinFor(Thread other) {
    try {
      other.join(Duration.ofMillis(200));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aSnapshotKeepsDeletedRecords() {
    try (Database db = open(Protocol.TICTOC)) {
      RowTable t = db.table(INDEXED);
      fill(db, t, 2, 2000);
      try (Database then = db.snapshot()) {
        db.run(tx -> t.deleteRange(tx, Range.prefix(t.key().set(0))));
        RowTable was = then.table(INDEXED);
        assertEquals(4000, keys(then, was).size());
        assertEquals(2000, keys(db, t).size());
        assertThrows(
            InvalidUseException.class, () -> then.read(tx -> was.deleteRange(tx, Range.all())));
      }
    }
  }

  @Test
  void oversizedRangesAreDeletedInSteps() {
    Options options =
        Options.defaults()
            .transactions(o -> o.maxBytes(64 << 10))
            .experiments(e -> e.subtreeDeleteThreshold(Integer.MAX_VALUE));
    try (Database db = Database.open(dir.resolve("small"), options)) {
      RowTable t = db.table(PLAIN);
      for (int g = 0; g < 60; g++) {
        int group = g;
        db.run(
            tx -> {
              for (int i = 0; i < 200; i++) {
                t.insert(tx, t.key().set(group, i), row(t, group, i));
              }
            });
      }
      TransactionAbortedException e =
          assertThrows(
              TransactionAbortedException.class,
              () -> db.run(tx -> t.deleteRange(tx, Range.all())));
      assertEquals(AbortCause.TOO_LARGE, e.abortCause());
      assertEquals(12_000, keys(db, t).size());
      long sum = 0;
      for (long gone = 1000; gone == 1000; sum += gone) {
        gone = db.call(tx -> t.deleteRange(tx, Range.all(), 1000));
      }
      assertEquals(12_000, sum);
      assertEquals(List.of(), keys(db, t));
    }
  }
}
