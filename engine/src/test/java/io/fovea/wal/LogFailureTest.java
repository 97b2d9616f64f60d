package io.fovea.wal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.StorageFullException;
import io.fovea.io.IoOp;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDevice;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Full disks, failing syncs, misuse, interrupts: which calls fail, and what continues. */
class LogFailureTest {
  private static final long SEGMENT = 64 << 10;

  private final SimDisk disk = new SimDisk(1);
  private final SimDevice device = disk.device("log");

  @Test
  void fullDiskStopsBeginsUntilThereIsSpace() {
    Log log = Logs.create(device);
    disk.capacity(device.size() + SEGMENT);
    LogSession session = log.session();
    long end = 0;
    int done = 0;
    StorageFullException full = null;
    while (full == null && done < 10_000) {
      try {
        end = Logs.append(session, Logs.body(done, 1000));
        log.awaitDurable(end);
        done++;
      } catch (StorageFullException e) {
        full = e;
      }
    }
    assertTrue(full != null, "the disk was never full");
    assertEquals(Long.MAX_VALUE, log.minActive());
    assertThrows(StorageFullException.class, () -> session.begin(100));
    session.begin(0); // only to hold back the redo point
    session.end();

    disk.capacity(device.size() + 2 * SEGMENT); // a larger disk
    end = Logs.append(session, Logs.body(done++, 1000));
    log.awaitDurable(end);
    while (true) {
      try {
        end = Logs.append(session, Logs.body(done, 1000));
        done++;
      } catch (StorageFullException e) {
        break;
      }
    }
    log.awaitDurable(end);
    log.recycleBelow(end); // a checkpoint
    Logs.append(session, Logs.body(done++, 1000));
    log.close();
    assertEquals(2, Logs.readAll(device, end).size());
  }

  @Test
  void activeOperationsHaveSpaceOnAFullDisk() {
    Log log = Logs.create(device);
    disk.capacity(device.size());
    List<LogSession> sessions = new ArrayList<>();
    try {
      while (true) {
        LogSession session = log.session();
        session.begin(LogSession.space(1000));
        sessions.add(session);
        if (sessions.size() == 20) {
          break;
        }
      }
    } catch (StorageFullException e) {
      assertFalse(sessions.isEmpty());
    }
    for (LogSession session : sessions) {
      log.awaitDurable(Logs.put(session, RecordType.COMMIT, Logs.body(1, 1000)));
      session.end();
    }
    log.close();
    assertEquals(sessions.size() + 1, Logs.readAll(device, Log.FIRST_LSN).size());
  }

  /**
   * An operation that appends more after a commit record than there is space for fills the file and
   * the ring. A checkpoint, a close and a recovery fail, since the operation itself waits for a
   * checkpoint. Once there is space, all continue.
   */
  @Test
  @Timeout(60)
  void checkpointDoesNotWaitForItsWaiters() {
    Log log = Logs.create(device);
    disk.capacity(device.size());
    LogSession session = log.session();
    session.begin(LogSession.space(100));
    long commit = Logs.put(session, RecordType.COMMIT, Logs.body(0, 100));
    session.position(commit - 8, commit);
    session.failWhenFull();
    int n = 1;
    StorageFullException full = null;
    while (full == null && n < 10_000) {
      try {
        session.grant(LogSession.space(1000));
        Logs.put(session, RecordType.COMMIT, Logs.body(n, 1000));
        n++;
      } catch (StorageFullException e) {
        full = e;
      }
    }
    assertTrue(full != null, "the disk was never full");
    long tail = log.tail();
    assertThrows(StorageFullException.class, () -> log.awaitDurableUnlessFull(tail));
    log.awaitDurableUnlessFull(log.durableLsn());

    disk.capacity(Long.MAX_VALUE);
    log.awaitDurable(tail);
    log.awaitDurableUnlessFull(tail);
    session.grant(LogSession.space(1000));
    session.end();
    log.close();
    assertEquals(n + 1, Logs.readAll(device, Log.FIRST_LSN).size());
  }

  @Test
  void aFailedSyncIsFinal() {
    Log log = Logs.create(device);
    LogSession session = log.session();
    long durable = Logs.append(session, Logs.body(1, 100));
    log.awaitDurable(durable);
    disk.fail(SimFault.once(1).of(IoOp.SYNC));
    long lost = Logs.append(session, Logs.body(2, 100));
    assertThrows(DurabilityLostException.class, () -> log.awaitDurable(lost));
    log.awaitDurable(durable);
    assertEquals(durable, log.durableLsn());
    assertThrows(DurabilityLostException.class, () -> session.begin(100));
    assertThrows(DurabilityLostException.class, log::requireAlive);
    assertThrows(DurabilityLostException.class, log::awaitWindow);
    assertEquals(Long.MAX_VALUE, log.minActive());
    log.close();

    // The record is readable from the page cache; after recovery it must be durable.
    long end = Logs.end(device, Log.FIRST_LSN);
    assertEquals(lost, end);
    Log.open(device, Logs.TINY, Logs.start(2, end, Log.FIRST_LSN)).abandon();
    SimDisk after = disk.crash(SimCrash.LOSE_ALL);
    assertEquals(3, Logs.readAll(after.device("log"), Log.FIRST_LSN).size());
  }

