package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Expiry;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Expiring rows: visibility, replacement, the sweep, and changes of the expiry. */
class ExpiryTest {
  private static final Layout.Definition B = Layout.define();
  private static final Field COLOUR = B.int32("colour");
  private static final Field CODE = B.int64("code");
  private static final Field AT = B.int64("at");
  private static final Layout LAYOUT = B.build();
  private static final KeySpec KEY = KeySpec.of(FieldType.INT32);

  private static final TableSpec SPEC =
      TableSpec.of("events", KEY, LAYOUT)
          .with(IndexSpec.on("by_colour", COLOUR))
          .with(IndexSpec.unique("by_code", CODE))
          .expireAfter(AT, Duration.ofMillis(100));

  private final SetClock clock = new SetClock(990);

  @TempDir Path dir;

  private Options options() {
    return Options.defaults().expiry(e -> e.clock(clock).sweepInterval(Duration.ZERO));
  }

  private Database open(Protocol protocol) {
    return Database.open(dir.resolve("db"), options().experiments(e -> e.protocol(protocol)));
  }

  private Database open() {
    return Database.open(dir.resolve("db"), options());
  }

  private static Row row(RowTable t, int colour, long code, long at) {
    return t.row().setInt(COLOUR, colour).setLong(CODE, code).setLong(AT, at);
  }

  /** Inserts keys 0 to 9 with times 900 to 990, and one that never expires. */
  private static void fill(Database db, RowTable t) {
    db.run(
        tx -> {
          for (int i = 0; i < 10; i++) {
            t.insert(tx, t.key().set(i), row(t, i % 3, i, 900 + 10 * i));
          }
          t.insert(tx, t.key().set(10), row(t, 0, 10, 0));
          t.insert(tx, t.key().set(11), row(t, 0, 11, -5));
        });
  }

  private static List<Integer> keys(RowCursor scan) {
    List<Integer> found = new ArrayList<>();
    try (RowCursor c = scan) {
      while (c.next()) {
        found.add(c.key().getInt(0));
        assertEquals(c.key().getInt(0), c.row().getLong(CODE));
      }
    }
    return found;
  }

  private static List<Integer> keys(Database db, RowTable t) {
    return db.read(tx -> keys(t.scan(tx, Range.all(), ScanOrder.ASCENDING)));
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  // --------------------------------------------------------------------------------- visibility

  @ParameterizedTest
  @EnumSource
  void noReadReturnsAnExpiredRow(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      clock.set(1_040); // 900 to 940 have expired
      assertEquals(List.of(5, 6, 7, 8, 9, 10, 11), keys(db, t));
      db.run(
          tx -> {
            Row row = t.row();
            Projection colour = Projection.of(LAYOUT, COLOUR);
            Batch batch = t.batch(12);
            for (int i = 0; i < 12; i++) {
              boolean there = i >= 5;
              Key k = t.key().set(i);
              assertEquals(there, t.get(tx, k, row));
              assertEquals(there, t.get(tx, k, row, colour));
              assertEquals(there, t.getForUpdate(tx, k, row));
              assertEquals(there, t.exists(tx, k));
              assertEquals(there, t.index("by_code").get(tx, code(t, i), row));
              batch.add(k);
            }
            assertEquals(7, t.getAll(tx, batch));
            assertEquals(7, t.getAll(tx, batch, colour));
            assertEquals(
                List.of(11, 10, 9, 8, 7, 6, 5),
                keys(t.scan(tx, Range.all(), ScanOrder.DESCENDING)));
            RowIndex colours = t.index("by_colour");
            assertEquals(
                List.of(6, 9, 10, 11, 7, 5, 8),
                keys(colours.scan(tx, Range.all(), ScanOrder.ASCENDING)));
            assertTrue(colours.get(tx, colours.key().set(1), row));
            assertEquals(7, row.getLong(CODE)); // 1 and 4 are hidden
            assertEquals(
                List.of(11, 10, 5, 6, 7, 8, 9),
                keys(t.index("expires").scan(tx, Range.all(), ScanOrder.ASCENDING)));
          });
      verify(db);
      clock.set(5_000);
      assertEquals(List.of(10, 11), keys(db, t));
    }
  }

