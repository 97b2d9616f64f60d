package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A lookup in a unique index reads the entry, then the record, which is decisive. Tests entries
 * that move to other records in between, and the transaction's own writes.
 */
@Timeout(value = 2, unit = java.util.concurrent.TimeUnit.MINUTES)
@Tag("slow")
class UniqueLookupTest {
  private static final int RECORDS = 6;
  private static final int SWAPS = 1500;

  private static final Layout.Definition B = Layout.define();
  private static final Field TAG = B.int64("tag");
  private static final Field COUNT = B.int64("count");
  private static final Field ID = B.int32("id");
  private static final Layout LAYOUT = B.build();

  private static TableSpec spec(EntryHints hints) {
    return TableSpec.of("t", KeySpec.of(FieldType.INT32), LAYOUT)
        .with(IndexSpec.unique("by_tag", TAG).hints(hints));
  }

  private static Database open(Protocol protocol) {
    return Database.inMemory(
        Options.defaults()
            .bufferBytes(4 << 20)
            .transactions(txs -> txs.maxActive(16))
            .experiments(exp -> exp.protocol(protocol)));
  }

  private static void fill(Database db, RowTable t) {
    db.run(
        tx -> {
          for (int i = 0; i < RECORDS; i++) {
            t.insert(tx, t.key().set(i), t.row().setLong(TAG, i).setInt(ID, i));
          }
        });
  }

  static Stream<Arguments> setups() {
    return Arrays.stream(Protocol.values())
        .flatMap(
            p ->
                Stream.of(EntryHints.NONE, EntryHints.PAGE_FRAME_SLOT)
                    .map(h -> Arguments.of(p, h)));
  }

  @ParameterizedTest
  @MethodSource("setups")
  void eachTagHasItsRecord(Protocol protocol, EntryHints hints) throws Exception {
    try (Database db = open(protocol)) {
      RowTable t = db.table(spec(hints));
      fill(db, t);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      AtomicInteger swappers = new AtomicInteger(3);
      AtomicInteger looks = new AtomicInteger();
      List<Thread> threads = new ArrayList<>();
      for (int id = 0; id < 3; id++) {
        SplittableRandom random = new SplittableRandom(id);
        threads.add(
            start(
                failure,
                () -> {
                  try {
                    for (int i = 0; i < SWAPS && failure.get() == null; i++) {
                      swap(db, t, random.nextInt(RECORDS), random.nextInt(RECORDS));
                    }
                  } finally {
                    swappers.decrementAndGet();
                  }
                }));
        threads.add(
            start(
                failure,
                () -> {
                  do { // at least once, even if scheduled late
                    look(db, t);
                    looks.incrementAndGet();
                  } while (swappers.get() > 0 && failure.get() == null);
                }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertNull(failure.get(), () -> String.valueOf(failure.get()));
      assertTrue(looks.get() > 0);
      assertTrue(db.verify().ok());
    }
  }

  /**
   * A key that the first read does not find is looked up where that read ended, not from the root
   * again.
   */
  @ParameterizedTest
  @EnumSource(EntryHints.class)
  void anAbsentKeyIsSearchedOnce(EntryHints hints) {
    int lookups = 100;
    try (Database db = open(Protocol.TICTOC)) {
      RowTable t = db.table(spec(hints));
      fill(db, t);
      RowIndex byTag = t.index("by_tag");
      long places = db.stats().descents().positionHints();
      long stale = db.stats().descents().positionHintsStale();
      db.run(
          tx -> {
            for (int i = 0; i < lookups; i++) {
              assertFalse(byTag.get(tx, byTag.key().set((long) RECORDS + i), t.row()));
            }
          });
      assertEquals(places + lookups, db.stats().descents().positionHints());
      assertEquals(stale, db.stats().descents().positionHintsStale());
    }
  }

  private static Thread start(AtomicReference<Throwable> failure, Runnable work) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                work.run();
              } catch (Throwable e) {
                failure.compareAndSet(null, e);
              }
            });
  }

  private static void swap(Database db, RowTable t, int a, int b) {
    if (a == b) {
      return;
    }
    db.run(
        tx -> {
          Row one = t.row();
          Row other = t.row();
          assertTrue(t.get(tx, t.key().set(a), one));
          assertTrue(t.get(tx, t.key().set(b), other));
          long tag = one.getLong(TAG);
          long otherTag = other.getLong(TAG);
          // Moved to an unused unique tag first: no two records may have equal tags at any time.
          t.update(tx, one.setLong(TAG, -1 - a));
          t.update(tx, other.setLong(TAG, tag).setLong(COUNT, other.getLong(COUNT) + 1));
          t.get(tx, t.key().set(a), one);
          t.update(tx, one.setLong(TAG, otherTag));
        });
  }

  /** Checks records found only after the transaction has committed. */
  private static void look(Database db, RowTable t) {
    RowIndex byTag = t.index("by_tag");
    int[] found = new int[RECORDS];
    long[] tags = new long[RECORDS];
    db.read(
        tx -> {
          Row row = t.row();
          for (int tag = 0; tag < RECORDS; tag++) {
            boolean there = byTag.get(tx, byTag.key().set((long) tag), row);
            found[tag] = there ? row.getInt(ID) : -1;
            tags[tag] = there ? row.getLong(TAG) : -1;
          }
          return null;
        });
    for (int tag = 0; tag < RECORDS; tag++) {
      assertEquals(tag, tags[tag], () -> "records " + Arrays.toString(found));
    }
    assertEquals(RECORDS, Arrays.stream(found).distinct().count(), () -> Arrays.toString(found));
  }

  @ParameterizedTest
  @EnumSource
  void ownChanges(Protocol protocol) {
    try (Database db = open(protocol)) {
      RowTable t = db.table(spec(EntryHints.PAGE_FRAME_SLOT));
      fill(db, t);
      RowIndex byTag = t.index("by_tag");
      Row row = t.row();
      db.run(
          tx -> {
            assertTrue(byTag.get(tx, byTag.key().set(1L), row));
            t.update(tx, row.setLong(COUNT, 7));
            assertTrue(byTag.get(tx, byTag.key().set(1L), row));
            assertEquals(7, row.getLong(COUNT));
            t.update(tx, row.setLong(TAG, 100));
            assertFalse(byTag.get(tx, byTag.key().set(1L), row));
            assertTrue(byTag.get(tx, byTag.key().set(100L), row));
            assertEquals(1, row.getInt(ID));
            t.insert(tx, t.key().set(50), t.row().setLong(TAG, 1).setInt(ID, 50));
            assertTrue(byTag.get(tx, byTag.key().set(1L), row));
            assertEquals(50, row.getInt(ID));
            t.delete(tx, t.key().set(2));
            assertFalse(byTag.get(tx, byTag.key().set(2L), row));
          });
      db.run(
          tx -> {
            assertTrue(byTag.get(tx, byTag.key().set(100L), row));
            assertEquals(7, row.getLong(COUNT));
            assertTrue(byTag.get(tx, byTag.key().set(1L), row));
            assertEquals(50, row.getInt(ID));
            assertFalse(byTag.get(tx, byTag.key().set(2L), row));
          });
      assertTrue(db.verify().ok());
    }
  }
}
