package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Ranges cut out of a table as subtrees, by one transaction and concurrently. */
class RangeCutsTest {
  private static final Layout.Definition B = Layout.define();
  private static final Field N = B.int64("n");
  private static final Layout LAYOUT = B.build();
  private static final int EACH = 1_000;

  @TempDir Path dir;

  private static TableSpec spec(String name) {
    return TableSpec.of(name, KeySpec.of(FieldType.INT32, FieldType.INT32), LAYOUT);
  }

  private Database open(Protocol protocol) {
    return open(protocol, Durability.SYNC);
  }

  private Database open(Protocol protocol, Durability durability) {
    // Deleting record by record would exceed the maximum transaction size, so a commit proves a
    // cut.
    return Database.open(
        dir.resolve("db"),
        Options.defaults()
            .durability(durability)
            .bufferBytes(32 << 20)
            .device(d -> d.pageSize(4096))
            .transactions(o -> o.maxBytes(24 << 10))
            .experiments(e -> e.protocol(protocol).subtreeDeleteThreshold(4)));
  }

  private static RowTable fill(Database db, String name, int groups) {
    RowTable t = db.table(spec(name));
    for (int g = 0; g < groups; g++) {
      for (int part = 0; part < EACH; part += 200) {
        int group = g;
        int from = part;
        db.run(
            tx -> {
              for (int i = from; i < from + 200; i++) {
                t.insert(tx, t.key().set(group, i), t.row().setLong(N, i));
              }
            });
      }
    }
    return t;
  }

  private static Range group(RowTable t, int g) {
    return Range.prefix(t.key().set(g));
  }

