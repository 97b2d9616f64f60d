package io.fovea.wal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.io.BlockDevice;
import io.fovea.io.IoOp;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A log file whose segments were retained shrinks again, safely across crashes. */
class LogShrinkTest {
  private static final String FILE = "log";
  private static final int SLOT = 64 << 10;
  private static final long KEEP = 2 * SLOT;

  /** What is retained, two segments that contain some of it, and spare slots. */
  private static final long SMALL = KEEP + 2 * SLOT + 5 * SLOT;

  private static final LogConfig CONFIG = new LogConfig(SLOT, 64 << 10, 5_000_000, 16 << 10, KEEP);

  private final SimDisk disk = new SimDisk(7);
  private final BlockDevice device = disk.device(FILE);

  private volatile long redo = Log.FIRST_LSN;
  private volatile long acked = Log.FIRST_LSN;

  private Log open(BlockDevice on, long incarnation, long start, long from) {
    return Log.open(on, CONFIG, Logs.start(incarnation, start, from));
  }

  private void append(Log log, LogSession session, int groups) {
    for (int i = 0; i < groups; i++) {
      long end = Logs.append(session, Logs.body(i, 3000));
      log.awaitDurable(end);
      acked = end;
    }
  }

  private void checkpoint(Log log) {
    redo = acked;
    log.recycleBelow(redo);
  }

  /**
   * Continues as a database would until the file is small; the timing depends on the segment
   * creator.
   */
  private void continueUntilSmall(Log log, LogSession session) {
    long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
    while (device.size() > SMALL && System.nanoTime() < deadline) {
      append(log, session, 3);
      checkpoint(log);
      LockSupport.parkNanos(1_000_000);
    }
    assertTrue(device.size() <= SMALL, () -> device.size() + " bytes");
  }

  /** Without writes, the checkpoint suffices. */
  @Test
  void idleLogShrinks() {
    try (Log log = open(device, 1, Log.FIRST_LSN, Log.FIRST_LSN)) {
      LogSession session = log.session();
      for (int round = 0; round < 3; round++) {
        Log.Pin pin = log.pin();
        append(log, session, 300 + round * 7);
        checkpoint(log);
        assertTrue(device.size() > 20 * SLOT, "the log is held back");
        pin.close();
        checkpoint(log);
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
        while (device.size() > SMALL && System.nanoTime() < deadline) {
          LockSupport.parkNanos(1_000_000);
        }
        assertTrue(device.size() <= SMALL, () -> device.size() + " bytes");
        assertEquals(acked, Logs.end(device, redo));
      }
      append(log, session, 40);
    }
    assertEquals(acked, Logs.end(device, redo));
    assertEquals(41, Logs.readAll(device, redo).size());
  }

  /** What a crash needs is kept as long as its replacement may be lost. */
  @Test
  void aSegmentStaysUntilTheNextIsDurable() throws InterruptedException {
    try (Log log = open(device, 1, Log.FIRST_LSN, Log.FIRST_LSN)) {
      Log.Pin pin = log.pin();
      append(log, log.session(), 300);
      disk.hold(IoOp.WRITE);
      pin.close();
      checkpoint(log); // the writer continues nearer to the start
      disk.awaitHeld(1);
      for (int i = 0; i < 20; i++) {
        checkpoint(log);
        Thread.sleep(5); // for the segment creator, which truncates free slots
      }
      BlockDevice after = disk.crash(SimCrash.LOSE_ALL).device(FILE);
      disk.letGo();
      assertEquals(acked, Logs.end(after, redo));
      continueUntilSmall(log, log.session());
    }
  }

  @Test
  void formerRetentionHasNoEffect() {
    try (Log log = open(device, 1, Log.FIRST_LSN, Log.FIRST_LSN)) {
      LogSession session = log.session();
      for (int round = 0; round < 3; round++) {
        Log.Pin pin = log.pin();
        append(log, session, 400);
        checkpoint(log);
        assertTrue(device.size() > 25 * SLOT, "the log is held back");
        assertEquals(401, Logs.readAll(device, pin.lsn()).size());
        pin.close();
        continueUntilSmall(log, session);
      }
    }
    assertEquals(acked, Logs.end(device, redo));
  }

