package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.StorageFullException;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.wal.Log;
import io.fovea.wal.LogReader;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The allocator logs all its changes in order. */
@Tag("slow")
@Timeout(120)
class AllocatorLogTest {
  private static final int ROUNDS_MAX = 20;

  /** The free list, rebuilt from the records alone. */
  private static final class Replay {
    final List<Long> stack = new ArrayList<>();
    AllocatorState state = AllocatorState.EMPTY;

    void apply(AllocatorRecord record) {
      if (record.pageType() == PageHeader.FREE) {
        assertEquals(top(), record.next(), "the link stored in a freed page");
        stack.add(record.pid());
      } else if (record.pid() < state.highWater()) {
        assertEquals(top(), record.pid(), "pages are taken from the top");
        stack.removeLast();
      } else {
        assertTrue(stack.isEmpty());
        assertEquals(state.highWater(), record.pid(), "the next page");
      }
      long end = Math.max(state.highWater(), record.pid() + 1);
      state = new AllocatorState(end, top(), stack.size());
      assertEquals(state, record.after());
    }

    void apply(AllocatorState after, Map<Long, Long> links, boolean cut) {
      Map<Long, Long> nexts = new HashMap<>();
      for (int i = 0; i < stack.size(); i++) {
        nexts.put(stack.get(i), i == 0 ? 0 : stack.get(i - 1));
      }
      links.forEach((pid, next) -> assertTrue(nexts.put(pid, next) != null, "not in the list"));
      stack.clear();
      for (long pid = after.freeHead(); pid != 0; pid = nexts.get(pid)) {
        stack.addFirst(pid);
      }
      assertEquals(after.freePages(), stack.size());
      assertEquals(cut, after.highWater() < state.highWater());
      assertEquals(state.highWater() - after.highWater(), nexts.size() - stack.size());
      assertTrue(stack.stream().allMatch(pid -> pid < after.highWater()));
      state = after;
    }

    private long top() {
      return stack.isEmpty() ? 0 : stack.getLast();
    }
  }

  private static AllocatorRecord parse(LogReader reader) {
    return AllocatorRecord.parse(
        reader.type(), reader.segment(), reader.body(), reader.bodyLength());
  }

  private static boolean isAllocation(LogReader reader) {
    return reader.type() == RecordType.ALLOCATE || reader.type() == RecordType.FREE;
  }

  /**
   * Threads allocate and free pages while snapshots of the allocator are taken: each snapshot
   * matches the log at its position.
   */
  @Test
  void logOrderMatchesStackOrder() throws Exception {
    int[] changes = new int[2];
    // Whether the end of the file is free while thread 1 runs depends on scheduling.
    for (int round = 0; round < ROUNDS_MAX && (changes[0] == 0 || changes[1] == 0); round++) {
      followsTheStack(changes);
    }
    assertTrue(changes[0] > 0 && changes[1] > 0, "moved " + changes[0] + ", cut " + changes[1]);
  }

