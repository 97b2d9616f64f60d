package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.TimestampStore;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.txn.TimestampConfig.Release;
import java.lang.management.ManagementFactory;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How the kinds of store differ. */
class TimestampStoresTest {
  private static final int SMALL = 1 << 10;
  private static final int LARGE = 1 << 20;

  private final Stores stores = new Stores();

  @AfterEach
  void close() {
    stores.close();
  }

  private Timestamps make(TimestampStore kind, Release release, int activeTimestampBytes) {
    return stores.make(4, kind, release, activeTimestampBytes, LARGE, 64, 64);
  }

  private static long write(Timestamps t, long item) {
    t.enter(0);
    int slot = t.pin(0, item);
    assertTrue(t.tryLock(slot));
    long ts = TidWord.rts(t.word(slot)) + 1;
    t.publish(slot, ts);
    t.exit(0);
    return ts;
  }

  private static long word(Timestamps t, long item) {
    t.enter(0);
    long word = t.word(t.pin(0, item));
    t.exit(0);
    return word;
  }

  /** After a release timestamps are exact or higher, never lower. */
  @ParameterizedTest
  @EnumSource
  void releasedTimestampsAreBounds(TimestampStore kind) {
    Timestamps t = make(kind, Release.EPOCH, SMALL);
    long[] last = new long[2001];
    for (int round = 0; round < 3; round++) {
      for (int item = 1; item <= 2000; item += 1 + item % 3) {
        long ts = write(t, item);
        assertTrue(ts > last[item]);
        last[item] = ts;
      }
    }
    boolean exact = kind == TimestampStore.MEMORY || TimestampConfig.onDisk(kind);
    for (int item = 1; item <= 2000; item++) {
      long wts = TidWord.wts(word(t, item));
      assertTrue(exact ? wts == last[item] : wts >= last[item], wts + " for " + last[item]);
    }
  }

  /** A cache has the requested size, and a sketch does not reduce the number of exact entries. */
  @ParameterizedTest
  @CsvSource({
    "FOCUS_COUNTER,32,256", "DISK_CACHE,128,256", "DISK_CACHE,129,512",
    "FOCUS_COUNTER,4096,1024", "FOCUS_SKETCH,32,128", "DISK,32,128"
  })
  void aCacheIsRoundedUp(TimestampStore kind, int cacheKiB, int exactKiB) {
    TimestampConfig config =
        TimestampConfig.of(kind, Release.EPOCH, 128 << 10, 1 << 20, (long) cacheKiB << 10, 8 << 20);
    assertEquals(exactKiB << 10, config.activeTimestampBytes());
  }

  /** The dissertation's Disk store keeps only entries in use in memory. */
  @Test
  void onDiskNoUnusedEntryStays() {
    Timestamps t = make(TimestampStore.DISK, Release.EPOCH, SMALL);
    t.enter(1);
    int inUse = t.pin(1, 7);
    for (long item = 1; item <= 100; item++) {
      write(t, item);
    }
    assertEquals(1, t.stats().live(), "the one that is pinned");
    assertEquals(7, t.item(inUse));
    t.exit(1);
    assertEquals(0, t.stats().live());
    assertEquals(0, t.stats().approximate());
  }

  @Test
  void withImmediateReleaseNoUnusedEntryStays() {
    Timestamps t = make(TimestampStore.FOCUS_SKETCH, Release.IMMEDIATE, SMALL);
    t.enter(1);
    int slot = t.pin(1, 5);
    assertEquals(slot, t.pin(1, 5), "twice");
    t.enter(2);
    t.pin(2, 5);
    t.exit(1);
    assertEquals(1, t.stats().live());
    t.exit(2);
    assertEquals(0, t.stats().live());
  }

  @ParameterizedTest
  @ValueSource(ints = {64 << 10, 16 << 20})
  void inMemoryAllEntriesStayUntilTheBudgetIsUsedUp(int budget) {
    Timestamps t = stores.make(4, TimestampStore.MEMORY, Release.EPOCH, 256, budget, 1, 1);
    long capacity = t.stats().capacity();
    SplittableRandom random = new SplittableRandom(budget);
    TransactionAbortedException refused = null;
    long item = 0;
    while (refused == null) {
      item++;
      t.enter(0);
      try {
        t.pin(0, random.nextLong());
      } catch (TransactionAbortedException e) {
        refused = e;
      } finally {
        t.exit(0);
      }
    }
    assertEquals(AbortCause.TOO_LARGE, refused.abortCause());
    assertTrue(refused.getMessage().contains("stay in memory"), refused.getMessage());
    assertTrue(item > capacity * 2 / 3, item + " of " + capacity);
    assertEquals(0, t.stats().released());
    assertTrue(t.holds(0));
  }

  /**
   * A working set stays in a cache while other items pass through: thanks to CLOCK, unlike with the
   * nearest slot.
   */
  @ParameterizedTest
  @CsvSource({
    "DISK_CACHE, EPOCH",
    "DISK_CACHE, REFERENCE_COUNT",
    "FOCUS_COUNTER, EPOCH",
    "FOCUS_COUNTER, REFERENCE_COUNT"
  })
  void frequentlyUsedItemsStayInTheCache(TimestampStore kind, Release release) {
    assertTrue(
        hits(make(kind, release, 16 << 10))
            > hits(make(TimestampStore.FOCUS_SKETCH, Release.REFERENCE_COUNT, 16 << 10)),
        "hits of the cache and of a table without a policy");
  }

