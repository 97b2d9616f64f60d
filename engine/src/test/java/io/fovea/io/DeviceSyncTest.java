package io.fovea.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.Errno;
import io.fovea.error.StorageException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Syncs of a file whose failures are told once, as systems do. The pages and the superblock are in
 * one file and synced by different threads: neither may take its success for what the other was
 * told.
 */
class DeviceSyncTest {
  private final CountDownLatch entered = new CountDownLatch(1);
  private final CountDownLatch leave = new CountDownLatch(1);
  private final AtomicInteger syncs = new AtomicInteger();

  /** A device whose first sync fails, some way, when it is let go; all others succeed. */
  private final class Once extends AbstractBlockDevice {
    private final @Nullable Error error;

    Once(@Nullable Error error) {
      super("once", 4096);
      this.error = error;
    }

    @Override
    protected int syncNow() {
      if (syncs.incrementAndGet() > 1) {
        return 0;
      }
      entered.countDown();
      try {
        leave.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      if (error != null) {
        throw error;
      }
      return Errno.EIO;
    }

    @Override
    protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
      return 0;
    }

    @Override
    protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
      return 0;
    }

    @Override
    protected int resizeNow(long bytes) {
      return 0;
    }

    @Override
    protected void closeNow() {}

    @Override
    public long size() {
      return 0;
    }

    @Override
    public String kind() {
      return "broken";
    }
  }

  @Test
  void noneSucceedsAfterOneThatFailed() {
    leave.countDown();
    try (BlockDevice device = new Once(null)) {
      assertThrows(StorageException.class, device::sync);
      StorageException again = assertThrows(StorageException.class, device::sync);
      assertEquals(Errno.EIO, again.errno());
      assertEquals(1, syncs.get());
    }
  }

  @Test
  void norAfterAnError() {
    leave.countDown();
    try (BlockDevice device = new Once(new OutOfMemoryError("a test's"))) {
      assertThrows(OutOfMemoryError.class, device::sync);
      assertThrows(StorageException.class, device::sync);
      assertEquals(1, syncs.get());
    }
  }

  @Test
  void norBesideOneThatIsAboutToFail() throws InterruptedException {
    Executor ownThread = task -> Thread.ofPlatform().daemon().start(task);
    try (BlockDevice device = new Once(null)) {
      CompletableFuture<Void> first = CompletableFuture.runAsync(device::sync, ownThread);
      entered.await();
      Thread[] asking = new Thread[1];
      CountDownLatch asks = new CountDownLatch(1);
      CompletableFuture<Void> second =
          CompletableFuture.runAsync(
              () -> {
                asking[0] = Thread.currentThread();
                asks.countDown();
                device.sync();
              },
              ownThread);
      asks.await();
      while (asking[0].getState() != Thread.State.WAITING && !second.isDone()) {
        Thread.onSpinWait();
      }
      leave.countDown();
      for (CompletableFuture<Void> each : List.of(first, second)) {
        CompletionException e = assertThrows(CompletionException.class, each::join);
        assertTrue(e.getCause() instanceof StorageException, e.toString());
      }
      assertEquals(1, syncs.get());
    }
  }
}