  private static void followsTheStack(int[] changes) throws Exception {
    MemoryDevice logDevice = new MemoryDevice();
    Log log = PoolLogs.create(logDevice);
    BufferPool pool = PoolLogs.open(new MemoryDevice(), log);
    ConcurrentLinkedQueue<AllocatorSnapshot> snapshots = new ConcurrentLinkedQueue<>();
    PoolStressTest.inThreads(
        t -> {
          LogSession session = log.session();
          SplittableRandom random = new SplittableRandom(t);
          List<Long> mine = new ArrayList<>();
          for (int i = 0; i < 1500; i++) {
            if (t == 0) {
              snapshots.add(pool.checkpoint().snapshot(log, Long.MAX_VALUE));
            }
            if (t == 1 && i % 16 == 0) {
              pool.checkpoint()
                  .space()
                  .raise(session, pool.allocatorState().highWater() / 2, 256, () -> false);
              pool.checkpoint().space().gather(session, 40, () -> false);
              pool.checkpoint().space().cut(session, 1, 100, () -> false);
            }
            if (mine.isEmpty() || mine.size() < 30 && random.nextBoolean()) {
              mine.add(PoolLogs.page(pool, session));
            } else {
              PoolLogs.free(pool, session, mine.remove(random.nextInt(mine.size())));
            }
          }
        });
    Pools.check(pool);
    AllocatorSnapshot last = pool.checkpoint().snapshot(log, Long.MAX_VALUE);
    assertEquals(log.tail(), last.lsn());
    snapshots.add(last);
    log.close();
    pool.abandon();

    Replay replay = new Replay();
    List<AllocatorSnapshot> inOrder = new ArrayList<>(snapshots);
    int next = 0;
    try (LogReader reader = PoolLogs.read(logDevice)) {
      while (reader.next()) {
        if (isAllocation(reader)) {
          while (inOrder.get(next).lsn() <= reader.start()) {
            assertEquals(replay.state, inOrder.get(next++).state());
          }
          replay.apply(parse(reader));
        } else if (FreeListRecord.is(reader.type())) {
          while (inOrder.get(next).lsn() <= reader.start()) {
            assertEquals(replay.state, inOrder.get(next++).state());
          }
          Map<Long, Long> links = new HashMap<>();
          AllocatorState after =
              FreeListRecord.visit(
                  reader.segment(), reader.body(), reader.bodyLength(), links::put);
          replay.apply(after, links, reader.type() == RecordType.TRUNCATED);
          changes[reader.type() - RecordType.MOVED]++;
        }
      }
    }
    for (; next < inOrder.size(); next++) {
      assertEquals(replay.state, inOrder.get(next).state());
    }
  }

  /** The data file loses everything unsynced; the log restores it. */
  @Test
  void logRestoresTheFile() {
    for (long seed = 0; seed < 60; seed++) {
      restoresFile(seed);
    }
  }

  private static void restoresFile(long seed) {
    SimDisk disk = new SimDisk(seed);
    SimDisk logDisk = new SimDisk(seed);
    Random random = new Random(seed);
    Log log = PoolLogs.create(logDisk.device("log"));
    DoubleWrite area = new DoubleWrite(disk.device("area"), 4096, 1);
    BufferPool pool = PoolLogs.open(disk.device("data"), PoolLogs.config(), log, area);
    LogSession session = log.session();
    Map<Long, Long> model = new HashMap<>();
    Set<Long> orphans = new HashSet<>();
    for (int i = 0; i < 300; i++) {
      int dice = random.nextInt(100);
      List<Long> pids = new ArrayList<>(model.keySet());
      if (dice < 40 || pids.isEmpty()) {
        long pid = PoolLogs.page(pool, session);
        model.put(pid, pid);
      } else if (dice < 65) {
        long pid = pids.get(random.nextInt(pids.size()));
        PoolLogs.setWord(pool, session, pid, i);
        model.put(pid, (long) i);
      } else if (dice < 90) {
        long pid = pids.get(random.nextInt(pids.size()));
        PoolLogs.free(pool, session, pid);
        model.remove(pid);
      } else if (dice < 95) {
        // Allocated, and the machine crashes before the page is filled.
        session.begin(AllocatorRecord.ALLOCATE_SPACE);
        int frame = pool.allocate(9, PageHeader.OVERFLOW, session);
        orphans.add(pool.pid(frame));
        pool.releaseExclusive(frame);
        session.end();
      } else if (dice < 96) {
        pool.checkpoint().space().raise(session, 3 + random.nextInt(100), 256, () -> false);
      } else if (dice < 98) {
        pool.checkpoint().space().cut(session, 1, 1 + random.nextInt(30), () -> false);
        if (random.nextBoolean()) {
          log.awaitDurable(log.tail());
          pool.checkpoint().sync(); // as for a superblock
          pool.checkpoint().space().shrink(0, true);
        }
      } else {
        pool.checkpoint().flushOlder(log.tail() - random.nextInt(4096));
      }
    }
    log.awaitDurable(log.tail());
    final AllocatorState before = pool.allocatorState();
    SimDisk after = disk.crash(SimCrash.RANDOM);
    SimDisk logAfter = logDisk.crash(SimCrash.LOSE_ALL);
    log.abandon();
    pool.abandon();

    DoubleWrite.restore(after.device("area"), after.device("data"), 4096);
    BufferPool again =
        new BufferPool(
            after.device("data"),
            PoolConfig.ofFrames(4096, Pools.FRAMES, Translation.PREDICTIVE),
            AllocatorState.EMPTY);
    long end = replay(again, logAfter);
    assertEquals(before, again.allocatorState(), "seed " + seed);
    Log next =
        Log.open(
            logAfter.device("log"),
            PoolLogs.IDLE,
            new io.fovea.wal.LogStart(PoolLogs.DATABASE, 2, end, Log.FIRST_LSN));
    LogSession reclaiming = next.session();
    for (long pid : orphans) {
      reclaiming.begin(AllocatorRecord.FREE_SPACE);
      again.recovery().reclaim(pid, reclaiming);
      reclaiming.end();
    }
    check(again, model, before.highWater(), seed);
    next.close();
    again.close();
    // A crash in recovery leads to another recovery.
    BufferPool third =
        new BufferPool(
            new MemoryDevice(),
            PoolConfig.ofFrames(4096, Pools.FRAMES, Translation.PREDICTIVE),
            AllocatorState.EMPTY);
    replay(third, logAfter);
    check(third, model, before.highWater(), seed);
    third.abandon();
  }

