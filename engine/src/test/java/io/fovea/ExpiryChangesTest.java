package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Duplicates;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Rows that expire in tables that evolve, are loaded or counted, are created in transactions, or
 * are viewed as maps.
 */
class ExpiryChangesTest {
  private static final KeySpec KEY = KeySpec.of(FieldType.INT32);
  private static final Duration AFTER = Duration.ofMillis(100);
  private static final Layout FIRST = layout("colour", FieldType.INT32, "code", "at");

  private static final TableSpec SPEC =
      TableSpec.of("events", KEY, FIRST)
          .with(IndexSpec.unique("by_code", FIRST.field("code")))
          .expireAfter(FIRST.field("at"), AFTER);

  private final SetClock clock = new SetClock(990);

  @TempDir Path dir;

  private static Layout layout(String first, FieldType type, String... rest) {
    Layout.Definition b = Layout.define();
    b.add(first, type, type == FieldType.INT32 ? 4 : 8);
    for (String name : rest) {
      b.int64(name);
    }
    return b.build();
  }

  private Options options() {
    return Options.defaults().expiry(e -> e.clock(clock).sweepInterval(Duration.ZERO));
  }

  private Database open() {
    return Database.open(dir.resolve("db"), options());
  }

  /** Inserts keys 0 to 9 with times 900 to 990, and one that never expires. */
  private static void fill(Database db, RowTable t) {
    db.run(
        tx -> {
          for (int i = 0; i < 10; i++) {
            t.insert(tx, t.key().set(i), row(t, i, 900 + 10 * i));
          }
          t.insert(tx, t.key().set(10), row(t, 10, 0));
        });
  }

  private static Row row(RowTable t, long code, long at) {
    Layout l = t.spec().layout();
    return t.row().setLong(l.field("code"), code).setLong(l.field("at"), at);
  }

  private static List<Integer> keys(Database db, RowTable t) {
    return db.read(tx -> keys(t.scan(tx, Range.all(), ScanOrder.ASCENDING)));
  }

