package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.ChangesLostException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The change feed, as its subscribers see it. */
@Tag("slow")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ChangesTest {
  private static final TableSpec BYTES = TableSpec.bytes("b", 40);
  private static final Layout.Definition B = Layout.define();
  private static final Field QUANTITY = B.int32("quantity");
  private static final Field NAME = B.text("name", 20);
  private static final TableSpec ROWS =
      TableSpec.of("stock", KeySpec.of(FieldType.INT32), B.build())
          .with(IndexSpec.on("by_name", NAME));

  record Account(@Id long id, String owner, long cents) {}

  private static final ObjectSpec<Long, Account> ACCOUNTS =
      ObjectSpec.of("account", Long.class, Account.class);

  @TempDir Path folder;

  private static Options options() {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .log(
            l ->
                l.bufferBytes(64 << 10)
                    .segmentBytes(64 << 10)
                    .maxBytes(512 << 10)
                    .changeRetentionBytes(8 << 20));
  }

  private Database open() {
    return Database.open(folder.resolve("db"), options());
  }

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] random(int length, long seed) {
    byte[] b = new byte[length];
    new Random(seed).nextBytes(b);
    return b;
  }

  private static List<ChangeBatch> all(Changes changes) {
    List<ChangeBatch> all = new ArrayList<>();
    ChangeBatch batch;
    while ((batch = changes.poll(Duration.ZERO)) != null) {
      all.add(batch);
    }
    return all;
  }

  @Test
  void commitsAreDeliveredWhole() {
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      try (Changes changes = db.changes(db.changesPosition())) {
        assertNull(changes.poll(Duration.ZERO));
        db.run(
            tx -> {
              t.put(tx, bytes("a"), bytes("1"));
              t.put(tx, bytes("b"), bytes("2"));
            });
        db.run(
            tx -> {
              t.delete(tx, bytes("a"));
              t.put(tx, bytes("b"), bytes("3"));
              t.put(tx, bytes("c"), bytes("4"));
              t.delete(tx, bytes("c"));
              t.delete(tx, bytes("absent"));
            });
        db.read(tx -> t.get(tx, bytes("b")));
        List<ChangeBatch> all = all(changes);
        assertEquals(2, all.size());
        assertEquals("[PUT b 61, 1 bytes, PUT b 62, 1 bytes]", all.get(0).changes().toString());
        assertEquals("[DELETE b 61, PUT b 62, 1 bytes]", all.get(1).changes().toString());
        Change last = all.get(1).changes().get(1);
        assertArrayEquals(bytes("3"), last.valueBytes());
        assertArrayEquals(bytes("b"), last.keyBytes());
        assertNull(all.get(1).changes().get(0).valueBytes());
        assertTrue(all.get(0).position().lsn() < all.get(1).position().lsn());
        assertEquals(all.get(1).position(), changes.position());
        try (Changes again = db.changes(ChangePosition.parse(all.get(0).position().toString()))) {
          assertEquals(1, all(again).size());
        }
      }
    }
  }

  /** A partially updated row is delivered whole, and index entries aren't delivered. */
  @Test
  void rowsAreDeliveredAsRows() {
    try (Database db = open()) {
      RowTable t = db.table(ROWS);
      Layout.Definition number = Layout.define();
      number.int64("number");
      RowTable other = db.table(TableSpec.of("other", KeySpec.of(FieldType.INT64), number.build()));
      try (Changes changes = db.changes(db.changesPosition())) {
        db.run(
            tx -> t.insert(tx, t.key().set(7), t.row().setInt(QUANTITY, 5).setText(NAME, "nut")));
        db.run(
            tx -> {
              Row r = t.row();
              assertTrue(t.get(tx, t.key().set(7), r));
              t.update(tx, r.setInt(QUANTITY, 4));
            });
        List<ChangeBatch> all = all(changes);
        assertEquals(2, all.size());
        Change c = all.get(1).changes().get(0);
        assertEquals(1, all.get(1).changes().size());
        assertEquals(Change.Kind.PUT, c.kind());
        InvalidUseException e = assertThrows(InvalidUseException.class, () -> c.row(other));
        assertTrue(e.getMessage().contains("belongs to table"), e.getMessage());
        Row r = c.row(t);
        assertEquals(4, r.getInt(QUANTITY));
        assertEquals("nut", r.getText(NAME));
        assertEquals(7, c.key(t).getInt(0));
        assertThrows(InvalidUseException.class, () -> r.key(t.key()));
        db.run(tx -> t.delete(tx, t.key().set(7)));
        assertNull(all(changes).get(0).changes().get(0).row(t));
      }
    }
  }

  @Test
  void objectsAreDeliveredAsObjects() {
    try (Database db = open()) {
      Table<Long, Account> t = db.table(ACCOUNTS);
      try (Changes changes = db.changes(db.changesPosition())) {
        db.run(tx -> t.put(tx, new Account(1, "Ada", 100)));
        db.run(tx -> t.delete(tx, 1L));
        List<ChangeBatch> all = all(changes);
        Change put = all.get(0).changes().get(0);
        assertEquals(new Account(1, "Ada", 100), put.value(t));
        assertEquals(1L, put.key(t));
        assertNull(all.get(1).changes().get(0).value(t));
        assertEquals(1L, all.get(1).changes().get(0).key(t));
      }
    }
  }

  /** Rows of an older layout are delivered in the newest; older handles are refused. */
  @Test
  void rowsOfOldLayouts() {
    try (Database db = open()) {
      RowTable old = db.table(ROWS);
      ChangePosition from = db.changesPosition();
      db.run(tx -> old.insert(tx, old.key().set(1), old.row().setInt(QUANTITY, 9)));
      Layout.Definition b = Layout.define();
      Field quantity = b.int32("quantity");
      Field name = b.text("name", 20);
      Field more = b.int64("more");
      RowTable now =
          db.table(
              TableSpec.builder("stock", KeySpec.of(FieldType.INT32), b.build())
                  .version(2, Step.add("more", 3))
                  .index(IndexSpec.on("by_name", name))
                  .build());
      try (Changes changes = db.changes(from)) {
        Change c = all(changes).get(0).changes().get(0);
        assertEquals(9, c.row(now).getInt(quantity));
        assertEquals(3, c.row(now).getLong(more));
        assertThrows(InvalidUseException.class, () -> c.row(old));
      }
    }
  }

  @Test
  void everyProtocol() throws Exception {
    for (Protocol protocol : Protocol.values()) {
      Options options = options().experiments(x -> x.protocol(protocol));
      try (Database db = Database.open(folder.resolve(protocol.name()), options)) {
        RowTable t = db.table(ROWS);
        db.run(
            tx -> {
              for (int i = 0; i < 10; i++) {
                t.insert(tx, t.key().set(i), t.row().setInt(QUANTITY, 1000).setText(NAME, "n" + i));
              }
            });
        ChangesCopy copy = new ChangesCopy();
        copy.begin(db);
        List<Thread> writers = new ArrayList<>();
        for (int w = 0; w < 3; w++) {
          Random random = new Random(w);
          writers.add(
              Thread.ofPlatform()
                  .start(
                      () -> {
                        for (int i = 0; i < 60; i++) {
                          int from = random.nextInt(10);
                          int to = (from + 1 + random.nextInt(9)) % 10;
                          db.run(
                              tx -> {
                                Row r = t.row();
                                t.get(tx, t.key().set(from), r);
                                t.update(tx, r.setInt(QUANTITY, r.getInt(QUANTITY) - 1));
                                t.get(tx, t.key().set(to), r);
                                t.update(tx, r.setInt(QUANTITY, r.getInt(QUANTITY) + 1));
                              });
                        }
                      }));
        }
        for (Thread w : writers) {
          w.join();
        }
        copy.check(db);
        assertEquals(180, copy.batches, protocol.name());
      }
    }
  }

  /** Expired rows exist until they are swept; page moves aren't delivered. */
  @Test
  void sweepsAndCompactions() {
    Layout.Definition b = Layout.define();
    Field at = b.int64("at");
    TableSpec spec =
        TableSpec.of("sessions", KeySpec.of(FieldType.INT32), b.build())
            .expireAfter(at, Duration.ofMillis(10));
    SetClock clock = new SetClock(1_000);
    Options options = options().expiry(e -> e.clock(clock).sweepInterval(Duration.ZERO));
    try (Database db = Database.open(folder.resolve("db"), options)) {
      RowTable t = db.table(spec);
      Table<byte[], byte[]> large = db.table(BYTES).bytes();
      ChangesCopy copy = new ChangesCopy();
      copy.begin(db);
      db.run(
          tx -> {
            for (int i = 0; i < 50; i++) {
              t.insert(tx, t.key().set(i), t.row().setLong(at, 1_000 + i % 2 * 500));
            }
            for (int i = 0; i < 200; i++) {
              large.put(tx, bytes("k" + i), random(1000, i));
            }
          });
      copy.check(db);
      clock.set(1_200);
      assertEquals(25, db.sweepExpired());
      copy.check(db);
      assertEquals(25, copy.tables.get("sessions").size());
      db.run(
          tx -> {
            for (int i = 0; i < 190; i++) {
              large.delete(tx, bytes("k" + i));
            }
          });
      copy.check(db);
      long before = copy.batches;
      db.compact(CompactOptions.defaults());
      db.checkpoint();
      copy.check(db);
      assertEquals(before, copy.batches);
    }
  }

  @Test
  void longValuesAndLargeCommits() {
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      ChangesCopy copy = new ChangesCopy();
      copy.begin(db);
      for (int round = 0; round < 6; round++) {
        int r = round;
        db.run(
            tx -> {
              for (int i = 0; i < 60; i++) {
                t.put(tx, bytes("k" + i), random(r % 2 == 0 ? 3000 : 900, i * 100L + r));
              }
              t.put(tx, bytes("long"), random(20_000 + r, r));
              t.put(tx, bytes("longer"), random(90_000, r + 50));
            });
        db.run(tx -> t.delete(tx, bytes("long")));
        copy.check(db);
      }
      assertEquals(12, copy.batches);
    }
  }

  /** A commit with more pages of long values than one record of this log can name. */
  @Test
  void manyPagesOfLongValues() {
    Options options = options().log(l -> l.bufferBytes(64 << 10));
    try (Database db = Database.open(folder.resolve("db"), options)) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      ChangesCopy copy = new ChangesCopy();
      copy.begin(db);
      for (int round = 0; round < 2; round++) {
        int r = round;
        db.run(
            tx -> {
              for (int i = 0; i < 20; i++) {
                t.put(tx, bytes("k" + i), random(200_000, i * 100L + r));
              }
            });
        copy.check(db);
      }
      db.run(tx -> assertEquals(20, t.deleteRange(tx, null, null)));
      copy.check(db);
      assertEquals(3, copy.batches);
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    }
  }

  @Test
  void tablesAreCreatedAndDropped() {
    try (Database db = open()) {
      ChangesCopy copy = new ChangesCopy();
      copy.begin(db);
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      db.run(tx -> t.put(tx, bytes("a"), bytes("1")));
      copy.check(db);
      db.renameTable("b", "c");
      db.run(tx -> t.put(tx, bytes("a"), bytes("2")));
      copy.check(db);
      db.run(
          tx -> {
            tx.renameTable("c", "d");
            Table<byte[], byte[]> n = tx.table(BYTES).bytes();
            n.put(tx, bytes("x"), bytes("y"));
            t.put(tx, bytes("b"), bytes("2"));
          });
      copy.check(db);
      assertEquals("{b={78=79}, d={61=32, 62=32}}", copy.tables.toString());
      db.run(
          tx -> {
            tx.dropTable("b");
            tx.renameTable("d", "b");
          });
      copy.check(db);
      db.run(
          tx -> {
            tx.dropTable("b");
            tx.table(BYTES).bytes().put(tx, bytes("n"), bytes("m"));
          });
      copy.check(db);
      assertTrue(db.dropTable("b"));
      copy.check(db);
      assertEquals("{}", copy.tables.toString());
    }
  }

  @Test
  void loadsAreReported() throws Exception {
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      db.run(tx -> t.put(tx, bytes("z"), bytes("1")));
      ChangesCopy copy = new ChangesCopy();
      copy.begin(db);
      t.load(
          into -> {
            for (int i = 0; i < 5000; i++) {
              into.add(bytes(String.format("k%05d", i)), random(40, i));
            }
          });
      db.run(tx -> t.put(tx, bytes("k00001"), bytes("2")));
      try (Changes changes = db.changes(copy.position)) {
        List<ChangeBatch> all = all(changes);
        assertEquals("[LOADED b]", all.get(0).changes().toString());
        assertEquals(2, all.size());
        assertThrows(InvalidUseException.class, () -> all.get(0).changes().get(0).keyBytes());
      }
      copy.check(db);
      assertEquals(1, copy.loads);
      db.run(tx -> t.delete(tx, bytes("z")));
      copy.check(db);
    }
  }

  @Test
  void followingContinuesAfterCloseAndCrash() {
    ChangesCopy copy = new ChangesCopy();
    for (int round = 0; round < 12; round++) {
      Database db = open();
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      if (copy.position == null) {
        copy.begin(db);
      } else {
        copy.check(db);
      }
      for (int i = 0; i < 20; i++) {
        int n = i + round * 7;
        db.run(tx -> t.put(tx, bytes("k" + n % 50), random(700, n)));
      }
      if (round % 3 == 1) {
        db.checkpoint();
      }
      if (round % 4 == 2) {
        db.run(tx -> tx.renameTable("b", "r"));
        db.run(tx -> tx.dropTable("r"));
      }
      if (round % 2 == 0) {
        db.close();
      } else {
        db.abandon();
      }
    }
    try (Database db = open()) {
      copy.check(db);
    }
    assertTrue(copy.batches > 200, copy.batches + " batches");
  }

  /** The log wraps around many times while the subscriber's lag stays below the retention. */
  @Test
  void logWrapsAround() {
    try (Database db =
        Database.open(
            folder.resolve("db"), options().log(l -> l.changeRetentionBytes(400 << 10)))) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      ChangesCopy copy = new ChangesCopy();
      copy.begin(db);
      for (int i = 0; i < 4000; i++) {
        int n = i;
        db.run(tx -> t.put(tx, bytes("k" + n % 100), random(2000, n)));
        if (i % 20 == 19) { // each writes a block of 4 KiB, and some write images of two pages
          copy.follow(db);
        }
      }
      copy.check(db);
      assertEquals(4000, copy.batches);
      long file = folder.resolve("db.log").toFile().length();
      assertTrue(file < 4 << 20, file + " bytes"); // of 9 MiB written
    }
  }

  @Test
  void lagBeyondTheRetentionIsReported() {
    ChangePosition from;
    try (Database db =
        Database.open(
            folder.resolve("db"), options().log(l -> l.changeRetentionBytes(128 << 10)))) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      from = db.changesPosition();
      try (Changes changes = db.changes(from)) {
        for (int i = 0; i < 2000; i++) {
          int n = i;
          db.run(tx -> t.put(tx, bytes("k" + n % 100), random(3000, n)));
        }
        db.checkpoint();
        ChangesLostException lost = assertThrows(ChangesLostException.class, () -> all(changes));
        assertTrue(lost.getMessage().contains("changeRetentionBytes"), lost.getMessage());
        assertThrows(ChangesLostException.class, () -> changes.poll(Duration.ZERO));
      }
      assertThrows(ChangesLostException.class, () -> db.changes(from));
      ChangesCopy copy = new ChangesCopy();
      copy.begin(db);
      db.run(tx -> t.put(tx, bytes("k"), bytes("v")));
      copy.check(db);
    }
    try (Database db =
        Database.open(
            folder.resolve("db"), options().log(l -> l.changeRetentionBytes(128 << 10)))) {
      assertThrows(ChangesLostException.class, () -> db.changes(from));
    }
  }

  /** After one opening without the option or without a log, earlier changes can't be followed. */
  @Test
  void changesThatWereNotKeptAreLost() {
    for (Options other :
        List.of(
            options().log(l -> l.changeRetentionBytes(0)), options().durability(Durability.NONE))) {
      ChangePosition from;
      try (Database db = open()) {
        Table<byte[], byte[]> t = db.table(BYTES).bytes();
        from = db.changesPosition();
        db.run(tx -> t.put(tx, bytes("k"), bytes("v")));
      }
      try (Database db = open()) {
        try (Changes changes = db.changes(from)) {
          assertEquals(1, all(changes).size());
        }
      }
      try (Database db = Database.open(folder.resolve("db"), other)) {
        Table<byte[], byte[]> t = db.table(BYTES).bytes();
        assertThrows(InvalidUseException.class, () -> db.changes(from));
        assertThrows(InvalidUseException.class, db::changesPosition);
        db.run(tx -> t.put(tx, bytes("k"), bytes("w")));
      }
      try (Database db = open()) {
        Table<byte[], byte[]> t = db.table(BYTES).bytes();
        assertThrows(ChangesLostException.class, () -> db.changes(from));
        ChangesCopy copy = new ChangesCopy();
        copy.begin(db);
        db.run(tx -> t.put(tx, bytes("k"), bytes("x")));
        copy.check(db);
        assertThrows(ChangesLostException.class, () -> db.changes(from));
      }
    }
  }

  @Test
  void positionsOfOtherDatabasesAreRefused() {
    ChangePosition from;
    Path backup = folder.resolve("backup");
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      db.run(tx -> t.put(tx, bytes("k"), bytes("v")));
      from = db.changesPosition();
      db.backup(backup);
      String text = from.toString();
      assertEquals(from, ChangePosition.parse(text));
      assertEquals(from.hashCode(), ChangePosition.parse(text).hashCode());
      assertEquals(db.id(), from.database());
      for (String bad : List.of("", "x", text + "/1", text.replace("changes", "x"), text + "1")) {
        assertThrows(IllegalArgumentException.class, () -> ChangePosition.parse(bad));
      }
      String beyond = db.id() + "/changes/" + from.point().tables() + "/" + (from.lsn() + 800_000);
      assertThrows(ChangesLostException.class, () -> db.changes(ChangePosition.parse(beyond)));
      String between = db.id() + "/changes/" + (from.point().tables() + 8) + "/" + from.lsn();
      try (Changes changes = db.changes(ChangePosition.parse(between))) {
        assertThrows(ChangesLostException.class, () -> all(changes));
      }
    }
    Restore.from(backup).to(folder.resolve("restored"), options());
    try (Database db = Database.open(folder.resolve("restored"), options())) {
      ChangesLostException e = assertThrows(ChangesLostException.class, () -> db.changes(from));
      assertTrue(e.getMessage().contains("another") || e.getMessage().contains("database"));
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      ChangesCopy copy = new ChangesCopy();
      copy.begin(db);
      db.run(tx -> t.put(tx, bytes("k"), bytes("x")));
      copy.check(db);
    }
  }

  @Test
  void unsupportedUsesAreRefused() {
    try (Database db = Database.inMemory(options())) {
      assertThrows(InvalidUseException.class, db::changesPosition);
      try (Database then = db.snapshot()) {
        assertThrows(InvalidUseException.class, then::changesPosition);
      }
    }
    ChangePosition from;
    try (Database db = open()) {
      db.table(BYTES);
      from = db.changesPosition();
      db.run(tx -> assertThrows(InvalidUseException.class, db::changesPosition));
      try (Database then = db.snapshot()) {
        assertThrows(InvalidUseException.class, () -> then.changes(from));
      }
    }
    try (Database db = Database.open(folder.resolve("db"), options().readOnly(true))) {
      assertThrows(InvalidUseException.class, () -> db.changes(from));
      assertThrows(InvalidUseException.class, db::changesPosition);
    }
    assertThrows(
        IllegalArgumentException.class, () -> options().log(l -> l.changeRetentionBytes(-1)));
  }

  @Test
  void pollWaitsForChanges() throws Exception {
    for (boolean virtual : new boolean[] {false, true}) {
      try (Database db = open()) {
        Table<byte[], byte[]> t = db.table(BYTES).bytes();
        try (Changes changes = db.changes(db.changesPosition())) {
          AtomicReference<ChangeBatch> got = new AtomicReference<>();
          CountDownLatch began = new CountDownLatch(1);
          Runnable follower =
              () -> {
                began.countDown();
                got.set(changes.poll(Duration.ofSeconds(60)));
              };
          Thread thread =
              virtual ? Thread.ofVirtual().start(follower) : Thread.ofPlatform().start(follower);
          began.await();
          Thread.sleep(50);
          db.run(tx -> t.put(tx, bytes("a"), bytes("1")));
          thread.join(30_000);
          assertNotNull(got.get());
          assertNull(changes.poll(Duration.ofMillis(20)));
          assertThrows(IllegalArgumentException.class, () -> changes.poll(Duration.ofMillis(-1)));
        }
      }
    }
  }

  private static Throwable caught(Changes changes, Thread.Builder of, Runnable then)
      throws InterruptedException {
    AtomicReference<Throwable> got = new AtomicReference<>();
    Thread thread =
        of.start(
            () -> {
              try {
                changes.poll(Duration.ofSeconds(60));
              } catch (RuntimeException e) {
                got.set(e);
              }
            });
    Thread.sleep(50);
    if (then == null) {
      thread.interrupt();
    } else {
      then.run();
    }
    thread.join(30_000);
    assertFalse(thread.isAlive());
    return got.get();
  }

  @Test
  void aWaitEnds() throws Exception {
    for (Thread.Builder of : List.of(Thread.ofPlatform(), Thread.ofVirtual())) {
      Database db = open();
      db.table(BYTES);
      Changes changes = db.changes(db.changesPosition());
      assertInstanceOf(OperationInterruptedException.class, caught(changes, of, null));
      assertInstanceOf(InvalidUseException.class, caught(changes, of, changes::close));
      changes.close();
      assertThrows(InvalidUseException.class, () -> changes.poll(Duration.ZERO));
      Changes others = db.changes(db.changesPosition());
      assertInstanceOf(DatabaseClosedException.class, caught(others, of, db::close));
      assertThrows(DatabaseClosedException.class, () -> others.poll(Duration.ZERO));
      assertNotNull(others.position());
      others.close();
      assertThrows(DatabaseClosedException.class, db::changesPosition);
    }
  }

  /**
   * Many subscribers concurrent with many writers, checkpoints, and the creation and dropping of
   * tables.
   */
  @Test
  void manyFollowWhileManyWrite() throws Exception {
    Options options =
        options().durability(Durability.ASYNC).log(l -> l.changeRetentionBytes(64 << 20));
    try (Database db = Database.open(folder.resolve("db"), options)) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      Table<byte[], byte[]> other = db.table(TableSpec.bytes("o", 40)).bytes();
      List<ChangesCopy> copies = List.of(new ChangesCopy(), new ChangesCopy(), new ChangesCopy());
      AtomicBoolean stop = new AtomicBoolean();
      List<Thread> writers = new ArrayList<>();
      List<Throwable> failures = java.util.Collections.synchronizedList(new ArrayList<>());
      for (int w = 0; w < 4; w++) {
        int me = w;
        writers.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        Random random = new Random(me);
                        for (int i = 0; i < 1500; i++) {
                          int n = i;
                          db.run(
                              tx -> {
                                byte[] key = bytes("k" + random.nextInt(50));
                                byte[] sum = t.get(tx, key);
                                if (random.nextInt(5) == 0 && sum != null) {
                                  t.delete(tx, key);
                                } else {
                                  t.put(tx, key, random(random.nextInt(200) * (n % 50), n));
                                }
                                other.put(tx, bytes("w" + me), bytes("" + n));
                              });
                          if (i % 300 == 50 && me == 0) {
                            db.run(tx -> tx.table(TableSpec.bytes("x" + n, 9)));
                            db.checkpoint();
                          }
                          if (i % 300 == 250 && me == 1) {
                            db.renameTable("o", "p");
                            db.renameTable("p", "o");
                          }
                        }
                      } catch (Throwable e) {
                        failures.add(e);
                      }
                    }));
      }
      List<Thread> followers = new ArrayList<>();
      for (ChangesCopy copy : copies) {
        copy.begin(db);
        followers.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      try (Changes changes = db.changes(copy.position)) {
                        while (!stop.get()) {
                          ChangeBatch batch = changes.poll(Duration.ofMillis(5));
                          if (batch != null) {
                            copy.take(batch);
                          }
                        }
                      } catch (Throwable e) {
                        failures.add(e);
                      }
                    }));
      }
      for (Thread w : writers) {
        w.join();
      }
      stop.set(true);
      for (Thread f : followers) {
        f.join();
      }
      assertEquals(List.of(), failures);
      for (ChangesCopy copy : copies) {
        copy.check(db);
      }
    }
  }

  @Test
  void snapshotMatchesItsPosition() throws Exception {
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      AtomicBoolean stop = new AtomicBoolean();
      List<Thread> writers = new ArrayList<>();
      for (int w = 0; w < 3; w++) {
        int me = w;
        writers.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      Random random = new Random(me);
                      while (!stop.get()) {
                        db.run(
                            tx ->
                                t.put(
                                    tx,
                                    bytes("k" + random.nextInt(20)),
                                    random(random.nextInt(60), random.nextLong())));
                      }
                    }));
      }
      try {
        ChangesCopy follower = new ChangesCopy();
        follower.begin(db);
        for (int i = 0; i < 20; i++) {
          ChangesCopy anew = new ChangesCopy();
          anew.begin(db);
          try (Changes changes = db.changes(follower.position)) {
            while (follower.position.lsn() < anew.position.lsn()) {
              ChangeBatch batch = changes.poll(Duration.ZERO);
              if (batch == null || batch.position().lsn() > anew.position.lsn()) {
                break;
              }
              follower.take(batch);
            }
          }
          assertEquals(anew.tables, follower.tables);
        }
      } finally {
        stop.set(true);
        for (Thread w : writers) {
          w.join(TimeUnit.SECONDS.toMillis(30));
        }
      }
    }
  }
}
