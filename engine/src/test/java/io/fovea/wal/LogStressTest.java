package io.fovea.wal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Many appenders on a ring and segments of 64 KiB, while the power fails. Everything up to the
 * durable position must be found in order, and anything found after it must have been appended
 * there.
 */
@Tag("slow")
class LogStressTest {
  private static final int THREADS = 10;
  private static final int OPERATIONS = 150;
  private static final int CRASHES = 12;

  /** A completed record and its end. */
  private record Appended(long number, int length, long end) {}

  private final ConcurrentHashMap<Long, Appended> appended = new ConcurrentHashMap<>();
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private final AtomicLong acknowledged = new AtomicLong();

  @ParameterizedTest
  @CsvSource({"1, false, false", "2, true, false", "3, false, true", "4, true, true"})
  void durableRecordsSurvive(long seed, boolean asynchronous, boolean virtual) throws Exception {
    SimDisk disk = new SimDisk(seed);
    disk.asynchronous(asynchronous);
    List<SimDisk> survivors = new ArrayList<>();
    try (Log log = Logs.create(disk.device("log"))) {
      List<Thread> threads = new ArrayList<>();
      for (int t = 0; t < THREADS; t++) {
        long first = (t + 1L) << 32;
        Random random = new Random(seed * 100 + t);
        LogSession session = log.session();
        Runnable body = () -> work(log, session, random, first);
        threads.add(virtual ? Thread.ofVirtual().start(body) : Thread.ofPlatform().start(body));
      }
      Random random = new Random(seed);
      while (threads.stream().anyMatch(Thread::isAlive)) {
        // in the order of the checkpointer
        long tail = log.tail();
        long redo = Math.min(Math.min(tail, log.minActive()), log.durableLsn());
        log.recycleBelow(redo - random.nextInt(100_000));
        if (survivors.size() < CRASHES && random.nextInt(20) == 0) {
          survivors.add(crash(log, disk));
        }
        Thread.sleep(1);
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(null, failure.get());
      survivors.add(crash(log, disk));
      assertEquals(Long.MAX_VALUE, log.minActive());
    }
    for (SimDisk survivor : survivors) {
      continueOn(survivor);
    }
  }

  private void work(Log log, LogSession session, Random random, long number) {
    try {
      for (int i = 0; i < OPERATIONS; i++) {
        int records = 1 + random.nextInt(3);
        int length = 8 + random.nextInt(random.nextInt(8) == 0 ? 8_000 : 300);
        session.begin(records * LogSession.space(length));
        long end = 0;
        try {
          for (int r = 0; r < records; r++) {
            byte[] body = Logs.body(++number, length);
            end = Logs.put(session, RecordType.COMMIT, body);
            appended.put(session.recordStart(), new Appended(number, length, session.recordEnd()));
          }
          if (random.nextInt(10) == 0) {
            session.grant(LogSession.space(100));
            session.reserve(RecordType.STRUCTURE, 100);
          }
        } finally {
          session.end();
        }
        if (random.nextInt(3) != 0) {
          log.awaitDurable(end);
          assertTrue(log.durableLsn() >= end);
        } else {
          log.awaitWindow();
        }
      }
    } catch (Throwable t) {
      failure.compareAndSet(null, t);
    }
  }

  /** Cuts the power and checks what remains. */
  private SimDisk crash(Log log, SimDisk disk) {
    try (Log.Pin pin = log.pin()) {
      long durable = log.durableLsn();
      List<Long> expected = new ArrayList<>();
      appended.forEach(
          (start, a) -> {
            if (start >= pin.lsn() && a.end <= durable) {
              expected.add(start);
            }
          });
      SimDisk after = disk.crash(SimCrash.RANDOM);
      acknowledged.set(pin.lsn());
      List<Logs.Read> all = check(after, pin.lsn(), durable);
      for (long start : expected) {
        assertTrue(all.stream().anyMatch(read -> read.start() == start), () -> "lost: " + start);
      }
      after.device("redo").resize(4096);
      after.poke("redo", 0, bytes(pin.lsn()));
      return after;
    }
  }

  private static byte[] bytes(long number) {
    byte[] bytes = new byte[8];
    for (int i = 0; i < 8; i++) {
      bytes[i] = (byte) (number >>> 8 * i);
    }
    return bytes;
  }

  private List<Logs.Read> check(SimDisk disk, long from, long durable) {
    List<Logs.Read> all = Logs.readAll(disk.device("log"), from);
    long end = all.removeLast().end();
    assertTrue(end >= durable, () -> "the log ends at " + end + ", but was durable to " + durable);
    long at = from;
    for (Logs.Read read : all) {
      assertTrue(read.start() >= at);
      at = read.end();
      if (read.type() == RecordType.COMMIT) {
        Appended a = appended.get(read.start());
        long number = Logs.number(read.body());
        assertArrayEquals(Logs.body(number, read.body().length), read.body());
        if (a != null) {
          assertEquals(a.number, number);
          assertEquals(a.end, read.end());
          assertEquals(a.length, read.body().length);
        }
      }
    }
    return all;
  }

  /** Continues in further incarnations, each from the end of the last, and crashes again. */
  private void continueOn(SimDisk disk) {
    long redo = Logs.number(disk.peek("redo", 0, 8));
    List<Logs.Read> before = Logs.readAll(disk.device("log"), redo);
    for (int incarnation = 2; incarnation < 5; incarnation++) {
      long end = before.getLast().end();
      SimDisk after;
      long durable;
      try (Log log = Log.open(disk.device("log"), Logs.TINY, Logs.start(incarnation, end, redo))) {
        assertEquals(end, log.tail());
        LogSession session = log.session();
        for (int i = 0; i < 30; i++) {
          Logs.append(session, Logs.body(i, 500 * incarnation));
        }
        log.awaitDurable(log.tail() - 5_000);
        durable = log.durableLsn();
        after = disk.crash(SimCrash.RANDOM);
        log.abandon();
      }
      List<Logs.Read> all = Logs.readAll(after.device("log"), redo);
      assertTrue(all.getLast().end() >= durable);
      for (int i = 0; i < before.size() - 1; i++) {
        assertEquals(before.get(i).start(), all.get(i).start());
        assertArrayEquals(before.get(i).body(), all.get(i).body());
      }
      assertNotNull(all);
      before = all;
      disk = after;
    }
  }
}
