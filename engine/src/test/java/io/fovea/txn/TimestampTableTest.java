package io.fovea.txn;

import io.fovea.support.Comeback;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The lock of a column. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TimestampTableTest {
  private static final int COLUMN = 1;

  @Test
  void whoWaitsLetsTheHolderComeBack() throws InterruptedException {
    TimestampTable table = new TimestampTable(4096, 4096, 0);
    try {
      Comeback.check(() -> table.lock(COLUMN), () -> table.unlock(COLUMN));
    } finally {
      table.close();
    }
  }
}
