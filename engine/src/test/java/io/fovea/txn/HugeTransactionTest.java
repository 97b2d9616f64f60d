package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.TimestampStore;
import io.fovea.txn.TimestampConfig.Release;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The state after one transaction that has nearly filled the table. */
class HugeTransactionTest {
  private static final int EXACT = 1 << 10;
  private static final int BUDGET = 8 << 20;

  /** The mean number of buckets that a miss may search beyond its own. */
  private static final int WALK_MAX = 4;

  private static final int MISSES = 5_000;

  private final Stores stores = new Stores();

  @AfterEach
  void close() {
    stores.close();
  }

  private static long walked(Timestamps t) {
    return t.contexts[0].walked + t.contexts[1].walked;
  }

  private static void touch(Timestamps t, long item) {
    t.enter(1);
    t.pin(1, item);
    t.exit(1);
  }

  /** Misses in all columns, right after the huge transaction, do not depend on its size. */
  @ParameterizedTest
  @CsvSource({
    "FOCUS_SKETCH, EPOCH, 0.80",
    "FOCUS_SKETCH, EPOCH, 0.97",
    "FOCUS_SKETCH, REFERENCE_COUNT, 0.97",
    "FOCUS_COUNTER, EPOCH, 0.97",
    "DISK_CACHE, EPOCH, 0.97"
  })
  void laterMissesSearchFewBuckets(TimestampStore kind, Release release, double full) {
    Timestamps t = stores.make(2, kind, release, EXACT, BUDGET, 64, 64);
    int slots = t.table.slots();
    SplittableRandom r = new SplittableRandom(1);
    long[] items = new long[(int) (slots * full)];
    t.enter(0);
    for (int i = 0; i < items.length; i++) {
      items[i] = r.nextLong() | 1;
      t.pin(0, items[i]);
    }
    // Each is found again.
    for (int i = 0; i < items.length; i += 97) {
      int slot = t.pin(0, items[i]);
      assertEquals(items[i], t.table.item(slot));
    }
    assertTrue(
        walked(t) > 0, "the table was not full enough for entries to overflow into later buckets");
    t.exit(0);
    t.epochs.advance(t.epochs.now());
    long before = walked(t);
    for (int i = 0; i < MISSES; i++) {
      touch(t, r.nextLong() | 1);
    }
    long first = walked(t) - before;
    assertTrue(
        first <= (long) WALK_MAX * MISSES,
        () -> MISSES + " misses have searched " + first + " buckets beyond their own");
    // Misses have released the overflowed entries, so the search gets shorter.
    before = walked(t);
    for (int i = 0; i < MISSES; i++) {
      touch(t, r.nextLong() | 1);
    }
    long second = walked(t) - before;
    assertTrue(
        second <= Math.max(first, MISSES / 10),
        () -> MISSES + " more misses have searched " + second + " buckets, after " + first);
  }
}
