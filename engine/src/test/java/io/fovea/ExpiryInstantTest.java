package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExpiryInstantTest {
  private static final KeySpec KEY = KeySpec.of(FieldType.INT32);

  private final SetClock clock = new SetClock(990);

  @TempDir Path dir;

  private Database open() {
    return Database.open(
        dir.resolve("db"),
        Options.defaults().expiry(e -> e.clock(clock).sweepInterval(Duration.ZERO)));
  }

  private static List<Integer> keys(Database db, RowTable t) {
    List<Integer> found = new ArrayList<>();
    db.run(
        tx -> {
          found.clear();
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              found.add(c.key().getInt(0));
            }
          }
        });
    return found;
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void byAnInstant(boolean nullable) {
    Layout.Definition b = Layout.define();
    Field at = nullable ? b.nullable().instant("at") : b.instant("at");
    TableSpec spec = TableSpec.of("events", KEY, b.build()).expireAfter(at, Duration.ofMillis(100));
    try (Database db = open()) {
      RowTable t = db.table(spec);
      db.run(
          tx -> {
            Instant[] times = {
              Instant.ofEpochMilli(900),
              Instant.ofEpochMilli(901),
              Instant.ofEpochMilli(900).plusNanos(1),
              Instant.EPOCH,
              Instant.EPOCH.plusNanos(1),
              Instant.EPOCH.minusNanos(1),
              Instant.MIN,
              Instant.MAX
            };
            for (int i = 0; i < times.length; i++) {
              t.insert(tx, t.key().set(i), t.row().setInstant(at, times[i]));
            }
            t.insert(tx, t.key().set(100), t.row()); // null, or 1970
          });
      clock.set(999);
      assertEquals(List.of(0, 1, 2, 3, 5, 6, 7, 100), keys(db, t));
      clock.set(1_000); // not even a nanosecond early
      assertEquals(List.of(1, 2, 3, 5, 6, 7, 100), keys(db, t));
      assertEquals(2, db.sweepExpired());
      clock.set(1_001);
      assertEquals(List.of(3, 5, 6, 7, 100), keys(db, t));
      assertEquals(2, db.sweepExpired());
      assertEquals(5, t.count());
      clock.set(Long.MAX_VALUE / 4);
      assertEquals(0, db.sweepExpired());
      verify(db);
    }
    try (Database db = open()) {
      assertEquals(spec.expiry(), db.describe("events").expiry());
      assertEquals(List.of(3, 5, 6, 7, 100), keys(db, db.table(spec)));
    }
  }

  @Test
  void byNullableMilliseconds() {
    Layout.Definition b = Layout.define();
    Field at = b.nullable().int64("at");
    TableSpec spec = TableSpec.of("events", KEY, b.build()).expireAfter(at, Duration.ZERO);
    try (Database db = open()) {
      RowTable t = db.table(spec);
      db.run(
          tx -> {
            Row row = t.row();
            t.insert(tx, t.key().set(1), row.clear().setLong(at, 500));
            t.insert(tx, t.key().set(2), row.clear().setLong(at, 5_000));
            t.insert(tx, t.key().set(3), row.clear());
            t.insert(tx, t.key().set(4), row.clear().setLong(at, 600).setNull(at));
          });
      assertEquals(List.of(2, 3, 4), keys(db, t));
      assertEquals(1, db.sweepExpired());
      clock.set(10_000);
      assertEquals(List.of(3, 4), keys(db, t));
      assertEquals(1, db.sweepExpired());
      verify(db);
    }
  }

  /** Rows of an older layout expire by the default of an instant that was added. */
  @Test
  void byAnAddedInstant() {
    Layout.Definition first = Layout.define();
    Field n = first.int32("n");
    Layout.Definition second = Layout.define();
    Field at = second.nullable().instant("at");
    second.int32("n");
    TableSpec before = TableSpec.of("events", KEY, first.build());
    TableSpec after =
        TableSpec.builder("events", KEY, second.build())
            .version(2, Step.add("at", Instant.ofEpochMilli(2_000)))
            .build()
            .expireAfter(at, Duration.ofMillis(5));
    try (Database db = open()) {
      RowTable t = db.table(before);
      db.run(tx -> t.insert(tx, t.key().set(1), t.row().setInt(n, 7)));
      RowTable now = db.table(after);
      db.run(
          tx -> {
            Row row = now.row();
            assertTrue(now.get(tx, now.key().set(1), row));
            assertEquals(Instant.ofEpochMilli(2_000), row.getInstant(at));
            now.insert(tx, now.key().set(2), row.clear().setInstant(at, Instant.MAX));
          });
      clock.set(2_004);
      assertEquals(List.of(1, 2), keys(db, now));
      clock.set(2_005);
      assertEquals(List.of(2), keys(db, now));
      assertEquals(false, db.read(tx -> now.exists(tx, now.key().set(1))));
      assertEquals(1, db.sweepExpired());
      verify(db);
    }
  }

  /** Making the time nullable rebuilds the index by time, and rows expire. */
  @Test
  void byATimeThatBecomesNullable() {
    Layout.Definition first = Layout.define();
    Field at = first.int64("at");
    Layout.Definition second = Layout.define();
    Field maybe = second.nullable().int64("at");
    Duration after = Duration.ofMillis(10);
    try (Database db = open()) {
      RowTable t = db.table(TableSpec.of("events", KEY, first.build()).expireAfter(at, after));
      db.run(
          tx -> {
            t.insert(tx, t.key().set(1), t.row().setLong(at, 985));
            t.insert(tx, t.key().set(2), t.row().setLong(at, 1_000));
            t.insert(tx, t.key().set(3), t.row());
          });
      RowTable now =
          db.table(
              TableSpec.builder("events", KEY, second.build())
                  .version(2, Step.widen("at"))
                  .build()
                  .expireAfter(maybe, after));
      db.run(tx -> now.insert(tx, now.key().set(4), now.row()));
      assertEquals(List.of(1, 2, 3, 4), keys(db, now));
      clock.set(996);
      assertEquals(List.of(2, 3, 4), keys(db, now));
      assertEquals(1, db.sweepExpired());
      db.run(
          tx -> {
            Row row = now.row();
            assertTrue(now.get(tx, now.key().set(3), row));
            assertEquals(0, row.getLong(maybe));
            assertTrue(now.get(tx, now.key().set(4), row));
            assertTrue(row.isNull(maybe));
            now.update(tx, row.setLong(maybe, 1));
          });
      assertEquals(List.of(2, 3), keys(db, now));
      assertEquals(1, db.sweepExpired());
      verify(db);
    }
  }
}
