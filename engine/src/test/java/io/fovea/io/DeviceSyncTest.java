package io.fovea.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.bindings.Errno;
import io.fovea.error.StorageException;
import io.fovea.support.SimDevice;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

/**
 * Sync failures that are reported only once, as operating systems do. Pages and superblock are in
 * one file and are synced by different threads, neither of which may rely on its own success after
 * the other's failure.
 */
class DeviceSyncTest {
  private final SimDisk disk = new SimDisk(1);
  private final SimDevice device = disk.device("a");

  @Test
  void noSyncSucceedsAfterAFailedOne() {
    disk.fail(SimFault.once(1).of(IoOp.SYNC));
    assertThrows(StorageException.class, device::sync);
    StorageException again = assertThrows(StorageException.class, device::sync);
    assertEquals(Errno.EIO, again.errno());
    assertEquals(1, disk.operations());
  }

  @Test
  void noSyncSucceedsAfterAnError() {
    disk.onOperation(
        n -> {
          throw new OutOfMemoryError("a test's");
        });
    assertThrows(OutOfMemoryError.class, device::sync);
    assertThrows(StorageException.class, device::sync);
    assertEquals(1, disk.operations());
  }

  @Test
  void noSyncSucceedsDuringAFailingOne() throws InterruptedException {
    Executor ownThread = task -> Thread.ofPlatform().daemon().start(task);
    disk.fail(SimFault.once(1).of(IoOp.SYNC));
    disk.holdNext(IoOp.SYNC);
    CompletableFuture<Void> first = CompletableFuture.runAsync(device::sync, ownThread);
    disk.awaitHeld(1);
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
    disk.letGo();
    for (CompletableFuture<Void> each : List.of(first, second)) {
      CompletionException e = assertThrows(CompletionException.class, each::join);
      assertInstanceOf(StorageException.class, e.getCause());
    }
    assertEquals(1, disk.operations());
  }
}
