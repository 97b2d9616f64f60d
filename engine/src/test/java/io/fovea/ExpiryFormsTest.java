package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Expiry;
import io.fovea.schema.Formerly;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.Initial;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Expiring objects and byte strings; {@link ExpiryTest} has the same tests for rows: adding,
 * changing and dropping the expiry, and its effect on sweeps, loads, snapshots and the change feed.
 * {@link TableOperationsTest} tests each operation.
 */
class ExpiryFormsTest {
  private static final Duration AFTER = Duration.ofMillis(100);

  public record Event(@Id long id, long code, long at) {}

  public record Meeting(@Id long id, long code, Span span) {}

  public record Span(String where, Optional<Instant> end) {}

  /** Events of another class, in which the time is renamed and nullable. */
  public record Later(
      @Id long id, long code, @Initial("") String more, @Formerly("at") @Nullable Long when) {}

  private static final ObjectSpec<Long, Event> EVENTS =
      ObjectSpec.of("events", Long.class, Event.class).unique("by_code", "code");
  private static final ObjectSpec<Long, Meeting> MEETINGS =
      ObjectSpec.of("events", Long.class, Meeting.class).unique("by_code", "code");

  private static final TableSpec BYTES =
      TableSpec.bytes("events", 8)
          .with(
              IndexSpec.bytes(
                  "by_code",
                  KeySpec.builder().int64("code").build(),
                  true,
                  (key, value, entry) -> {
                    entry.int64(ByteBuffer.wrap(value).getLong());
                    return true;
                  }));

