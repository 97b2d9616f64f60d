package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.index.TableCore;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import io.fovea.support.PowerCuts;
import io.fovea.support.SetClock;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A power failure at any I/O operation while a table gets an expiry, is swept, and loses the
 * expiry. Recovery must find one of the intermediate states, from which the remaining steps
 * succeed.
 */
@Tag("slow")
class ExpiryCrashTest {
  private static final int ROWS = 300;
  private static final int EXPIRED = 200;
  private static final KeySpec KEY = KeySpec.of(FieldType.INT32);
  private static final Layout.Definition B1 = Layout.define();
  private static final Field CODE1 = B1.int64("code");
  private static final Field AT = B1.int64("at");
  private static final TableSpec FIRST =
      TableSpec.of("rows", KEY, B1.build()).with(IndexSpec.unique("by_code", CODE1));
  private static final Layout.Definition B2 = Layout.define();
  private static final Field DUE = B2.int64("due");
  private static final Field MORE = B2.int64("more");
  private static final Field CODE2 = B2.int64("code");
  private static final TableSpec SECOND =
      TableSpec.builder("rows", KEY, B2.build())
          .version(2, Step.rename("at", "due"), Step.add("more", 3))
          .index(IndexSpec.unique("by_code", CODE2))
          .build()
          .expireAfter(DUE, Duration.ofMillis(100));
  private static final TableSpec LONGER = SECOND.expireAfter(DUE, Duration.ofMillis(150));

  private final SetClock clock = new SetClock(1_000);

  private final Options options =
      Options.defaults()
          .bufferBytes(600_000)
          .transactions(x -> x.maxActive(2))
          .expiry(e -> e.clock(clock).sweepInterval(Duration.ZERO));

  private Database open(SimDisk disk) {
    return Database.open(new SimStorage(disk), options);
  }

  /**
   * Each step is durable when it returns, except the sweep, which becomes durable with the next
   * step.
   */
  private final List<Consumer<Database>> way =
      List.of(
          db -> db.table(SECOND),
          db -> {
            assertEquals(EXPIRED, db.sweepExpired());
            db.checkpoint();
          },
          db -> db.table(LONGER),
          db -> assertTrue(db.dropExpiry("rows")),
          Database::checkpoint);

  @Test
  void aCrashLeavesAnIntermediateState() {
    SimDisk disk = new SimDisk(1);
    int[] done = {0};
    PowerCuts<Integer> cuts = new PowerCuts<>(disk, () -> done[0]);
    try (Database db = open(disk)) {
      RowTable t = db.table(FIRST);
      db.run(
          tx -> {
            for (int i = 1; i <= ROWS; i++) {
              t.insert(tx, t.key().set(i), t.row().setLong(CODE1, i).setLong(AT, 700 + i));
            }
          });
      db.checkpoint();
      cuts.during(
          () -> {
            for (var step : way) {
              step.accept(db);
              done[0]++;
            }
          });
    }
    Set<String> found = new TreeSet<>();
    cuts.forEach(
        (left, steps) -> {
          try (Database db = open(left)) {
            found.add(check(db, steps));
          }
        });
    // Rows removed, and the rule. A sweep may be interrupted halfway.
    Set<String> steps = Set.of("0 of 1", "0 of 100", "200 of 100", "200 of 150", "200 of 2");
    assertTrue(found.containsAll(steps), found::toString);
    found.removeAll(steps);
    assertTrue(Set.of("128 of 100").containsAll(found), found::toString);
    assertTrue(cuts.size() > 20, cuts.size() + " cuts");
  }

