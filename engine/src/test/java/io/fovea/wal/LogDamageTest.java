package io.fovea.wal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.CorruptionException;
import io.fovea.io.IoOp;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDevice;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/**
 * Distinguishes damage from the log's end, and a slot's previous contents from its current ones.
 */
class LogDamageTest {
  private static final String LOG = "log";
  private static final int BLOCK = 4096;

  private final SimDisk disk = new SimDisk(1);
  private final SimDevice device = disk.device(LOG);

  /** Appends one group with one record for each body. */
  private long appendGroups(Log log, int from, int to, int length) {
    return appendGroups(log, log.session(), from, to, length);
  }

  private static long appendGroups(Log log, LogSession session, int from, int to, int length) {
    long end = 0;
    for (int i = from; i < to; i++) {
      end = Logs.append(session, Logs.body(i, length));
      log.awaitDurable(end);
    }
    return end;
  }

  @Test
  void flippedBitsAreDamageOrTheEnd() {
    try (Log log = Logs.create(device)) {
      appendGroups(log, 0, 30, 600);
    }
    List<Logs.Read> whole = Logs.readAll(device, Log.FIRST_LSN);
    Random random = new Random(5);
    for (int i = 0; i < 500; i++) {
      SimDisk copy = disk.copy();
      // A slot of 16 blocks has a header, 14 groups of one block, and a trailer.
      int group = random.nextInt(30);
      int slotBlock = group % 14 + 1;
      int slot = group / 14;
      int used = Group.HEADER + 16 + 600;
      long offset = slot * (64L << 10) + slotBlock * (long) BLOCK + random.nextInt(used);
      copy.flip(LOG, offset, random.nextInt(8));
      try {
        List<Logs.Read> read = Logs.readAll(copy.device(LOG), Log.FIRST_LSN);
        // Only the last group may look torn: nothing proves that it was durable.
        assertEquals(29, group, "a flipped bit at " + offset + " was not detected");
        assertEquals(30, read.size());
        assertEquals(whole.get(29).start(), read.getLast().end());
      } catch (CorruptionException e) {
        assertTrue(group < 29, e.getMessage());
        assertTrue(
            e.fileOffset() <= offset && offset - e.fileOffset() < BLOCK,
            e.getMessage() + " for a bit at " + offset);
      }
    }
  }

  @Test
  void aDamagedHeaderOfASegmentIsDamage() {
    try (Log log = Logs.create(device)) {
      appendGroups(log, 0, 40, 600);
    }
    int slots = 0;
    for (long at = 0; at < device.size(); at += 64 << 10) {
      SimDisk copy = disk.copy();
      copy.flip(LOG, at + 40, 3);
      // The last slot may have been under construction, without a header, when the log was closed.
      SegmentHeader header = SegmentHeader.parse(headerBlock(at), 0);
      if (header != null && header.number() > 0) {
        slots++;
        assertThrows(
            CorruptionException.class,
            () -> Logs.readAll(copy.device(LOG), Log.FIRST_LSN),
            "slot at " + at);
      } else {
        assertEquals(41, Logs.readAll(copy.device(LOG), Log.FIRST_LSN).size());
      }
    }
    assertEquals(3, slots);
  }

  private java.lang.foreign.MemorySegment headerBlock(long at) {
    java.lang.foreign.MemorySegment block = java.lang.foreign.Arena.ofAuto().allocate(BLOCK, BLOCK);
    device.read(at, block, 0, BLOCK);
    return block;
  }

  /**
   * The lost write must be a group's, so the segment creator, which also writes, waits until it is
   * lost.
   */
  @Test
  void aLostWriteIsDamage() {
    CountDownLatch lost = new CountDownLatch(1);
    disk.onOperation(
        n -> {
          if (Thread.currentThread().getName().equals("fovea-log-spare")) {
            Logs.await(lost);
          }
        });
    Log log = Logs.create(device);
    LogSession session = log.session();
    appendGroups(log, session, 0, 3, 100);
    disk.fail(SimFault.once(1).of(IoOp.WRITE).effect(SimFault.Effect.LOSE));
    appendGroups(log, session, 3, 6, 100); // these fit without a new segment
    lost.countDown();
    log.close();
    CorruptionException e =
        assertThrows(CorruptionException.class, () -> Logs.readAll(device, Log.FIRST_LSN));
    assertEquals(4L * BLOCK, e.fileOffset());
  }

