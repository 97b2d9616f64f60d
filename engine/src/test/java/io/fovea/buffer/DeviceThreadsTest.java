package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Io;
import io.fovea.config.Translation;
import io.fovea.io.BlockDevice;
import io.fovea.io.DeviceConfig;
import io.fovea.io.Devices;
import io.fovea.support.Groups;
import io.fovea.support.ThreadStarts;
import java.nio.file.Path;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A pool on a device whose threads cannot be started: group reads complete, writes succeed, and
 * every close returns.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DeviceThreadsTest {
  private static final int PAGES = 200;

  @TempDir Path dir;

  private static long pid(int i) {
    return AllocatorState.FIRST_PID + i;
  }

  /** The number of threads that start before the one that fails. */
  @ParameterizedTest
  @CsvSource({
    "1, false",
    "2, false",
    "3, false",
    "4, false",
    "1, true",
    "2, true",
    "3, true",
    "4, true"
  })
  void poolKeepsWorking(int first, boolean onlyThis) {
    String name = "threads-" + first + onlyThis;
    PoolConfig config = PoolConfig.ofFrames(4096, 256, Translation.PREDICTIVE);
    try (ThreadStarts starts =
            ThreadStarts.failing(
                thread -> thread.startsWith("fovea-io " + name + " "),
                n -> onlyThis ? n == first : n >= first);
        BlockDevice device =
            Devices.open(dir.resolve(name), DeviceConfig.defaults().kind(Io.POSIX).workers(4))) {
      BufferPool pool = new BufferPool(device, config, AllocatorState.EMPTY);
      for (int i = 0; i < PAGES; i++) {
        assertEquals(pid(i), Pools.page(pool));
      }
      // Every second page only: each is a separate transfer.
      pool.flushAll();
      for (int i = 0; i < PAGES; i += 2) {
        Pools.setWord(pool, pid(i), -pid(i));
      }
      pool.flushAll();
      for (int i = 1; i < PAGES; i += 2) {
        Pools.setWord(pool, pid(i), -pid(i));
      }
      pool.flushAll();
      AllocatorState state = pool.allocatorState();
      pool.close();

      pool = new BufferPool(device, config, state);
      PageGroup group = new PageGroup();
      for (int round = 0; round < 2; round++) {
        group.clear();
        for (int i = 0; i < 16; i++) {
          group.add(pid(16 * round + i));
        }
        assertEquals(16, Groups.fetch(pool, group, true));
      }
      read(pool);
      for (int i = 0; i < PAGES; i++) {
        assertEquals(-pid(i), Pools.word(pool, pid(i)));
      }
      assertEquals(0, pool.groups().reserved());
      Pools.check(pool);
      pool.close();
      assertTrue(starts.failed() > 0, "no start has failed");
    }
  }

  /** Reads pages through the read window. */
  private static void read(BufferPool pool) {
    PageReads reads = new PageReads();
    int next = 40;
    while (next < 120 || reads.isBusy()) {
      while (next < 120 && reads.start(pool, pid(next)) >= 0) {
        next++;
      }
      reads.drive(true);
      while (reads.take() >= 0) {}
    }
    reads.finish();
  }
}