  /**
   * Checks that the state is an intermediate one, completes the steps, and returns the state found.
   */
  private String check(Database db, int done) {
    TableCore core = db.schema().core("rows");
    var by = core.expiry();
    boolean first = core.history().version() == 1;
    assertTrue(!first || done < 1, "the evolution is lost");
    RowTable t =
        db.table(
            first
                ? FIRST
                : by == null
                    ? TableSpec.builder("rows", KEY, B2.build())
                        .version(2, Step.rename("at", "due"), Step.add("more", 3))
                        .index(IndexSpec.unique("by_code", CODE2))
                        .index(IndexSpec.on("expires", DUE))
                        .build()
                    : SECOND.expireAfter(DUE, by.spec().after()));
    long removed = ROWS - t.count();
    assertTrue(
        done < 2 || removed == EXPIRED, removed + " were removed, although the sweep has ended");
    boolean hides = by != null;
    List<Integer> there = db.read(tx -> keys(t, tx));
    int from = hides ? Math.max(EXPIRED, (int) removed) : (int) removed;
    assertEquals(ROWS - from, there.size());
    assertEquals(from + 1, there.getFirst());
    assertEquals(ROWS, there.getLast());
    sound(db);
    RowTable end = db.table(SECOND);
    assertEquals(EXPIRED - removed, db.sweepExpired());
    assertEquals(ROWS - EXPIRED, end.count());
    assertEquals(ROWS - EXPIRED, end.index("expires").count());
    db.run(
        tx -> {
          Row row = end.row();
          assertTrue(end.get(tx, end.key().set(ROWS), row));
          assertEquals(3, row.getLong(MORE));
          assertEquals(700 + ROWS, row.getLong(DUE));
        });
    sound(db);
    return removed + " of " + (by != null ? by.spec().after().toMillis() : first ? 1 : 2);
  }

  private static final TableSpec BYTES = TableSpec.bytes("bytes", 4);
  private static final TableSpec BRIEF = BYTES.expireAfter(4, Duration.ofMillis(100));

  @Test
  void aCrashLeavesAnIntermediateStateOfByteStrings() {
    SimDisk disk = new SimDisk(1);
    int[] done = {0};
    PowerCuts<Integer> cuts = new PowerCuts<>(disk, () -> done[0]);
    List<Consumer<Database>> steps =
        List.of(
            db -> db.table(BRIEF),
            db -> {
              assertEquals(EXPIRED, db.sweepExpired());
              db.checkpoint();
            },
            db -> assertTrue(db.dropExpiry("bytes")),
            Database::checkpoint);
    try (Database db = open(disk)) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      db.run(
          tx -> {
            for (int i = 1; i <= ROWS; i++) {
              byte[] key = ByteBuffer.allocate(4).putInt(i).array();
              t.insert(tx, key, ByteBuffer.allocate(12).putInt(i).putLong(700 + i).array());
            }
          });
      db.checkpoint();
      cuts.during(
          () -> {
            for (var step : steps) {
              step.accept(db);
              done[0]++;
            }
          });
    }
    Set<String> found = new TreeSet<>();
    cuts.forEach(
        (left, finished) -> {
          try (Database db = open(left)) {
            sound(db);
            TableSpec spec = db.describe("bytes");
            boolean expires = spec.expiry() != null;
            assertEquals(expires ? BRIEF.expiry() : null, spec.expiry());
            boolean indexed = !spec.indexes().isEmpty();
            assertTrue(indexed || !expires);
            assertTrue(finished < 1 || expires == indexed, "an index is left over");
            assertTrue(finished < 3 || !expires, "the drop of the option is lost");
            RowTable t = db.table(BRIEF); // drops the index left over from a crash
            long removed = ROWS - t.count();
            found.add(removed + (expires ? " expiring" : indexed ? " indexed" : ""));
            assertEquals(EXPIRED - removed, db.sweepExpired());
            assertEquals(ROWS - EXPIRED, t.index("expires").count());
            sound(db);
          }
        });
    Set<String> expected = Set.of("0", "0 expiring", "200 expiring", "200");
    assertTrue(found.containsAll(expected), found::toString);
    found.removeAll(expected);
    assertTrue(Set.of("128 expiring", "0 indexed").containsAll(found), found::toString);
  }

  private static List<Integer> keys(RowTable t, Transaction tx) {
    List<Integer> keys = new ArrayList<>();
    try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      while (c.next()) {
        keys.add(c.key().getInt(0));
      }
    }
    return keys;
  }

  private static void sound(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }
}