  private static long replay(BufferPool pool, SimDisk disk) {
    try (LogReader reader = PoolLogs.read(disk.device("log"))) {
      AllocatorState state = AllocatorState.EMPTY;
      long truncated = 0;
      while (reader.next()) {
        if (isAllocation(reader)) {
          AllocatorRecord record = parse(reader);
          state = record.after();
          pool.recovery().replay(record, reader.start(), reader.end());
        } else if (FreeListRecord.is(reader.type())) {
          long start = reader.start();
          long end = reader.end();
          state =
              FreeListRecord.visit(
                  reader.segment(),
                  reader.body(),
                  reader.bodyLength(),
                  (pid, next) -> pool.recovery().replayLink(pid, next, start, end));
          truncated = reader.type() == RecordType.TRUNCATED ? start : truncated;
        } else if (reader.type() == RecordType.STRUCTURE) {
          long limit = reader.body() + reader.bodyLength();
          assertEquals(
              limit,
              PageImages.apply(
                  pool, reader.segment(), reader.body(), limit, reader.start(), reader.end()));
        }
      }
      pool.recovery().recover(state, truncated);
      return reader.end();
    }
  }

  /** Each page is in use or free, and has the right contents. */
  private static void check(BufferPool pool, Map<Long, Long> model, long highWater, long seed) {
    Set<Long> free = new HashSet<>();
    FreeList.visit(pool, pid -> assertTrue(free.add(pid)));
    assertEquals(highWater - AllocatorState.FIRST_PID, free.size() + model.size(), "seed " + seed);
    model.forEach(
        (pid, word) -> assertEquals(word, Pools.word(pool, pid), "seed " + seed + ", page " + pid));
    Pools.check(pool);
  }

  /** A reused page never gets an LSN below an earlier one. */
  @Test
  void pageLsnNeverDecreases() {
    Log log = PoolLogs.create(new MemoryDevice());
    BufferPool pool = PoolLogs.open(new MemoryDevice(), log);
    LogSession session = log.session();
    long pid = PoolLogs.page(pool, session);
    long last = 0;
    for (int i = 0; i < 5; i++) {
      PoolLogs.free(pool, session, pid);
      long freed = Pools.lsn(pool, pid);
      assertEquals(session.recordEnd(), freed);
      assertEquals(pid, PoolLogs.page(pool, session));
      assertTrue(last < freed && freed < Pools.lsn(pool, pid));
      last = Pools.lsn(pool, pid);
    }
    pool.abandon();
    log.close();
  }

