package io.fovea.wal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** A copy of a part of a log is a log that ends there, and can be continued. */
class LogCopyTest {
  private static MemoryDevice copy(BlockDevice from, long fromLsn, long toLsn) throws IOException {
    return copy(new LogCopy(from, Logs.DATABASE, fromLsn, toLsn));
  }

  private static MemoryDevice copy(LogCopy copy) throws IOException {
    MemoryDevice to = new MemoryDevice();
    to.resize(copy.bytes());
    long[] at = new long[1];
    try (Arena arena = Arena.ofShared()) {
      MemorySegment buffer = arena.allocate(16 << 10, 4096);
      copy.run(
          (seg, off, len) -> {
            to.write(at[0], seg, off, len);
            at[0] += len;
          },
          buffer);
    }
    assertEquals(copy.bytes(), at[0]);
    return to;
  }

  private static void assertSame(List<Logs.Read> expected, List<Logs.Read> found, long toLsn) {
    int n = 0;
    for (Logs.Read r : expected) {
      if (r.type() != 0 && r.end() <= toLsn) {
        Logs.Read f = found.get(n++);
        assertEquals(r.start(), f.start());
        assertArrayEquals(r.body(), f.body());
      }
    }
    assertEquals(n, found.size() - 1);
    assertEquals(toLsn, found.getLast().end());
  }

  @Test
  void copiesToEveryEndOfAGroup() throws IOException {
    MemoryDevice device = new MemoryDevice();
    try (Log log = Logs.create(device);
        Log.Pin pin = log.pin()) {
      assertEquals(Log.FIRST_LSN, pin.lsn());
      LogSession session = log.session();
      for (int i = 0; i < 300; i++) {
        log.awaitDurable(Logs.append(session, Logs.body(i, 100 + i % 5 * 900)));
        long end = log.durableLsn();
        if (i % 10 == 0) {
          assertSame(
              Logs.readAll(device, Log.FIRST_LSN),
              Logs.readAll(copy(device, Log.FIRST_LSN, end), Log.FIRST_LSN),
              end);
        }
      }
      long end = log.durableLsn();
      List<Logs.Read> all = Logs.readAll(device, Log.FIRST_LSN);
      for (int i = 0; i < all.size(); i += 17) {
        long from = all.get(i).start();
        MemoryDevice copy = copy(device, from, end);
        assertSame(
            all.stream().filter(r -> r.start() >= from).toList(), Logs.readAll(copy, from), end);
      }
      assertTrue(copy(device, end, end).size() < device.size());
    }
  }

  @Test
  void copiesWhileTheLogGrows() throws Exception {
    MemoryDevice device = new MemoryDevice();
    try (Log log = Logs.create(device)) {
      AtomicBoolean stop = new AtomicBoolean();
      Thread writer =
          new Thread(
              () -> {
                LogSession session = log.session();
                for (long i = 0; !stop.get(); i++) {
                  long end = Logs.append(session, Logs.body(i, (int) (20 + i % 7 * 500)));
                  if (i % 50 == 0) {
                    log.awaitDurable(end);
                    log.recycleBelow(end);
                  }
                }
              });
      writer.start();
      try {
        for (int i = 0; i < 60; i++) {
          try (Log.Pin pin = log.pin()) {
            long before = log.durableLsn();
            while (log.durableLsn() < before + 100_000) {
              Thread.onSpinWait();
            }
            long end = log.durableLsn();
            List<Logs.Read> found = Logs.readAll(copy(device, pin.lsn(), end), pin.lsn());
            assertEquals(end, found.getLast().end());
            for (int k = 0; k + 1 < found.size(); k++) {
              byte[] body = found.get(k).body();
              assertArrayEquals(Logs.body(Logs.number(body), body.length), body);
            }
          }
        }
      } finally {
        stop.set(true);
        writer.join();
      }
    }
  }

  /**
   * The copy needs only the log's end, and new segments begin there after the copy has read the
   * headers. The segment that it found must stay.
   */
  @Test
  void segmentsThatBeginAtTheCopyStart() throws IOException {
    MemoryDevice device = new MemoryDevice();
    try (Log log = Logs.create(device)) {
      LogSession session = log.session();
      for (int i = 0; i < 60; i++) {
        log.awaitDurable(Logs.append(session, Logs.body(i, 3000)));
        long end = log.durableLsn();
        log.recycleBelow(end);
        try (Log.Pin pin = log.pin()) {
          assertEquals(end, pin.lsn());
          LogCopy copy = new LogCopy(device, Logs.DATABASE, end, end);
          for (int k = 0; k < 31; k++) {
            log.awaitDurable(Logs.append(session, Logs.body(k, 15_000)));
            log.recycleBelow(log.durableLsn());
          }
          assertEquals(end, Logs.end(copy(copy), end));
        }
      }
    }
  }

  @Test
  void copyCanBeContinued() throws IOException {
    MemoryDevice device = new MemoryDevice();
    long end;
    MemoryDevice copy;
    try (Log log = Logs.create(device);
        Log.Pin pin = log.pin()) {
      LogSession session = log.session();
      for (int i = 0; i < 200; i++) {
        Logs.append(session, Logs.body(i, 1000));
      }
      log.awaitDurable(log.tail());
      end = log.durableLsn();
      copy = copy(device, pin.lsn(), end);
    }
    try (Log log = Log.open(copy, Logs.TINY, Logs.start(2, end, Log.FIRST_LSN))) {
      LogSession session = log.session();
      for (int i = 200; i < 400; i++) {
        Logs.append(session, Logs.body(i, 1000));
      }
    }
    List<Logs.Read> all = Logs.readAll(copy, Log.FIRST_LSN);
    assertEquals(401, all.size());
    for (int i = 0; i < 400; i++) {
      assertArrayEquals(Logs.body(i, 1000), all.get(i).body());
    }
  }

  @Test
  void refusesToCopyMissingParts() throws IOException {
    MemoryDevice device = new MemoryDevice();
    try (Log log = Logs.create(device)) {
      LogSession session = log.session();
      for (int i = 0; i < 200; i++) {
        Logs.append(session, Logs.body(i, 1000));
      }
      log.awaitDurable(log.tail());
      long end = log.durableLsn();
      assertThrows(CorruptionException.class, () -> copy(device, Log.FIRST_LSN, end + 8));
      assertThrows(CorruptionException.class, () -> copy(new MemoryDevice(), 4096, 4096));
      assertThrows(CorruptionException.class, () -> copy(device, 8, end));
    }
  }
}
