package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.TestLatches;
import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.FoveaException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.TableSpec;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A wait for a latch that is never released ends with an error once it cannot succeed. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class LatchWaitTest {
  private static final byte[] KEY = {1};

  private Database db;
  private Table<byte[], byte[]> table;
  private BufferPool pool;
  private int frame;

  @BeforeEach
  void latch() {
    db =
        Database.inMemory(
            Options.defaults()
                .bufferBytes(8 << 20)
                .transactions(txs -> txs.closeTimeout(Duration.ZERO)));
    RowTable t = db.table(TableSpec.bytes("t", 16));
    table = t.bytes();
    db.run(tx -> table.put(tx, KEY, new byte[10]));
    pool = db.store().pool();
    frame = TestLatches.latch(pool, t.core().tree.rootPid());
  }

  @AfterEach
  void close() {
    try {
      db.close();
    } catch (FoveaException e) {
      // already stopped
    }
  }

  private CompletableFuture<Void> begin(boolean scans, TxOptions options) {
    return CompletableFuture.runAsync(
        () ->
            db.call(
                options,
                tx -> {
                  if (scans) {
                    return table.scan(tx, null, null, ScanOrder.ASCENDING).next();
                  }
                  return table.get(tx, KEY);
                }));
  }

  private static Throwable end(CompletableFuture<Void> waits) {
    return assertThrows(CompletionException.class, waits::join).getCause();
  }

  private void awaitWaiter() {
    while (pool.stats().latchWaits() == 0) {
      Thread.onSpinWait();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theDeadline(boolean scans) {
    CompletableFuture<Void> waits =
        begin(scans, TxOptions.forReading().timeout(Duration.ofMillis(200)));
    Throwable t = end(waits);
    assertEquals(
        AbortCause.TIMEOUT, assertInstanceOf(TransactionAbortedException.class, t).abortCause());
    pool.releaseExclusive(frame);
    begin(scans, TxOptions.forReading()).join();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theStop(boolean scans) {
    CompletableFuture<Void> waits = begin(scans, TxOptions.forReading());
    awaitWaiter();
    OutOfMemoryError cause = new OutOfMemoryError("on purpose");
    pool.poolStop().stop(cause);
    Throwable t = end(waits);
    assertInstanceOf(DatabaseClosedException.class, t);
    assertTrue(t.getMessage().contains("on purpose"), t.getMessage());
    assertEquals(DatabaseStats.Health.STOPPED, db.stats().health());
    assertThrows(DatabaseClosedException.class, () -> db.run(tx -> {}));
  }

  @Test
  void theClose() {
    CompletableFuture<Void> waits = begin(false, TxOptions.forReading());
    awaitWaiter();
    close();
    assertInstanceOf(DatabaseClosedException.class, end(waits));
  }
}
