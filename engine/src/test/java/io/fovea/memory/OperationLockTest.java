package io.fovea.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A wait for a maintenance lock ends by its check, an interrupt or a timeout. */
@Timeout(120)
class OperationLockTest {
  private final OperationLock lock = new OperationLock("the lock of tests", 1, 1_000_000);
  private final CountDownLatch end = new CountDownLatch(1);
  private Thread holder = Thread.currentThread();

  @BeforeEach
  void heldByAnotherThread() throws InterruptedException {
    CountDownLatch has = new CountDownLatch(1);
    holder =
        Thread.ofPlatform()
            .name("holder")
            .start(
                () -> {
                  lock.lock("load table a", waitsFor -> {});
                  try {
                    has.countDown();
                    end.await();
                  } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                  } finally {
                    lock.unlock();
                  }
                });
    has.await();
  }

  @AfterEach
  void waitEndsOnRelease() throws InterruptedException {
    end.countDown();
    holder.join();
    lock.lock("go on", waitsFor -> {});
    lock.lock("go on once more", waitsFor -> {});
    lock.unlock();
    assertTrue(lock.isHeldByCurrentThread());
    assertTrue(lock.toString().contains("'go on'"));
    lock.unlock();
    assertFalse(lock.isLocked());
    assertEquals("the lock of tests", lock.toString());
  }

  @Test
  void theLimitNamesTheHolder() {
    TransactionAbortedException e =
        assertThrows(
            TransactionAbortedException.class, () -> lock.lock("verify db", waitsFor -> {}));
    assertEquals(AbortCause.TIMEOUT, e.abortCause());
    String message = String.valueOf(e.getMessage());
    assertTrue(message.contains("Can't verify db: it waited "), message);
    assertTrue(message.contains("the lock of tests, held by 'load table a', on thread "), message);
    assertTrue(message.contains("\"holder\" for "), message);
  }

  @Test
  void theCheckEndsIt() {
    assertThrows(
        DatabaseClosedException.class,
        () ->
            lock.lock(
                "verify db",
                waitsFor -> {
                  throw new DatabaseClosedException(waitsFor.get());
                }));
    assertFalse(lock.lock("verify db", () -> true));
  }

  @Test
  void anInterruptEndsIt() {
    OperationLock patient = lock;
    Thread.currentThread().interrupt();
    assertThrows(
        OperationInterruptedException.class, () -> patient.lock("verify db", waitsFor -> {}));
    assertTrue(Thread.interrupted(), "the interrupt flag is kept");
    Thread.currentThread().interrupt();
    assertFalse(lock.lock("verify db", () -> false));
    assertTrue(Thread.interrupted(), "the interrupt flag is kept");
    Thread.currentThread().interrupt();
    assertFalse(lock.lockFirmly("close db", 1_000_000));
    assertTrue(Thread.interrupted(), "the interrupt flag is kept");
  }

  @Test
  void sharedHoldersDoNotStarveAnExclusiveOne() throws InterruptedException {
    SharedOperationLock shared = new SharedOperationLock("the lock of loads");
    shared.lockShared("load a", waitsFor -> {});
    Thread alone =
        Thread.ofPlatform()
            .start(
                () -> {
                  shared.lockAlone("verify db", waitsFor -> {});
                  shared.unlockAlone();
                });
    String[] seen = {""};
    // Repeat until a new shared holder has to wait for the exclusive waiter.
    while (seen[0].isEmpty()) {
      Thread.ofPlatform()
          .start(
              () -> {
                try {
                  shared.lockShared(
                      "load b",
                      waitsFor -> {
                        seen[0] = waitsFor.get();
                        throw new DatabaseClosedException();
                      });
                  shared.unlockShared();
                } catch (DatabaseClosedException e) {
                  // expected: it has waited
                }
              })
          .join();
    }
    assertTrue(seen[0].startsWith("the lock of loads, held by 'load a', on thread "), seen[0]);
    shared.lockShared("load a again", waitsFor -> {}); // reentrant
    shared.unlockShared();
    shared.unlockShared();
    alone.join();
  }
}