  /** Returns the hits of a working set of a quarter of the table. */
  private static long hits(Timestamps t) {
    long hits = 0;
    long passing = 1 << 20;
    for (int round = 0; round < 200; round++) {
      for (long item = 1; item <= 128; item++) {
        long before = t.stats().materialised();
        word(t, item * 0x9E3779B97F4A7C15L);
        hits += t.stats().materialised() == before ? 1 : 0;
      }
      for (int i = 0; i < 128; i++) {
        word(t, passing++ * 0x9E3779B97F4A7C15L);
      }
    }
    return hits;
  }

  /** A conflict is suspected to be false only after a bound that may be another item's. */
  @Test
  void conflictsAfterABoundAreSuspected() {
    Timestamps t = make(TimestampStore.FOCUS_SKETCH, Release.IMMEDIATE, SMALL);
    t.enter(0);
    t.pin(0, 1);
    t.conflict(0);
    t.exit(0);
    assertEquals(0, t.stats().suspectedFalseConflicts(), "a new item");
    write(t, 1);
    t.enter(0);
    t.pin(0, 1);
    t.conflict(0);
    t.exit(0);
    assertEquals(1, t.stats().suspectedFalseConflicts());
    t.enter(0);
    t.conflict(0);
    t.exit(0);
    assertEquals(
        1, t.stats().suspectedFalseConflicts(), "a context's earlier conflicts are forgotten");
  }

  /** The whole loop: conflicts caused by bounds make the sketch grow, and it shrinks again. */
  @Test
  void theSketchAdapts() {
    Timestamps t =
        stores.make(1, TimestampStore.FOCUS_SKETCH, Release.IMMEDIATE, SMALL, LARGE, 8, 64);
    assertEquals(2 * 8 * 8, t.stats().sketchBytes());
    // A conflict in each transaction, caused by a bound that is not that of its last write.
    long[] last = new long[33];
    for (int i = 0; i < 6 * SketchSizer.WINDOW; i++) {
      int item = 1 + i * 7 % 32;
      t.enter(0);
      int slot = t.pin(0, item * 0x9E3779B97F4A7C15L);
      if (TidWord.wts(t.word(slot)) != last[item] && last[item] != 0) {
        t.conflict(0);
      }
      t.tryLock(slot);
      last[item] = TidWord.rts(t.word(slot)) + 1;
      t.publish(slot, last[item]);
      t.exit(0);
    }
    TimestampStats grown = t.stats();
    assertTrue(grown.resizes() > 0 && grown.suspectedFalseConflicts() > 0, grown.toString());
    assertTrue(
        t.coldTimestamps.sketch().columns() > 8,
        t.coldTimestamps.sketch().columns() + " columns, " + grown);
    for (int i = 0; i < 12 * SketchSizer.WINDOW; i++) {
      t.enter(0);
      t.exit(0);
    }
    assertEquals(8, t.coldTimestamps.sketch().columns(), t.stats().toString());
  }

  /** Storing and reloading an item does not allocate, whatever the kind. */
  @ParameterizedTest
  @EnumSource
  void nothingIsAllocated(TimestampStore kind) {
    Timestamps t = make(kind, Release.EPOCH, 4096);
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    int n = 4000;
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 8; round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < n; i++) {
        t.enter(0);
        int slot = t.pin(0, (i % 1000 + 1) * 0x9E3779B97F4A7C15L);
        long seen = t.word(slot);
        t.extend(slot, seen, TidWord.rts(seen) + 1, false);
        if (t.tryLock(slot)) {
          t.publish(slot, TidWord.rts(t.word(slot)) + 1);
        }
        t.exit(0);
      }
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
    }
    assertTrue(least < n, least + " bytes for " + n + " transactions");
  }

  @Test
  void pagesRequireADiskKind() {
    TimestampConfig sketch = TimestampConfig.sketch(SMALL, LARGE, 2, 64, Release.EPOCH);
    assertThrows(IllegalArgumentException.class, () -> new Timestamps(1, sketch, stores.pages(1)));
    TimestampConfig disk =
        new TimestampConfig(TimestampStore.DISK, Release.EPOCH, SMALL, LARGE, 2, 64, 64);
    assertThrows(IllegalArgumentException.class, () -> new Timestamps(1, disk, null));
  }

  @Test
  void aSketchTakesNoMoreThanItsBytes() {
    assertEquals(1, TimestampConfig.rows(8));
    assertEquals(1, TimestampConfig.columns(8, 1));
    assertEquals(2, TimestampConfig.rows(16));
    assertEquals(1, TimestampConfig.columns(16, 2));
    assertEquals(2048, TimestampConfig.columns(32 << 10, 2));
    assertEquals(2048, TimestampConfig.columns((64 << 10) - 1, 2));
    assertEquals(1 << 26, TimestampConfig.columns(1 << 30, 2));
  }
}
