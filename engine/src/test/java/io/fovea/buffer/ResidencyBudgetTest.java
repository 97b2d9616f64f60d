package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.DropList;
import io.fovea.memory.Mem;
import io.fovea.support.Records;
import io.fovea.wal.LogSession;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * VIRTUAL: evictions while other threads read and change pages, and the memory in use.
 *
 * <p>Mutants of {@link ResidencyBudget} found by {@link
 * #pageIsReloadedOnlyAfterItsMemoryWasReleased} and {@link #listIsEvictedStepByStep}: memory
 * released after the latch (V1), a grant returned before the memory (V2), a write to an evicted
 * page (V4), a list entry released while the header names the page (V6).
 */
class ResidencyBudgetTest {
  private static final int PAGE = 4096;
  private static final int WORDS = (PAGE - PageHeader.BYTES) / 8;

  private final BlockDevice device = new MemoryDevice();

  private static ResidencyBudget budget(BufferPool pool) {
    return (ResidencyBudget) pool.frames.residency;
  }

  private BufferPool open(Replacement kind) {
    return open(kind, 64);
  }

  private BufferPool open(Replacement kind, int frames) {
    PoolConfig config = PoolConfig.ofFrames(PAGE, frames, Translation.VIRTUAL, kind);
    return new BufferPool(
        device, Records.with(config, "exhaustedMillis", 10_000L), AllocatorState.EMPTY);
  }

  private static void fill(BufferPool pool, int frame, long pid, long value) {
    long at = pool.base(frame) + PageHeader.BYTES;
    for (int i = 0; i < WORDS; i++) {
      Mem.putLong(pool.pages(), at + 8L * i, pid << 32 ^ value + i);
    }
  }

  /** Whether the whole page has the contents written by {@link #fill}. */
  private static boolean whole(BufferPool pool, int frame, long pid) {
    long at = pool.base(frame) + PageHeader.BYTES;
    long value = Mem.getLong(pool.pages(), at) ^ pid << 32;
    for (int i = 1; i < WORDS; i++) {
      if ((Mem.getLong(pool.pages(), at + 8L * i) ^ pid << 32) != value + i) {
        return false;
      }
    }
    return value >>> 32 == 0;
  }

  private static long[] pages(BufferPool pool, int n) {
    long[] pids = new long[n];
    for (int i = 0; i < n; i++) {
      int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
      pids[i] = pool.pid(frame);
      assertEquals(pids[i], frame);
      fill(pool, frame, pids[i], 0);
      pool.releaseExclusive(frame);
    }
    return pids;
  }

  /**
   * Threads read without latches, change and scan data four times the size of memory, in a pool
   * that evicts two pages together, and in one that evicts sixteen. Drops are paused between their
   * steps at random. Every page that validates is whole and the right one (V1, V3); no memory is
   * taken without a grant (V2, V4).
   */
  @ParameterizedTest
  @EnumSource(Replacement.class)
  void pagesLeaveWhileOthersReadThem(Replacement kind) throws Exception {
    int size = kind == Replacement.SAMPLING ? 512 : 64;
    BufferPool pool = open(kind, size);
    ResidencyBudget residencyBudget = budget(pool);
    assertTrue(
        residencyBudget.evictionBatchSize() >= size / 32,
        residencyBudget.evictionBatchSize() + " pages");
    long[] pids = pages(pool, 5 * size);
    pool.flushAll();
    // Headers, the write buffer, and pages that the kernel counts twice because they move: it
    // visits 512 at a time.
    int twice = size == 64 ? 16 : 256;
    long memory = inMemory(pool); // before the grants: pages only leave
    long beside =
        memory - (long) (residencyBudget.capacity() - residencyBudget.free() - twice) * PAGE;
    AtomicInteger dice = new AtomicInteger();
    residencyBudget.between =
        step -> {
          if ((dice.getAndIncrement() & 15) == 0) {
            LockSupport.parkNanos(20_000);
          }
        };
    AtomicBoolean stop = new AtomicBoolean();
    AtomicLong read = new AtomicLong();
    AtomicLong most = new AtomicLong();
    List<Future<?>> ends = new ArrayList<>();
    ExecutorService threads = Executors.newFixedThreadPool(5);
    for (int t = 0; t < 3; t++) {
      SplittableRandom random = new SplittableRandom(t);
      ends.add(
          threads.submit(
              () -> {
                while (!stop.get()) {
                  long pid = pids[random.nextInt(pids.length)];
                  if (random.nextInt(8) == 0) {
                    int frame = pool.fixExclusive(pid);
                    assertTrue(whole(pool, frame, pid), "latched page " + pid);
                    fill(pool, frame, pid, random.nextInt(1 << 30));
                    pool.markDirty(frame);
                    pool.releaseExclusive(frame);
                  } else if (readOnce(pool, pid)) {
                    read.getAndIncrement();
                  }
                }
              }));
    }
    // A scan, by groups.
    ends.add(
        threads.submit(
            () -> {
              PageGroup group = new PageGroup();
              while (!stop.get()) {
                for (int i = 0; i + 8 <= pids.length && !stop.get(); i += 8) {
                  group.clear();
                  for (int k = 0; k < 8; k++) {
                    group.add(pids[i + k]);
                  }
                  pool.begin(group, false);
                  group.await();
                  for (int k = 0; k < 8; k++) {
                    readOnce(pool, pids[i + k]);
                  }
                }
              }
            }));
    // A thread that measures memory: never more pages than grants.
    ends.add(
        threads.submit(
            () -> {
              while (!stop.get()) {
                assertTrue(residencyBudget.free() >= 0, "more grants are held than there are");
                most.accumulateAndGet(inMemory(pool), Math::max);
                LockSupport.parkNanos(2_000_000);
              }
            }));
    // Readers get three seconds of wall time, because a park may return immediately with an earlier
    // permit; and more on a busy machine, until there have been some reads.
    long begin = System.nanoTime();
    for (long ran = 0; ran < 3_000 || read.get() <= 100 && ran < 30_000; ) {
      LockSupport.parkNanos(10_000_000);
      ran = (System.nanoTime() - begin) / 1_000_000;
    }
    stop.set(true);
    for (Future<?> end : ends) {
      end.get();
    }
    threads.shutdown();
    PoolStats stats = pool.stats();
    assertTrue(read.get() > 100, "validated: " + read + ", " + stats);
    long all = (long) residencyBudget.capacity() * PAGE + beside;
    assertTrue(most.get() <= all, most + " bytes in memory, of grants for " + all);
    Pools.await(
        "nothing is in memory without a grant",
        () ->
            inMemory(pool)
                <= (long) (residencyBudget.capacity() - residencyBudget.free()) * PAGE + beside);
    assertTrue(stats.evictionsClean() + stats.evictionsDirty() > 100, stats.toString());
    Pools.check(pool);
    pool.close();
  }

  /** The kernel's figure for the memory of a pool, in bytes; 0 for none. */
  private static long inMemory(BufferPool pool) {
    Path maps = Path.of("/proc/self/smaps");
    if (!Files.isReadable(maps)) {
      return 0;
    }
    long address = pool.pages().address();
    boolean here = false;
    try {
      for (String line : Files.readAllLines(maps)) {
        int dash = line.indexOf('-');
        if (dash > 0 && line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
          long from = Long.parseUnsignedLong(line.substring(0, dash), 16);
          long to = Long.parseUnsignedLong(line.substring(dash + 1, line.indexOf(' ')), 16);
          here = from <= address && address < to;
        } else if (here && line.startsWith("Pss:")) {
          return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return 0;
  }

  private static boolean readOnce(BufferPool pool, long pid) {
    int frame = pool.predict(pid);
    long version = pool.optimistic(frame, pid);
    if (version == BufferPool.RESTART) {
      frame = pool.findSlow(pid);
      version = pool.optimistic(frame, pid);
      if (version == BufferPool.RESTART) {
        return false;
      }
    }
    boolean whole = whole(pool, frame, pid);
    if (!pool.validate(frame, version)) {
      return false;
    }
    assertTrue(whole, "a page that validates but is not whole: " + pid);
    return true;
  }

  /** V1, step by step: the latch of an evicted page is held until its memory is released. */
  @Test
  void pageIsReloadedOnlyAfterItsMemoryWasReleased() {
    BufferPool pool = open(Replacement.SECOND_CHANCE);
    ResidencyBudget residencyBudget = budget(pool);
    long[] pids = pages(pool, 4);
    pool.flushAll();
    int frame = (int) pids[0];
    FrameHeader.setUsed(pool.frames.headers, frame, false);
    List<Integer> steps = new ArrayList<>();
    long before = Latch.word(pool.frames.headers, frame);
    int taken = residencyBudget.capacity() - residencyBudget.free();
    residencyBudget.between =
        step -> {
          steps.add(step);
          assertTrue(Latch.isExclusive(pool.frames.headers, frame), "step " + step);
          boolean zero = Mem.isZero(pool.pages(), pool.base(frame), PAGE);
          assertEquals(step > 1, zero, "zeros at step " + step);
          boolean back = residencyBudget.capacity() - residencyBudget.free() < taken;
          assertEquals(step > 3, back, "the grant at step " + step);
          assertEquals(0, pool.pid(frame), "V6: the header names no page");
        };
    final long memory = inMemory(pool);
    assertTrue(pool.frames.claimCold(frame));
    assertEquals(frame, residencyBudget.resident(residencyBudget.indexOf(frame)));
    pool.frames.unclaim(frame);
    residencyBudget.between = step -> {};
    assertEquals(List.of(1, 2, 3, 4), steps);
    assertEquals(
        Math.max(0, memory - PAGE), inMemory(pool), "V4: it has not been written to since");
    assertTrue(Latch.word(pool.frames.headers, frame) > before, "the version advances");
    assertTrue(readOnce(pool, pids[0]));
    Pools.check(pool);
    pool.close();
  }

  /** Some pages, cold and clean, latched and emptied by the caller. */
  private static EvictionBatch claimed(BufferPool pool, EvictionBatch list, long... pids) {
    for (long pid : pids) {
      FrameHeader.setUsed(pool.frames.headers, (int) pid, false);
      assertTrue(pool.frames.claimCold((int) pid));
      list.add((int) pid);
    }
    return list;
  }

  private static boolean allLatched(BufferPool pool, long... pids) {
    for (long pid : pids) {
      if (!Latch.isExclusive(pool.frames.headers, (int) pid)) {
        return false;
      }
    }
    return true;
  }

  /**
   * V1 and V2 of pages evicted together: no latch is released, and no grant returned, before the
   * memory of all is released.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void listIsEvictedStepByStep(boolean take) {
    BufferPool pool = open(Replacement.SECOND_CHANCE, 512);
    ResidencyBudget residencyBudget = budget(pool);
    long[] pids = pages(pool, 12);
    pool.flushAll();
    long[] leave = {pids[9], pids[2], pids[3], pids[7], pids[4]};
    EvictionBatch list = claimed(pool, residencyBudget.newBatch(), leave);
    int taken = residencyBudget.capacity() - residencyBudget.free();
    List<Integer> steps = new ArrayList<>();
    residencyBudget.between =
        step -> {
          steps.add(step);
          assertEquals(step < 4 || steps.size() == 4, allLatched(pool, leave), "at " + steps);
          for (long pid : leave) {
            boolean zero = Mem.isZero(pool.pages(), pool.base((int) pid), PAGE);
            assertEquals(step > 1, zero, "zeros at " + steps);
          }
          int back = taken - (residencyBudget.capacity() - residencyBudget.free());
          assertEquals(step < 4 ? 0 : take ? 4 : 5, back, "grants at " + steps);
        };
    final long memory = inMemory(pool);
    final long calls = pool.frames.counters.discardCalls.sum();
    final long gone = pool.frames.counters.pagesDiscarded.sum();
    if (take) {
      assertEquals(0, residencyBudget.take(list));
    } else {
      residencyBudget.unclaim(list);
    }
    residencyBudget.between = step -> {};
    assertEquals(List.of(1, 2, 3, 4, 4, 4, 4, 4), steps);
    assertEquals(0, list.size());
    assertEquals(gone + 5, pool.frames.counters.pagesDiscarded.sum());
    // Three pages are adjacent.
    int most = new DropList(pool.frames.region, 1).together() ? 1 : 3;
    assertEquals(calls + most, pool.frames.counters.discardCalls.sum());
    assertEquals(
        Math.max(0, memory - 5 * PAGE), inMemory(pool), "V4: they have not been written to");
    if (take) {
      residencyBudget.cancel(0);
    }
    assertEquals(taken - 5, residencyBudget.capacity() - residencyBudget.free());
    for (long pid : pids) {
      assertTrue(readOnce(pool, pid));
    }
    Pools.check(pool);
    pool.close();
  }

  /** An error between the steps stops the pool; no thread waits for a latch forever. */
  @Test
  void anErrorWhilePagesLeaveStopsThePool() {
    for (int fails = 1; fails <= 3; fails++) {
      for (boolean take : new boolean[] {false, true}) {
        int at = fails;
        BufferPool pool = open(Replacement.SECOND_CHANCE, 512);
        ResidencyBudget residencyBudget = budget(pool);
        long[] pids = pages(pool, 12);
        pool.flushAll();
        EvictionBatch list = claimed(pool, residencyBudget.newBatch(), pids[9], pids[2], pids[3]);
        OutOfMemoryError error = new OutOfMemoryError("thrown by the test");
        residencyBudget.between =
            step -> {
              if (step == at) {
                throw error;
              }
            };
        OutOfMemoryError e =
            assertThrows(
                OutOfMemoryError.class,
                () -> {
                  if (take) {
                    residencyBudget.take(list);
                  } else {
                    residencyBudget.unclaim(list);
                  }
                });
        assertSame(error, e);
        residencyBudget.between = step -> {};
        assertSame(error, pool.frames.poolStop.stopped());
        for (long pid : new long[] {pids[9], pids[2], pids[3]}) {
          assertFalse(Latch.isExclusive(pool.frames.headers, (int) pid), "step " + at);
        }
        pool.abandon();
      }
    }
  }

  /** Misses and the writer share calls, with and without the system call for many ranges. */
  @Test
  void pagesLeaveTogether() {
    BufferPool pool = open(Replacement.SECOND_CHANCE, 1024);
    long[] pids = pages(pool, 4096);
    pool.flushAll();
    Counters counters = pool.frames.counters;
    final long calls = counters.discardCalls.sum();
    final long gone = counters.pagesDiscarded.sum();
    PageGroup group = new PageGroup();
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 200; i++) {
      group.clear();
      for (int k = 0; k < PageGroup.CAPACITY; k++) {
        group.add(pids[random.nextInt(pids.length)]);
      }
      pool.begin(group, true);
      group.await();
    }
    long left = counters.pagesDiscarded.sum() - gone;
    long took = counters.discardCalls.sum() - calls;
    assertTrue(left > 3_000, left + " pages were evicted");
    if (new DropList(pool.frames.region, 1).together()) {
      assertTrue(3 * took < left, left + " pages were evicted by " + took + " calls");
    }
    Pools.check(pool);
    pool.close();
  }

  /** As the file grows there are fewer grants: excess pages are evicted, and the minimum stays. */
  @Test
  void grantsShrinkAsTheFileGrows() {
    BufferPool pool = open(Replacement.SECOND_CHANCE);
    ResidencyBudget residencyBudget = budget(pool);
    int before = residencyBudget.capacity();
    long[] pids = pages(pool, 700);
    assertTrue(
        residencyBudget.capacity() < before - 10,
        before + " grants, then " + residencyBudget.capacity());
    assertTrue(residencyBudget.capacity() >= PoolConfig.FRAMES_MIN);
    Pools.await("the excess was evicted", () -> residencyBudget.free() >= 0);
    for (long pid : pids) {
      assertTrue(readOnce(pool, pid));
    }
    long all = PoolConfig.bytesMin(PAGE, Translation.VIRTUAL, Replacement.SECOND_CHANCE);
    assertTrue(residencyBudget.bytes() <= all, residencyBudget.bytes() + " bytes of " + all);
    pool.close();
  }

  /** Memory of header lines and page tables stays in use whether or not the file shrinks. */
  @Test
  void grantsDoNotIncreaseAsTheFileShrinks() {
    BufferPool pool = open(Replacement.SECOND_CHANCE);
    ResidencyBudget residencyBudget = budget(pool);
    long[] pids = pages(pool, 700);
    int capacity = residencyBudget.capacity();
    final long fixed = fixedBytes(residencyBudget);
    for (int i = pids.length - 1; i >= 300; i--) {
      pool.free(pool.fixExclusive(pids[i]), LogSession.NONE);
    }
    Pools.await(
        "the end is truncated",
        () -> {
          pool.checkpoint().space().cutAll(LogSession.NONE, () -> false);
          return pool.allocatorState().highWater() == pids[300];
        });
    assertEquals(capacity, residencyBudget.capacity(), "the file has shrunk");
    assertEquals(fixed, fixedBytes(residencyBudget));
    pages(pool, 400);
    assertEquals(capacity, residencyBudget.capacity(), "the file is unchanged");
    pages(pool, 100);
    assertTrue(residencyBudget.capacity() < capacity, "the file is larger than before");
    pool.close();
  }

  /** Memory other than pages, measured between two pages that the writer drops. */
  private static long fixedBytes(ResidencyBudget residencyBudget) {
    int right = MemoryPlan.grantBytes(PAGE, Replacement.SECOND_CHANCE);
    while (true) {
      int free = residencyBudget.free();
      long bytes = residencyBudget.bytes();
      if (residencyBudget.free() == free) {
        return bytes - (long) (residencyBudget.capacity() - free) * right;
      }
    }
  }

  /**
   * A file that would outgrow the memory that its pages cost is refused like a full disk;
   * everything else works.
   */
  @Test
  void fileIsFullWhenTheBufferIs() {
    PoolConfig config =
        Records.with(
            PoolConfig.ofFrames(PAGE, 64, Translation.VIRTUAL), "fileBytesMax", 100L * PAGE);
    BufferPool pool = new BufferPool(device, config, AllocatorState.EMPTY);
    long[] pids = pages(pool, 100 - (int) AllocatorState.FIRST_PID);
    StorageFullException e =
        assertThrows(
            StorageFullException.class, () -> pool.allocate(1, PageHeader.LEAF, LogSession.NONE));
    assertTrue(e.getMessage().contains("Options.bufferBytes"), e.getMessage());
    int frame = pool.fixExclusive(pids[7]);
    pool.free(frame, LogSession.NONE);
    assertEquals(pids[7], pool.pid(again(pool)));
    AllocatorState state = pool.allocatorState();
    pool.close();
    PoolConfig small = Records.with(config, "fileBytesMax", 80L * PAGE);
    InvalidUseException refused =
        assertThrows(InvalidUseException.class, () -> new BufferPool(device, small, state));
    assertTrue(refused.getMessage().contains("may have 80"), refused.getMessage());
    BufferPool other =
        new BufferPool(device, PoolConfig.ofFrames(PAGE, 64, Translation.LATCHED), state);
    assertTrue(readOnce(other, pids[3]));
    other.close();
  }

  private static int again(BufferPool pool) {
    int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
    fill(pool, frame, pool.pid(frame), 0);
    pool.releaseExclusive(frame);
    return frame;
  }

  /** With kernel pages of 16 or 64 KiB, half of one cannot be dropped. */
  @Test
  void pagesSmallerThanTheKernelsAreRefused() {
    MemoryPlan plan = MemoryPlan.fit(PoolConfig.ofFrames(PAGE, 64, Translation.VIRTUAL));
    ResidencyBudget.reserve(plan, 64 << 10).release();
    InvalidUseException e =
        assertThrows(InvalidUseException.class, () -> ResidencyBudget.reserve(plan, PAGE / 2));
    assertTrue(e.getMessage().contains("the system's own pages are larger"), e.getMessage());
    assertTrue(e.getMessage().contains("drops pages of 2048 bytes"), e.getMessage());
  }

  @Test
  void aShareIsRefused() {
    PoolConfig config =
        Records.with(
            PoolConfig.ofFrames(PAGE, 64, Translation.VIRTUAL),
            "share",
            new PoolShare(64 << 20),
            "leastBytes",
            1L << 20);
    InvalidUseException e =
        assertThrows(
            InvalidUseException.class, () -> new BufferPool(device, config, AllocatorState.EMPTY));
    assertTrue(e.getMessage().contains("BufferShare"), e.getMessage());
    assertFalse(Translator.isOwn(config.forScratch(config.bufferBytes()).translation()));
  }
}