  private static Key code(RowTable t, long code) {
    return t.index("by_code").key().set(code);
  }

  @ParameterizedTest
  @EnumSource
  void transactionSeesOneTime(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      db.run(
          tx -> {
            clock.set(1_000);
            assertTrue(t.exists(tx, t.key().set(5)));
            clock.set(9_000);
            assertTrue(t.exists(tx, t.key().set(5)));
            assertEquals(11, keys(t.scan(tx, Range.all(), ScanOrder.ASCENDING)).size());
          });
      db.run(tx -> assertFalse(t.exists(tx, t.key().set(5))));
    }
  }

  @Test
  void aRetryReadsTheClockAgain() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      List<Boolean> seen = new ArrayList<>();
      db.run(
          tx -> {
            seen.add(t.exists(tx, t.key().set(5)));
            if (tx.attempt() == 1) {
              clock.set(9_000);
              throw new TransactionAbortedException(AbortCause.VALIDATION);
            }
          });
      assertEquals(List.of(true, false), seen);
    }
  }

  @ParameterizedTest
  @EnumSource
  void ownWritesExpireToo(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      db.run(
          tx -> {
            t.insert(tx, t.key().set(20), row(t, 0, 20, 1)); // in the distant past
            assertFalse(t.exists(tx, t.key().set(20)));
            Row row = t.row();
            assertTrue(t.get(tx, t.key().set(5), row));
            t.update(tx, row.setLong(AT, 2));
            assertFalse(t.exists(tx, t.key().set(5)));
            assertTrue(t.get(tx, t.key().set(6), row));
            t.update(tx, row.setLong(AT, 0));
          });
      clock.set(9_000);
      assertEquals(List.of(6, 10, 11), keys(db, t));
      verify(db);
    }
  }

  // ------------------------------------------------------------------------------- replacement

  @ParameterizedTest
  @EnumSource
  void anExpiredRowCausesNoConflict(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      clock.set(1_040);
      db.run(
          tx -> {
            t.insert(tx, t.key().set(0), row(t, 7, 0, 1_040)); // its own key and code
            t.put(tx, t.key().set(1), row(t, 7, 1, 1_040));
            t.insert(tx, t.key().set(30), row(t, 7, 2, 1_040)); // the code of key 2
            t.put(tx, t.key().set(31), row(t, 7, 3, 1_040)); // the code of key 3
            Row row = t.row();
            assertTrue(t.get(tx, t.key().set(9), row));
            t.update(tx, row.setLong(CODE, 4)); // the code of key 4
            assertThrows(
                DuplicateKeyException.class,
                () -> t.insert(tx, t.key().set(5), row(t, 0, 50, 1_040)));
            assertThrows(
                DuplicateKeyException.class,
                () -> t.insert(tx, t.key().set(32), row(t, 0, 5, 1_040)));
          });
      assertEquals(5, db.sweepExpired() + 5); // nothing of 0 to 4 is left for the sweep
      verify(db);
      db.run(
          tx -> {
            Row row = t.row();
            assertTrue(t.index("by_code").get(tx, code(t, 2), row));
            assertEquals(7, row.getInt(COLOUR));
            assertFalse(t.exists(tx, t.key().set(2)));
            assertFalse(t.exists(tx, t.key().set(4)));
            assertTrue(t.index("by_code").get(tx, code(t, 4), row));
            assertFalse(t.index("by_code").get(tx, code(t, 9), row));
          });
    }
  }

  @ParameterizedTest
  @EnumSource
  void deletesAndUpdatesDoNotFindExpiredRows(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      clock.set(1_040);
      db.run(
          tx -> {
            assertFalse(t.delete(tx, t.key().set(0)));
            assertTrue(t.delete(tx, t.key().set(5)));
            assertEquals(2, t.deleteRange(tx, Range.all(), 2));
            assertEquals(4, t.deleteRange(tx, Range.all()));
          });
      assertEquals(List.of(), keys(db, t));
      assertEquals(5, db.sweepExpired());
      verify(db);
    }
  }

  private record Numbers() implements KeyCodec<Integer> {
    @Override
    public void encode(Integer value, Key to) {
      to.set(value);
    }

    @Override
    public Integer decode(Key from) {
      return from.getInt(0);
    }
  }

  private record Codes() implements Codec<Long> {
    @Override
    public void encode(Long value, Row to) {
      to.setLong(CODE, value);
    }

    @Override
    public Long decode(Row from) {
      return from.getLong(CODE);
    }
  }

  @Test
  void typedTablesHideExpiredRows() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      Table<Integer, Long> typed = t.as(new Numbers(), new Codes());
      clock.set(1_040);
      db.run(
          tx -> {
            assertNull(typed.get(tx, 4));
            assertEquals(5L, typed.get(tx, 5));
            List<Long> all = new ArrayList<>();
            typed.scan(tx, null, null, ScanOrder.ASCENDING, (k, v) -> all.add(v));
            assertEquals(7, all.size());
            assertEquals(7, typed.deleteRange(tx, null, null));
          });
    }
  }

  // ------------------------------------------------------------------------------------ the sweep

  private static long records(Database db, RowTable t) {
    return db.read(tx -> t.estimate(tx, Range.all())).count();
  }

  @ParameterizedTest
  @EnumSource
  void sweepRemovesExpiredRowsWithTheirEntries(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      assertEquals(0, db.sweepExpired());
      clock.set(1_040);
      assertEquals(12, records(db, t)); // hidden ones too
      assertEquals(5, db.sweepExpired());
      assertEquals(0, db.sweepExpired());
      assertEquals(7, records(db, t));
      assertEquals(5, db.stats().expiredRows().swept());
      verify(db);
    }
    try (Database db = open(protocol)) {
      assertEquals(List.of(5, 6, 7, 8, 9, 10, 11), keys(db, db.table(SPEC)));
      clock.set(9_000);
      assertEquals(5, db.sweepExpired());
      assertEquals(List.of(10, 11), keys(db, db.table(SPEC)));
    }
  }

  @Test
  void theSweepWorksInPiecesAndReportsItsLag() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      db.run(
          tx -> {
            for (int i = 0; i < 1_000; i++) {
              t.insert(tx, t.key().set(i), row(t, i % 3, i, 1 + i));
            }
          });
      clock.set(1_000); // up to 900
      assertEquals(900, db.sweepExpired());
      DatabaseStats.ExpiredRows stats = db.stats().expiredRows();
      assertEquals(900, stats.swept());
      assertTrue(stats.sweepTransactions() >= 8, stats::toString);
      assertEquals(0, stats.sweepFailures());
      // The last piece began after 7 of 128 rows.
      assertEquals(900 - (7 * 128 + 1), stats.sweepLagMillis());
      assertEquals(0, db.sweepExpired());
      assertEquals(0, db.stats().expiredRows().sweepLagMillis());
      verify(db);
    }
  }

  @Test
  void theBackgroundSweeps() {
    Options options = options().expiry(e -> e.sweepInterval(Duration.ofMillis(1)));
    try (Database db = Database.open(dir.resolve("db"), options)) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      clock.set(9_000);
      while (db.stats().expiredRows().swept() < 10) {
        Thread.onSpinWait();
      }
      assertEquals(List.of(10, 11), keys(db, t));
      fill2(db, t);
    }
    clock.set(99_000);
    // The thread starts with the database, before any table is opened.
    try (Database db = Database.open(dir.resolve("db"), options)) {
      while (db.stats().expiredRows().swept() < 1) {
        Thread.onSpinWait();
      }
    }
  }

  /**
   * A clock that jumps ten years ahead hides rows while it is ahead, but removes none; so does one
   * that is wrong when the database opens.
   */
  @Test
  void aJumpOfTheClockRemovesNothing() {
    Options options = options().expiry(e -> e.sweepInterval(Duration.ofNanos(1)));
    TableSpec days = SPEC.expireAfter(AT, Duration.ofDays(1)); // only real time advances
    List<Integer> all = List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    for (int opening = 0; opening < 2; opening++) {
      boolean wrongAtFirst = opening == 1;
      clock.set(wrongAtFirst ? 315_360_000_000L : 990);
      try (Database db = Database.open(dir.resolve("db"), options)) {
        RowTable t = db.table(days);
        if (!wrongAtFirst) {
          fill(db, t);
          awaitPieces(db, 3);
        }
        clock.set(315_360_000_000L);
        assertEquals(List.of(10, 11), keys(db, t));
        awaitPieces(db, 5);
        clock.set(990);
        assertEquals(all, keys(db, t), "opening " + opening);
        assertEquals(0, db.stats().expiredRows().swept());
        verify(db);
      }
    }
    clock.set(315_360_000_000L);
    try (Database db = open()) {
      RowTable t = db.table(days);
      assertEquals(10, db.sweepExpired(), "an explicit sweep removes them");
      assertEquals(List.of(10, 11), keys(db, t));
    }
  }

  private static void awaitPieces(Database db, int more) {
    long enough = db.stats().expiredRows().sweepTransactions() + more;
    while (db.stats().expiredRows().sweepTransactions() < enough) {
      Thread.onSpinWait();
    }
  }

  private static void fill2(Database db, RowTable t) {
    db.run(tx -> t.insert(tx, t.key().set(50), row(t, 1, 50, 9_000)));
  }

  @Test
  void theSweepWaitsForAnExtractor() {
    TableSpec extracted =
        SPEC.with(
            IndexSpec.extracted(
                "even",
                KeySpec.of(FieldType.INT64),
                false,
                (k, r, e) -> {
                  e.set(r.getLong(CODE) / 2);
                  return true;
                }));
    try (Database db = open()) {
      fill(db, db.table(extracted));
    }
    clock.set(1_040);
    try (Database db = open()) {
      assertEquals(0, db.sweepExpired());
      db.table(extracted);
      assertEquals(5, db.sweepExpired());
      verify(db);
    }
  }

  /** Each reads what the other writes, so one of the two must not commit. */
  @Test
  void hidingARowConflictsWithItsRenewal() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      clock.set(1_040);
      try (Transaction hides = db.begin();
          Transaction revives = db.begin()) {
        assertFalse(t.exists(hides, t.key().set(0)));
        assertTrue(t.exists(revives, t.key().set(10)));
        t.put(hides, t.key().set(10), row(t, 1, 10, 0));
        t.put(revives, t.key().set(0), row(t, 1, 0, 1_040));
        hides.commit();
        assertThrows(TransactionAbortedException.class, revives::commit);
      }
    }
  }

  /** For a transaction that has seen the row, the sweep is a delete like any other. */
  @Test
  void readingARowConflictsWithItsSweep() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      try (Transaction sees = db.begin()) {
        Row row = t.row();
        assertTrue(t.get(sees, t.key().set(0), row));
        clock.set(1_040);
        Thread sweep = new Thread(() -> assertEquals(5, db.sweepExpired()));
        sweep.start();
        join(sweep);
        assertEquals(5, db.stats().expiredRows().swept());
        row.setInt(COLOUR, 2);
        assertThrows(
            TransactionAbortedException.class,
            () -> {
              t.update(sees, row);
              sees.commit();
            });
      }
    }
  }

  private static void join(Thread t) {
    try {
      t.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  // ------------------------------------------------------------------------- snapshots, reopening

  @Test
  void aSnapshotKeepsItsTime() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      clock.set(1_020);
      try (Database then = db.snapshot()) {
        clock.set(9_000);
        assertEquals(10, db.sweepExpired());
        RowTable old = then.table(SPEC);
        assertEquals(List.of(3, 4, 5, 6, 7, 8, 9, 10, 11), keys(then, old));
        assertThrows(InvalidUseException.class, then::sweepExpired);
      }
    }
  }

  @Test
  void aReadOnlyDatabaseHidesRowsAndIsNotSwept() {
    try (Database db = open()) {
      fill(db, db.table(SPEC));
    }
    clock.set(1_040);
    Options reads = options().readOnly(true).expiry(e -> e.sweepInterval(Duration.ofMillis(1)));
    try (Database db = Database.open(dir.resolve("db"), reads)) {
      assertEquals(7, keys(db, db.table(SPEC)).size());
      assertThrows(InvalidUseException.class, db::sweepExpired);
      TableSpec other = SPEC.expireAfter(AT, Duration.ofMillis(7));
      assertThrows(InvalidUseException.class, () -> db.table(other));
    }
    try (Database db = open()) {
      db.table(SPEC);
      assertEquals(5, db.sweepExpired());
    }
  }

  // ------------------------------------------------------------------------------- the expiry

  @Test
  void expiryIsAddedChangedAndDropped() {
    TableSpec without =
        TableSpec.of("events", KEY, LAYOUT)
            .with(IndexSpec.on("by_colour", COLOUR))
            .with(IndexSpec.unique("by_code", CODE));
    try (Database db = open()) {
      RowTable t = db.table(without);
      fill(db, t);
      clock.set(1_040);
      assertEquals(12, keys(db, t).size());
      db.table(SPEC); // builds the index, and hides
      assertEquals(7, keys(db, t).size());
      assertThrows(IncompatibleSchemaException.class, () -> db.table(without));
    }
    try (Database db = open()) {
      FoveaException e = assertThrows(IncompatibleSchemaException.class, () -> db.table(without));
      assertTrue(e.getMessage().contains("dropExpiry"), e.getMessage());
      RowTable t = db.table(SPEC);
      assertEquals(7, keys(db, t).size());
      db.table(SPEC.expireAfter(AT, Duration.ofMillis(120)));
      assertEquals(9, keys(db, t).size());
    }
    try (Database db = open()) {
      RowTable t = db.table(SPEC.expireAfter(AT, Duration.ofMillis(120)));
      assertEquals(9, keys(db, t).size());
      e(() -> db.dropIndex("events", "expires"), "dropExpiry");
      db.run(tx -> e(() -> db.dropExpiry("events"), "transaction"));
      assertTrue(db.dropExpiry("events"));
      assertFalse(db.dropExpiry("events"));
      assertFalse(db.dropExpiry("nothing"));
      assertEquals(12, keys(db, t).size());
      assertEquals(0, db.sweepExpired());
      assertTrue(db.dropIndex("events", "expires"));
    }
    try (Database db = open()) {
      assertEquals(12, keys(db, db.table(without)).size());
      verify(db);
    }
  }

  private static void e(Runnable what, String says) {
    FoveaException e = assertThrows(InvalidUseException.class, what::run);
    assertTrue(e.getMessage().contains(says), e.getMessage());
  }

  @Test
  void aUniqueIndexIsBuiltOverExpiredRows() {
    TableSpec plain = TableSpec.of("plain", KEY, LAYOUT).expireAfter(AT, Duration.ZERO);
    try (Database db = open()) {
      RowTable t = db.table(plain);
      clock.set(1_000);
      db.run(
          tx -> {
            t.insert(tx, t.key().set(1), row(t, 0, 5, 990)); // hidden, before
            t.insert(tx, t.key().set(2), row(t, 0, 5, 2_000));
            t.insert(tx, t.key().set(3), row(t, 0, 5, 991)); // hidden, after
            t.insert(tx, t.key().set(4), row(t, 0, 6, 1_001));
            t.insert(tx, t.key().set(5), row(t, 0, 7, 0));
          });
      RowTable u = db.table(plain.with(IndexSpec.unique("by_code", CODE)));
      assertEquals(0, db.sweepExpired());
      db.run(
          tx -> {
            Row row = u.row();
            assertTrue(u.index("by_code").get(tx, code(u, 5), row));
            assertEquals(2_000, row.getLong(AT));
          });
      verify(db);
    }
  }

  @Test
  void renamedTablesAndOtherIndexesKeepTheExpiry() {
    TableSpec own =
        TableSpec.of("own", KEY, LAYOUT)
            .with(IndexSpec.on("by_time", AT, COLOUR))
            .expireAfter(AT, Duration.ofMillis(100));
    assertEquals(1, own.indexes().size());
    try (Database db = open()) {
      fill(db, db.table(own));
      assertTrue(db.renameTable("own", "other"));
      assertTrue(db.renameIndex("other", "by_time", "times"));
    }
    clock.set(1_040);
    try (Database db = open()) {
      RowTable t =
          db.table(
              TableSpec.of("other", KEY, LAYOUT)
                  .with(IndexSpec.on("times", AT, COLOUR))
                  .expireAfter(AT, Duration.ofMillis(100)));
      assertEquals(5, db.sweepExpired());
      assertEquals(7, keys(db, t).size());
      assertTrue(db.dropTable("other"));
      assertEquals(0, db.sweepExpired());
    }
  }

  @Test
  void invalidSpecificationsAreRefused() {
    TableSpec t = TableSpec.of("t", KEY, LAYOUT);
    Duration hour = Duration.ofHours(1);
    assertThrows(IllegalArgumentException.class, () -> t.expireAfter(COLOUR, hour));
    assertThrows(IllegalArgumentException.class, () -> t.expireAfter(AT, Duration.ofMillis(-1)));
    assertThrows(
        IllegalArgumentException.class,
        () -> t.expireAfter(AT, Duration.ofSeconds(Long.MAX_VALUE)));
    assertThrows(
        IllegalArgumentException.class,
        () -> t.expireAfter(Layout.define().int64("another"), hour));
    assertThrows(
        IllegalArgumentException.class,
        () -> t.expireAfter(KeySpec.of(FieldType.INT64).parts().getFirst(), hour));
    assertThrows(
        IllegalArgumentException.class, () -> TableSpec.bytes("b", 9).expireAfter(AT, hour));
    assertThrows(
        IllegalArgumentException.class,
        () -> t.with(IndexSpec.on("expires", COLOUR)).expireAfter(AT, hour));
    TableSpec with = t.expireAfter(AT, hour.plusNanos(1));
    assertEquals(new Expiry.OfRows(AT, hour), with.expiry());
    assertNotNull(with.with(IndexSpec.on("more", COLOUR)).expiry());
    assertTrue(with.toString().contains("rows expire PT1H after at"), with.toString());
    assertNull(t.expiry());
    // No time overflows, however large it is.
    try (Database db = Database.inMemory(options())) {
      RowTable far = db.table(t.expireAfter(AT, Duration.ofMillis(Long.MAX_VALUE)));
      RowTable now = db.table(TableSpec.of("now", KEY, LAYOUT).expireAfter(AT, Duration.ZERO));
      db.run(
          tx -> {
            far.insert(tx, far.key().set(1), row(far, 0, 1, 1));
            now.insert(tx, now.key().set(1), row(now, 0, 1, Long.MAX_VALUE));
            assertTrue(far.exists(tx, far.key().set(1)));
            assertTrue(now.exists(tx, now.key().set(1)));
          });
      clock.set(Long.MAX_VALUE - 1);
      assertEquals(0, db.sweepExpired());
      clock.set(-1);
      assertEquals(0, db.sweepExpired());
    }
  }
}
