package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.memory.Mem;
import io.fovea.support.Records;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class BackgroundWriterTest {
  private static final int PAGES = 400;

  private final TestDevice device = new TestDevice();

  private BufferPool open(Replacement kind) {
    PoolConfig config =
        Records.with(
            PoolConfig.ofFrames(4096, 64, Translation.PREDICTIVE, kind),
            "exhaustedMillis",
            20_000L);
    return new BufferPool(device, config, AllocatorState.EMPTY);
  }

  private static List<Long> pages(BufferPool pool) {
    List<Long> pids = new ArrayList<>();
    for (int i = 0; i < PAGES; i++) {
      pids.add(Pools.page(pool));
    }
    return pids;
  }

  /**
   * Threads that change pages of a file six times the size of the pool never write one themselves.
   */
  @ParameterizedTest
  @EnumSource(Replacement.class)
  void onlyTheWriterWrites(Replacement kind) throws Exception {
    Set<String> writers = ConcurrentHashMap.newKeySet();
    device.beforeWrite = () -> writers.add(Thread.currentThread().getName());
    BufferPool pool = open(kind);
    List<Long> pids = pages(pool);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<?>> ends = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      SplittableRandom random = new SplittableRandom(t);
      ends.add(
          threads.submit(
              () -> {
                for (int i = 0; i < 2_000; i++) {
                  Pools.setWord(pool, pids.get(random.nextInt(PAGES)), i);
                }
              }));
    }
    for (Future<?> end : ends) {
      end.get();
    }
    threads.shutdown();
    PoolStats stats = pool.stats();
    assertTrue(stats.pagesWritten() > 1_000, stats.toString());
    assertEquals(Set.of("fovea-writer"), writers);
    Pools.check(pool);
    writers.clear();
    pool.flushAll();
    assertEquals(
        Set.of(Thread.currentThread().getName()), writers, "a flush writes its pages itself");
    pool.close();
    assertEquals(0, device.overlaps.get());
  }

  /**
   * Once there are too few free frames the writer frees many more than requested, so that misses do
   * not wake it for each frame.
   */
  @ParameterizedTest
  @EnumSource(
      value = Translation.class,
      names = {"LATCHED", "VIRTUAL"})
  void framesAreFreedInBatches(Translation kind) {
    PoolConfig config = PoolConfig.ofFrames(4096, 2048, kind);
    BufferPool pool = new BufferPool(device, config, AllocatorState.EMPTY);
    List<Long> pids = new ArrayList<>();
    for (int i = 0; i < 5_000; i++) {
      pids.add(Pools.page(pool));
    }
    pool.flushAll();
    int[] next = new int[1];
    // Eight are requested.
    Pools.await(
        "many are free",
        () -> {
          Pools.word(pool, pids.get(next[0]++ % pids.size()));
          return pool.stats().framesFree() >= 24;
        });
    Pools.check(pool);
    pool.close();
  }

  /** A stalled device makes threads wait for frames; these waits are counted and timed. */
  @Test
  void backPressureIsMeasured() throws Exception {
    CountDownLatch goOn = new CountDownLatch(1);
    BufferPool pool = open(Replacement.SECOND_CHANCE);
    device.beforeWrite =
        () -> {
          try {
            goOn.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        };
    ExecutorService thread = Executors.newSingleThreadExecutor();
    Future<List<Long>> pids = thread.submit(() -> pages(pool));
    Pools.await("a thread waits", () -> pool.stats().frameWaits() > 0);
    goOn.countDown();
    assertEquals(PAGES, pids.get().size());
    thread.shutdown();
    PoolStats stats = pool.stats();
    assertTrue(stats.frameWaits() > 0 && stats.frameWaitNanos() > 0, stats.toString());
    pool.close();
  }

  /**
   * Sixteen threads, most of which wait for frames while a batch is written: each page keeps its
   * latest contents, whichever thread got which frame.
   */
  @ParameterizedTest
  @EnumSource(Replacement.class)
  void manyThreadsWaitForTheWriter(Replacement kind) throws Exception {
    BufferPool pool = open(kind);
    List<Long> pids = pages(pool);
    AtomicBoolean over = new AtomicBoolean();
    long before = pool.stats().frameWaits();
    // The first batches stall until some threads wait.
    device.beforeBatch =
        batch -> {
          while (!over.get() && pool.stats().frameWaits() < before + 4) {
            Thread.onSpinWait();
          }
        };
    ExecutorService threads = Executors.newFixedThreadPool(16);
    List<Future<?>> ends = new ArrayList<>();
    long[][] last = new long[16][PAGES / 16];
    for (int t = 0; t < 16; t++) {
      int me = t;
      SplittableRandom random = new SplittableRandom(t);
      ends.add(
          threads.submit(
              () -> {
                for (int i = 0; i < 1_000; i++) {
                  int own = random.nextInt(PAGES / 16);
                  last[me][own] = me * 10_000L + i + 1;
                  Pools.setWord(pool, pids.get(own * 16 + me), last[me][own]);
                }
              }));
    }
    for (Future<?> end : ends) {
      end.get();
    }
    over.set(true);
    threads.shutdown();
    assertTrue(pool.stats().frameWaits() >= before + 4, pool.stats().toString());
    for (int t = 0; t < 16; t++) {
      for (int own = 0; own < PAGES / 16; own++) {
        long pid = pids.get(own * 16 + t);
        assertEquals(last[t][own] == 0 ? pid : last[t][own], Pools.word(pool, pid));
      }
    }
    Pools.check(pool);
    pool.close();
    assertEquals(0, device.overlaps.get());
  }

  /**
   * A thread that has latched a page whose write fails may wait for a frame: the writer continues
   * without that latch, and the page is written later.
   */
  @Test
  void aFailedWriteDoesNotWaitForTheLatchOfItsPage() {
    BufferPool pool = open(Replacement.SECOND_CHANCE);
    AtomicInteger latched = new AtomicInteger(-1);
    AtomicLong offset = new AtomicLong(-1);
    device.beforeBatch =
        batch -> {
          if (offset.get() < 0) {
            offset.set(batch.offset(0));
            latched.set(pool.fixExclusive(offset.get() / 4096));
          }
        };
    AtomicBoolean failed = new AtomicBoolean();
    device.writeFails = at -> at == offset.get() && !failed.getAndSet(true);
    final List<Long> pids = pages(pool); // six times the size of the pool
    assertTrue(failed.get(), "nothing failed");
    long pid = offset.get() / 4096;
    assertEquals(pid, pool.pid(latched.get()), "its page was evicted from a latched frame");
    assertEquals(pid, Mem.getLong(pool.pages(), pool.base(latched.get()) + Pools.WORD));
    pool.releaseExclusiveUnchanged(latched.get());
    pool.flushAll();
    assertEquals(0, pool.stats().framesDirty());
    for (long each : pids) {
      assertEquals(each, Pools.word(pool, each));
    }
    Pools.check(pool);
    pool.close();
    assertEquals(0, device.overlaps.get());
  }

  /**
   * A page that was cleaned ahead of need is still resident: using it reads nothing, and keeps it.
   */
  @ParameterizedTest
  @EnumSource(Replacement.class)
  void pagesCleanedAheadStayResident(Replacement kind) {
    BufferPool pool = open(kind);
    pages(pool);
    Frames frames = pool.frames;
    pool.writeBack.begin();
    try {
      // All candidates may have been used since; more pages produce new ones.
      for (int i = 0; i < PAGES && candidate(frames) < 0; i++) {
        pool.writeBack.end();
        try {
          Pools.page(pool);
        } finally {
          pool.writeBack.begin();
        }
      }
      int frame = candidate(frames);
      assertTrue(frame >= 0, "there is an eviction candidate");
      long pid = frames.pid(frame);
      long misses = pool.stats().misses();
      assertEquals(pid, Pools.word(pool, pid));
      assertEquals(misses, pool.stats().misses());
      for (int ready = frames.claimReady(); ready >= 0; ready = frames.claimReady()) {
        frames.unclaim(ready);
      }
      assertEquals(pid, frames.pid(frame), "it was used and stays");
    } finally {
      pool.writeBack.end();
    }
    pool.close();
  }

  /** A frame whose page was cleaned ahead and not used since, or -1. */
  private static int candidate(Frames frames) {
    int frame = -1;
    for (int i = 0; i < frames.count; i++) {
      frame = frames.pid(i) != 0 && FrameHeader.isEvictionCandidate(frames.headers, i) ? i : frame;
    }
    return frame;
  }

  /** As long as the data fits, nothing is written, however often it changes. */
  @Test
  void nothingIsWrittenAheadOfNeed() {
    BufferPool pool = open(Replacement.SAMPLING);
    List<Long> pids = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      pids.add(Pools.page(pool));
    }
    for (int i = 0; i < 5_000; i++) {
      Pools.setWord(pool, pids.get(i % 50), i);
    }
    assertEquals(0, device.writes.get());
    pool.close();
    assertEquals(50, pool.stats().pagesWritten());
  }
}