  private static List<Integer> keys(RowCursor scan) {
    List<Integer> found = new ArrayList<>();
    try (RowCursor c = scan) {
      while (c.next()) {
        found.add(c.key().getInt(0));
        c.row();
      }
    }
    return found;
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  // ------------------------------------------------------------------------------------ evolution

  /** The time has a different name and offset, and rows are shorter or longer than before. */
  @Test
  void rowsOfOlderLayoutsExpireByTheNewestField() {
    Layout now = layout("more", FieldType.INT64, "due", "code");
    TableSpec next =
        TableSpec.builder("events", KEY, now)
            .version(2, Step.rename("at", "due"), Step.drop("colour"), Step.add("more", 7))
            .index(IndexSpec.unique("by_code", now.field("code")))
            .build()
            .expireAfter(now.field("due"), AFTER);
    // "expires" is the name of the index on the field in both versions.
    try (Database db = open()) {
      fill(db, db.table(SPEC));
      RowTable t = db.table(next);
      clock.set(1_040); // 900 to 940 have expired
      assertEquals(List.of(5, 6, 7, 8, 9, 10), keys(db, t));
      db.run(
          tx -> {
            Row row = t.row();
            Batch batch = t.batch(11);
            RowIndex codes = t.index("by_code");
            Projection more = Projection.of(now, now.field("more"));
            for (int i = 0; i < 11; i++) {
              boolean there = i >= 5;
              Key k = t.key().set(i);
              assertEquals(there, t.get(tx, k, row));
              assertEquals(there, t.get(tx, k, row, more));
              assertEquals(there, t.exists(tx, k));
              assertEquals(there, codes.get(tx, codes.key().set((long) i), row));
              batch.add(k);
            }
            assertEquals(6, t.getAll(tx, batch));
            assertEquals(
                List.of(10, 5, 6, 7, 8, 9),
                keys(t.index("expires").scan(tx, Range.all(), ScanOrder.ASCENDING)));
            assertFalse(t.delete(tx, t.key().set(0)));
            t.insert(tx, t.key().set(0), fresh(t, 100, 1_500)); // over an expired one
            t.put(tx, t.key().set(20), fresh(t, 1, 1_500)); // with the code of an expired one
            t.get(tx, t.key().set(5), row);
            row.setLong(now.field("due"), 1_600);
            t.update(tx, row); // an expired one
          });
      long gone = db.call(tx -> t.deleteRange(tx, Range.between(t.key().set(1), t.key().set(6))));
      assertEquals(2, gone); // 5 and 6: earlier ones are hidden
      assertEquals(List.of(0, 7, 8, 9, 10, 20), keys(db, t));
      assertEquals(3, db.sweepExpired()); // 2 to 4: 0 and 1 were replaced
      verify(db);
      clock.set(1_080);
      assertEquals(List.of(0, 9, 10, 20), keys(db, t));
    }
  }

  private static Row fresh(RowTable t, long code, long due) {
    Layout l = t.spec().layout();
    return t.row().setLong(l.field("code"), code).setLong(l.field("due"), due);
  }

  /** Rows without a time get one from its default, and all expire at the same time. */
  @Test
  void aTableGetsItsTimeFieldAndExpiryTogether() {
    Layout before = layout("colour", FieldType.INT32, "code");
    TableSpec first = TableSpec.of("events", KEY, before);
    TableSpec next =
        TableSpec.builder("events", KEY, FIRST)
            .version(2, Step.add("at", 900))
            .build()
            .expireAfter(FIRST.field("at"), AFTER);
    try (Database db = open()) {
      RowTable old = db.table(first);
      db.run(
          tx -> {
            for (int i = 0; i < 300; i++) {
              old.insert(tx, old.key().set(i), old.row().setLong(before.field("code"), i));
            }
          });
      RowTable t = db.table(next);
      db.run(tx -> t.put(tx, t.key().set(7), row(t, 7, 2_000)));
      assertEquals(300, keys(db, t).size());
      clock.set(1_000);
      assertEquals(List.of(7), keys(db, t));
    }
    try (Database db = open()) {
      RowTable t = db.table(next);
      assertEquals(List.of(7), keys(db, t));
      assertEquals(300, t.count());
      assertEquals(299, db.sweepExpired());
      assertEquals(1, t.count());
      assertEquals(1, t.index("expires").count());
      verify(db);
    }
  }

  /** The index on a widened field is rebuilt; even before that, rows are hidden. */
  @Test
  void aWidenedFieldBecomesTheTime() {
    Layout narrow = layout("at", FieldType.INT32, "code");
    Layout wide = layout("at", FieldType.INT64, "code");
    TableSpec first =
        TableSpec.of("events", KEY, narrow).with(IndexSpec.on("expires", narrow.field("at")));
    TableSpec next =
        TableSpec.builder("events", KEY, wide)
            .version(2, Step.widen("at"))
            .build()
            .expireAfter(wide.field("at"), AFTER);
    try (Database db = open()) {
      RowTable old = db.table(first);
      db.run(
          tx -> {
            for (int i = 0; i < 10; i++) {
              old.insert(tx, old.key().set(i), old.row().setInt(narrow.field("at"), 900 + 10 * i));
            }
          });
      clock.set(1_040);
      RowTable t = db.table(next);
      assertEquals(List.of(5, 6, 7, 8, 9), keys(db, t));
      assertEquals(5, db.sweepExpired());
      verify(db);
    }
  }

  @Test
  void stepsThatDropTheTimeFieldAreRefused() {
    Layout left = layout("colour", FieldType.INT32, "code");
    TableSpec drops =
        TableSpec.builder("events", KEY, left)
            .version(2, Step.drop("at"))
            .index(IndexSpec.unique("by_code", left.field("code")))
            .build();
    TableSpec.Builder second =
        TableSpec.builder("events", KEY, FIRST)
            .version(2)
            .index(IndexSpec.unique("by_code", FIRST.field("code")))
            .index(IndexSpec.on("expires", FIRST.field("at")));
    TableSpec silent = second.build();
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      clock.set(1_040);
      refused("rows expire by it. Remove the expiry first, with Database.dropExpiry", db, drops);
      refused("but the specification has no expiry", db, silent);
      assertEquals(6, keys(db, t).size()); // unchanged
      RowTable longer = db.table(silent.expireAfter(FIRST.field("at"), Duration.ofMillis(120)));
      assertEquals(List.of(3, 4, 5, 6, 7, 8, 9, 10), keys(db, longer));
      assertTrue(db.dropExpiry("events"));
      assertEquals(11, keys(db, longer).size());
      TableSpec third =
          TableSpec.builder("events", KEY, left)
              .version(2)
              .version(3, Step.drop("at"))
              .index(IndexSpec.unique("by_code", left.field("code")))
              .build();
      assertTrue(db.dropIndex("events", "expires"));
      assertEquals(11, keys(db, db.table(third)).size());
      verify(db);
    }
  }

