package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Compares estimates of ranges with counts by scans. */
class EstimateTest {
  private static final Layout.Definition B = Layout.define();
  private static final Field CITY = B.text("city", 20);
  private static final TableSpec SPEC =
      TableSpec.of("people", KeySpec.of(FieldType.INT32, FieldType.INT32), B.build())
          .with(IndexSpec.on("byCity", CITY));

  private final Database db =
      Database.inMemory(
          Options.defaults()
              .bufferBytes(16 << 20)
              .transactions(txs -> txs.closeTimeout(Duration.ZERO)));
  private final RowTable people = db.table(SPEC);

  @AfterEach
  void close() {
    db.close();
  }

  private void load(int each) {
    for (int group = 0; group < 100; group++) {
      int g = group;
      db.run(
          tx -> {
            Key key = people.key();
            Row row = people.row();
            for (int i = 0; i < each; i++) {
              people.insert(tx, key.set(g, i), row.setText(CITY, "city " + g % 10));
            }
          });
    }
  }

  private long scanned(Transaction tx, Function<Transaction, RowCursor> scan) {
    long n = 0;
    try (RowCursor c = scan.apply(tx)) {
      while (c.next()) {
        n++;
      }
    }
    return n;
  }

  private List<Range> ranges(Key key, Function<Integer, Key> group) {
    return List.of(
        Range.all(),
        Range.prefix(group.apply(7)),
        Range.between(group.apply(3), group.apply(4)),
        Range.of(group.apply(3), false, group.apply(5), true),
        Range.of(group.apply(3), true, group.apply(5), false),
        Range.of(group.apply(3), false, group.apply(3), false),
        Range.between(group.apply(5), group.apply(3)),
        Range.atLeast(group.apply(9)),
        Range.atMost(key));
  }

  private void compare(int each, double within) {
    load(each);
    db.run(
        tx -> {
          Key some = people.key().set(50, each / 2);
          for (Range r : ranges(some, g -> people.key().set(g))) {
            near(
                scanned(tx, t -> people.scan(t, r, ScanOrder.ASCENDING)),
                people.estimate(tx, r),
                within);
          }
          RowIndex cities = people.index("byCity");
          for (Range r : ranges(cities.key().set("city 4"), g -> cities.key().set("city " + g))) {
            near(
                scanned(tx, t -> cities.scan(t, r, ScanOrder.ASCENDING)),
                cities.estimate(tx, r),
                within);
          }
        });
  }

  private static void near(long real, Estimate e, double within) {
    assertTrue(Math.abs(e.count() - real) <= real * within, () -> e + " of " + real);
    assertTrue(e.bytes() >= 8 * e.count() && e.bytes() <= 80 * e.count(), e::toString);
  }

  @Test
  void smallRangesAreExact() {
    compare(1, 0);
  }

  @Test
  void largeRangesAreClose() {
    compare(500, 0.5);
  }

  /** An estimate reads nothing: concurrent changes of the range cause no conflict. */
  @Test
  void estimatesCauseNoConflict() throws InterruptedException {
    load(3);
    db.run(
        tx -> {
          assertEquals(300, people.estimate(tx, Range.all()).count());
          Thread other =
              Thread.ofPlatform()
                  .start(
                      () ->
                          db.run(
                              own -> {
                                assertTrue(people.delete(own, people.key().set(1, 1)));
                              }));
          other.join();
          // Committed since, inside the range; written by this transaction, and not.
          people.insert(tx, people.key().set(200, 1), people.row());
          assertEquals(299, people.estimate(tx, Range.all()).count());
        });
    assertEquals(0, db.stats().retries());
    db.run(tx -> assertEquals(300, people.estimate(tx, Range.all()).count()));
  }

  @Test
  void byteStrings() {
    Table<byte[], byte[]> bytes = db.table(TableSpec.bytes("bytes", 100)).bytes();
    db.run(
        tx -> {
          for (int i = 0; i < 200; i++) {
            bytes.put(
                tx, new byte[] {(byte) (i / 100 + 1), (byte) i}, new byte[i == 7 ? 5_000 : 3]);
          }
        });
    db.run(
        tx -> {
          assertEquals(new Estimate(200, 199 * 5 + 5_002), bytes.estimate(tx, null, null));
          assertEquals(100, bytes.estimatePrefix(tx, new byte[] {2}).count());
          assertEquals(100, bytes.estimate(tx, null, new byte[] {2}).count());
          assertEquals(200, bytes.estimatePrefix(tx, new byte[0]).count());
          assertEquals(new Estimate(0, 0), bytes.estimate(tx, null, new byte[0]));
          byte[] tooLong = new byte[5_000];
          assertThrows(KeyTooLargeException.class, () -> bytes.estimatePrefix(tx, tooLong));
          assertThrows(InvalidUseException.class, () -> bytes.table().estimate(tx, Range.all()));
        });
  }

  @Test
  void misuse() {
    Transaction ended = db.begin();
    ended.commit();
    assertThrows(InvalidUseException.class, () -> people.estimate(ended, Range.all()));
    db.run(
        tx -> {
          Range foreign = Range.prefix(people.index("byCity").key().set("x"));
          assertThrows(InvalidUseException.class, () -> people.estimate(tx, foreign));
        });
    Transaction open = db.begin();
    db.close();
    assertThrows(DatabaseClosedException.class, () -> people.estimate(open, Range.all()));
  }
}