  /**
   * The system reports a failed write once. Here the writer's sync gets the failure of the segment
   * creator's write. The creator's own sync succeeds, but its slot must not get a header, since the
   * file's length is not durable.
   */
  @Test
  void failedSyncOfTheWriterMayConcernTheSegmentCreator() throws InterruptedException {
    CountDownLatch begins = new CountDownLatch(1);
    CountDownLatch written = new CountDownLatch(1);
    CountDownLatch failed = new CountDownLatch(1);
    AtomicInteger byMaker = new AtomicInteger();
    disk.onOperation(
        n -> {
          if (Thread.currentThread().getName().equals("fovea-log-spare")) {
            // The length, the zeros, and the sync of both.
            switch (byMaker.incrementAndGet()) {
              case 1 -> Logs.await(begins);
              case 3 -> {
                written.countDown();
                Logs.await(failed);
              }
              default -> {}
            }
          }
        });
    Log log = Logs.create(device);
    LogSession session = log.session();
    // All in one operation, which has its space when it begins, so it never waits for a new
    // segment. The failure comes after a segment's 14 blocks.
    session.begin(14 * LogSession.space(2000));
    long acknowledged = Log.FIRST_LSN;
    for (int i = 0; i < 12; i++) {
      acknowledged = Logs.put(session, RecordType.COMMIT, Logs.body(i, 2000));
      log.awaitDurable(acknowledged);
    }
    begins.countDown(); // not before, since a group waits for a sync of the segment creator
    written.await();
    disk.fail(SimFault.once(1).of(IoOp.SYNC));
    long lost = Logs.put(session, RecordType.COMMIT, Logs.body(12, 2000));
    session.end();
    assertThrows(DurabilityLostException.class, () -> log.awaitDurable(lost));
    failed.countDown();
    log.close();
    assertEquals(3, byMaker.get(), "continued after a sync that proves nothing");

    SimDisk after = disk.crash(SimCrash.LOSE_ALL);
    assertTrue(after.device("log").size() < device.size(), "the length is durable");
    assertEquals(acknowledged, Logs.end(after.device("log"), Log.FIRST_LSN));
  }

  @Test
  void aFailedWriteIsFinalEvenForLackOfSpace() {
    Log log = Logs.create(device);
    disk.fail(SimFault.from(1).of(IoOp.WRITE).errno(28));
    long lost = Logs.append(log.session(), Logs.body(2, 100));
    DurabilityLostException e =
        assertThrows(DurabilityLostException.class, () -> log.awaitDurable(lost));
    assertInstanceOf(StorageFullException.class, e.getCause());
    log.close();
  }

