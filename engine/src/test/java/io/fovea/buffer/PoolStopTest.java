package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PoolStopTest {
  /**
   * The thread that stops the pool second releases the latch of a half-changed page while the first
   * has not yet run the action that keeps readers from trusting the page.
   */
  @Test
  void noThreadReturnsFromStopBeforeTheActionHasRun() throws InterruptedException {
    BufferPool pool = Pools.open(new TestDevice(), Translation.PREDICTIVE, AllocatorState.EMPTY);
    Throwable first = new Error("first");
    CountDownLatch underWay = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    AtomicInteger runs = new AtomicInteger();
    AtomicBoolean halted = new AtomicBoolean();
    pool.poolStop()
        .onStop(
            cause -> {
              if (runs.getAndIncrement() == 0) {
                underWay.countDown();
                uninterruptibly(goOn);
              }
              halted.set(true);
            });
    Thread stopper = new Thread(() -> pool.poolStop().stop(first));
    stopper.start();
    underWay.await();
    pool.poolStop().stop(new Error("second"));
    assertTrue(halted.get(), "returned from stop() before the action had run");
    goOn.countDown();
    stopper.join();
    assertEquals(2, runs.get());
    assertSame(first, pool.poolStop().stopped());
  }

  private static void uninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
