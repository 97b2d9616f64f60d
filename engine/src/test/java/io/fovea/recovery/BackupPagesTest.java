package io.fovea.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.UnenteredPage;
import io.fovea.config.Translation;
import io.fovea.error.DatabaseClosedException;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** How a backup reads pages while they are being allocated. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BackupPagesTest {
  private static final int PAGE = 4096;

  private static boolean isAwaiting(Thread thread) {
    return Arrays.stream(thread.getStackTrace())
        .anyMatch(f -> f.getMethodName().equals("awaitEntered"));
  }

  /** The page is allocated, is in no frame, and is zeros in the file; it is not a lost page. */
  @ParameterizedTest
  @EnumSource
  void pageWithoutAFrameIsNotLost(Translation translation) throws Exception {
    MemoryDevice device = new MemoryDevice();
    try (Arena arena = Arena.ofShared();
        BufferPool pool =
            new BufferPool(
                device, PoolConfig.ofFrames(PAGE, 64, translation), AllocatorState.EMPTY)) {
      MemorySegment chunk = arena.allocate(PAGE, PAGE);
      UnenteredPage page = new UnenteredPage(pool);
      long mark = pool.allocatorState().highWater();
      assertEquals(page.pid + 1, mark);
      FutureTask<Long> backup =
          new FutureTask<>(
              () -> {
                BackupPages pages =
                    new BackupPages(device, pool, PAGE, mark, () -> Long.MAX_VALUE, chunk);
                pages.read(page.pid, 1);
                return Mem.getLong(chunk, UnenteredPage.wordAt());
              });
      Thread thread = Thread.ofPlatform().start(backup);
      while (!backup.isDone() && !isAwaiting(thread)) {
        Thread.onSpinWait();
      }
      page.enter();
      assertEquals(UnenteredPage.WORD, backup.get());
    }
  }

  /** If the pool has stopped, the page may never arrive, and the wait ends. */
  @Test
  void aStoppedPoolEndsTheWait() throws Exception {
    MemoryDevice device = new MemoryDevice();
    try (Arena arena = Arena.ofShared();
        BufferPool pool =
            new BufferPool(
                device,
                PoolConfig.ofFrames(PAGE, 64, Translation.PREDICTIVE),
                AllocatorState.EMPTY)) {
      MemorySegment chunk = arena.allocate(PAGE, PAGE);
      UnenteredPage page = new UnenteredPage(pool);
      CompletableFuture<Throwable> thrown = new CompletableFuture<>();
      Thread.ofPlatform()
          .start(
              () -> {
                try {
                  new BackupPages(device, pool, PAGE, page.pid + 1, () -> Long.MAX_VALUE, chunk);
                  thrown.complete(new AssertionError("nothing was thrown"));
                } catch (Throwable t) {
                  thrown.complete(t);
                }
              });
      page.stop(new StackOverflowError("thrown by the test"));
      assertTrue(thrown.get() instanceof DatabaseClosedException, () -> "thrown: " + thrown.join());
    }
  }
}
