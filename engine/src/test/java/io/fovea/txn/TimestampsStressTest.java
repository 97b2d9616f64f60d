package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.TimestampStore;
import io.fovea.error.TransactionAbortedException;
import io.fovea.txn.TimestampConfig.Release;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Attacks {@link Timestamps} with threads that run TicToc over an array, on tables so small that
 * entries are created and released all the time.
 *
 * <p>Checked during the run: under an item's lock its timestamps are never below the last published
 * ones (lemma 3), a slot keeps its item, and a value's timestamp is never above the wts read with
 * it. Checked afterwards: each transaction read, at its commit timestamp, the latest version at or
 * before it. That is serializability in the order of commit timestamps.
 *
 * <p>Replay with -Dfovea.seed=...; races do not replay exactly.
 */
@Tag("slow")
class TimestampsStressTest {
  private static final long SEED = Long.getLong("fovea.seed", 1);
  private static final int OPERATIONS = 4;

  /** The shared state of a run. */
  private static final class Run {
    final Timestamps timestamps;
    final int items;
    final AtomicLongArray values;

    /** The last commitTs published for an item; under the item's lock. */
    final long[] published;

    Run(Timestamps timestamps, int items) {
      this.timestamps = timestamps;
      this.items = items;
      this.values = new AtomicLongArray(items + 1);
      this.published = new long[items + 1];
    }
  }

  /** A thread's transactions, recorded as (item, version, commitTs, kind). */
  private static final class Worker implements Runnable {
    static final int READ = 0;
    static final int WRITE = 1;

    final Run run;
    final int ctx;
    final int transactions;
    final SplittableRandom random;
    final int jump;
    final int longEvery;
    long[] log = new long[1 << 16];
    int logged;
    int commits;
    int aborts;
    int expelled;

    final long[] item = new long[1024];
    final int[] slot = new int[1024];
    final long[] seen = new long[1024];
    final long[] value = new long[1024];
    final boolean[] writes = new boolean[1024];

    Worker(Run run, int ctx, int transactions, int jump, int longEvery) {
      this.run = run;
      this.ctx = ctx;
      this.transactions = transactions;
      this.random = new SplittableRandom(SEED + ctx);
      this.jump = jump;
      this.longEvery = longEvery;
    }

    @Override
    public void run() {
      for (int i = 0; i < transactions; i++) {
        boolean large = longEvery > 0 && i % longEvery == longEvery - 1;
        run.timestamps.enter(ctx);
        try {
          if (transaction(
              large ? Math.min(run.items, 200) : 1 + random.nextInt(OPERATIONS), large)) {
            commits++;
          } else {
            aborts++;
          }
        } catch (TransactionAbortedException e) {
          aborts++;
        } finally {
          run.timestamps.exit(ctx);
        }
      }
    }

    private boolean transaction(int n, boolean large) {
      Timestamps t = run.timestamps;
      long first = random.nextInt(run.items);
      for (int i = 0; i < n; i++) {
        // Distinct, like a read set.
        item[i] = 1 + (first + (large ? i : (long) i * i * 7 + i)) % run.items;
        for (int j = 0; j < i; j++) {
          if (item[j] == item[i]) {
            n = i;
            break;
          }
        }
        if (n == i) {
          break;
        }
        writes[i] = !large && random.nextInt(2) == 0;
        slot[i] = t.pin(ctx, item[i]);
        if (!read(i)) {
          return false;
        }
        if (large && i % 16 == 0) {
          Thread.yield();
        }
      }
      return commit(n);
    }

    private boolean read(int i) {
      Timestamps t = run.timestamps;
      for (int spins = 0; spins < 1000; spins++) {
        long before = t.word(slot[i]);
        if (!TidWord.isLocked(before)) {
          long v = run.values.get((int) item[i]);
          if (t.word(slot[i]) == before) {
            if (t.item(slot[i]) != item[i] || v > TidWord.wts(before)) {
              failUnlessExpelled("read of item " + item[i] + ": value of " + v, i, before);
              return false;
            }
            seen[i] = before;
            value[i] = v;
            return true;
          }
        }
        Thread.onSpinWait();
      }
      return false;
    }

