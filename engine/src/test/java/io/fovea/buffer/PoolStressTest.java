package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.error.StorageException;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Threads add to counters in random pages of a file four times the size of the pool, while readers
 * without a latch must always see the two words of a page agree.
 */
@Tag("slow")
@Timeout(120)
class PoolStressTest {
  private static final int FRAMES = 128;
  private static final int PAGES = 512;
  private static final int THREADS = 4;
  private static final int ROUNDS = 20_000;
  private static final long COUNTER = PageHeader.BYTES;
  private static final long MIRROR = 4088;

  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void countersSurvive(Translation translation) throws Exception {
    countersSurvive(translation, Replacement.SECOND_CHANCE);
  }

  @Test
  void countersSurviveSampling() throws Exception {
    countersSurvive(Translation.PREDICTIVE, Replacement.SAMPLING);
  }

  private static void countersSurvive(Translation translation, Replacement replacement)
      throws Exception {
    long seed = 0x5EED ^ translation.ordinal();
    try (MemoryDevice device = new MemoryDevice()) {
      PoolConfig config = PoolConfig.ofFrames(4096, FRAMES, translation, replacement);
      BufferPool pool = new BufferPool(device, config, AllocatorState.EMPTY);
      long[] pids = new long[PAGES];
      for (int i = 0; i < PAGES; i++) {
        int frame =
            pool.allocate(1, i % 16 == 0 ? PageHeader.INNER : PageHeader.LEAF, LogSession.NONE);
        pids[i] = pool.pid(frame);
        pool.releaseExclusive(frame);
      }
      AtomicLong working = new AtomicLong(THREADS);
      FrameVersions versions = new FrameVersions(pool);
      inThreads(
          THREADS + 1,
          t -> {
            if (t == 0) {
              while (working.get() > 0) {
                versions.inspect();
              }
              return;
            }
            try {
              work(pool, pids, new SplittableRandom(seed + t));
            } finally {
              working.getAndDecrement();
            }
          });
      PoolStats stats = pool.stats();
      assertTrue(stats.misses() > 0 && stats.pagesWritten() > 0, stats.toString());
      assertEquals((long) THREADS * ROUNDS / 2, sum(pool, pids), stats.toString());
      AllocatorState state = pool.allocatorState();
      pool.close();

      BufferPool again = new BufferPool(device, config, state);
      assertEquals((long) THREADS * ROUNDS / 2, sum(again, pids), "after reopening");
      again.close();
    }
  }

