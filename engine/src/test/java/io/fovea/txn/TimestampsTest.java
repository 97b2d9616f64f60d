package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.txn.TimestampConfig.Release;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TimestampsTest {
  private static final long SMALLEST = 256;

  private Timestamps timestamps = new Timestamps(4, 4096, 1 << 20, 2, 64, Release.EPOCH);

  private Timestamps make(long exact, long budget, Release kind) {
    timestamps.close();
    timestamps = new Timestamps(4, exact, budget, 2, 2048, kind);
    return timestamps;
  }

  @AfterEach
  void close() {
    timestamps.close();
  }

  @ParameterizedTest
  @EnumSource
  void newItemIsWrittenThenRead(Release kind) {
    Timestamps t = make(4096, 1 << 20, kind);
    t.enter(0);
    int slot = t.pin(0, 77);
    assertEquals(77, t.item(slot));
    assertEquals(0, t.word(slot));
    assertTrue(t.tryLock(slot));
    assertFalse(t.tryLock(slot));
    assertTrue(TidWord.isLocked(t.word(slot)));
    t.publish(slot, 5);
    assertEquals(TidWord.pack(5, 5), t.word(slot));
    assertTrue(t.tryLock(slot));
    t.unlock(slot);
    assertEquals(TidWord.pack(5, 5), t.word(slot));
    assertTrue(t.holds(0));
    t.exit(0);
    t.enter(1);
    assertEquals(slot, t.pin(1, 77));
    assertEquals(slot, t.pin(1, 77));
    t.exit(1);
  }

  @Test
  void aReadIsValidWithItsVersion() {
    Timestamps t = timestamps;
    t.enter(0);
    int slot = t.pin(0, 9);
    t.tryLock(slot);
    t.publish(slot, 10);
    long seen = t.word(slot);
    assertTrue(t.extend(slot, seen, 20, false));
    assertEquals(TidWord.pack(10, 20), t.word(slot));
    assertTrue(t.extend(slot, seen, 15, false), "rts does not fall");
    assertEquals(TidWord.pack(10, 20), t.word(slot));

    t.tryLock(slot);
    assertFalse(t.extend(slot, seen, 21, false), "another transaction has locked it");
    assertTrue(t.extend(slot, seen, 20, false), "the lock holder writes at 21 or later");
    assertTrue(t.extend(slot, seen, 21, true), "its own lock is not a conflict");
    assertEquals(20, TidWord.rts(t.word(slot)), "publish will raise it");
    t.publish(slot, 21);
    assertFalse(t.extend(slot, seen, 21, false), "another version");
    assertFalse(t.extend(slot, seen, 20, false), "known to be valid only up to 10");
    assertTrue(t.extend(slot, seen, 10, false), "it was valid at 10");
    assertTrue(t.extend(slot, TidWord.pack(10, 20), 20, false), "it was known to be valid at 20");
    t.exit(0);
  }

  @Test
  void anOverflowingExtensionIsADummyWrite() {
    Timestamps t = timestamps;
    t.enter(0);
    int slot = t.pin(0, 9);
    t.tryLock(slot);
    t.publish(slot, 10);
    long seen = t.word(slot);
    assertTrue(t.extend(slot, seen, 40_000, false));
    long word = t.word(slot);
    assertEquals(40_000, TidWord.rts(word));
    assertEquals(10 + 32_768, TidWord.wts(word));
    assertTrue(t.extend(slot, seen, 10, false), "before the dummy");
    assertFalse(t.extend(slot, seen, 11, false), "can't tell the dummy from a writer");
    assertTrue(t.extend(slot, word, 41_000, false));

    t.tryLock(slot);
    long before = t.word(slot);
    assertFalse(t.extend(slot, word, 90_000, false));
    assertEquals(before, t.word(slot), "a locked word is unchanged");
    t.unlock(slot);
    t.exit(0);
  }

  @ParameterizedTest
  @EnumSource
  void releasedTimestampsBecomeBounds(Release kind) {
    Timestamps t = make(SMALLEST, SMALLEST * 2, kind);
    for (long item = 1; item <= 200; item++) {
      t.enter(0);
      int slot = t.pin(0, item);
      assertTrue(t.tryLock(slot));
      t.publish(slot, TidWord.rts(t.word(slot)) + item * 10);
      assertTrue(TidWord.rts(t.word(slot)) >= item * 10);
      t.exit(0);
    }
    for (long item = 1; item <= 200; item++) {
      t.enter(0);
      assertTrue(TidWord.wts(t.word(t.pin(0, item))) >= item * 10);
      t.exit(0);
    }
    TimestampStats stats = t.stats();
    assertTrue(stats.released() >= 200 && stats.live() <= stats.capacity(), stats.toString());
    assertTrue(stats.approximate() >= 200 - stats.capacity(), stats.toString());
  }

  @ParameterizedTest
  @EnumSource
  void pinnedEntriesStay(Release kind) {
    Timestamps t = make(SMALLEST, SMALLEST * 64, kind);
    t.enter(0);
    int slot = t.pin(0, 1);
    t.tryLock(slot);
    t.publish(slot, 1000);
    t.exit(0);
    t.enter(0);
    slot = t.pin(0, 1);
    for (long item = 2; item < 3000; item++) {
      t.enter(1);
      int other = t.pin(1, item);
      t.tryLock(other);
      t.publish(other, TidWord.rts(t.word(other)) + 100_000);
      t.exit(1);
      if (kind == Release.EPOCH && !t.holds(0)) {
        assertTrue(item > 8 * 32, "expelled before the budget was used up");
        break;
      }
      assertNotEquals(slot, other);
      assertEquals(1, t.item(slot));
      assertEquals(1000, TidWord.rts(t.word(slot)));
    }
    // With reference counts only used entries stay; an idle transaction's epoch keeps all of them.
    assertEquals(kind != Release.EPOCH, t.holds(0));
    t.exit(0);
  }

  @Test
  void longTransactionCountsReferencesAndRetainsNothing() {
    Timestamps t = make(4096, 1 << 20, Release.EPOCH);
    t.enter(0);
    for (int i = 0; i < 20_000; i++) {
      t.enter(1);
      t.pin(1, 1_000_000 + i);
      t.exit(1);
      if (i % 10 == 0) {
        int slot = t.pin(0, 1 + i);
        if (TidWord.rts(t.word(slot)) == 0) {
          assertTrue(t.extend(slot, t.word(slot), 1 + i, false));
        }
      }
    }
    assertTrue(t.holds(0));
    assertEquals(1, t.stats().converted());
    assertTrue(t.stats().live() < 5000, t.stats().toString());
    for (int i = 0; i < 20_000; i += 10) {
      int slot = t.pin(0, 1 + i);
      assertEquals(1 + i, t.item(slot));
      assertEquals(1 + i, TidWord.rts(t.word(slot)));
    }
    t.exit(0);
    for (int i = 0; i < 100_000 && t.stats().live() > 256; i++) {
      t.enter(1);
      t.exit(1);
    }
    assertTrue(t.stats().live() <= 256, "the sweep empties the upper levels: " + t.stats());
  }

  @ParameterizedTest
  @EnumSource
  void theWholeBudgetIsUsed(Release kind) {
    Timestamps t = make(4096, 4096 * 100, kind);
    long capacity = t.stats().capacity();
    assertTrue(capacity >= 100 * 128 * 9 / 10, "capacity " + capacity);
    t.enter(2);
    Set<Integer> slots = new HashSet<>();
    long pinned = 0;
    TransactionAbortedException refused = null;
    SplittableRandom random = new SplittableRandom(3);
    while (refused == null) {
      try {
        assertTrue(slots.add(t.pin(2, random.nextLong() | 1)), "a slot was assigned twice");
        pinned++;
      } catch (TransactionAbortedException e) {
        refused = e;
      }
    }
    assertEquals(AbortCause.TOO_LARGE, refused.abortCause());
    assertTrue(pinned > capacity * 3 / 4, pinned + " of " + capacity);
    assertEquals(1, t.stats().refused());
    t.exit(2);
    t.enter(2);
    for (int i = 1; i <= 50; i++) {
      t.pin(2, i);
    }
    t.exit(2);
  }

  @Test
  void anIdleTransactionIsExpelledIfEverythingElseIsInUse() {
    Timestamps t = make(SMALLEST, SMALLEST * 8, Release.EPOCH);
    t.enter(3);
    int slot = t.pin(3, 5);
    long seen = t.word(slot);
    for (int i = 0; i < 5000; i++) {
      t.enter(0);
      t.pin(0, 100 + i);
      t.exit(0);
    }
    assertFalse(t.holds(3));
    // What it may still do is harmless; its next new item or its commit fails.
    t.extend(slot, seen, 3, false);
    if (t.tryLock(slot)) {
      t.unlock(slot);
    }
    TransactionAbortedException e =
        assertThrows(
            TransactionAbortedException.class,
            () -> {
              for (int i = 0; i < 100; i++) {
                t.pin(3, 70_000 + i);
              }
            });
    assertEquals(AbortCause.TIMEOUT, e.abortCause());
    t.exit(3);
    t.enter(3);
    t.pin(3, 5);
    assertTrue(t.holds(3));
    t.exit(3);
    assertTrue(t.stats().evictions() >= 1);
  }

  @Test
  void aLockKeepsItsEntry() {
    Timestamps t = make(SMALLEST, SMALLEST * 2, Release.EPOCH);
    t.enter(0);
    int slot = t.pin(0, 5);
    t.tryLock(slot);
    t.exit(0); // like a stopped engine
    for (int i = 0; i < 1000; i++) {
      t.enter(0);
      t.pin(0, 100 + i);
      t.exit(0);
    }
    assertEquals(5, t.item(slot));
    assertTrue(TidWord.isLocked(t.word(slot)));
  }

  @Test
  void sizesAreChecked() {
    assertThrows(
        IllegalArgumentException.class, () -> new Timestamps(0, 4096, 4096, 2, 64, Release.EPOCH));
    assertThrows(
        IllegalArgumentException.class, () -> new Timestamps(1, 128, 4096, 2, 64, Release.EPOCH));
    assertThrows(
        IllegalArgumentException.class, () -> new Timestamps(1, 4096, 2048, 2, 64, Release.EPOCH));
  }

  /** If the stack is exhausted, releasing a lock fails as well; other threads continue. */
  @ParameterizedTest
  @EnumSource
  @Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void stackOverflowLeavesNoLock(Release kind) throws InterruptedException {
    Timestamps t = make(4096, 1 << 20, kind);
    for (int round = 0; round < 60; round++) {
      Deep deep = new Deep(t, round);
      Thread thread = new Thread(null, deep, "deep", 256 << 10);
      thread.start();
      thread.join();
      assertTrue(deep.full > 0, "no pin exhausted the stack");
      t.enter(1);
      for (int i = 0; i < 200; i++) {
        t.pin(1, item(i));
      }
      t.exit(1);
    }
  }

  private static long item(int i) {
    return (i + 1) * 0x9E3779B97F4A7C15L;
  }

  /** Pins items on the way back from a stack overflow. */
  private static final class Deep implements Runnable {
    private final Timestamps timestamps;
    private final int round;
    private final SplittableRandom random;
    private int left;
    int full;

    Deep(Timestamps timestamps, int round) {
      this.timestamps = timestamps;
      this.round = round;
      this.random = new SplittableRandom(round);
    }

    @Override
    public void run() {
      timestamps.enter(0);
      shift(round);
      timestamps.exit(0);
    }

    /** Runs the rest slightly deeper in the stack. */
    private void shift(int n) {
      if (n > 0) {
        shift(n - 1);
      } else {
        descend(1, 2);
      }
    }

    private long descend(long a, long b) {
      long sum = a ^ b;
      try {
        sum += descend(sum, a);
      } catch (StackOverflowError e) {
        left = 80;
      }
      if (left > 0) {
        left--;
        try {
          sum += timestamps.pin(0, item(random.nextInt(200)));
        } catch (StackOverflowError e) {
          full++;
        }
      }
      return sum;
    }
  }
}