    private boolean commit(int n) {
      Timestamps t = run.timestamps;
      // Uses try-locks only, so the order does not matter.
      int locked = 0;
      boolean valid = true;
      long commitTs = random.nextInt(64) == 0 ? TidWord.wts(seen[0]) + random.nextInt(jump) : 0;
      for (; locked < n && valid; locked++) {
        if (writes[locked] && !t.tryLock(slot[locked])) {
          valid = false;
          break;
        }
      }
      for (int i = 0; i < n && valid; i++) {
        long word = t.word(slot[i]);
        commitTs = Math.max(commitTs, writes[i] ? TidWord.rts(word) + 1 : TidWord.wts(seen[i]));
      }
      for (int i = 0; i < n && valid; i++) {
        valid = t.extend(slot[i], seen[i], commitTs, writes[i]);
      }
      if (valid && !t.holds(ctx)) {
        expelled++;
        valid = false;
      }
      for (int i = 0; i < locked && valid; i++) {
        if (writes[i]) {
          int id = (int) item[i];
          long word = t.word(slot[i]);
          if (t.item(slot[i]) != id
              || TidWord.wts(word) < run.published[id]
              || TidWord.rts(word) >= commitTs) {
            fail("item " + id + " was published at " + run.published[id], i, word);
          }
          run.published[id] = commitTs;
          run.values.set(id, commitTs);
        }
      }
      for (int i = 0; i < n && valid; i++) {
        log(item[i], value[i], commitTs, READ);
        if (writes[i]) {
          log(item[i], commitTs, commitTs, WRITE);
        }
      }
      for (int i = 0; i < locked; i++) {
        if (writes[i]) {
          if (valid) {
            t.publish(slot[i], commitTs);
          } else {
            t.unlock(slot[i]);
          }
        }
      }
      return valid;
    }

    private void failUnlessExpelled(String what, int i, long word) {
      if (run.timestamps.holds(ctx)) {
        fail(what, i, word);
      }
    }

    private void fail(String what, int i, long word) {
      throw new AssertionError(
          what
              + ", slot "
              + slot[i]
              + " has item "
              + run.timestamps.item(slot[i])
              + " with "
              + TidWord.toString(word)
              + "; seed "
              + SEED);
    }

    private void log(long item, long version, long commitTs, int kind) {
      if (logged + 4 > log.length) {
        log = Arrays.copyOf(log, log.length * 2);
      }
      log[logged++] = item;
      log[logged++] = version;
      log[logged++] = commitTs;
      log[logged++] = kind;
    }
  }