  @Test
  void waitForSpaceEndsWhenDurabilityIsLost() throws InterruptedException {
    Log log = Logs.create(device);
    LogSession holder = log.session();
    holder.begin(60 << 10);
    AtomicReference<Throwable> told = new AtomicReference<>();
    Thread waiter =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    log.session().begin(60 << 10);
                  } catch (DurabilityLostException e) {
                    told.set(e);
                  }
                });
    while (waiter.getState() == Thread.State.RUNNABLE || waiter.getState() == Thread.State.NEW) {
      Thread.onSpinWait();
    }
    log.fail(new IllegalStateException("the data file"));
    waiter.join();
    assertTrue(told.get().getMessage().contains("the data file"), told.toString());
    holder.end();
    log.close();
  }

  @Test
  void closedLogIsReported() {
    Log log = Logs.create(device);
    LogSession session = log.session();
    long end = Logs.append(session, Logs.body(2, 100));
    log.close();
    log.awaitDurable(end);
    assertEquals(end, log.tail());
    assertThrows(DatabaseClosedException.class, () -> session.begin(8));
    log.close();
  }

  @Test
  void abandonedRecordsAreNotWritten() {
    Log log = Logs.create(device);
    LogSession session = log.session();
    long durable = Logs.append(session, Logs.body(1, 100));
    log.awaitDurable(durable);
    disk.hold(IoOp.SYNC);
    long second = Logs.append(session, Logs.body(2, 100));
    Thread other =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    log.awaitDurable(second);
                  } catch (DatabaseClosedException e) {
                    // in progress when the log ended, so it may or may not become durable
                  }
                });
    Logs.awaitGroup(disk, "log", 2L * Group.BLOCK);
    long third = Logs.append(session, Logs.body(3, 100)); // after the group in progress
    AtomicReference<Throwable> told = new AtomicReference<>();
    Thread waiter =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    log.awaitDurable(third);
                  } catch (DatabaseClosedException e) {
                    told.set(e);
                  }
                });
    Thread closer = Thread.ofPlatform().start(log::abandon);
    while (!log.hasEnded()) {
      Thread.onSpinWait();
    }
    disk.letGo();
    join(closer);
    join(waiter);
    join(other);
    assertTrue(told.get() != null);
    assertEquals(second, Logs.end(device, Log.FIRST_LSN));
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void interruptDoesNotEndAWaitAndIsPreserved() throws InterruptedException {
    Log log = Logs.create(device);
    disk.hold(IoOp.SYNC);
    CountDownLatch interrupted = new CountDownLatch(2);
    List<Thread> threads = new ArrayList<>();
    for (boolean virtual : new boolean[] {true, false}) {
      long end = Logs.append(log.session(), Logs.body(2, 100));
      Runnable body =
          () -> {
            log.awaitDurable(end);
            if (Thread.currentThread().isInterrupted() && log.durableLsn() >= end) {
              interrupted.countDown();
            }
          };
      threads.add(virtual ? Thread.ofVirtual().start(body) : Thread.ofPlatform().start(body));
    }
    disk.awaitHeld(1);
    threads.forEach(Thread::interrupt);
    disk.letGo();
    interrupted.await();
    log.close();
  }

  @Test
  void pinsRetainSegments() {
    Log log = Logs.create(device);
    LogSession session = log.session();
    long first = Logs.append(session, Logs.body(0, 100));
    log.awaitDurable(first);
    log.recycleBelow(first);
    long end = first;
    Log.Pin second = log.pin();
    try (Log.Pin pin = log.pin()) {
      assertEquals(first, pin.lsn());
      for (int i = 0; i < 300; i++) {
        end = Logs.append(session, Logs.body(i, 1000));
        log.awaitDurable(end);
        log.recycleBelow(end);
      }
      second.close();
      second.close();
      log.recycleBelow(end);
      assertEquals(301, Logs.readAll(device, pin.lsn()).size());
    }
    long before = log.stats().fileBytes();
    for (int i = 0; i < 300; i++) {
      end = Logs.append(session, Logs.body(i, 1000));
      log.awaitDurable(end);
      log.recycleBelow(end);
    }
    assertEquals(before, log.stats().fileBytes());
    log.close();
  }

  @Test
  void grantsAreExact() {
    Log log = Logs.create(device);
    LogSession session = log.session();
    for (int i = 0; i < 3000; i++) {
      session.begin(LogSession.space(i % 3000) + 5000);
      Logs.put(session, RecordType.COMMIT, Logs.body(i, 8 + i % 2000));
      session.grant(2000 + i % 900);
      session.end();
    }
    // All of it can be granted at once, so nothing has leaked; and not one byte more can.
    session.begin(64 << 10);
    session.end();
    assertThrows(IllegalArgumentException.class, () -> session.begin((64 << 10) + 1));
    LogSession other = log.session();
    other.begin(64 << 10);
    other.end();
    log.close();
  }

  @Test
  void theLargestRecordFits() {
    Log log = Logs.create(device);
    LogSession session = log.session();
    for (int i = 0; i < 50; i++) {
      Logs.append(session, Logs.body(i, log.recordMax()));
      Logs.append(session, Logs.body(i, 8 + i));
    }
    log.close();
    assertEquals(101, Logs.readAll(device, Log.FIRST_LSN).size());
  }

  @Test
  void misuseIsReported() {
    Log log = Logs.create(device);
    LogSession session = log.session();
    assertThrows(IllegalStateException.class, () -> session.reserve(RecordType.COMMIT, 8));
    assertThrows(IllegalStateException.class, () -> session.grant(8));
    session.end();
    session.begin(64);
    assertEquals(Log.FIRST_LSN, log.minActive());
    assertThrows(IllegalStateException.class, () -> session.begin(8));
    assertThrows(IllegalStateException.class, () -> session.reserve(RecordType.COMMIT, 80));
    assertThrows(IllegalStateException.class, session::complete);
    session.reserve(RecordType.COMMIT, 8);
    assertThrows(IllegalStateException.class, () -> session.reserve(RecordType.COMMIT, 8));
    session.end();
    assertThrows(IllegalArgumentException.class, () -> log.awaitDurable(log.tail() + 8));
    log.close();
    assertEquals(1, Logs.readAll(device, Log.FIRST_LSN).size());
  }

  /** Sessions that all request more space midway do not deadlock. */
  @Test
  void grantsInTheMiddleDoNotDeadlock() throws InterruptedException {
    Log log = Logs.create(device);
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 8; t++) {
      LogSession session = log.session();
      threads.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    for (int i = 0; i < 200; i++) {
                      session.begin(9000);
                      Thread.yield();
                      session.grant(40_000);
                      Logs.put(session, RecordType.STRUCTURE, Logs.body(i, 9000));
                      session.end();
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    log.close();
    assertEquals(1601, Logs.readAll(device, Log.FIRST_LSN).size());
  }
}
