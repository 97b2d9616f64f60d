package io.fovea.wal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Records are read back, across laps of the ring, segments and openings. */
class LogTest {
  private final SimDisk disk = new SimDisk(1);
  private final BlockDevice device = disk.device("log");

  /** A session that was passed on belongs to the next thread that begins it. */
  @Test
  void aSessionServesTheThreadThatBeganIt() throws InterruptedException {
    try (Log log = Logs.create(device)) {
      LogSession session = log.session();
      assertFalse(session.isActive());
      session.begin(LogSession.space(100));
      assertTrue(session.isActive());
      AtomicReference<Throwable> thrown = new AtomicReference<>();
      Thread stranger =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      session.reserve(RecordType.VOID, 8);
                    } catch (Throwable t) {
                      thrown.set(t);
                    }
                  });
      stranger.join();
      assertInstanceOf(AssertionError.class, thrown.get());
      session.end();
      assertThrows(IllegalStateException.class, () -> session.reserve(RecordType.VOID, 8));
    }
  }

  @Test
  void readsBackAppendedRecords() {
    try (Log log = Logs.create(device)) {
      LogSession session = log.session();
      for (int i = 0; i < 2000; i++) {
        long end = Logs.append(session, Logs.body(i, 8 + i % 300));
        if (i % 7 == 0) {
          log.awaitDurable(end);
          assertTrue(log.durableLsn() >= end);
        }
      }
      assertEquals(Long.MAX_VALUE, log.minActive());
    }
    List<Logs.Read> all = Logs.readAll(device, Log.FIRST_LSN);
    assertEquals(2001, all.size());
    for (int i = 0; i < 2000; i++) {
      assertArrayEquals(Logs.body(i, 8 + i % 300), all.get(i).body());
      assertEquals(RecordType.COMMIT, all.get(i).type());
    }
  }

  @Test
  void readsAnEmptyLog() {
    Logs.create(device).close();
    assertEquals(Log.FIRST_LSN, Logs.end(device, Log.FIRST_LSN));
  }

  @Test
  void continuesWhereItEnded() {
    long end = Log.FIRST_LSN;
    for (int opening = 1; opening < 10; opening++) {
      try (Log log = Log.open(device, Logs.TINY, Logs.start(opening, end, Log.FIRST_LSN))) {
        LogSession session = log.session();
        for (int i = 0; i < 20; i++) {
          Logs.append(session, Logs.body(opening * 20 + i, 1000));
        }
      }
      end = Logs.end(device, Log.FIRST_LSN);
      assertEquals(1 + opening * 20, Logs.readAll(device, Log.FIRST_LSN).size());
    }
  }

  @Test
  void onlyATailIsLost() {
    try (Log log = Logs.create(device)) {
      LogSession session = log.session();
      long durable = Logs.append(session, Logs.body(1, 100));
      log.awaitDurable(durable);
      SimDisk after = disk.crash(SimCrash.LOSE_ALL);
      assertEquals(durable, Logs.end(after.device("log"), Log.FIRST_LSN));
      long later = Logs.append(session, Logs.body(2, 100));
      log.awaitDurable(later);
      assertEquals(later, Logs.end(disk.crash(SimCrash.RANDOM).device("log"), Log.FIRST_LSN));
    }
  }

  @Test
  void aMissingBeginningIsDamage() {
    assertThrows(CorruptionException.class, () -> Logs.readAll(device, Log.FIRST_LSN));
    try (Log log = Log.open(device, Logs.TINY, Logs.start(1, 8192, 8192))) {
      log.awaitDurable(Logs.append(log.session(), Logs.body(1, 100)));
    }
    CorruptionException e =
        assertThrows(CorruptionException.class, () -> Logs.readAll(device, Log.FIRST_LSN));
    assertTrue(e.getMessage().contains("8192"), e.getMessage());
    assertThrows(CorruptionException.class, () -> Logs.readAll(device, 8192 + 4096));
  }

  @Test
  void voidsFillIncompleteRecords() {
    try (Log log = Logs.create(device)) {
      LogSession session = log.session();
      session.begin(10_000);
      session.reserve(RecordType.STRUCTURE, 100);
      session.cancel();
      Logs.put(session, RecordType.SCHEMA, Logs.body(7, 50));
      session.reserve(RecordType.STRUCTURE, 100);
      session.end();
    }
    List<Logs.Read> all = Logs.readAll(device, Log.FIRST_LSN);
    assertEquals(2, all.size());
    assertEquals(RecordType.SCHEMA, all.getFirst().type());
  }

  /** The writer stops at the tail, not only at a zero. */
  @Test
  @Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void theRingMayBeCompletelyFull() {
    int quarter = Logs.TINY.bufferBytes() / 4;
    int body = quarter - Record.HEADER;
    long start = Logs.TINY.bufferBytes(); // a lap begins there
    try (Log log = Log.open(device, Logs.TINY, Logs.start(1, start, start))) {
      // Two laps: positions in the ring repeat those of the first lap.
      for (int lap = 0; lap < 2; lap++) {
        LogSession first = log.session();
        first.begin(quarter);
        first.reserve(RecordType.COMMIT, body); // held, so nothing after it is written
        LogSession rest = log.session();
        rest.begin(3L * quarter);
        for (int i = 0; i < 3; i++) {
          Logs.put(rest, RecordType.COMMIT, Logs.body(lap * 3 + i, body));
        }
        assertEquals(log.durableLsn() + 4L * quarter, log.tail(), "no byte is free");
        first.complete();
        log.awaitDurable(log.tail());
        first.end();
        rest.end();
      }
    }
    List<Logs.Read> all = Logs.readAll(device, start);
    assertEquals(9, all.size());
    for (int i = 0; i < 8; i++) {
      assertEquals(quarter, all.get(i).end() - all.get(i).start());
    }
  }

  /**
   * An operation that runs out of file space midway requests it. Regression: it waited for the
   * segment creator's next check, once a second.
   */
  @Test
  @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void aLongOperationNeedsManySegments() {
    int records = 0;
    try (Log log = Logs.create(device)) {
      LogSession session = log.session();
      byte[] body = Logs.body(1, 4000);
      session.begin(LogSession.space(body.length));
      for (; records < 600 * Logs.TINY.segmentBytes() / body.length; records++) {
        session.grant(LogSession.space(body.length));
        Logs.put(session, RecordType.CHAIN, body);
      }
      session.end();
    }
    assertEquals(records + 1, Logs.readAll(device, Log.FIRST_LSN).size());
  }
}
