package io.fovea.buffer;

import io.fovea.io.MemoryDevice;
import io.fovea.support.LockHolderProgress;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How threads wait for a frame that another thread has latched. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LatchWaitTest {
  @Test
  void aWaiterLetsTheHolderContinue() throws InterruptedException {
    try (BufferPool pool = Pools.open(new MemoryDevice())) {
      long pid = Pools.page(pool);
      int frame = Pools.where(pool, pid);
      LockHolderProgress.check(() -> pool.fixExclusive(pid), () -> pool.releaseExclusive(frame));
    }
  }
}