  private static void refused(String says, Database db, TableSpec spec) {
    FoveaException e = assertThrows(IncompatibleSchemaException.class, () -> db.table(spec));
    assertTrue(e.getMessage().contains(says), e.getMessage());
  }

  /**
   * A crash between the catalog record of an evolution and the build of its index by time leaves no
   * index.
   */
  @Test
  void withoutItsIndexRowsAreHiddenAndReplaced() {
    TableSpec plain = TableSpec.of("events", KEY, FIRST).expireAfter(FIRST.field("at"), AFTER);
    try (Database db = open()) {
      RowTable t = db.table(plain);
      fill(db, t);
      clock.set(1_040);
      db.schema().core("events").remove(db.schema().core("events").index("expires").tree);
      assertEquals(0, db.sweepExpired());
      db.run(
          tx -> {
            assertFalse(t.delete(tx, t.key().set(1)));
            t.insert(tx, t.key().set(2), row(t, 2, 2_000));
            t.put(tx, t.key().set(3), row(t, 3, 2_000));
            assertEquals(1, t.deleteRange(tx, Range.between(t.key().set(4), t.key().set(5))));
          });
      assertEquals(List.of(2, 3, 6, 7, 8, 9, 10), keys(db, t));
    }
  }

  // ------------------------------------------------------------------------------ loads and counts

