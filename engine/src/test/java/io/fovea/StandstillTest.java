package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.OperationInterruptedException;
import io.fovea.schema.TableSpec;
import java.io.OutputStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An operation that stops all others ends when its thread is interrupted. */
@Timeout(120)
class StandstillTest {
  private static final TableSpec SPEC = TableSpec.bytes("t", 20);
  private static final Options OPTIONS =
      Options.defaults().bufferBytes(16 << 20).durability(Durability.NONE);

  private interface Work {
    void on(Database db);
  }

  private static void fill(Database db) {
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    for (int i = 0; i < 100; i++) {
      byte[] key = {(byte) i};
      db.run(tx -> t.put(tx, key, new byte[20_000]));
    }
  }

  private static void interruptedAtWork(Work work) {
    try (Database db = Database.inMemory(OPTIONS)) {
      fill(db);
      Thread.currentThread().interrupt();
      assertThrows(OperationInterruptedException.class, () -> work.on(db));
      assertTrue(Thread.interrupted(), "the interrupt flag is preserved");
      fill(db);
      assertTrue(db.verify().ok());
    }
  }

  private static void interruptedWaiting(Work work) throws Exception {
    try (Database db = Database.inMemory(OPTIONS)) {
      fill(db);
      Transaction open = db.begin();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      CountDownLatch begun = new CountDownLatch(1);
      Thread waits =
          new Thread(
              () -> {
                begun.countDown();
                try {
                  work.on(db);
                } catch (Throwable e) {
                  failure.set(e);
                }
              });
      waits.start();
      begun.await();
      waits.interrupt();
      waits.join();
      assertEquals(OperationInterruptedException.class, failure.get().getClass());
      open.commit();
      fill(db);
      assertTrue(db.verify().ok());
    }
  }

  @Test
  void verify() throws Exception {
    interruptedAtWork(Database::verify);
    interruptedWaiting(Database::verify);
  }

  @Test
  void aBackupWithoutALog() throws Exception {
    Work work = db -> db.backup(OutputStream.nullOutputStream());
    interruptedAtWork(work);
    interruptedWaiting(work);
  }
}
