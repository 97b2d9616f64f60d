package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DatabaseClosedException;
import io.fovea.support.LockHolderProgress;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The lock of a column. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TimestampTableTest {
  private static final int COLUMN = 1;

  private final TimestampTable table = new TimestampTable(4096, 4096, 0);
  private final TimestampContext one = new TimestampContext(0);
  private final TimestampContext other = new TimestampContext(1);

  @AfterEach
  void close() {
    table.close();
  }

  private boolean isLocked(int column) {
    return table.version(column) < 0;
  }

  @Test
  void waitersYieldToTheHolder() throws InterruptedException {
    ThreadLocal<TimestampContext> mine = ThreadLocal.withInitial(() -> new TimestampContext(0));
    LockHolderProgress.check(
        () -> table.lock(mine.get(), COLUMN), () -> table.unlock(mine.get(), COLUMN));
  }

  @Test
  void aLockKeptByAnErrorIsReleasedByTheNextLock() {
    table.lock(one, COLUMN);
    assertFalse(table.tryLock(other, COLUMN, table.version(COLUMN)));
    table.lock(one, COLUMN + 1);
    assertTrue(table.tryLock(other, COLUMN, table.version(COLUMN)));
    table.unlock(other, COLUMN);
    table.lock(one, COLUMN + 1);
    table.recover(one);
    table.recover(one);
    assertFalse(isLocked(COLUMN + 1));
  }

  /** The error occurred after the unlock, before the context recorded it. */
  @Test
  void lockOfAnotherContextIsKept() {
    table.lock(one, COLUMN);
    table.unlock(one, COLUMN);
    one.column = COLUMN;
    table.lock(other, COLUMN);
    table.recover(one);
    assertTrue(isLocked(COLUMN));
    table.unlock(other, COLUMN);
    assertFalse(isLocked(COLUMN));
    assertThrows(AssertionError.class, () -> table.unlock(other, COLUMN));
  }

  @Test
  void aSlotThatWasBeingReleasedIsInUseAgain() {
    int slot = table.firstSlot(COLUMN, 0);
    table.lock(one, COLUMN);
    table.stampRelease(slot, 0);
    table.wordRelease(slot, TidWord.LOCK);
    one.releasing = slot;
    one.releasedStamp = Long.MIN_VALUE | 7;
    one.releasedWord = 99;
    one.wordHeld = true;
    table.recover(one);
    assertEquals(Long.MIN_VALUE | 7, table.stampAcquire(slot));
    assertEquals(99, table.word(slot));
    assertFalse(isLocked(COLUMN));
  }

  @Test
  void waitersDetectThatTheEngineHasStopped() {
    table.lock(one, COLUMN);
    table.setWaitCheck(
        () -> {
          throw new DatabaseClosedException();
        });
    assertThrows(DatabaseClosedException.class, () -> table.lock(other, COLUMN));
    assertFalse(table.tryLockBriefly(other, COLUMN));
    table.unlock(one, COLUMN);
    table.lock(other, COLUMN);
  }
}