  private static long count(Transaction tx, RowTable t) {
    long n = 0;
    try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      while (c.next()) {
        n++;
      }
    }
    return n;
  }

  private static void verify(Database db, long records) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
    assertEquals(records, report.records());
  }

  /** A change subscriber receives each deleted record, so nothing is cut. */
  @Test
  void changeSubscribersGetEachRecord() {
    Options options =
        Options.defaults()
            .bufferBytes(32 << 20)
            .device(d -> d.pageSize(4096))
            .log(l -> l.changeRetentionBytes(8 << 20))
            .experiments(e -> e.subtreeDeleteThreshold(4));
    try (Database db = Database.open(dir.resolve("db"), options)) {
      RowTable t = fill(db, "t", 2);
      try (Changes changes = db.changes(db.changesPosition())) {
        db.run(tx -> assertEquals(EACH, t.deleteRange(tx, group(t, 0))));
        ChangeBatch batch = changes.poll(Duration.ofSeconds(60));
        assertNotNull(batch);
        assertEquals(EACH, batch.changes().size());
        assertTrue(batch.changes().stream().allMatch(c -> c.kind() == Change.Kind.DELETE));
      }
      verify(db, EACH);
    }
  }

  @ParameterizedTest
  @EnumSource
  void cutRecordsAreGoneAndCounted(Protocol protocol) {
    for (Durability durability : List.of(Durability.SYNC, Durability.NONE)) {
      try (Database db = open(protocol, durability)) {
        RowTable t = fill(db, "t", 4);
        long bytes = t.dataBytes();
        db.run(tx -> assertEquals(EACH, t.deleteRange(tx, group(t, 1))));
        assertEquals(3 * EACH, t.count());
        assertEquals(bytes / 4 * 3, t.dataBytes());
        db.run(
            tx ->
                assertEquals(
                    EACH + 20,
                    t.deleteRange(
                        tx, Range.of(t.key().set(2, 10), true, t.key().set(3, 30), false))));
        assertEquals(2 * EACH - 20, t.count());
        db.read(
            tx -> {
              assertEquals(2 * EACH - 20, count(tx, t));
              assertTrue(t.exists(tx, t.key().set(2, 9)));
              assertFalse(t.exists(tx, t.key().set(2, 10)));
              assertFalse(t.exists(tx, t.key().set(3, 29)));
              assertTrue(t.exists(tx, t.key().set(3, 30)));
              return null;
            });
        verify(db, 2 * EACH - 20);
      }
      try (Database db = open(protocol, durability)) {
        RowTable t = db.table(spec("t"));
        assertEquals(2 * EACH - 20, t.count());
        db.run(tx -> assertEquals(2 * EACH - 20, t.deleteRange(tx, Range.all())));
        verify(db, 0);
        db.dropTable("t");
      }
    }
  }

  private void with(Protocol protocol, Consumer<Database> what) {
    Options large =
        Options.defaults().experiments(e -> e.protocol(protocol).subtreeDeleteThreshold(4));
    try (Database db = Database.open(dir.resolve("large"), large)) {
      what.accept(db);
      db.dropTable("t");
      db.dropTable("u");
      db.dropTable("v");
    }
  }

  @ParameterizedTest
  @EnumSource
  void theTransactionSeesNothingInTheRange(Protocol protocol) {
    with(
        protocol,
        db -> {
          RowTable t = fill(db, "t", 3);
          db.run(
              tx -> {
                assertEquals(EACH, t.deleteRange(tx, group(t, 1)));
                assertFalse(t.exists(tx, t.key().set(1, 5)));
                assertEquals(2 * EACH, count(tx, t));
                t.insert(tx, t.key().set(1, 5), t.row());
                assertEquals(2 * EACH + 1, count(tx, t));
                assertEquals(EACH + 1, t.deleteRange(tx, Range.atMost(t.key().set(1))));
                t.insert(tx, t.key().set(1, 6), t.row());
              });
          verify(db, EACH + 1);
          db.run(
              tx -> {
                t.delete(tx, t.key().set(2, 0));
                t.insert(tx, t.key().set(2, EACH), t.row());
                assertEquals(EACH, t.deleteRange(tx, group(t, 2)));
              });
          verify(db, 1);
          db.run(tx -> assertEquals(1, t.deleteRange(tx, Range.all())));
          assertEquals(0, t.count());
        });
  }

  @Test
  void openScansSeeTheCut() {
    with(
        Protocol.TICTOC,
        db -> {
          RowTable t = fill(db, "t", 1);
          db.run(
              tx -> {
                try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
                  assertTrue(c.next());
                  assertEquals(EACH, t.deleteRange(tx, Range.all()));
                  assertFalse(c.next());
                }
              });
          verify(db, 0);
        });
  }

  @ParameterizedTest
  @EnumSource
  void withChangesOfTheCatalogAndOtherTables(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = fill(db, "t", 2);
      RowTable u = fill(db, "u", 2);
      db.run(
          tx -> {
            assertEquals(EACH, t.deleteRange(tx, group(t, 0)));
            assertEquals(2 * EACH, u.deleteRange(tx, Range.all()));
            tx.renameTable("t", "v");
            RowTable made = tx.table(spec("t"));
            made.insert(tx, made.key().set(7, 7), made.row());
            assertEquals(1, made.deleteRange(tx, Range.all()));
            made.insert(tx, made.key().set(7, 8), made.row());
          });
      assertEquals(List.of("t", "u", "v"), db.tables());
      assertEquals(EACH, db.table(spec("v")).count());
      assertEquals(0, u.count());
      verify(db, EACH + 1);
      db.run(
          tx -> {
            assertEquals(EACH, t.deleteRange(tx, Range.all()));
            assertTrue(tx.dropTable("v"));
          });
      verify(db, 1);
      try (Transaction tx = db.begin()) {
        db.table(spec("t")).deleteRange(tx, Range.all());
      }
      verify(db, 1);
    }
  }

  /** A row inserted between body and commit is counted by another attempt or survives. */
  @ParameterizedTest
  @EnumSource
  void concurrentInsertsAreNoPhantoms(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = fill(db, "t", 2);
      RowTable told = db.table(spec("told"));
      List<Long> counts = new ArrayList<>();
      db.run(
          tx -> {
            long n = t.deleteRange(tx, group(t, 1));
            if (counts.isEmpty()) {
              Threads.run(() -> db.run(o -> t.insert(o, t.key().set(1, EACH), t.row())));
            }
            counts.add(n);
            told.put(tx, told.key().set(0, 0), told.row().setLong(N, n));
          });
      assertEquals(List.of((long) EACH, EACH + 1L), counts);
      db.read(
          tx -> {
            assertFalse(t.exists(tx, t.key().set(1, EACH)));
            assertTrue(told.get(tx, told.key().set(0, 0), told.row()));
            return null;
          });
      assertEquals(EACH, t.count());
    }
  }

  /** A transaction that has read the table commits before the cut or aborts. */
  @ParameterizedTest
  @EnumSource
  void usersOfTheTableAreAborted(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = fill(db, "t", 2);
      RowTable other = db.table(spec("other"));
      try (Transaction before = db.begin()) {
        assertTrue(t.exists(before, t.key().set(0, 3))); // a record outside of the range
        other.put(before, other.key().set(1, 1), other.row());
        Threads.run(() -> db.run(tx -> assertEquals(EACH, t.deleteRange(tx, group(t, 1)))));
        TransactionAbortedException e =
            assertThrows(TransactionAbortedException.class, before::commit);
        assertEquals(AbortCause.CATALOG, e.abortCause());
      }
      try (Transaction elsewhere = db.begin()) {
        other.put(elsewhere, other.key().set(2, 2), other.row());
        Threads.run(() -> db.run(tx -> assertEquals(EACH, t.deleteRange(tx, Range.all()))));
        elsewhere.commit();
      }
      verify(db, 1);
    }
  }

  /** An exception leaves a body only if the count on which it is based is still valid. */
  @ParameterizedTest
  @EnumSource
  void exceptionsRequireAValidCount(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = fill(db, "t", 2);
      int[] attempts = {0};
      IllegalStateException e =
          assertThrows(
              IllegalStateException.class,
              () ->
                  db.run(
                      tx -> {
                        long n = t.deleteRange(tx, group(t, 1));
                        if (attempts[0]++ == 0) {
                          Threads.run(
                              () -> db.run(o -> t.insert(o, t.key().set(1, EACH), t.row())));
                        }
                        throw new IllegalStateException("told " + n);
                      }));
      assertEquals("told " + (EACH + 1), e.getMessage());
      assertEquals(2, attempts[0]);
      assertEquals(2 * EACH + 1, t.count());
    }
  }

  @Test
  void aSnapshotKeepsCutRecords() {
    try (Database db = open(Protocol.TICTOC)) {
      RowTable t = fill(db, "t", 2);
      try (Database then = db.snapshot()) {
        db.run(tx -> assertEquals(2 * EACH, t.deleteRange(tx, Range.all())));
        fill(db, "u", 2); // on the freed pages
        assertEquals(2 * EACH, (long) then.read(tx -> count(tx, then.table(spec("t")))));
        assertEquals(0, (long) db.read(tx -> count(tx, t)));
      }
      verify(db, 2 * EACH);
    }
  }

  /** An index created between body and commit forces deletion record by record. */
  @Test
  void aConcurrentlyBuiltIndexIsMaintained() {
    with(
        Protocol.TICTOC,
        db -> {
          RowTable t = fill(db, "t", 2);
          int[] attempts = {0};
          Thread builds =
              new Thread(() -> db.table(spec("t").with(IndexSpec.on("by_n", N))), "builds");
          db.run(
              tx -> {
                assertEquals(EACH, t.deleteRange(tx, group(t, 1)));
                if (attempts[0]++ == 0) {
                  builds.start();
                  while (!db.schema().core("t").changing.isLocked()) {
                    Thread.onSpinWait();
                  }
                }
              });
          assertTrue(attempts[0] > 1);
          join(builds);
          verify(db, EACH); // compares entries with records
        });
  }

  private static void join(Thread t) {
    try {
      t.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void longValuesAreFreed() {
    with(
        Protocol.TICTOC,
        db -> {
          Table<byte[], byte[]> t = db.table(TableSpec.bytes("u", 20)).bytes();
          db.run(
              tx -> {
                for (int i = 0; i < 2_000; i++) {
                  t.put(
                      tx, new byte[] {(byte) (i >> 8), (byte) i}, new byte[i == 777 ? 90_000 : 9]);
                }
              });
          db.run(tx -> assertEquals(2_000, t.deleteRange(tx, null, null)));
          verify(db, 0); // finds pages without an owner
        });
  }

  /** Many concurrent cuts of one table while others write: everything else remains. */
  @ParameterizedTest
  @EnumSource
  void duringWrites(Protocol protocol) {
    with(
        protocol,
        db -> {
          int groups = 6;
          RowTable t = fill(db, "t", groups);
          List<Runnable> all = new ArrayList<>();
          long[] cut = new long[groups];
          for (int g = 0; g < groups; g += 2) {
            int group = g;
            all.add(() -> cut[group] = db.call(tx -> t.deleteRange(tx, group(t, group))));
            all.add(
                () -> {
                  for (int i = 0; i < 300; i++) {
                    int n = i;
                    db.run(tx -> t.put(tx, t.key().set(group + 1, n), t.row().setLong(N, -n)));
                    db.run(tx -> t.put(tx, t.key().set(group + 1, EACH + n), t.row()));
                  }
                });
          }
          Threads.run(all.toArray(Runnable[]::new));
          for (int g = 0; g < groups; g += 2) {
            assertEquals(EACH, cut[g]);
          }
          assertEquals(groups / 2 * (EACH + 300L), t.count());
          verify(db, groups / 2 * (EACH + 300L));
        });
  }

  private static final class Threads {
    static void run(Runnable... all) {
      List<Thread> threads = new ArrayList<>();
      List<Throwable> failed = java.util.Collections.synchronizedList(new ArrayList<>());
      for (Runnable one : all) {
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        one.run();
                      } catch (Throwable e) {
                        failed.add(e);
                      }
                    }));
      }
      try {
        for (Thread t : threads) {
          t.join();
        }
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      if (!failed.isEmpty()) {
        throw new AssertionError(failed.getFirst());
      }
    }
  }
}