  /**
   * Pages with only four preferred frames in total: they demote each other while the clock evicts
   * them.
   */
  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "PREDICTIVE.*", mode = EnumSource.Mode.MATCH_ANY)
  void promotionAndDemotion(Translation translation) throws Exception {
    try (TestDevice device = new TestDevice()) {
      PoolConfig config = PoolConfig.ofFrames(4096, 64, translation);
      BufferPool pool = new BufferPool(device, config, AllocatorState.EMPTY);
      long[] all = new long[1000];
      for (int i = 0; i < all.length; i++) {
        int frame =
            pool.allocate(1, i % 5 == 0 ? PageHeader.INNER : PageHeader.LEAF, LogSession.NONE);
        all[i] = pool.pid(frame);
        pool.releaseExclusive(frame);
      }
      Translator translator = pool.frames.translator;
      long[] pids = LongStream.of(all).filter(pid -> translator.preferred(pid) < 4).toArray();
      PagePromoter pagePromoter = new PagePromoter(pool.frames);
      inThreads(
          t -> {
            SplittableRandom random = new SplittableRandom(t);
            for (int i = 0; i < ROUNDS; i++) {
              long pid = pids[random.nextInt(pids.length)];
              if (t == 0) {
                // As promotion does, but without its odds.
                int frame = translator.lookup(pid);
                int preferred = translator.preferred(pid);
                if (frame >= 0 && frame != preferred) {
                  pagePromoter.promote(pid, frame, preferred);
                }
              } else if (i % 2 == 0) {
                add(pool, pid, random.nextInt(3));
              } else {
                read(pool, i % 16 == 1 ? all[random.nextInt(all.length)] : pid);
              }
            }
          });
      PoolStats stats = pool.stats();
      assertTrue(stats.promotions() > 0 && stats.demotions() > 0, stats.toString());
      assertEquals((THREADS - 1L) * ROUNDS / 2, sum(pool, pids), stats.toString());
      Pools.check(pool);
      AllocatorState state = pool.allocatorState();
      pool.close();
      assertEquals(0, device.overlaps.get());
      BufferPool again = new BufferPool(device, config, state);
      assertEquals((THREADS - 1L) * ROUNDS / 2, sum(again, pids), "after reopening");
      again.close();
    }
  }

  /** All threads allocate and free pages; each page belongs to one at a time. */
  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void allocation(Translation translation) throws Exception {
    try (TestDevice device = new TestDevice()) {
      PoolConfig config = PoolConfig.ofFrames(4096, 64, translation);
      BufferPool pool = new BufferPool(device, config, AllocatorState.EMPTY);
      ConcurrentHashMap<Long, Integer> owners = new ConcurrentHashMap<>();
      inThreads(
          t -> {
            SplittableRandom random = new SplittableRandom(t);
            List<Long> mine = new ArrayList<>();
            for (int i = 0; i < 3000; i++) {
              if (mine.isEmpty() || mine.size() < 100 && random.nextInt(5) < 3) {
                // Two at a time, both latched, as a split does.
                int a = pool.allocate(t, PageHeader.LEAF, LogSession.NONE);
                int b = pool.allocate(t, PageHeader.LEAF, LogSession.NONE);
                for (int frame : new int[] {a, b}) {
                  long pid = pool.pid(frame);
                  assertEquals(null, owners.put(pid, t), "page " + pid + " has an owner");
                  assertEquals(0, Mem.getLong(pool.pages(), pool.base(frame) + COUNTER));
                  Mem.putLong(pool.pages(), pool.base(frame) + COUNTER, pid);
                  mine.add(pid);
                  pool.releaseExclusive(frame);
                }
              } else {
                long pid = mine.remove(random.nextInt(mine.size()));
                int frame = pool.fixExclusive(pid);
                assertEquals(pid, Mem.getLong(pool.pages(), pool.base(frame) + COUNTER));
                assertEquals(t, PageHeader.treeId(pool.pages(), pool.base(frame)));
                assertEquals(t, owners.remove(pid));
                pool.free(frame, LogSession.NONE);
              }
            }
          });
      Pools.check(pool);
      AllocatorState state = pool.allocatorState();
      assertEquals(state.highWater() - AllocatorState.FIRST_PID, owners.size() + state.freePages());
      pool.close();
      assertEquals(0, device.overlaps.get());
      BufferPool again = new BufferPool(device, config, state);
      Set<Long> seen = new HashSet<>(owners.keySet());
      for (long i = 0; i < state.freePages(); i++) {
        int frame = again.allocate(1, PageHeader.LEAF, LogSession.NONE);
        assertTrue(seen.add(again.pid(frame)), "a page of the free list is in use");
        again.releaseExclusive(frame);
      }
      owners.forEach((pid, t) -> assertEquals(pid, wordOf(again, pid)));
      again.close();
    }
  }

  /** A device that fails occasionally: a typed error or the right answer. */
  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void failingDevice(Translation translation) throws Exception {
    try (TestDevice device = new TestDevice()) {
      PoolConfig config = PoolConfig.ofFrames(4096, 64, translation);
      BufferPool pool = new BufferPool(device, config, AllocatorState.EMPTY);
      long[] pids = new long[300];
      for (int i = 0; i < pids.length; i++) {
        int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
        pids[i] = pool.pid(frame);
        pool.releaseExclusive(frame);
      }
      AtomicLong added = new AtomicLong();
      device.readFails = offset -> ThreadLocalRandom.current().nextInt(20) == 0;
      device.writeFails = offset -> ThreadLocalRandom.current().nextInt(10) == 0;
      inThreads(
          t -> {
            SplittableRandom random = new SplittableRandom(t);
            for (int i = 0; i < ROUNDS / 4; i++) {
              long pid = pids[random.nextInt(pids.length)];
              try {
                if (i % 2 == 0) {
                  add(pool, pid, random.nextInt(3));
                  added.incrementAndGet();
                } else {
                  read(pool, pid);
                }
              } catch (StorageException e) {
                // The operation had no effect.
              }
            }
          });
      device.readFails = offset -> false;
      device.writeFails = offset -> false;
      PoolStats stats = pool.stats();
      assertTrue(stats.readFailures() > 0 && stats.writeFailures() > 0, stats.toString());
      Pools.check(pool);
      assertEquals(added.get(), sum(pool, pids), stats.toString());
      pool.close();
      assertEquals(0, device.overlaps.get());
    }
  }

  /** Flushes concurrent with writers end, and flushed pages are on the device. */
  @Test
  void flushConcurrentWithWriters() throws Exception {
    try (TestDevice device = new TestDevice()) {
      PoolConfig config = PoolConfig.ofFrames(4096, 64, Translation.PREDICTIVE);
      BufferPool pool = new BufferPool(device, config, AllocatorState.EMPTY);
      long[] pids = new long[100];
      for (int i = 0; i < pids.length; i++) {
        int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
        pids[i] = pool.pid(frame);
        pool.releaseExclusive(frame);
      }
      AtomicBoolean done = new AtomicBoolean();
      AtomicLong added = new AtomicLong();
      inThreads(
          t -> {
            if (t == 0) {
              for (int i = 0; i < 50; i++) {
                pool.flushAll();
              }
              done.set(true);
            } else {
              SplittableRandom random = new SplittableRandom(t);
              while (!done.get()) {
                add(pool, pids[random.nextInt(pids.length)], random.nextInt(3));
                added.incrementAndGet();
              }
            }
          });
      pool.flushAll();
      AllocatorState state = pool.allocatorState();
      pool.abandon();
      BufferPool again = new BufferPool(device, config, state);
      assertEquals(added.get(), sum(again, pids));
      again.close();
    }
  }

  static void inThreads(IntConsumer body) throws Exception {
    inThreads(THREADS, body);
  }

  /** Runs an action in threads, the last of which is virtual. */
  static void inThreads(int count, IntConsumer body) throws Exception {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      int me = t;
      Runnable run =
          () -> {
            try {
              body.accept(me);
            } catch (Throwable e) {
              failure.compareAndSet(null, e);
            }
          };
      threads.add(me == count - 1 ? Thread.ofVirtual().start(run) : Thread.ofPlatform().start(run));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (failure.get() != null) {
      throw new AssertionError("in a thread", failure.get());
    }
  }

  private static long wordOf(BufferPool pool, long pid) {
    int frame = pool.fixShared(pid);
    long word = Mem.getLong(pool.pages(), pool.base(frame) + COUNTER);
    pool.releaseShared(frame);
    return word;
  }

  private static void work(BufferPool pool, long[] pids, SplittableRandom random) {
    for (int i = 0; i < ROUNDS; i++) {
      // Skewed, so that both promotion and eviction occur.
      int bound = random.nextInt(4) == 0 ? pids.length : pids.length / 8;
      long pid = pids[random.nextInt(bound)];
      if (i % 2 == 0) {
        add(pool, pid, random.nextInt(3));
      } else if (random.nextInt(4) == 0) {
        pool.releaseExclusiveUnchanged(pool.fixExclusive(pid));
      } else {
        read(pool, pid);
      }
    }
  }

  private static void add(BufferPool pool, long pid, int how) {
    int frame;
    if (how == 0) {
      frame = pool.fixExclusive(pid);
    } else {
      while (true) {
        frame = pool.predict(pid);
        long version = pool.optimistic(frame, pid);
        if (version == BufferPool.RESTART) {
          frame = pool.findSlow(pid);
          version = pool.optimistic(frame, pid);
        }
        if (version != BufferPool.RESTART
            && (how == 1 ? pool.tryUpgrade(frame, version) : pool.tryExclusive(frame, pid))) {
          break;
        }
      }
    }
    long base = pool.base(frame);
    long value = Mem.getLong(pool.pages(), base + COUNTER) + 1;
    assertEquals(pid, PageHeader.pid(pool.pages(), base));
    Mem.putLong(pool.pages(), base + COUNTER, value);
    Mem.putLong(pool.pages(), base + MIRROR, value);
    pool.markDirty(frame);
    pool.releaseExclusive(frame);
  }

  static long read(BufferPool pool, long pid) {
    while (true) {
      int frame = pool.predict(pid);
      long version = pool.optimistic(frame, pid);
      if (version == BufferPool.RESTART) {
        frame = pool.findSlow(pid);
        version = pool.optimistic(frame, pid);
        if (version == BufferPool.RESTART) {
          continue;
        }
      }
      long base = pool.base(frame);
      long counter = Mem.getLong(pool.pages(), base + COUNTER);
      long mirror = Mem.getLong(pool.pages(), base + MIRROR);
      long is = PageHeader.pid(pool.pages(), base);
      if (pool.validate(frame, version)) {
        assertEquals(counter, mirror, "a torn page passed validation");
        assertEquals(pid, is, "another page passed validation");
        return counter;
      }
    }
  }

  private static long sum(BufferPool pool, long[] pids) {
    long sum = 0;
    for (long pid : pids) {
      int frame = pool.fixShared(pid);
      sum += Mem.getLong(pool.pages(), pool.base(frame) + COUNTER);
      pool.releaseShared(frame);
    }
    return sum;
  }
}
