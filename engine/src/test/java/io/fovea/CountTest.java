package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.TreeCounts;
import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.store.Marks;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Row counts of tables and indexes always equal what a scan would find. */
class CountTest {
  private static final Layout.Definition B = Layout.define();
  private static final Field CITY = B.text("city", 20);
  private static final Field AGE = B.int32("age");
  private static final IndexSpec BY_CITY = IndexSpec.on("byCity", CITY);
  private static final TableSpec PLAIN =
      TableSpec.of("people", KeySpec.of(FieldType.INT64), B.build());
  private static final TableSpec SPEC = PLAIN.with(BY_CITY);
  private static final TableSpec BYTES = TableSpec.bytes("blobs", 40);

  @TempDir Path dir;

  private static Options small() {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .memory(mem -> mem.timestampBytes(1 << 20))
        .device(dev -> dev.pageSize(4096))
        .log(log -> log.bufferBytes(64 << 10).segmentBytes(64 << 10).maxBytes(1 << 20));
  }

  /** Makes random changes, long values among them; some transactions roll back or undo changes. */
  private static void change(Database db, Random r, int transactions) {
    RowTable t = db.table(SPEC);
    Table<byte[], byte[]> b = db.table(BYTES).bytes();
    for (int i = 0; i < transactions; i++) {
      try (Transaction tx = db.begin()) {
        Key key = t.key();
        Row row = t.row();
        for (int n = r.nextInt(12); n >= 0; n--) {
          key.set((long) r.nextInt(200));
          byte[] name = {(byte) r.nextInt(3), (byte) r.nextInt(40)};
          row.clear().setText(CITY, "city " + r.nextInt(9)).setInt(AGE, n);
          switch (r.nextInt(8)) {
            case 0, 1 -> t.put(tx, key, row);
            case 2 -> t.delete(tx, key);
            case 3 -> {
              if (t.get(tx, key, row)) {
                t.update(tx, row.setText(CITY, "town " + n));
              } else {
                t.insert(tx, key, row.clear().setText(CITY, "new"));
              }
            }
            case 4, 5 -> b.put(tx, name, new byte[r.nextInt(r.nextInt(10) == 0 ? 20_000 : 300)]);
            case 6 -> b.delete(tx, name);
            default -> {
              long from = r.nextInt(200);
              Key to = t.key().set(from + 5);
              t.deleteRange(tx, Range.between(key.set(from), to), 3);
            }
          }
        }
        if (r.nextInt(4) > 0) {
          tx.commit();
        }
      }
    }
  }

  private static boolean isKnown(Database db) {
    return isKnown(db.table(SPEC)) && isKnown(db.table(BYTES));
  }

  private static boolean isKnown(RowTable t) {
    return t.core().tree.counts().isKnown()
        && t.core().readable().stream().allMatch(i -> i.tree.counts().isKnown());
  }

