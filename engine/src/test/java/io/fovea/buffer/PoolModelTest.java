package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import io.fovea.support.Records;
import io.fovea.support.TestEnvironment;
import io.fovea.support.UnreliableDeviceState;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random operations on a tiny pool, compared with a map of page contents: allocation, freeing,
 * latched changes and reads, optimistic reads, upgrades, flushes, reopening, failing devices.
 */
class PoolModelTest {
  private static final int STEPS = 1500;

  /** The state of a run; the seed decides everything. */
  private static final class Run {
    final TestDevice device = new TestDevice();
    final BlockDevice seen;
    final TestEnvironment environment;
    final Map<Long, Long> model = new TreeMap<>();
    final List<Long> pids = new ArrayList<>();
    final Random random;
    final Translation kind;
    final Replacement replacement;
    final int pagesMax;
    BufferPool pool;
    boolean failing;

    Run(
        Translation kind,
        Replacement replacement,
        int pagesMax,
        long seed,
        TestEnvironment environment,
        UnreliableDeviceState deviceState) {
      this.environment = environment;
      this.seen = deviceState.on(device);
      this.kind = kind;
      this.replacement = replacement;
      this.pagesMax = pagesMax;
      this.random = new Random(seed);
      this.pool = open(AllocatorState.EMPTY);
    }

    BufferPool open(AllocatorState state) {
      return new BufferPool(
          seen,
          Records.with(PoolConfig.ofFrames(4096, 64, kind, replacement), "exhaustedMillis", 2000L),
          state);
    }

    /** Repeats an action as long as its exceptions are device errors. */
    void retryingDeviceErrors(Runnable what) {
      environment.patiently(what);
    }

    long any() {
      // Half of the time one of a few pages, which become hot.
      int bound = random.nextBoolean() ? pids.size() : Math.min(pids.size(), 10);
      return pids.get(random.nextInt(bound));
    }
  }

  @Property(tries = 60)
  void behavesLikeAMap(
      @ForAll Translation kind,
      @ForAll Replacement replacement,
      @ForAll @IntRange(min = 10, max = 400) int pagesMax,
      @ForAll long seed) {
    Assume.that(kind != Translation.DIRECT); // needs memory for the whole file: DirectTest
    TestEnvironment plain = TestEnvironment.PLAIN;
    run(new Run(kind, replacement, pagesMax, seed, plain, plain.deviceState(seed)), STEPS);
  }

  @ParameterizedTest
  @EnumSource
  void behavesLikeAMapInEnvironments(TestEnvironment environment) {
    long[] readsFailed = {0};
    environment.each(
        3,
        (deviceState, seed) -> {
          // All but the last: DIRECT needs memory for the whole file.
          Translation kind = Translation.values()[(int) (seed % (Translation.values().length - 1))];
          Replacement replacement = Replacement.values()[(int) (seed % 2)];
          run(
              new Run(kind, replacement, 400, seed, environment, deviceState),
              environment.steps(STEPS));
          readsFailed[0] += deviceState.readsFailed();
        });
    assertEquals(environment.failsReads(), readsFailed[0] > 0);
  }

  private static void run(Run run, int steps) {
    for (int step = 0; step < steps; step++) {
      try {
        step(run);
      } catch (FoveaException e) {
        assertTrue(
            run.failing && e instanceof StorageException || run.environment.mayThrow(e),
            () -> "nothing failed, but " + e);
      }
    }
    run.device.readFails = offset -> false;
    run.retryingDeviceErrors(() -> verify(run));
    run.retryingDeviceErrors(() -> reopen(run));
    run.retryingDeviceErrors(() -> verify(run));
    run.retryingDeviceErrors(run.pool::flushAll);
    run.pool.abandon();
    assertEquals(0, run.device.overlaps.get());
    run.seen.close();
  }

  private static void step(Run run) {
    int what = run.random.nextInt(100);
    if (run.pids.isEmpty() || what < 12 && run.pids.size() < run.pagesMax) {
      allocate(run);
    } else if (what < 17) {
      free(run);
    } else if (what < 45) {
      change(run);
    } else if (what < 95) {
      long pid = run.any();
      long word =
          what < 60 ? Pools.word(run.pool, pid) : BufferPoolTest.optimisticWord(run.pool, pid);
      assertEquals(run.model.get(pid), word, "page " + pid);
    } else if (what < 97) {
      run.failing = !run.failing;
      boolean fails = run.failing;
      run.device.readFails = offset -> fails && offset / 4096 % 3 == 0;
    } else if (what < 99) {
      run.pool.flushAll();
    } else if (run.random.nextInt(4) == 0) {
      reopen(run);
    }
  }

  private static void allocate(Run run) {
    int type = run.random.nextInt(8) == 0 ? PageHeader.INNER : PageHeader.LEAF;
    int frame = run.pool.allocate(1, type, LogSession.NONE);
    long pid = run.pool.pid(frame);
    long base = run.pool.base(frame);
    assertTrue(Mem.isZero(run.pool.pages(), base + 32, 4096 - 32), "page " + pid + " is not empty");
    long value = run.random.nextLong();
    Mem.putLong(run.pool.pages(), base + Pools.WORD, value);
    run.pool.releaseExclusive(frame);
    assertEquals(null, run.model.put(pid, value), "page " + pid + " was allocated twice");
    run.pids.add(pid);
  }

  private static void free(Run run) {
    int i = run.random.nextInt(run.pids.size());
    long pid = run.pids.get(i);
    run.pool.free(run.pool.fixExclusive(pid), LogSession.NONE);
    run.model.remove(pid);
    run.pids.remove(i);
  }

  private static void change(Run run) {
    long pid = run.any();
    BufferPool pool = run.pool;
    int frame;
    if (run.random.nextBoolean()) {
      frame = pool.fixExclusive(pid);
    } else {
      frame = pool.findSlow(pid);
      long version = pool.optimistic(frame, pid);
      if (version == BufferPool.RESTART || !pool.tryUpgrade(frame, version)) {
        // The pool's writer has it latched, or has just made it an eviction candidate.
        frame = pool.fixExclusive(pid);
      }
    }
    long at = pool.base(frame) + Pools.WORD;
    assertEquals(run.model.get(pid), Mem.getLong(pool.pages(), at), "page " + pid);
    if (run.random.nextInt(10) == 0) {
      pool.releaseExclusiveUnchanged(frame);
      return;
    }
    long value = run.random.nextLong();
    Mem.putLong(pool.pages(), at, value);
    pool.markDirty(frame);
    pool.releaseExclusive(frame);
    run.model.put(pid, value);
  }

  private static void reopen(Run run) {
    AllocatorState state = run.pool.allocatorState();
    assertEquals(
        state.highWater() - AllocatorState.FIRST_PID,
        run.pids.size() + state.freePages(),
        "every page is in use or free");
    // A failed write loses nothing: the pages stay dirty. A close after one fails.
    run.retryingDeviceErrors(run.pool::flushAll);
    run.pool.close();
    run.pool = run.open(state);
  }

  private static void verify(Run run) {
    run.model.forEach(
        (pid, value) -> assertEquals(value, Pools.word(run.pool, pid), "page " + pid));
    Pools.check(run.pool);
  }
}