  /** A caller that has reserved too little gets an exception, and nothing has changed. */
  @Test
  void withoutReservationNothingChanges() {
    Log log = PoolLogs.create(new MemoryDevice());
    BufferPool pool = PoolLogs.open(new MemoryDevice(), log);
    LogSession session = log.session();
    final long a = PoolLogs.page(pool, session);
    final long b = PoolLogs.page(pool, session);
    PoolLogs.free(pool, session, a);
    AllocatorState state = pool.allocatorState();
    session.begin(0);
    assertThrows(IllegalStateException.class, () -> pool.allocate(1, PageHeader.LEAF, session));
    assertThrows(IllegalStateException.class, () -> pool.free(pool.fixExclusive(b), session));
    session.end();
    assertEquals(state, pool.allocatorState());
    Pools.check(pool);
    assertEquals(a, PoolLogs.page(pool, session));
    session.begin(0);
    assertThrows(IllegalStateException.class, () -> pool.allocate(1, PageHeader.LEAF, session));
    session.end();
    Pools.check(pool);
    assertEquals(b + 1, PoolLogs.page(pool, session));
    pool.abandon();
    log.close();
  }

  @Test
  void recoverGrowsTheFile() {
    MemoryDevice device = new MemoryDevice();
    BufferPool pool = Pools.open(device);
    pool.recovery().recover(new AllocatorState(1000, 0, 0), 0);
    assertTrue(device.size() >= 1000 * 4096);
    assertEquals(1000, Pools.page(pool));
    pool.recovery().recover(new AllocatorState(500, 0, 0), 0);
    assertEquals(500, pool.allocatorState().highWater(), "truncated pages do not exist");
    assertEquals(1001, pool.pidLimit(), "readers may hold old references to it");
    for (AllocatorState wrong :
        new AllocatorState[] {
          new AllocatorState(2, 0, 0),
          new AllocatorState(Long.MAX_VALUE, 0, 0),
          new AllocatorState(1L << 40, 0, 0),
          new AllocatorState(1000, 1000, 1),
          new AllocatorState(1000, 2, 1),
          new AllocatorState(1000, -1, 1),
          new AllocatorState(1000, 0, 1),
          new AllocatorState(1000, 5, 0),
          new AllocatorState(1000, 5, -1),
          new AllocatorState(1000, 5, 998),
        }) {
      assertThrows(
          CorruptionException.class, () -> pool.recovery().recover(wrong, 0), wrong.toString());
    }
    pool.close();
    BufferPool small = Pools.open(new TestDevice(4 << 20));
    assertThrows(
        StorageFullException.class,
        () -> small.recovery().recover(new AllocatorState(1L << 37, 0, 0), 0));
    small.close();
  }

  /** Any bytes are a record or damage. */
  @Test
  void parsesAnything() {
    SplittableRandom random = new SplittableRandom(5);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment body = arena.allocate(64, 8);
      int whole = 0;
      for (int i = 0; i < 200_000; i++) {
        for (int at = 0; at < 64; at += 8) {
          Mem.putLong(body, at, random.nextInt(3) == 0 ? random.nextLong() : random.nextInt(9));
        }
        int type = random.nextBoolean() ? RecordType.ALLOCATE : RecordType.FREE;
        int length = random.nextInt(9) * 8;
        try {
          AllocatorRecord record = AllocatorRecord.parse(type, body, 0, length);
          assertTrue(record.pid() >= 3 && record.pid() < record.after().highWater());
          whole++;
        } catch (CorruptionException e) {
          // Detected.
        }
      }
      assertTrue(whole > 10, "several parse as records: " + whole);
    }
  }
}