  /** The file is truncated while segments begin, and the power fails at any operation. */
  @Test
  void survivesACrashAtAnyOperation() {
    record Moment(SimDisk disk, long redo, long acked) {}
    List<Moment> moments = new ArrayList<>();
    Log log = open(device, 1, Log.FIRST_LSN, Log.FIRST_LSN);
    LogSession session = log.session();
    append(log, session, 1);
    SimCrash[] hows = {
      SimCrash.RANDOM, SimCrash.LOSE_ALL, SimCrash.KEEP_ALL, new SimCrash(0.9, true, true)
    };
    disk.onOperation(
        n -> {
          long needed = redo;
          long promised = acked;
          if (n % 3 == 0) {
            SimDisk left = disk.crash(hows[(int) (n / 3 % hows.length)]);
            synchronized (moments) {
              // Because of concurrency it is not known which superblock a checkpoint would name.
              if (redo == needed) {
                moments.add(new Moment(left, needed, promised));
              }
            }
          }
        });
    for (int round = 0; round < 2; round++) {
      Log.Pin pin = log.pin();
      append(log, session, 150);
      checkpoint(log);
      pin.close();
      continueUntilSmall(log, session);
      append(log, session, 60);
      checkpoint(log);
    }
    disk.onOperation(n -> {});
    log.abandon();
    assertTrue(moments.size() > 200);
    int i = 0;
    for (Moment m : moments) {
      BlockDevice after = m.disk.device(FILE);
      long end = Logs.end(after, m.redo);
      assertTrue(end >= m.acked, () -> "end " + end + ", acknowledged " + m.acked);
      if (i++ % 7 == 0) {
        Log next = open(after, 2, end, m.redo);
        LogSession s = next.session();
        long more = Logs.append(s, Logs.body(1, 1000));
        next.awaitDurable(more);
        next.abandon();
        assertEquals(more, Logs.end(after, m.redo));
      }
    }
  }

  /** If the file cannot be truncated it keeps its size, and the log continues. */
  @Test
  void failedTruncationIsHarmless() {
    try (Log log = open(device, 1, Log.FIRST_LSN, Log.FIRST_LSN)) {
      LogSession session = log.session();
      Log.Pin pin = log.pin();
      append(log, session, 200);
      disk.fail(SimFault.once(1).of(IoOp.RESIZE));
      pin.close();
      checkpoint(log);
      for (int i = 0; i < 20; i++) {
        append(log, session, 20);
        checkpoint(log);
      }
      assertTrue(log.isAlive());
    }
    assertEquals(acked, Logs.end(device, redo));
  }

  /** Returns a file of very many slots with headers only. */
  private static BlockDevice slots(int count) {
    long slot = 3 * Group.BLOCK;
    return (BlockDevice)
        Proxy.newProxyInstance(
            LogShrinkTest.class.getClassLoader(),
            new Class<?>[] {BlockDevice.class},
            (proxy, method, args) -> {
              if (method.getName().equals("size")) {
                return count * slot;
              }
              long at = (long) args[0];
              MemorySegment seg = (MemorySegment) args[1];
              if (at % slot == 0) {
                long n = at / slot + 1;
                new SegmentHeader(Logs.DATABASE, n, 1, 4096 + n * 64, slot)
                    .put(seg, (long) args[2]);
              } else {
                io.fovea.memory.Mem.zero(seg, (long) args[2], (int) args[3]);
              }
              return null;
            });
  }

  /** Regression: the time was quadratic in the number of slots, hours for these. */
  @Test
  @Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void slotsAreReadInLinearTime() {
    int count = 500_000;
    SegmentScan scan = SegmentScan.of(slots(count), Logs.DATABASE);
    assertEquals(count, scan.segments().size());
    assertEquals(count, scan.lastFound());
  }
}
