package io.fovea.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageGroup;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.support.Groups;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Misses of virtual threads on a device with blocking reads occupy the device's threads, never
 * carriers.
 */
@Timeout(60)
class PoolMissTest {
  private static final int PAGES = 64;

  @TempDir Path dir;

  /** A file whose reads block in the system call, as a disk's do. */
  private static final class BlockingFile implements RawFile {
    final RawFile below;
    final AtomicInteger blocked = new AtomicInteger();
    final CountDownLatch go = new CountDownLatch(1);
    volatile boolean blocking;

    BlockingFile(RawFile below) {
      this.below = below;
    }

    @Override
    public long pread(MemorySegment seg, long segOff, long len, long offset) {
      if (blocking) {
        assertTrue(!Thread.currentThread().isVirtual(), "a virtual thread in a blocking call");
        blocked.incrementAndGet();
        try {
          go.await();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
      return below.pread(seg, segOff, len, offset);
    }

    @Override
    public long pwrite(MemorySegment seg, long segOff, long len, long offset) {
      return below.pwrite(seg, segOff, len, offset);
    }

    @Override
    public int sync() {
      return below.sync();
    }

    @Override
    public int allocate(long from, long to) {
      return below.allocate(from, to);
    }

    @Override
    public int truncate(long bytes) {
      return below.truncate(bytes);
    }

    @Override
    public long size() {
      return below.size();
    }

    @Override
    public boolean direct() {
      return below.direct();
    }

    @Override
    public boolean disableDirect() {
      return below.disableDirect();
    }

    @Override
    public int fd() {
      return below.fd();
    }

    @Override
    public int close() {
      return below.close();
    }
  }

  @Test
  void allReadsRunConcurrently() throws Exception {
    Path path = dir.resolve("data");
    BlockingFile file = new BlockingFile(JdkFile.open(path, true));
    DeviceConfig options = DeviceConfig.defaults().workers(PAGES);
    IoStats stats = new IoStats();
    PoolConfig config = PoolConfig.ofFrames(4096, 4 * PAGES, Translation.PREDICTIVE);
    try (PosixDevice device = new PosixDevice(options, new DeviceFile(path, file, stats), stats)) {
      BufferPool first = new BufferPool(device, config, AllocatorState.EMPTY);
      long[] pids = new long[PAGES];
      for (int i = 0; i < PAGES; i++) {
        int frame = first.allocate(1, PageHeader.LEAF, LogSession.NONE);
        pids[i] = first.pid(frame);
        first.releaseExclusive(frame);
      }
      AllocatorState state = first.allocatorState();
      first.close();
      BufferPool pool = new BufferPool(device, config, state);
      file.blocking = true;
      List<Thread> threads = new ArrayList<>();
      // Half of the pages are read each by its own thread, the others by one thread.
      for (int i = 0; i < PAGES / 2; i++) {
        long pid = pids[i];
        threads.add(Thread.startVirtualThread(() -> pool.findSlow(pid)));
      }
      threads.add(
          Thread.startVirtualThread(
              () -> {
                PageGroup group = new PageGroup();
                for (int i = PAGES / 2; i < PAGES; i++) {
                  group.add(pids[i]);
                }
                assertEquals(PAGES / 2, Groups.fetch(pool, group, true));
              }));
      long end = System.nanoTime() + 20_000_000_000L;
      while (file.blocked.get() < PAGES) {
        assertTrue(System.nanoTime() < end, file.blocked + " reads are in progress");
        Thread.yield();
      }
      // The carriers are free, so another virtual thread runs.
      Thread.startVirtualThread(() -> pool.predict(1)).join();
      file.blocking = false;
      file.go.countDown();
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(PAGES, pool.stats().misses());
      pool.close();
    }
  }
}