  /** In order of commit timestamps, every read must have got the latest version. */
  private static void checkHistory(Worker[] workers, int items) {
    long[][] versions = new long[items + 1][];
    int[] count = new int[items + 1];
    for (int pass = 0; pass < 2; pass++) {
      for (Worker w : workers) {
        for (int i = 0; i < w.logged; i += 4) {
          int item = (int) w.log[i];
          if (w.log[i + 3] == Worker.WRITE) {
            if (pass == 1) {
              versions[item][count[item]] = w.log[i + 1];
            }
            count[item]++;
          }
        }
      }
      for (int item = 0; item <= items && pass == 0; item++) {
        versions[item] = new long[count[item] + 1]; // one more, for version 0
        count[item] = 1;
      }
    }
    for (long[] of : versions) {
      Arrays.sort(of);
      for (int i = 2; i < of.length; i++) {
        assertTrue(of[i] != of[i - 1], "two versions at " + of[i] + "; seed " + SEED);
      }
    }
    for (Worker w : workers) {
      for (int i = 0; i < w.logged; i += 4) {
        if (w.log[i + 3] == Worker.READ) {
          int item = (int) w.log[i];
          long commitTs = w.log[i + 2];
          // A transaction that also wrote the item read the version before its own.
          boolean own =
              i + 7 < w.logged
                  && w.log[i + 4] == item
                  && w.log[i + 6] == commitTs
                  && w.log[i + 7] == Worker.WRITE;
          int at = Arrays.binarySearch(versions[item], own ? commitTs - 1 : commitTs);
          long latest = versions[item][at >= 0 ? at : -at - 2];
          assertEquals(
              latest,
              w.log[i + 1],
              "version of item " + item + " read by the commit at " + commitTs + "; seed " + SEED);
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    // kind, items, exact bytes, budget, columns of the sketch, jump, a long one every
    "EPOCH, 6, 256, 256, 2, 10, 0",
    "EPOCH, 40, 256, 1024, 2, 100000, 0",
    "EPOCH, 300, 512, 65536, 16, 1000, 50",
    "EPOCH, 300, 512, 8192, 16, 100000, 20",
    "EPOCH, 5000, 4096, 16384, 64, 40000, 100",
    "REFERENCE_COUNT, 6, 256, 256, 2, 10, 0",
    "REFERENCE_COUNT, 40, 256, 1024, 2, 100000, 0",
    "REFERENCE_COUNT, 300, 512, 65536, 16, 1000, 50",
    "REFERENCE_COUNT, 5000, 4096, 16384, 64, 40000, 100",
  })
  void historiesAreSerializable(
      Release kind, int items, long exact, long budget, int columns, int jump, int longEvery)
      throws InterruptedException {
    int threads = 4;
    Timestamps timestamps = new Timestamps(threads, exact, budget, 2, columns, kind);
    Run run = new Run(timestamps, items);
    Worker[] workers = new Worker[threads];
    Thread[] all = new Thread[threads];
    for (int i = 0; i < threads; i++) {
      workers[i] = new Worker(run, i, Integer.getInteger("fovea.stress", 8_000), jump, longEvery);
      all[i] = new Thread(workers[i], "stress-" + i);
    }
    Failures.runAll(all);
    checkHistory(workers, items);
    int commits = 0;
    int expelled = 0;
    for (Worker w : workers) {
      commits += w.commits;
      expelled += w.expelled;
    }
    System.out.printf(
        "%s items %d: %d commits, %d expelled, %s%n",
        kind, items, commits, expelled, timestamps.stats());
    assertTrue(commits > 1000, commits + " commits: " + timestamps.stats());
    timestamps.close();
  }

  /** Over every kind of store; a sketch is resized all the time. */
  @ParameterizedTest
  @CsvSource({
    "DISK, EPOCH",
    "DISK_CACHE, EPOCH",
    "DISK_CACHE, REFERENCE_COUNT",
    "MEMORY, EPOCH",
    "FOCUS_COUNTER, EPOCH",
    "FOCUS_COUNTER, REFERENCE_COUNT",
    "FOCUS_SKETCH, EPOCH",
    "FOCUS_SKETCH, IMMEDIATE",
  })
  void everyKindIsSerializable(TimestampStore kind, Release release) throws InterruptedException {
    int threads = 4;
    int items = 300;
    try (Stores stores = new Stores()) {
      Timestamps timestamps = stores.make(threads, kind, release, 512, 64 << 10, 4, 4);
      Run run = new Run(timestamps, items);
      Worker[] workers = new Worker[threads];
      Thread[] all = new Thread[threads + 1];
      AtomicInteger left = new AtomicInteger(threads);
      for (int i = 0; i < threads; i++) {
        Worker worker = new Worker(run, i, Integer.getInteger("fovea.stress", 4_000), 1000, 50);
        workers[i] = worker;
        all[i] =
            new Thread(
                () -> {
                  try {
                    worker.run();
                  } finally {
                    left.decrementAndGet();
                  }
                });
      }
      all[threads] =
          new Thread(
              () -> {
                for (int i = 0; left.get() > 0; i++) {
                  if (kind == TimestampStore.FOCUS_SKETCH) {
                    timestamps.resize(1 << i % 12);
                  }
                  Thread.yield();
                }
              });
      Failures.runAll(all);
      checkHistory(workers, items);
      int commits = 0;
      for (Worker w : workers) {
        commits += w.commits;
      }
      TimestampStats stats = timestamps.stats();
      assertTrue(commits > 1000, commits + " commits: " + stats);
      assertEquals(kind == TimestampStore.MEMORY, stats.released() == 0, stats.toString());
      assertEquals(kind == TimestampStore.FOCUS_SKETCH, stats.resizes() > 0, stats.toString());
    }
  }

  /** Pins alone, in one bucket: a pinned slot must keep its item. */
  @ParameterizedTest
  @CsvSource({"EPOCH", "REFERENCE_COUNT"})
  void aPinnedSlotIsNeverReused(Release kind) throws InterruptedException {
    Timestamps t = new Timestamps(4, 256, 256, 1, 2, kind);
    Thread[] all = new Thread[4];
    for (int i = 0; i < all.length; i++) {
      int ctx = i;
      all[i] =
          new Thread(
              () -> {
                SplittableRandom random = new SplittableRandom(SEED + ctx);
                for (int n = 0; n < 50_000; n++) {
                  t.enter(ctx);
                  try {
                    long item = 1 + random.nextInt(24);
                    int slot = t.pin(ctx, item);
                    for (int look = random.nextInt(20); look >= 0; look--) {
                      if (t.item(slot) != item && t.holds(ctx)) {
                        throw new AssertionError("slot " + slot + " lost item " + item);
                      }
                    }
                  } catch (TransactionAbortedException e) {
                    // everything was in use
                  } finally {
                    t.exit(ctx);
                  }
                }
              });
    }
    Failures.runAll(all);
    assertTrue(t.stats().released() > 10_000, t.stats().toString());
    t.close();
  }

  /** The checker itself detects a read of an old version. */
  @Test
  void theCheckerDetectsAnOldVersion() {
    Run run = new Run(null, 3);
    Worker w = new Worker(run, 0, 0, 1, 0);
    w.log(1, 5, 5, Worker.WRITE);
    w.log(1, 9, 9, Worker.WRITE);
    w.log(1, 5, 8, Worker.READ);
    checkHistory(new Worker[] {w}, 3);
    w.log(1, 5, 9, Worker.READ);
    boolean seen = false;
    try {
      checkHistory(new Worker[] {w}, 3);
    } catch (AssertionError e) {
      seen = true;
    }
    assertTrue(seen);
  }
}
