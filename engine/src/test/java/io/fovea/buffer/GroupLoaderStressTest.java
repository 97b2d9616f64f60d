package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.StorageException;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.support.Groups;
import io.fovea.support.HeldDevice;
import io.fovea.wal.LogSession;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Threads read pages in groups while others change, free and reallocate them, in a pool an eighth
 * of the size of the file, on a device that is sometimes slow, reorders requests, and fails.
 */
@Tag("slow")
@Timeout(120)
class GroupLoaderStressTest {
  private static final int FRAMES = 96;
  private static final int PAGES = 768;
  private static final int THREADS = 5;
  private static final int ROUNDS = 1500;
  private static final long COUNTER = PageHeader.BYTES;
  private static final long MIRROR = 4088;

  private final HeldDevice device = new HeldDevice(new MemoryDevice(), 42);

  /** A page for each slot; 0 after a thread has freed it and before it gets another. */
  private final AtomicLongArray pids = new AtomicLongArray(PAGES);

  private final AtomicLong added = new AtomicLong();

  private BufferPool open(Translation kind) {
    BufferPool pool =
        new BufferPool(device, PoolConfig.ofFrames(4096, FRAMES, kind), AllocatorState.EMPTY);
    for (int i = 0; i < PAGES; i++) {
      pids.set(i, page(pool));
    }
    return pool;
  }

  private static long page(BufferPool pool) {
    int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
    long pid = pool.pid(frame);
    pool.releaseExclusive(frame);
    return pid;
  }

  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void duringWrites(Translation kind) throws Exception {
    BufferPool pool = open(kind);
    pool.flushAll();
    device.yieldsMax = 4;
    device.readFails = offset -> ThreadLocalRandom.current().nextInt(50) == 0;
    PagePromoter pagePromoter = new PagePromoter(pool.frames);
    PoolStressTest.inThreads(
        THREADS,
        t -> {
          SplittableRandom random = new SplittableRandom(t);
          PageGroup group = new PageGroup();
          for (int i = 0; i < ROUNDS; i++) {
            try {
              fetch(pool, group, random);
              int slot = t + THREADS * random.nextInt(PAGES / THREADS);
              if (i % 8 == 0) {
                replace(pool, slot);
              } else {
                add(pool, slot);
              }
              promote(pool, pagePromoter, pids.get(random.nextInt(PAGES)));
            } catch (StorageException e) {
              // The operation had no effect.
            }
          }
        });
    device.readFails = offset -> false;
    PoolStats stats = pool.stats();
    assertTrue(stats.readFailures() > 0 && stats.evictionsDirty() > 0, stats.toString());
    assertTrue(device.batches.stream().anyMatch(n -> n > 1), "groups were read");
    assertEquals(added.get(), sum(pool), stats.toString());
    Pools.check(pool);
    AllocatorState state = pool.allocatorState();
    pool.close();
    BufferPool again = new BufferPool(device, PoolConfig.ofFrames(4096, FRAMES, kind), state);
    assertEquals(added.get(), sum(again), "after reopening");
    again.close();
  }

  /** Nothing crashes or hangs if a pool is closed while threads read groups. */
  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void close(Translation kind) throws Exception {
    BufferPool pool = open(kind);
    pool.flushAll();
    device.yieldsMax = 4;
    AtomicBoolean begun = new AtomicBoolean();
    PoolStressTest.inThreads(
        THREADS,
        t -> {
          if (t == 0) {
            while (!begun.get()) {
              Thread.onSpinWait();
            }
            pool.abandon();
            return;
          }
          SplittableRandom random = new SplittableRandom(t);
          PageGroup group = new PageGroup();
          try {
            for (int i = 0; ; i++) {
              fetch(pool, group, random);
              if (i == 100) {
                begun.set(true);
              }
            }
          } catch (DatabaseClosedException e) {
            // Expected.
          }
        });
  }

  /** Pages arrive as written: the frames of a group are read immediately. */
  private void fetch(BufferPool pool, PageGroup group, SplittableRandom random) {
    group.clear();
    int n = 1 + random.nextInt(16);
    for (int i = 0; i < n; i++) {
      group.add(pids.get(random.nextInt(PAGES)));
    }
    Groups.fetch(pool, group, random.nextBoolean());
    for (int i = 0; i < n; i++) {
      int frame = group.frame(i);
      if (frame >= 0) {
        long pid = group.pids[i];
        long version = pool.optimisticUncounted(frame, pid);
        long base = pool.base(frame);
        long counter = Mem.getLong(pool.pages(), base + COUNTER);
        long mirror = Mem.getLong(pool.pages(), base + MIRROR);
        int type = PageHeader.type(pool.pages(), base);
        long says = PageHeader.pid(pool.pages(), base);
        if (version != BufferPool.RESTART && pool.validate(frame, version)) {
          assertEquals(pid, says);
          assertTrue(type == PageHeader.FREE || counter == mirror, "a torn page");
        }
      }
    }
  }

  /** Slots belong to threads, so only one thread frees a page; others may still read it. */
  private void replace(BufferPool pool, int slot) {
    long old = pids.get(slot);
    if (old != 0) {
      int frame = pool.fixExclusive(old);
      long lost = Mem.getLong(pool.pages(), pool.base(frame) + COUNTER);
      pids.set(slot, 0);
      added.addAndGet(-lost);
      pool.free(frame, LogSession.NONE);
    }
    pids.set(slot, page(pool));
  }

  private void add(BufferPool pool, int slot) {
    long pid = pids.get(slot);
    if (pid == 0) {
      return;
    }
    int frame = pool.fixExclusive(pid);
    long base = pool.base(frame);
    long value = Mem.getLong(pool.pages(), base + COUNTER) + 1;
    Mem.putLong(pool.pages(), base + COUNTER, value);
    Mem.putLong(pool.pages(), base + MIRROR, value);
    pool.markDirty(frame);
    pool.releaseExclusive(frame);
    added.incrementAndGet();
  }

  private static void promote(BufferPool pool, PagePromoter pagePromoter, long pid) {
    int preferred = pool.frames.translator.preferred(pid);
    int frame = pool.resident(pid);
    if (frame >= 0 && preferred >= 0 && frame != preferred) {
      pagePromoter.promote(pid, frame, preferred);
    }
  }

  private long sum(BufferPool pool) {
    long sum = 0;
    for (int i = 0; i < PAGES; i++) {
      long pid = pids.get(i);
      if (pid != 0) {
        int frame = pool.fixShared(pid);
        sum += Mem.getLong(pool.pages(), pool.base(frame) + COUNTER);
        pool.releaseShared(frame);
      }
    }
    return sum;
  }
}
