package io.fovea.wal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Reads a log while it is being written, and compares the result with {@link LogReader}. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DurableRecordsTest {
  private static final LogConfig CONFIG =
      new LogConfig(64 << 10, 64 << 10, 5_000_000, 16 << 10, 256 << 10, 4 << 20);

  private record Found(long start, long end, int type, byte[] body) {}

  private static LogStart start(long incarnation, long startLsn, long changesLsn) {
    return new LogStart(Logs.DATABASE, incarnation, startLsn, startLsn, 0, changesLsn);
  }

  private static Found found(DurableRecords r) {
    byte[] body = new byte[r.bodyLength()];
    Mem.getBytes(r.segment(), r.body(), body, 0, body.length);
    return new Found(r.start(), r.recordEnd(), r.type(), body);
  }

  private static List<Found> read(DurableRecords r, long from) {
    List<Found> all = new ArrayList<>();
    assertTrue(r.begin(from));
    try {
      while (r.next()) {
        all.add(found(r));
      }
    } finally {
      r.end();
    }
    return all;
  }

  private static void same(MemoryDevice device, List<Found> all) {
    int n = 0;
    try (LogReader reader = LogReader.open(device, Logs.DATABASE, all.getFirst().start)) {
      while (n < all.size() && reader.next()) {
        Found f = all.get(n++);
        assertEquals(reader.start(), f.start);
        assertEquals(reader.end(), f.end);
        assertEquals(reader.type(), f.type);
        byte[] body = new byte[reader.bodyLength()];
        Mem.getBytes(reader.segment(), reader.body(), body, 0, body.length);
        assertArrayEquals(body, f.body);
      }
    }
    assertEquals(all.size(), n);
  }

  /** Reads from each record on, over several openings with several segments each. */
  @Test
  void readsFromEveryRecordOverOpenings() {
    MemoryDevice device = new MemoryDevice();
    long at = Log.FIRST_LSN;
    Random random = new Random(1);
    for (int opening = 1; opening <= 4; opening++) {
      try (Log log = Log.open(device, CONFIG, start(opening, at, Log.FIRST_LSN))) {
        LogSession session = log.session();
        for (int i = 0; i < 120; i++) {
          long end = Logs.append(session, Logs.body(i, 8 + random.nextInt(3000)));
          if (random.nextInt(3) == 0) {
            log.awaitDurable(end);
          }
        }
        log.awaitDurable(log.tail());
        log.recycleBelow(log.tail(), Log.FIRST_LSN);
        assertEquals(Log.FIRST_LSN, log.firstLsn());
        try (DurableRecords r = log.records()) {
          List<Found> all = read(r, Log.FIRST_LSN);
          assertEquals(log.durableLsn(), all.getLast().end);
          same(device, all);
          for (int i = 0; i < all.size(); i += 13) {
            List<Found> rest = read(r, all.get(i).start);
            assertEquals(all.size() - i, rest.size());
            assertEquals(all.get(i).start, rest.getFirst().start);
          }
          assertEquals(0, read(r, log.durableLsn()).size());
        }
        at = log.tail();
      }
    }
  }

  /** Reads repeatedly from where the last read ended, concurrently with a writer. */
  @Test
  void readsConcurrentlyWithTheWriter() throws Exception {
    MemoryDevice device = new MemoryDevice();
    try (Log log = Log.open(device, CONFIG, start(1, Log.FIRST_LSN, Log.FIRST_LSN))) {
      AtomicBoolean stop = new AtomicBoolean();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      List<Found> all = new ArrayList<>();
      Thread reader =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try (DurableRecords r = log.records()) {
                      long here = Log.FIRST_LSN;
                      while (!stop.get() || here < log.durableLsn()) {
                        log.awaitBeyond(here, 5_000_000, stop::get);
                        all.addAll(read(r, here));
                        here = r.recordEnd();
                      }
                    } catch (Throwable e) {
                      failure.set(e);
                    }
                  });
      LogSession session = log.session();
      Random random = new Random(2);
      for (int i = 0; i < 1500; i++) {
        long end = Logs.append(session, Logs.body(i, 8 + random.nextInt(1500)));
        if (i % 7 == 0) {
          log.awaitDurable(end);
        }
      }
      log.awaitDurable(log.tail());
      stop.set(true);
      log.wakeFollowers();
      reader.join();
      assertEquals(null, failure.get());
      assertEquals(log.durableLsn(), all.getLast().end);
      same(device, all);
    }
  }

  /** Retained records stay until they are released; trimmed ones are reported as gone. */
  @Test
  void retainedRecordsStay() {
    MemoryDevice device = new MemoryDevice();
    try (Log log = Log.open(device, CONFIG, start(1, Log.FIRST_LSN, Log.FIRST_LSN));
        DurableRecords r = log.records();
        DurableRecords other = log.records()) {
      LogSession session = log.session();
      for (int i = 0; i < 400; i++) {
        log.awaitDurable(Logs.append(session, Logs.body(i, 1000)));
      }
      long tail = log.tail();
      long kept = log.retainable(tail);
      assertEquals(Log.FIRST_LSN, kept);
      assertTrue(r.begin(Log.FIRST_LSN));
      assertThrows(IllegalStateException.class, () -> r.begin(Log.FIRST_LSN));
      log.recycleBelow(tail, tail);
      assertEquals(Log.FIRST_LSN, log.firstLsn());
      while (r.next()) {}
      assertEquals(tail, r.recordEnd());
      r.end();
      assertTrue(log.firstLsn() > Log.FIRST_LSN);
      assertFalse(other.begin(Log.FIRST_LSN));
      assertThrows(IllegalStateException.class, other::next);
      assertTrue(read(other, log.firstLsn()).size() > 0);
    }
  }
}