  private static long[] scanned(Database db) {
    RowTable t = db.table(SPEC);
    Table<byte[], byte[]> b = db.table(BYTES).bytes();
    return db.read(
        tx -> {
          long[] n = new long[4];
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              n[0]++;
            }
          }
          try (RowCursor c = t.index("byCity").scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              n[1]++;
            }
          }
          try (Cursor<byte[], byte[]> c = b.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              n[2]++;
              n[3] += c.key().length + c.value().length;
            }
          }
          return n;
        });
  }

  /** Checks that the counts are known and match the records, also according to the verifier. */
  private static void check(Database db) {
    assertTrue(isKnown(db), "known without being counted");
    RowTable t = db.table(SPEC);
    RowTable b = db.table(BYTES);
    long[] n = scanned(db);
    assertEquals(n[0], t.count());
    assertEquals(n[0] * (8 + SPEC.layout().size()), t.dataBytes());
    assertEquals(n[1], t.index("byCity").count());
    assertEquals(n[2], b.count());
    assertEquals(n[3], b.dataBytes());
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void commitsMaintainCounts(Protocol protocol) {
    Options options = small().experiments(exp -> exp.protocol(protocol));
    Random r = new Random(protocol.ordinal());
    try (Database db = Database.inMemory(options)) {
      for (int i = 0; i < 5; i++) {
        change(db, r, 20);
        check(db);
      }
    }
  }

  @Test
  void uncommittedWritesAreNotCounted() {
    try (Database db = Database.inMemory(small())) {
      RowTable t = db.table(SPEC);
      try (Transaction tx = db.begin()) {
        t.insert(tx, t.key().set(1L), t.row().setText(CITY, "x"));
        assertEquals(0, t.count());
        tx.commit();
      }
      assertEquals(1, t.count());
      db.run(
          tx -> {
            assertEquals(1, t.count());
            t.delete(tx, t.key().set(1L));
            t.insert(tx, t.key().set(1L), t.row().setText(CITY, "y"));
            t.insert(tx, t.key().set(2L), t.row().setText(CITY, "y"));
            t.delete(tx, t.key().set(2L));
          });
      assertEquals(1, t.count());
      assertEquals(1, t.index("byCity").count());
    }
  }

  /**
   * A record is inserted by one thread and deleted by another. A reader that added up the counters
   * one by one would see -1 or 2.
   */
  @Test
  void countsAreAtomic() throws Exception {
    try (Database db = Database.inMemory(small());
        ExecutorService pool = Executors.newCachedThreadPool()) {
      RowTable t = db.table(PLAIN);
      BlockingQueue<Long> there = new ArrayBlockingQueue<>(1);
      AtomicBoolean stop = new AtomicBoolean();
      List<Future<?>> others = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        others.add(
            pool.submit(
                () -> {
                  Key key = t.key();
                  Row row = t.row();
                  while (!stop.get()) {
                    synchronized (there) {
                      Long old = there.poll();
                      if (old == null) {
                        db.run(tx -> t.insert(tx, key.set(7L), row.clear().setText(CITY, "a")));
                        there.add(7L);
                      } else {
                        db.run(tx -> assertTrue(t.delete(tx, key.set(old))));
                      }
                    }
                  }
                  return null;
                }));
      }
      long[] seen = new long[2];
      long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(600);
      long patience = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
      while (System.nanoTime() < until || seen[0] * seen[1] == 0 && System.nanoTime() < patience) {
        long n = t.count();
        assertTrue(n == 0 || n == 1, "a count of " + n);
        seen[(int) n]++;
      }
      stop.set(true);
      for (Future<?> f : others) {
        f.get();
      }
      assertTrue(seen[0] > 0 && seen[1] > 0, "both counts were seen");
      assertTrue(db.verify().ok());
    }
  }

  /** Cells that are always busy: the reader has to stop the writers. */
  @Test
  void readersMakeProgressUnderConstantChanges() throws Exception {
    try (Database db = Database.inMemory(small());
        ExecutorService pool = Executors.newCachedThreadPool()) {
      TreeCounts counts = db.table(PLAIN).core().tree.counts();
      AtomicBoolean stop = new AtomicBoolean();
      List<Future<Long>> writers = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        long[] cell = counts.cell(i);
        writers.add(
            pool.submit(
                () -> {
                  long n = 0;
                  for (; !stop.get(); n++) {
                    TreeCounts.enter(cell);
                    java.lang.invoke.VarHandle.fullFence();
                    while (counts.isStopped()) {
                      TreeCounts.withdraw(cell);
                      counts.awaitReader();
                      TreeCounts.enter(cell);
                      java.lang.invoke.VarHandle.fullFence();
                    }
                    TreeCounts.leave(cell, 0, 1, 10);
                  }
                  return n;
                }));
      }
      long last = 0;
      for (int i = 0; i < 20_000; i++) {
        long n = counts.records();
        assertTrue(n >= last, "a growing count never decreases");
        last = n;
      }
      stop.set(true);
      long all = 0;
      for (Future<Long> w : writers) {
        all += w.get();
      }
      assertEquals(all, counts.records());
      assertEquals(10 * all, counts.bytes());
    }
  }

  @Test
  void countsOfManyThreadsAddUp() throws Exception {
    try (Database db = Database.open(dir.resolve("db"), small());
        ExecutorService pool = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> threads = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        int seed = i;
        threads.add(pool.submit(() -> retrying(() -> changeOften(db, new Random(seed)))));
      }
      for (int i = 0; i < 5; i++) {
        db.checkpoint();
      }
      for (Future<?> f : threads) {
        f.get();
      }
      check(db);
    }
  }

  private static void retrying(Runnable work) {
    while (true) {
      try {
        work.run();
        return;
      } catch (io.fovea.error.TransactionAbortedException again) {
      }
    }
  }

  private static void changeOften(Database db, Random r) {
    for (int i = 0; i < 40; i++) {
      retrying(() -> change(db, r, 1));
    }
  }

  @ParameterizedTest
  @EnumSource(Durability.class)
  void countsSurviveAClose(Durability durability) {
    Path file = dir.resolve("db");
    Random r = new Random(5);
    for (int i = 0; i < 4; i++) {
      try (Database db = Database.open(file, small().durability(durability))) {
        if (i > 0) {
          check(db);
        }
        change(db, r, 30);
        check(db);
      }
    }
    for (Durability d : Durability.values()) {
      try (Database db = Database.open(file, small().durability(d))) {
        check(db);
        change(db, r, 5);
      }
    }
    try (Database db = Database.open(file, small().readOnly(true))) {
      check(db);
    }
    FileReport report = FileReport.verify(file, small());
    assertTrue(report.ok(), report::toString);
  }

  /** Right after a crash the counts are known, whatever closes and checkpoints preceded it. */
  @Tag("slow")
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void countsSurviveACrash(int seed) {
    Random r = new Random(seed);
    SimDisk disk = new SimDisk(seed);
    boolean made = false;
    for (int round = 0; round < 12; round++) {
      Database db = Database.open(new SimStorage(disk), small());
      if (made) {
        check(db);
      }
      int steps = r.nextInt(4);
      for (int i = 0; i < steps; i++) {
        change(db, r, r.nextInt(10));
        made = true;
        if (r.nextInt(3) == 0) {
          db.checkpoint();
        }
      }
      isKnown(db); // which only checks that the tables exist
      made = true;
      if (r.nextInt(3) == 0) {
        db.close();
      } else {
        SimDisk after = disk.crash(r.nextBoolean() ? SimCrash.LOSE_ALL : SimCrash.RANDOM);
        db.abandon();
        disk = after;
      }
    }
    try (Database db = Database.open(new SimStorage(disk), small())) {
      check(db);
    }
  }

  /**
   * A close, then a crash before anything later is durable, so that recovery reads the counts from
   * the catalog; then a close that rewrites them and doesn't finish.
   */
  @Test
  void anIncompleteCloseAfterARecoveryKeepsCounts() {
    SimDisk disk = new SimDisk(10);
    Random r = new Random(10);
    Options late = small().durability(Durability.ASYNC);
    try (Database db = Database.open(new SimStorage(disk), late)) {
      change(db, r, 20);
    }
    Database marked = Database.open(new SimStorage(disk), late);
    change(marked, r, 1);
    SimDisk lost = disk.crash(SimCrash.LOSE_ALL);
    marked.abandon();
    Database recovered = Database.open(new SimStorage(lost), late);
    change(recovered, r, 3);
    List<SimDisk> cut = new ArrayList<>();
    lost.onOperation(n -> cut.add(lost.crash(SimCrash.KEEP_ALL)));
    recovered.close();
    lost.onOperation(n -> {});
    assertTrue(cut.size() > 5, () -> cut.size() + " operations");
    for (SimDisk d : cut) {
      try (Database db = Database.open(new SimStorage(d), late)) {
        check(db);
      }
    }
  }

  /** The first change fails after the file is marked in use: the log has the counts. */
  @Test
  void anIncompleteCloseAfterAFailedFirstChangeKeepsCounts() {
    SimDisk disk = new SimDisk(11);
    Random r = new Random(11);
    try (Database db = Database.open(new SimStorage(disk), small())) {
      change(db, r, 20);
    }
    Database marked = Database.open(new SimStorage(disk), small());
    Marks.then(
        marked.store(),
        () -> {
          throw new OutOfMemoryError("by the test");
        });
    assertThrows(OutOfMemoryError.class, () -> change(marked, r, 20));
    change(marked, r, 20);
    List<SimDisk> cut = new ArrayList<>();
    disk.onOperation(n -> cut.add(disk.crash(SimCrash.KEEP_ALL)));
    marked.close();
    disk.onOperation(n -> {});
    assertTrue(cut.size() > 5, () -> cut.size() + " operations");
    for (SimDisk d : cut) {
      try (Database db = Database.open(new SimStorage(d), small())) {
        check(db);
      }
    }
  }

  @Test
  void aRecoveryWithoutALogKeepsCounts() {
    SimDisk disk = new SimDisk(9);
    Random r = new Random(9);
    Database db = Database.open(new SimStorage(disk), small());
    change(db, r, 40);
    SimDisk after = disk.crash(SimCrash.LOSE_ALL);
    db.abandon();
    Options unlogged = small().durability(Durability.NONE);
    for (int i = 0; i < 2; i++) {
      try (Database again = Database.open(new SimStorage(after), unlogged)) {
        check(again);
        change(again, r, 4);
      }
    }
  }

  @Test
  void snapshotsHaveTheirOwnCounts() {
    Random r = new Random(3);
    try (Database db = Database.open(dir.resolve("db"), small())) {
      change(db, r, 50);
      long count = db.table(SPEC).count();
      long bytes = db.table(BYTES).dataBytes();
      try (Database then = db.snapshot()) {
        change(db, r, 50);
        assertEquals(count, then.table(SPEC).count());
        assertEquals(bytes, then.table(BYTES).dataBytes());
        check(then);
      }
      check(db);
    }
  }

  @Tag("slow")
  @ParameterizedTest
  @EnumSource(Durability.class)
  void backupsHaveCounts(Durability durability) {
    Random r = new Random(4);
    Path copy = dir.resolve("copy");
    try (Database db = Database.open(dir.resolve("db"), small().durability(durability))) {
      change(db, r, 50);
      db.backup(copy);
      change(db, r, 10);
      db.backup(dir.resolve("second"));
    }
    for (Path p : List.of(copy, dir.resolve("second"))) {
      Path restored = dir.resolve(p.getFileName() + ".restored");
      assertTrue(Restore.from(p).to(restored, small()).ok());
      try (Database db = Database.open(restored, small())) {
        check(db);
      }
    }
  }

  @Test
  void indexesAreCountedWhileTheyAreBuilt() throws Exception {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, small());
        ExecutorService pool = Executors.newCachedThreadPool()) {
      RowTable t = db.table(PLAIN);
      db.table(BYTES);
      db.run(
          tx -> {
            for (long k = 0; k < 300; k++) {
              t.insert(tx, t.key().set(k), t.row().setText(CITY, "city " + k % 7));
            }
          });
      Future<?> writer =
          pool.submit(
              () -> {
                Key key = t.key();
                for (long k = 300; k < 600; k++) {
                  long n = k;
                  db.run(
                      tx -> {
                        t.put(tx, key.set(n), t.row().setText(CITY, "late"));
                        t.delete(tx, key.set(n - 300));
                      });
                }
              });
      db.table(SPEC);
      writer.get();
      check(db);
      assertEquals(300, db.table(SPEC).index("byCity").count());
      db.checkpoint();
      db.abandon();
    }
    try (Database db = Database.open(file, small())) {
      check(db);
      assertTrue(db.renameTable("people", "persons"));
      assertTrue(db.renameTable("persons", "people"));
      RowTable t = db.table(SPEC);
      RowIndex i = t.index("byCity");
      assertTrue(db.dropIndex("people", "byCity"));
      assertThrows(InvalidUseException.class, i::count);
      assertEquals(300, t.count());
      assertEquals(0, db.table(TableSpec.bytes("new", 10)).count());
      assertTrue(db.dropTable("people"));
      assertThrows(InvalidUseException.class, t::count);
    }
  }

  /** Files of format 3 have no counts: records are counted once, concurrently with writers. */
  @ParameterizedTest
  @ValueSource(strings = {"v3-closed", "v3-killed"})
  void filesWithoutCountsAreCountedOnce(String name) throws Exception {
    Path file = GoldenFiles.unpack(name, dir);
    long people;
    try (Database db = Database.open(file, GoldenFiles.options().readOnly(true))) {
      RowTable t = db.table(GoldenFiles.SPEC);
      assertFalse(isKnown(t));
      people = t.count();
      assertEquals(people, t.index("by_name").count());
      assertTrue(isKnown(t) || !t.core().readable().isEmpty());
    }
    try (Database db = Database.open(file, GoldenFiles.options());
        ExecutorService pool = Executors.newCachedThreadPool()) {
      RowTable t = db.table(GoldenFiles.SPEC);
      assertFalse(isKnown(t));
      InvalidUseException e =
          assertThrows(InvalidUseException.class, () -> db.read(tx -> t.count()));
      assertTrue(e.getMessage().contains("outside"), e.getMessage());
      Future<?> writer =
          pool.submit(
              () -> {
                for (long k = 0; k < 200; k++) {
                  long n = 10_000 + k;
                  db.run(
                      tx ->
                          t.insert(
                              tx,
                              t.key().set(n),
                              t.row()
                                  .setText(GoldenFiles.NAME, "n")
                                  .setLong(GoldenFiles.BALANCE, n)));
                }
              });
      long early = t.count();
      writer.get();
      assertTrue(early >= people && early <= people + 200, "a count of " + early);
      assertEquals(people + 200, t.count());
      assertEquals(people + 200, t.index("by_name").count());
      t.index("by_age").count();
      t.index("by_balance").count();
      t.index("by_decade").count();
      assertTrue(isKnown(t));
      assertTrue(db.verify().ok());
    }
    try (Database db = Database.open(file, GoldenFiles.options())) {
      RowTable t = db.table(GoldenFiles.SPEC);
      assertTrue(isKnown(t), "kept from then on");
      assertEquals(people + 200, t.count());
      RowTable documents = db.table(GoldenFiles.BYTES);
      assertFalse(isKnown(documents), "not counted before the first use");
      db.run(tx -> documents.bytes().put(tx, new byte[] {9}, new byte[9]));
      db.checkpoint();
      db.abandon();
    }
    try (Database db = Database.open(file, GoldenFiles.options())) {
      assertEquals(people + 200, db.table(GoldenFiles.SPEC).count());
      RowTable documents = db.table(GoldenFiles.BYTES);
      assertFalse(isKnown(documents));
      long n = documents.count();
      assertTrue(n > 1, "a count of " + n);
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    }
  }

  @Test
  void wrongCountsAreDetected() throws IOException {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, small())) {
      change(db, new Random(1), 30);
      RowTable t = db.table(SPEC);
      TreeCounts counts = t.core().tree.counts();
      counts.base(1, 0);
      VerifyReport report = db.verify();
      assertFalse(report.ok());
      assertTrue(report.problems().toString().contains("the count says"), report::toString);
      TreeCounts entries = t.core().readable().get(0).tree.counts();
      counts.base(0, 0);
      entries.base(0, 1);
      report = db.verify();
      assertEquals(1, report.problems().size(), report::toString);
      assertTrue(report.problems().get(0).contains("index byCity"), report::toString);
    }
    FileReport report = FileReport.verify(file, small());
    assertTrue(report.problems().toString().contains("the count says"), report::toString);
    assertTrue(Files.exists(file));
  }

  @Test
  void countingEndsWithTheDatabase() throws ExecutionException, InterruptedException {
    Database db = Database.inMemory(small());
    RowTable t = db.table(SPEC);
    db.close();
    assertThrows(DatabaseClosedException.class, t::count);
    assertThrows(DatabaseClosedException.class, t::dataBytes);
  }
}