  @Test
  void aLoadOmitsExpiredRows() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      clock.set(1_040); // 0 to 4 have expired
      Key key = t.key();
      assertThrows(
          DuplicateKeyException.class,
          () -> t.load(into -> into.add(key.set(5), row(t, 50, 2_000))));
      LoadReport report =
          t.load(
              into -> {
                into.add(key.set(0), row(t, 100, 2_000)); // over one that has expired
                into.add(key.set(1), row(t, 101, 910)); // likewise, and itself expired
                into.add(key.set(20), row(t, 2, 2_000)); // with the code of an expired one
                into.add(key.set(21), row(t, 2, 900)); // with that code, and expired
              });
      assertEquals(4, report.added());
      assertEquals(0, report.replaced());
      assertEquals(8, report.records());
      assertEquals(8, t.count());
      assertEquals(8, t.index("expires").count());
      assertEquals(List.of(0, 5, 6, 7, 8, 9, 10, 20), keys(db, t));
      assertEquals(0, db.sweepExpired());
      assertEquals(7, db.stats().expiredRows().swept()); // 0 to 4, 1 and 21 of the source
      LoadReport over =
          t.load(
              LoadOptions.defaults().duplicates(Duplicates.REPLACE),
              into -> into.add(key.set(5), row(t, 5, 900))); // replaces one, and is expired
      assertEquals(1, over.replaced());
      assertEquals(List.of(0, 6, 7, 8, 9, 10, 20), keys(db, t));
      verify(db);
    }
  }

  /** The sweep skips a table whose records a load reads without a transaction. */
  @Test
  void theSweepWaitsForALoad() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      t.load(
          into -> {
            clock.set(1_040);
            assertEquals(0, db.sweepExpired());
            into.add(t.key().set(30), row(t, 30, 2_000));
          });
      // The transaction began before 900 had expired.
      assertEquals(5, db.sweepExpired());
      assertEquals(List.of(5, 6, 7, 8, 9, 10, 30), keys(db, t));
      verify(db);
    }
  }

  @Test
  void countsIncludeHiddenRowsUntilTheSweep() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      clock.set(1_040);
      assertEquals(11, t.count());
      long bytes = t.dataBytes();
      assertEquals(6, keys(db, t).size());
      assertEquals(5, db.stats().expiredRows().deferred());
      assertEquals(5, db.sweepExpired());
      assertEquals(6, t.count());
      assertEquals(6, t.index("by_code").count());
      assertTrue(t.dataBytes() < bytes);
    }
  }

  // --------------------------------------------------------------------------------- transactions

  @Test
  void tablesCreatedInTransactionsExpireAfterTheCommit() {
    try (Database db = open()) {
      try (Transaction tx = db.begin()) {
        RowTable t = tx.table(SPEC);
        t.insert(tx, t.key().set(1), row(t, 1, 880));
        assertFalse(t.exists(tx, t.key().set(1)));
        t.insert(tx, t.key().set(1), row(t, 2, 950)); // over it
        tx.rollback();
      }
      assertEquals(0, db.sweepExpired());
      db.run(
          tx -> {
            RowTable t = tx.table(SPEC);
            t.insert(tx, t.key().set(1), row(t, 1, 880));
            t.insert(tx, t.key().set(2), row(t, 2, 950));
          });
      RowTable t = db.table(SPEC);
      assertEquals(List.of(2), keys(db, t));
      assertEquals(1, db.sweepExpired());
      TableSpec longer = SPEC.expireAfter(FIRST.field("at"), Duration.ofSeconds(9));
      db.run(
          tx -> assertThrows(InvalidUseException.class, () -> tx.table(longer))); // outside of it
      db.run(
          tx -> {
            tx.renameTable("events", "past");
            tx.table(SPEC);
          });
      clock.set(1_050);
      assertEquals(1, db.sweepExpired());
      db.run(tx -> tx.dropTable("past"));
      assertEquals(List.of(), keys(db, db.table(SPEC)));
    }
    try (Database db = open()) {
      assertEquals(List.of("events"), db.tables());
      refused(
          "but the specification has no expiry",
          db,
          TableSpec.of("events", KEY, FIRST)
              .with(IndexSpec.unique("by_code", FIRST.field("code")))
              .with(IndexSpec.on("expires", FIRST.field("at"))));
      verify(db);
    }
  }

  /** The thread runs as long as there are tables to sweep, however they were created. */
  @Test
  void theThreadStartsAndEndsWithTheTables() {
    String name = "fovea-sweep " + dir;
    Options often =
        options().name(dir.toString()).expiry(e -> e.sweepInterval(Duration.ofNanos(1)));
    try (Database db = Database.inMemory(often)) {
      for (int i = 0; i < 3; i++) {
        assertFalse(runs(name));
        if (i % 2 == 0) {
          db.run(tx -> tx.table(SPEC));
        } else {
          db.table(SPEC);
        }
        RowTable t = db.table(SPEC);
        assertTrue(runs(name));
        fill(db, t);
        for (int n = 0; n < 200; n++) { // it ends with the last table, and never earlier
          db.renameTable("events", "others");
          db.renameTable("others", "events");
        }
        long before = db.stats().expiredRows().swept();
        clock.set(1_040);
        while (db.stats().expiredRows().swept() < before + 5) {
          Thread.onSpinWait();
        }
        if (i % 2 == 0) {
          db.dropTable("events");
        } else {
          db.run(tx -> tx.dropTable("events"));
        }
        while (runs(name)) {
          Thread.onSpinWait();
        }
        clock.set(990);
      }
    }
  }

  private static boolean runs(String name) {
    return Thread.getAllStackTraces().keySet().stream().anyMatch(t -> t.getName().equals(name));
  }

  // ----------------------------------------------------------------------------------------- maps

  @Test
  void mapsHideExpiredRows() {
    try (Database db = open()) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      TableMap<Integer, Long> map = t.as(new Keys(), new Codes()).asMap();
      assertEquals(11, map.size());
      clock.set(1_040);
      assertEquals(6, map.size());
      assertEquals(List.of(5, 6, 7, 8, 9, 10), List.copyOf(map.keySet()));
      assertNull(map.get(0));
      assertFalse(map.containsKey(0));
      assertEquals(5, map.firstKey());
      assertNull(map.remove(0));
      assertNull(map.putIfAbsent(0, 70L));
      assertEquals(70L, map.get(0));
      assertNull(map.put(1, 71L));
      map.clear();
      assertTrue(map.isEmpty());
      assertEquals(3, db.sweepExpired());
      assertEquals(0, t.count());
      verify(db);
    }
  }

  private static final class Keys implements KeyCodec<Integer> {
    @Override
    public void encode(Integer value, Key to) {
      to.set(value);
    }

    @Override
    public Integer decode(Key from) {
      return from.getInt(0);
    }
  }

  private static final class Codes implements Codec<Long> {
    @Override
    public void encode(Long value, Row to) {
      to.setLong(FIRST.field("code"), value);
    }

    @Override
    public Long decode(Row from) {
      return from.getLong(FIRST.field("code"));
    }
  }
}