  @Test
  void tornGroupEndsAtItsFirstBadRecord() {
    Log log = Logs.create(device);
    long beforeTorn = appendGroups(log, 0, 3, 100);
    LogSession session = log.session();
    disk.hold(IoOp.SYNC);
    List<Long> ends = new ArrayList<>();
    // Nothing after it is written until it is complete, so all of it is one group.
    LogSession first = log.session();
    first.begin(100);
    first.reserve(RecordType.STRUCTURE, 8);
    session.begin(40_000);
    for (int i = 0; i < 10; i++) {
      ends.add(Logs.put(session, RecordType.COMMIT, Logs.body(i, 1000)));
    }
    session.end();
    first.end();
    Thread.ofVirtual().start(() -> log.awaitDurable(ends.getLast()));
    Logs.awaitGroup(disk, LOG, 4L * BLOCK);
    SimDisk after = disk.crash(SimCrash.KEEP_ALL);
    disk.letGo();
    log.close();
    // The sectors from the eleventh on are lost.
    after.poke(LOG, 4L * BLOCK + 5120, new byte[8192]);
    long end = Logs.end(after.device(LOG), Log.FIRST_LSN);
    assertEquals(ends.get(3), end);
    try (LogReader reader = LogReader.open(after.device(LOG), Logs.DATABASE, Log.FIRST_LSN)) {
      while (reader.next()) {}
      assertEquals(beforeTorn, reader.provenLsn());
    }

    // The next incarnation continues there, and the rest of the torn group never reappears.
    Log next = Log.open(after.device(LOG), Logs.TINY, Logs.start(2, end, Log.FIRST_LSN));
    long more = appendGroups(next, 100, 101, 1000);
    next.abandon();
    List<Logs.Read> all = Logs.readAll(after.device(LOG), Log.FIRST_LSN);
    assertEquals(more, all.getLast().end());
    assertEquals(3 + 4 + 1 + 1, all.size());
    assertEquals(100, Logs.number(all.get(7).body()));
  }

  @Test
  void groupsOfAnEarlierIncarnationAreIgnored() {
    Log log = Logs.create(device);
    long end = appendGroups(log, 0, 3, 100);
    appendGroups(log, 3, 8, 100);
    log.abandon();
    // Drop group 3: the next incarnation begins at its start, and writes records of the same length
    // to
    // the same positions, so only the incarnation differs.
    disk.poke(LOG, 4L * BLOCK, new byte[BLOCK]);
    SimDevice other = disk.device(LOG);
    Log next = Log.open(other, Logs.TINY, Logs.start(2, end, Log.FIRST_LSN));
    appendGroups(next, 50, 51, 100);
    next.abandon();
    List<Logs.Read> all = Logs.readAll(other, Log.FIRST_LSN);
    assertEquals(5, all.size());
    assertEquals(50, Logs.number(all.get(3).body()));
  }

  @Test
  void garbageInRecycledSegmentsIsNotRead() {
    Log log = Logs.create(device);
    LogSession session = log.session();
    long redo = Log.FIRST_LSN;
    for (int i = 0; i < 200; i++) {
      long end = appendGroups(log, session, i, i + 1, 700);
      if (i % 10 == 9) {
        redo = end;
        log.recycleBelow(redo);
      }
    }
    long end = appendGroups(log, session, 200, 203, 700);
    assertTrue(log.stats().fileBytes() < 10 * (64 << 10), log.stats().toString());
    log.abandon();
    List<Logs.Read> all = Logs.readAll(device, redo);
    assertEquals(4, all.size());
    assertEquals(end, all.getLast().end());
    assertThrows(CorruptionException.class, () -> Logs.readAll(device, Log.FIRST_LSN));
  }

  @Test
  void theFileOfAnotherDatabaseIsRefused() {
    try (Log log = Logs.create(device)) {
      appendGroups(log, 0, 3, 100);
    }
    UUID other = new UUID(1, 2);
    CorruptionException e =
        assertThrows(CorruptionException.class, () -> LogReader.open(device, other, Log.FIRST_LSN));
    assertTrue(e.getMessage().contains("another"), e.getMessage());
    assertThrows(
        CorruptionException.class,
        () -> Log.open(device, Logs.TINY, new LogStart(other, 2, 8192, 4096)));
    // For a database under creation, the file is a leftover.
    LogStart fresh = new LogStart(other, 1, Log.FIRST_LSN, Log.FIRST_LSN);
    Log.open(device, Logs.TINY, fresh).close();
    LogReader.open(device, other, Log.FIRST_LSN).close();
  }

  @Test
  void randomGarbageCausesNoHangAndNoHugeAllocation() {
    try (Log log = Logs.create(device)) {
      appendGroups(log, 0, 20, 900);
    }
    Random random = new Random(9);
    for (int i = 0; i < 300; i++) {
      SimDisk copy = disk.copy();
      byte[] garbage = new byte[1 + random.nextInt(3000)];
      random.nextBytes(garbage);
      copy.poke(LOG, random.nextInt((int) device.size() - 4000), garbage);
      try {
        assertTrue(Logs.readAll(copy.device(LOG), Log.FIRST_LSN).size() <= 21);
      } catch (CorruptionException e) {
        assertTrue(e.getMessage().contains("log"), e.getMessage());
      }
    }
  }

  /** A plausible length is used only up to the end of the group. */
  @Test
  void hostileLengthsAreRefused() {
    try (Log log = Logs.create(device)) {
      appendGroups(log, 0, 1, 900);
    }
    for (int length : new int[] {-1, 0, 1, 7, 9, 15, 917, 1 << 20, Integer.MAX_VALUE}) {
      SimDisk copy = disk.copy();
      byte[] word = new byte[4];
      for (int i = 0; i < 4; i++) {
        word[i] = (byte) (length >>> 8 * i);
      }
      copy.poke(LOG, BLOCK + Group.HEADER, word);
      assertEquals(Log.FIRST_LSN, Logs.end(copy.device(LOG), Log.FIRST_LSN));
    }
  }
}