  /** Records with a number, a unique code, and a time. */
  private record Form<K, V>(
      String name,
      TableSpec plain,
      TableSpec spec,
      TableSpec longer,
      TableSpec days,
      Opener<K, V> opener,
      LongFunction<K> key,
      ToLongFunction<K> number,
      Maker<V> maker) {

    Table<K, V> open(Database db, TableSpec as) {
      return opener.open(db, as);
    }

    List<Long> numbers(Database db, Table<K, V> t) {
      return db.read(tx -> t.stream(tx).map(e -> number.applyAsLong(e.getKey())).toList());
    }

    /** Inserts numbers 0 to 9 with times 900 to 990, and one that never expires. */
    void fill(Database db, Table<K, V> t) {
      db.run(
          tx -> {
            for (int i = 0; i < 10; i++) {
              t.insert(tx, key.apply(i), maker.value(i, i, 900 + 10 * i));
            }
            t.insert(tx, key.apply(10), maker.value(10, 10, 0));
          });
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private interface Maker<V> {
    V value(long id, long code, long at);
  }

  private interface Opener<K, V> {
    Table<K, V> open(Database db, TableSpec as);
  }

  private static byte[] key(long id) {
    return ByteBuffer.allocate(8).putLong(id).array();
  }

  private static byte[] value(long code, long at) {
    return ByteBuffer.allocate(20).putLong(code).putInt(7).putLong(at).array();
  }

  private static <V> Form<Long, V> objects(
      String name, ObjectSpec<Long, V> plain, String by, Maker<V> maker) {
    ObjectSpec<Long, V> spec = plain.expireAfter(by, AFTER);
    ObjectSpec<Long, V> longer = plain.expireAfter(by, Duration.ofMillis(120));
    ObjectSpec<Long, V> days = plain.expireAfter(by, Duration.ofDays(1));
    Map<Duration, ObjectSpec<Long, V>> all = new HashMap<>();
    List.of(spec, longer, days).forEach(s -> all.put(s.table().expiry().after(), s));
    return new Form<>(
        name,
        plain.table(),
        spec.table(),
        longer.table(),
        days.table(),
        (db, as) -> {
          Expiry e = as.expiry();
          return db.table(e == null ? plain : all.get(e.after()));
        },
        Long::valueOf,
        Long::longValue,
        maker);
  }

  static Stream<Form<?, ?>> forms() {
    return Stream.of(
        new Form<>(
            "byte strings",
            BYTES,
            BYTES.expireAfter(12, AFTER),
            BYTES.expireAfter(12, Duration.ofMillis(120)),
            BYTES.expireAfter(12, Duration.ofDays(1)),
            (db, as) -> db.table(as).bytes(),
            ExpiryFormsTest::key,
            k -> ByteBuffer.wrap(k).getLong(),
            (id, code, at) -> value(code, at)),
        objects("milliseconds of objects", EVENTS, "at", Event::new),
        objects(
            "instants of objects",
            MEETINGS,
            "span.end",
            (id, code, at) ->
                new Meeting(
                    id,
                    code,
                    new Span(
                        "here",
                        at == 0 ? Optional.empty() : Optional.of(Instant.ofEpochMilli(at))))));
  }

  private final SetClock clock = new SetClock(990);

  @TempDir Path dir;

  private Options options() {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .expiry(e -> e.clock(clock).sweepInterval(Duration.ZERO));
  }

  private Database open() {
    return Database.open(dir.resolve("db"), options());
  }

  private static void verify(Database db) {
    assertEquals(List.of(), db.verify().problems());
  }

  private static final List<Long> SEEN = List.of(5L, 6L, 7L, 8L, 9L, 10L);

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void sweepRemovesExpiredRecordsWithTheirEntries(Form<K, V> form) {
    try (Database db = open()) {
      Table<K, V> t = form.open(db, form.spec);
      form.fill(db, t);
      assertEquals(0, db.sweepExpired());
      clock.set(1_040); // 900 to 940 have expired
      assertEquals(SEEN, form.numbers(db, t));
      assertEquals(11, t.count());
      assertEquals(5, db.sweepExpired());
      assertEquals(6, t.count());
      for (String index : List.of("expires", "by_code")) {
        assertEquals(6, t.table().index(index).count());
      }
      verify(db);
    }
    clock.set(9_000);
    try (Database db = open()) {
      if (form.name.startsWith("byte")) {
        assertEquals(0, db.sweepExpired()); // the extractor of the program is unknown
        form.open(db, form.spec);
      }
      assertEquals(5, db.sweepExpired());
      assertEquals(List.of(10L), form.numbers(db, form.open(db, form.spec)));
      verify(db);
    }
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void theBackgroundSweeps(Form<K, V> form) {
    Options often = options().expiry(e -> e.sweepInterval(Duration.ofMillis(1)));
    try (Database db = Database.open(dir.resolve("db"), often)) {
      Table<K, V> t = form.open(db, form.spec);
      form.fill(db, t);
      clock.set(9_000);
      while (db.stats().expiredRows().swept() < 10) {
        Thread.onSpinWait();
      }
      assertEquals(List.of(10L), form.numbers(db, t));
      verify(db);
    }
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void aJumpOfTheClockRemovesNothing(Form<K, V> form) {
    Options often = options().expiry(e -> e.sweepInterval(Duration.ofMillis(1)));
    try (Database db = Database.open(dir.resolve("db"), often)) {
      Table<K, V> t = form.open(db, form.days); // this clock does not advance, but real time does
      form.fill(db, t);
      clock.set(315_360_000_000L);
      assertEquals(List.of(10L), form.numbers(db, t));
      long enough = db.stats().expiredRows().sweepTransactions() + 5;
      while (db.stats().expiredRows().sweepTransactions() < enough) {
        Thread.onSpinWait();
      }
      clock.set(990);
      assertEquals(11, t.count());
      assertEquals(11, form.numbers(db, t).size());
    }
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void expiryIsAddedChangedAndDropped(Form<K, V> form) {
    try (Database db = open()) {
      Table<K, V> t = form.open(db, form.plain);
      form.fill(db, t);
      clock.set(1_040);
      assertEquals(11, form.numbers(db, t).size());
      form.open(db, form.spec); // builds the index, and hides
      assertEquals(SEEN, form.numbers(db, t));
      assertThrows(IncompatibleSchemaException.class, () -> form.open(db, form.plain));
    }
    try (Database db = open()) {
      assertEquals(form.spec.expiry(), db.describe("events").expiry());
      FoveaException e =
          assertThrows(IncompatibleSchemaException.class, () -> form.open(db, form.plain));
      assertTrue(e.getMessage().contains("dropExpiry"), e.getMessage());
      Table<K, V> t = form.open(db, form.spec);
      assertEquals(SEEN, form.numbers(db, t));
      form.open(db, form.longer);
      assertEquals(8, form.numbers(db, t).size());
    }
    try (Database db = open()) {
      Table<K, V> t = form.open(db, form.longer);
      assertEquals(8, form.numbers(db, t).size());
      e(() -> db.dropIndex("events", "expires"), "dropExpiry");
      assertTrue(db.dropExpiry("events"));
      assertFalse(db.dropExpiry("events"));
      assertEquals(11, form.numbers(db, t).size());
      assertEquals(0, db.sweepExpired());
      // The index of byte strings does not exist without the expiry.
      assertEquals(!form.name.startsWith("byte"), db.dropIndex("events", "expires"));
      verify(db);
    }
    try (Database db = open()) {
      assertNull(db.describe("events").expiry());
      Table<K, V> t = form.open(db, form.plain);
      assertEquals(11, form.numbers(db, t).size());
      form.open(db, form.spec);
      assertEquals(5, db.sweepExpired());
      verify(db);
    }
  }

  private static void e(Runnable what, String says) {
    FoveaException e = assertThrows(InvalidUseException.class, what::run);
    assertTrue(e.getMessage().contains(says), e.getMessage());
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void transactionsAndSnapshotsHaveTheirOwnTime(Form<K, V> form) {
    try (Database db = open()) {
      Table<K, V> t = form.open(db, form.spec);
      form.fill(db, t);
      db.run(
          tx -> {
            clock.set(1_000);
            assertTrue(t.exists(tx, form.key.apply(5)));
            clock.set(9_000);
            assertTrue(t.exists(tx, form.key.apply(5)));
            assertEquals(10, t.stream(tx).count());
          });
      db.run(tx -> assertFalse(t.exists(tx, form.key.apply(5))));
      clock.set(1_020);
      try (Database then = db.snapshot()) {
        clock.set(9_000);
        assertEquals(10, db.sweepExpired());
        Table<K, V> old = form.open(then, form.spec);
        assertEquals(List.of(3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L), form.numbers(then, old));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void loadsOmitExpiredRecords(Form<K, V> form) {
    try (Database db = open()) {
      Table<K, V> t = form.open(db, form.spec);
      form.fill(db, t);
      clock.set(1_040);
      LoadReport report =
          t.load(
              LoadOptions.defaults(),
              into -> {
                into.add(form.key.apply(0), form.maker.value(0, 0, 1_000)); // over one that expired
                into.add(form.key.apply(20), form.maker.value(20, 20, 1)); // in the distant past
                into.add(form.key.apply(21), form.maker.value(21, 21, 1_000));
              });
      assertEquals(List.of(0L, 5L, 6L, 7L, 8L, 9L, 10L, 21L), form.numbers(db, t));
      assertEquals(8, report.records());
      assertEquals(0, db.sweepExpired());
      verify(db);
    }
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void readingARecordConflictsWithItsSweep(Form<K, V> form) {
    try (Database db = open()) {
      Table<K, V> t = form.open(db, form.spec);
      form.fill(db, t);
      clock.set(1_040);
      try (Transaction hides = db.begin();
          Transaction revives = db.begin()) {
        assertFalse(t.exists(hides, form.key.apply(0)));
        assertTrue(t.exists(revives, form.key.apply(10)));
        t.put(hides, form.key.apply(10), form.maker.value(10, 10, 0));
        t.put(revives, form.key.apply(0), form.maker.value(0, 0, 1_040));
        hides.commit();
        assertThrows(TransactionAbortedException.class, revives::commit);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void aUniqueIndexIsBuiltOverExpiredRecords(Form<K, V> form) {
    TableSpec plain = withoutIndexes(form.spec);
    try (Database db = open()) {
      Table<K, V> t = form.opener.open(db, form.spec);
      assertTrue(db.dropIndex("events", "by_code"));
      db.table(plain); // any handle may write
      clock.set(1_050);
      db.run(
          tx -> {
            t.insert(tx, form.key.apply(1), form.maker.value(1, 5, 940)); // hidden, before
            t.insert(tx, form.key.apply(2), form.maker.value(2, 5, 2_000));
            t.insert(tx, form.key.apply(3), form.maker.value(3, 5, 950)); // hidden, after
            t.insert(tx, form.key.apply(4), form.maker.value(4, 6, 960));
          });
      Table<K, V> u = form.open(db, form.spec);
      assertEquals(List.of(2L, 4L), form.numbers(db, u));
      assertEquals(2, u.table().index("by_code").count());
      assertEquals(0, db.sweepExpired());
      verify(db);
    }
  }

  private static TableSpec withoutIndexes(TableSpec spec) {
    int keys = spec.key().maxBytes();
    TableSpec plain =
        spec.objects() == null
            ? TableSpec.bytes(spec.name(), keys)
            : TableSpec.objects(spec.name(), keys, spec.objects());
    return switch (spec.expiry()) {
      case Expiry.OfBytes by -> plain.expireAfter(by.offset(), by.after());
      case Expiry.OfObjects by -> plain.expireAfter(by.component(), by.after());
      case null, default -> plain;
    };
  }

  // --------------------------------------------------------------------------------- byte strings

  @Test
  void aValueThatIsTooShortIsRefused() {
    TableSpec spec = TableSpec.bytes("short", 8).expireAfter(12, AFTER);
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(spec).bytes();
      String says = "has 19 bytes, and values of the table expire by the time in bytes 12 to 19.";
      byte[] tooShort = new byte[19];
      db.run(
          tx -> {
            e(() -> t.insert(tx, key(1), tooShort), says);
            t.put(tx, key(1), new byte[20]);
            e(() -> t.put(tx, key(1), tooShort), says);
            e(() -> t.update(tx, key(1), tooShort), says);
            assertEquals(20, t.get(tx, key(1)).length);
          });
      e(() -> t.load(LoadOptions.defaults(), into -> into.add(key(2), tooShort)), says);
      assertEquals(1, t.count());

      Table<byte[], byte[]> old = db.table(TableSpec.bytes("old", 8)).bytes();
      db.run(tx -> old.insert(tx, key(1), tooShort));
      TableSpec expiring = TableSpec.bytes("old", 8).expireAfter(12, AFTER);
      e(() -> db.table(expiring), says);
      assertNull(db.describe("old").expiry());
      assertEquals(List.of(), db.describe("old").indexes());
      db.run(tx -> old.put(tx, key(1), new byte[20]));
      db.table(expiring);
      verify(db);
    }
  }

  @Test
  void theIndexByTimeBelongsToTheExpiry() {
    TableSpec spec = TableSpec.bytes("b", 8).expireAfter(12, AFTER);
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(spec).bytes();
      db.run(tx -> t.insert(tx, key(1), value(1, 5_000)));
      Index<Key, byte[], byte[]> times = t.index("expires", Key.class);
      db.run(
          tx ->
              assertEquals(
                  1, times.stream(tx, times.key().int64(5_000), ScanOrder.ASCENDING).count()));
      e(() -> db.renameIndex("b", "expires", "times"), "belongs to the expiry");
      FoveaException other =
          assertThrows(
              IncompatibleSchemaException.class,
              () -> db.table(TableSpec.bytes("b", 8).expireAfter(0, AFTER)));
      assertTrue(other.getMessage().contains("at byte 12"), other.getMessage());
      assertTrue(db.dropExpiry("b"));
      db.table(TableSpec.bytes("b", 8).expireAfter(0, AFTER)); // that of the code: 1
      clock.set(9_000);
      assertEquals(1, db.sweepExpired());
      assertTrue(db.renameTable("b", "c"));
    }
    try (Database db = open()) { // and it opens without the program's code
      TableSpec found = db.describe("c");
      Table<byte[], byte[]> t = db.table(found).bytes();
      db.run(tx -> t.insert(tx, key(2), value(5, 1)));
      assertEquals(1, db.sweepExpired());
      verify(db);
    }
  }

  // -------------------------------------------------------------------------------------- objects

  @Test
  void aChangedClassKeepsTheExpiry() {
    ObjectSpec<Long, Event> before = EVENTS.expireAfter("at", AFTER);
    ObjectSpec<Long, Later> after =
        ObjectSpec.of("events", Long.class, Later.class)
            .unique("by_code", "code")
            .expireAfter("when", AFTER);
    try (Database db = open()) {
      Table<Long, Event> t = db.table(before);
      db.run(tx -> List.of(900L, 940L, 990L).forEach(at -> t.put(tx, new Event(at, at, at))));
    }
    Options reads = options().readOnly(true);
    clock.set(1_020); // 900 has expired
    try (Database db = Database.open(dir.resolve("db"), reads)) {
      Table<Long, Later> t = db.table(after);
      long there = db.read(tx -> t.stream(tx).count());
      assertEquals(2, there);
    }
    try (Database db = open()) {
      Table<Long, Later> t = db.table(after);
      assertEquals(new Expiry.OfObjects("when", AFTER), db.describe("events").expiry());
      db.run(
          tx -> {
            t.put(tx, new Later(1, 1, "", 910L));
            t.put(tx, new Later(2, 2, "", null));
            assertFalse(t.exists(tx, 1L));
          });
      assertEquals(2, db.sweepExpired());
      assertEquals(3, t.count());
    }
    clock.set(9_000);
    try (Database db = open()) {
      assertEquals(2, db.sweepExpired());
      Table<Long, Later> t = db.table(after);
      assertEquals(List.of(2L), db.read(tx -> t.stream(tx).map(Map.Entry::getKey).toList()));
      verify(db);
    }
  }

  @Test
  void objectsMayHaveAnotherIndexByTime() {
    ObjectSpec<Long, Event> own =
        EVENTS.index("times", "at", "code").expireAfter("at", AFTER).keyBytesMax(100);
    assertEquals(2, own.table().indexes().size());
    try (Database db = open()) {
      Table<Long, Event> t = db.table(own);
      db.run(tx -> List.of(900L, 940L, 990L).forEach(at -> t.put(tx, new Event(at, at, at))));
      e(() -> db.dropIndex("events", "times"), "begins with at");
      clock.set(1_020);
      assertEquals(1, db.sweepExpired());
      verify(db);
    }
  }

  @Test
  void invalidSpecificationsAreRefused() {
    List<Runnable> wrong = new ArrayList<>();
    wrong.add(() -> EVENTS.expireAfter("none", AFTER));
    wrong.add(() -> EVENTS.expireAfter("at", Duration.ofMillis(-1)));
    wrong.add(() -> MEETINGS.expireAfter("span", AFTER));
    wrong.add(() -> MEETINGS.expireAfter("span.where", AFTER));
    wrong.add(() -> MEETINGS.index("expires", "code").expireAfter("span.end", AFTER));
    wrong.add(() -> BYTES.expireAfter(-1, AFTER));
    wrong.add(() -> BYTES.expireAfter(65_536, AFTER));
    wrong.add(() -> BYTES.expireAfter("at", AFTER));
    wrong.add(() -> BYTES.expireAfter(0, Duration.ofSeconds(Long.MAX_VALUE)));
    wrong.add(() -> EVENTS.table().expireAfter(0, AFTER));
    TableSpec rows =
        TableSpec.of(
            "r", KeySpec.builder().int64("k").build(), Layout.builder().int64("at").build());
    wrong.add(() -> rows.expireAfter(0, AFTER));
    wrong.add(() -> rows.expireAfter("at", AFTER));
    wrong.forEach(w -> assertThrows(IllegalArgumentException.class, w::run));
    assertTrue(BYTES.expireAfter(12, AFTER).toString().contains("after the time at byte 12"));
    String objects = EVENTS.expireAfter("at", AFTER).toString();
    assertTrue(objects.contains("objects expire PT0.1S after at"), objects);
  }
}
