package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.io.OutputStream;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/**
 * The disk space of the log matches what it needs, while the database is open and after a close.
 */
class LogFileSizeTest {
  private static final long SEGMENT = 128 << 10;
  private static final Options OPTIONS =
      Options.defaults()
          .bufferBytes(8 << 20)
          .memory(mem -> mem.timestampBytes(1 << 20))
          .transactions(txs -> txs.maxActive(4))
          .log(
              log ->
                  log.bufferBytes(128 << 10)
                      .segmentBytes(SEGMENT)
                      .maxBytes(1 << 20)
                      .checkpointInterval(Duration.ZERO));

  private final SimDisk disk = new SimDisk(3);

  private Database open() {
    return Database.open(new SimStorage(disk), OPTIONS);
  }

  private long logBytes() {
    return disk.device("db.log").size();
  }

  private static void write(Database db, int rounds) {
    Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 16)).bytes();
    for (int r = 0; r < rounds; r++) {
      int n = r;
      db.run(
          tx -> {
            for (int k = 0; k < 10; k++) {
              t.put(tx, new byte[] {(byte) n, (byte) k}, new byte[900]);
            }
          });
    }
  }

  @Test
  void aCleanCloseLeavesOneSegment() {
    open().close();
    assertEquals(SEGMENT, logBytes(), "an empty database");
    for (int round = 1; round < 5; round++) {
      try (Database db = open()) {
        write(db, 300 * round);
        assertTrue(logBytes() > 4 * SEGMENT, "the log has grown");
      }
      assertEquals(SEGMENT, logBytes());
    }
    try (Database db = open()) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 16)).bytes();
      assertArrayEquals(new byte[900], db.read(tx -> t.get(tx, new byte[] {(byte) 77, (byte) 3})));
      assertTrue(db.verify().ok());
      assertEquals(0, db.stats().recovery().nanos(), "nothing is recovered");
    }
    assertEquals(SEGMENT, logBytes());
  }

  @Test
  void theLogShrinksAfterABackup() throws InterruptedException {
    try (Database db = open()) {
      write(db, 300);
      db.checkpoint();
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch go = new CountDownLatch(1);
      OutputStream slow =
          new OutputStream() {
            @Override
            public void write(int b) {
              hold();
            }

            @Override
            public void write(byte[] b, int off, int len) {
              hold();
            }

            private void hold() {
              begun.countDown();
              boolean interrupted = false;
              while (go.getCount() > 0) {
                try {
                  go.await();
                } catch (InterruptedException e) {
                  interrupted = true;
                }
              }
              if (interrupted) {
                Thread.currentThread().interrupt();
              }
            }
          };
      Thread backup = new Thread(() -> db.backup(slow));
      backup.start();
      begun.await();
      write(db, 1500);
      long held = logBytes();
      assertTrue(held > 10 << 20, "the backup retains the log: " + held);
      go.countDown();
      backup.join();
      long small = OPTIONS.log().maxBytes() + 8 * SEGMENT;
      long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
      while (logBytes() > small && System.nanoTime() < deadline) {
        write(db, 20);
        db.checkpoint();
        LockSupport.parkNanos(1_000_000);
      }
      assertTrue(logBytes() <= small, () -> "still " + logBytes());
    }
  }
}
