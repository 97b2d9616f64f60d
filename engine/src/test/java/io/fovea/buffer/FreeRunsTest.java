package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import java.lang.Thread.State;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Runs of free pages become holes; pages in use never do. */
@Tag("slow")
class FreeRunsTest {
  private static final int PAGES = 300;

  private final TestDevice device = new TestDevice();
  private final Log log = PoolLogs.create(new MemoryDevice());
  private BufferPool pool = PoolLogs.open(device, log);
  private final LogSession session = log.session();
  private PoolSpace space = pool.checkpoint().space();
  private final Map<Long, Long> used = new HashMap<>();

  private void allocate(int n) {
    for (int i = 0; i < n; i++) {
      long pid = PoolLogs.page(pool, session);
      used.put(pid, pid);
    }
  }

  private void free(List<Long> pids) {
    for (long pid : pids) {
      PoolLogs.free(pool, session, pid);
      used.remove(pid);
    }
  }

  /** The ids of a range, in random order. */
  private static List<Long> shuffled(long from, long to) {
    List<Long> pids = new ArrayList<>();
    for (long pid = from; pid < to; pid++) {
      pids.add(pid);
    }
    Collections.shuffle(pids, new Random(from));
    return pids;
  }

  /** The start of replay after a checkpoint whose superblock allows holes. */
  private long redo() {
    space.allowHoles();
    long tail = log.tail();
    pool.checkpoint().flushOlder(tail);
    long end = log.tail();
    return Math.min(end, Math.min(log.minActive(), pool.checkpoint().minRecLsn()));
  }

  /** Gathers all runs: a call ends early if pages are busy repeatedly. */
  private long gather() {
    long all = 0;
    for (int none = 0; none < 3; ) {
      long some = space.gather(session, Long.MAX_VALUE, () -> false);
      all += some;
      none = some > 0 ? 0 : none + 1;
      if (some == 0) {
        LockSupport.parkNanos(1_000_000); // lets the writer finish its batch
      }
    }
    return all;
  }

  private long punch() {
    return space.punch(redo(), () -> false);
  }

  /** Each page below the mark is in use, with its contents, or free. */
  private static void check(BufferPool pool, Map<Long, Long> used) {
    Set<Long> all = new HashSet<>(used.keySet());
    FreeList.visit(pool, pid -> assertTrue(all.add(pid)));
    assertEquals(pool.allocatorState().highWater() - AllocatorState.FIRST_PID, all.size());
    used.forEach((pid, word) -> assertEquals(word, Pools.word(pool, pid)));
    Pools.check(pool);
  }

  /**
   * Returns the first hole. A given page may not be one, because it was in use during a gather or a
   * write.
   */
  private long firstHole() {
    MemorySegment page = Arena.ofAuto().allocate(4096, 4096);
    for (long pid = AllocatorState.FIRST_PID; ; pid++) {
      device.read(pid * 4096, page, 0, 4096);
      if (page.mismatch(MemorySegment.ofArray(new byte[4096])) < 0) {
        return pid;
      }
    }
  }

  /** Free pages in random order, with some in use between and after them. */
  private void scattered() {
    scattered(PAGES);
  }

  private void scattered(int pages) {
    allocate(pages);
    List<Long> pids = shuffled(3, pages - 10);
    pids.removeIf(pid -> pid % 60 == 0 || pid > 200 && pid < 240 && pid % 4 == 0);
    free(pids);
  }

  @Test
  void runsBecomeHoles() {
    scattered();
    AllocatorState before = pool.allocatorState();
    long gathered = gather();
    assertTrue(gathered > 200, "gathered " + gathered); // some twice, if a page was busy
    assertEquals(before.freePages(), pool.allocatorState().freePages());
    assertEquals(before.freeHead(), pool.allocatorState().freeHead());
    assertEquals(0, gather(), "nothing is left to do");
    check(pool, used);
    long punched = punch();
    assertTrue(punched > 200 && punched < before.freePages(), "punched " + punched);
    assertEquals(punched, device.punched.get());
    assertEquals(punched, space.pagesPunched());
    check(pool, used);
    assertEquals(0, punch(), "not punched twice");
    assertTrue(pool.allocatorState().holes());

    // What a reader without any cached state finds.
    pool.flushAll();
    AllocatorState state = pool.allocatorState();
    log.close();
    pool.close();
    BufferPool again = Pools.open(device, Translation.PREDICTIVE, state);
    check(again, used);
    while (again.allocatorState().freePages() > 0) {
      long pid = Pools.page(again);
      assertEquals(null, used.put(pid, pid), "page " + pid + " is allocated twice");
    }
    check(again, used);
    again.close();
    AllocatorState strict =
        new AllocatorState(state.highWater(), state.freeHead(), state.freePages());
    assertFalse(strict.holes());
  }

  /** Without the flag there are no holes: zeros are damage. */
  @Test
  void holesRequireTheFlagInTheFile() {
    scattered();
    gather();
    assertTrue(punch() > 0);
    pool.flushAll();
    AllocatorState state = pool.allocatorState();
    log.close();
    pool.close();
    long hole = firstHole();
    AllocatorState strict =
        new AllocatorState(state.highWater(), state.freeHead(), state.freePages());
    BufferPool again = Pools.open(device, Translation.PREDICTIVE, strict);
    assertThrows(CorruptionException.class, () -> again.fixShared(hole));
    again.close();
    BufferPool right = Pools.open(device, Translation.PREDICTIVE, state);
    int frame = right.fixShared(hole);
    assertEquals(PageHeader.FREE, PageHeader.type(right.pages(), right.base(frame)));
    right.releaseShared(frame);
    right.close();
  }

  /**
   * Pages that no checkpoint covers yet, or that a restore of a backup may have to replay, are not
   * punched.
   */
  @Test
  void notBeforeACheckpoint() {
    scattered();
    long early = redo();
    gather();
    assertEquals(0, space.punch(early, () -> false), "replay would begin before it was free");
    assertEquals(0, space.punch(-1, () -> false), "no superblock allows holes");
    space.blockCuts();
    assertEquals(0, punch());
    space.unblockCuts();
    assertEquals(0, space.punch(redo(), () -> true), "it had to stop");
    assertTrue(punch() > 0);
    check(pool, used);
    log.close();
    pool.close();
  }

  @Test
  void deviceWithoutPunch() {
    device.punches = false;
    scattered();
    assertTrue(gather() > 0);
    assertEquals(0, punch());
    device.punches = true;
    assertEquals(0, punch(), "it is not called again");
    assertEquals(0, gather());
    check(pool, used);
    log.close();
    pool.close();
  }

  /** A punch that the device rejects is an error and has no effect. */
  @Test
  void failedPunch() {
    scattered();
    gather();
    device.beforePunch =
        () -> {
          throw new StorageException("punch", "test", 0, TestDevice.EIO, "EIO");
        };
    assertThrows(StorageException.class, this::punch);
    check(pool, used);
    device.beforePunch = () -> {};
    assertTrue(punch() > 0);
    check(pool, used);
    log.close();
    pool.close();
  }

  /** A page of the list that was freed again may not be punched. */
  @Test
  void pagesReusedMeanwhileAreNotPunched() {
    scattered();
    gather();
    long redo = redo();
    int free = (int) pool.allocatorState().freePages();
    List<Long> taken = new ArrayList<>();
    for (int i = 0; i < free - 4; i++) {
      taken.add(PoolLogs.page(pool, session));
    }
    assertTrue(space.punch(redo, () -> false) <= 3);
    Collections.reverse(taken);
    taken.forEach(pid -> used.put(pid, pid));
    free(taken);
    assertTrue(space.punch(redo, () -> false) <= 3, "replay would begin before they were free");
    check(pool, used);
    assertTrue(punch() <= PAGES);
    check(pool, used);
    log.close();
    pool.close();
  }

  /** All free pages are one run, in order: the next page to be allocated is its first one. */
  private void oneRun() {
    allocate(PAGES);
    free(shuffled(100, 160));
    free(List.of(200L)); // the head, which gathering leaves in its position
    gather();
    assertEquals(200, PoolLogs.page(pool, session));
    used.put(200L, 200L);
    assertEquals(100, pool.allocatorState().freeHead());
  }

  /** Allocates the next page, and writes it to the file. */
  private void take(LogSession own) {
    long pid = PoolLogs.page(pool, own);
    used.put(pid, pid);
    log.awaitDurable(log.tail());
    pool.flushAll();
  }

  private void checkInTheFile() {
    pool.flushAll();
    AllocatorState state = pool.allocatorState();
    log.close();
    pool.close();
    BufferPool again = Pools.open(device, Translation.PREDICTIVE, state);
    check(again, used);
    again.close();
  }

  /** Between the walk and the punch the run has changed. */
  @Test
  void allocationBeforeThePunchKeepsThePages() {
    oneRun();
    long redo = redo();
    long steps = pool.allocatorState().freePages();
    AtomicLong calls = new AtomicLong();
    space.punch(
        redo,
        () -> {
          if (calls.incrementAndGet() == steps + 2) {
            for (int i = 0; i < 10; i++) {
              take(session);
            }
          }
          return false;
        });
    assertTrue(calls.get() >= steps + 2);
    assertEquals(steps - 10, pool.allocatorState().freePages());
    checkInTheFile();
  }

  /** During a punch no thread gets a page of the run. */
  @Test
  void allocationDuringThePunchWaits() throws Exception {
    oneRun();
    long redo = redo();
    LogSession own = log.session();
    Thread[] other = new Thread[1];
    device.beforePunch =
        () -> {
          if (other[0] == null) {
            Thread t = new Thread(() -> take(own));
            other[0] = t;
            t.start();
            try {
              t.join(300); // it waits for the latch, or has a page that is about to be punched
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
          }
        };
    assertTrue(space.punch(redo, () -> false) > 0);
    other[0].join();
    checkInTheFile();
  }

  /** Other threads take pages, write them, and free them all the time. */
  @Test
  void withOtherThreads() throws Exception {
    scattered(3 * PAGES);
    Map<Long, Long> theirs = new ConcurrentHashMap<>();
    AtomicBoolean stop = new AtomicBoolean();
    device.beforePunch = Thread::yield;
    PoolStressTest.inThreads(
        t -> {
          if (t == 0) {
            try {
              for (int i = 0; i < 60; i++) {
                gather();
                punch();
              }
            } finally {
              stop.set(true);
            }
            return;
          }
          LogSession own = log.session();
          SplittableRandom random = new SplittableRandom(t);
          List<Long> mine = new ArrayList<>();
          while (!stop.get() || mine.size() > 40) {
            boolean more = !stop.get() && random.nextInt(300) > mine.size();
            for (int n = random.nextInt(30); n > 0; n--) {
              if (more) {
                long pid = PoolLogs.page(pool, own);
                mine.add(pid);
              } else if (!mine.isEmpty()) {
                long pid = mine.remove(random.nextInt(mine.size()));
                assertEquals(pid, Pools.word(pool, pid));
                PoolLogs.free(pool, own, pid);
              }
            }
            if (!mine.isEmpty()) {
              long pid = mine.get(random.nextInt(mine.size()));
              assertEquals(pid, Pools.word(pool, pid), "the written contents");
            }
          }
          mine.forEach(pid -> theirs.put(pid, pid));
        });
    used.putAll(theirs);
    assertTrue(device.punched.get() > 200, "punched " + device.punched.get());
    assertEquals(0, device.overlaps.get());
    assertEquals(0, device.writesIntoHoles.get());
    check(pool, used);
    log.close();
    pool.close();
  }

  /**
   * A hole is not free space: a caller that wants more pages than there is space for is rejected
   * beforehand.
   */
  @Test
  void holesAreNotFreeSpace() {
    scattered();
    gather();
    assertTrue(punch() > 0);
    long free = pool.allocatorState().freePages();
    device.space.set(0);
    int got = 0;
    try {
      while (true) {
        pool.pageReservations().reserve(session, 1);
        take(session);
        got++;
      }
    } catch (StorageFullException e) {
      assertTrue(got < free, got + " of " + free);
    }
    pool.pageReservations().release(session, 0);
    redo(); // everything dirty has been written
    assertEquals(0, device.writesIntoHoles.get());
    device.space.set(20);
    int more = 0;
    try {
      while (true) {
        pool.pageReservations().reserve(session, 1);
        take(session);
        more++;
      }
    } catch (StorageFullException e) {
      assertTrue(more >= 20 && got + more < free, got + " and " + more + " of " + free);
    }
    assertEquals(0, device.space.get());
    pool.pageReservations().release(session, 0);
    device.space.set(Long.MAX_VALUE);
    long mark = pool.allocatorState().highWater();
    while (pool.allocatorState().freePages() > 0) {
      pool.pageReservations().reserve(session, 1);
      take(session);
    }
    pool.pageReservations().release(session, 0);
    assertTrue(pool.allocatorState().highWater() <= mark + 1, "holes are used first");
    redo();
    assertEquals(0, device.writesIntoHoles.get());
    checkInTheFile();
  }

  /** Operations that walk the list, change it, or keep it unchanged. */
  private enum OtherWork {
    CUT,
    RAISE,
    GATHER,
    PUNCH,
    FREE_PAGES,
    STILL
  }

  /**
   * Each operation, and the call of its stop condition at which another thread takes its first
   * page.
   */
  static Stream<Arguments> otherWorkAndWhen() {
    return Stream.of(OtherWork.values())
        .flatMap(what -> Stream.of(1, 30, 62, 63).map(when -> Arguments.of(what, when)));
  }

  /**
   * A thread that has a page latched takes another one, as the split of a root does. Another
   * operation on the list may wait for the first page, so the thread must not wait for that
   * operation. The first page is the only one above those that may be holes, so the second one
   * needs space.
   */
  @ParameterizedTest
  @MethodSource("otherWorkAndWhen")
  void aThreadWithAPageGetsAnother(OtherWork what, int when) throws Exception {
    oneRun();
    assertTrue(punch() > 0);
    FreeHoles holes = pool.allocator.holes();
    assertEquals(60, holes.top());
    device.space.set(1);
    assertTrue(holes.fill(pool.resolver));
    device.space.set(Long.MAX_VALUE);
    assertEquals(59, holes.top());
    assertEquals(60, pool.allocatorState().freePages());
    if (what == OtherWork.CUT) {
      free(shuffled(PAGES - 10, PAGES + AllocatorState.FIRST_PID));
    } else if (what == OtherWork.GATHER) {
      free(shuffled(210, 240));
    }
    long redo = redo();

    LogSession own = log.session();
    List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch hasOne = new CountDownLatch(1);
    AtomicBoolean goesOn = new AtomicBoolean();
    Thread[] other = new Thread[1];
    Thread taker =
        new Thread(
            () -> {
              own.begin(2 * PoolLogs.OP_SPACE);
              try {
                int one = pool.allocate(1, PageHeader.LEAF, own);
                hasOne.countDown();
                Pools.await(
                    "the other operation waits, or has ended",
                    () ->
                        goesOn.get()
                            && (!other[0].isAlive() || other[0].getState() == State.TIMED_WAITING));
                int two = pool.allocate(1, PageHeader.LEAF, own);
                for (int frame : new int[] {one, two}) {
                  Mem.putLong(pool.pages(), pool.base(frame) + Pools.WORD, pool.pid(frame));
                  used.put(pool.pid(frame), pool.pid(frame));
                  pool.releaseExclusive(frame);
                }
              } catch (Throwable e) {
                failures.add(e);
              } finally {
                own.end();
              }
            });
    Runnable begin =
        () -> {
          taker.start();
          try {
            assertTrue(hasOne.await(20, TimeUnit.SECONDS));
            goesOn.set(true);
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    AtomicLong looks = new AtomicLong();
    BooleanSupplier stop =
        () -> {
          if (looks.incrementAndGet() == when) {
            begin.run();
          }
          return false;
        };
    other[0] =
        new Thread(
            () -> {
              try {
                switch (what) {
                  case CUT -> space.cutAll(session, stop);
                  case RAISE -> space.raise(session, 130, 10, stop);
                  case GATHER -> space.gather(session, Long.MAX_VALUE, stop);
                  case PUNCH -> space.punch(redo, stop);
                  case FREE_PAGES -> space.freePages(pid -> {}, stop);
                  default ->
                      space.whileListStable(
                          "test",
                          waitsFor -> {},
                          () -> {
                            begin.run();
                            try {
                              taker.join(20_000);
                            } catch (InterruptedException e) {
                              throw new AssertionError(e);
                            }
                          });
                }
              } catch (Throwable e) {
                failures.add(e);
              }
            });
    taker.setDaemon(true);
    other[0].setDaemon(true);
    other[0].start();
    other[0].join(20_000);
    assertTrue(what == OtherWork.STILL || looks.get() > 0);
    if (hasOne.getCount() > 0) {
      begin.run(); // it makes fewer such calls
    }
    taker.join(20_000);
    assertFalse(taker.isAlive(), "the thread does not get its second page");
    other[0].join(20_000);
    assertFalse(other[0].isAlive(), what + " does not end");
    assertEquals(List.of(), failures);
    check(pool, used);
    assertEquals(0, device.writesIntoHoles.get());
    log.close();
    pool.close();
  }

  /**
   * A thread that reserves space for pages reads pages of the list, one of which may have been
   * truncated and taken by a thread that now waits to reserve space.
   */
  @Test
  void fillingDoesNotWaitForAPageTakenFromTheList() throws Exception {
    oneRun();
    assertTrue(punch() > 0);
    FreeHoles holes = pool.allocator.holes();
    int latched = pool.fixExclusive(110);
    AtomicBoolean ended = new AtomicBoolean();
    Thread filler = new Thread(() -> ended.set(holes.fill(pool.resolver)));
    filler.setDaemon(true);
    filler.start();
    Pools.await("it waits", () -> filler.getState() == State.TIMED_WAITING);
    assertTrue(holes.tryMark(0, 0)); // any change of the list
    filler.join(20_000);
    assertTrue(ended.get(), "the filling thread waits for the latch");
    pool.releaseExclusiveUnchanged(latched);
    check(pool, used);
    log.close();
    pool.close();
  }

  /**
   * Holes are truncated off the end while the file grows behind them. The growth is usable space;
   * the truncated pages are not until they have space again.
   */
  @Test
  void fileGrowsWhileHolesAreTruncated() throws Exception {
    pool.abandon();
    // Large enough to truncate more pages than get their space at once.
    PoolConfig config = PoolConfig.ofFrames(4096, 2048, Translation.PREDICTIVE);
    pool = PoolLogs.open(device, config, log, null);
    space = pool.checkpoint().space();
    allocate(PAGES);
    free(shuffled(200, PAGES + AllocatorState.FIRST_PID));
    free(List.of(100L)); // the head, which gathering leaves in its position
    gather();
    assertEquals(100, PoolLogs.page(pool, session));
    used.put(100L, 100L);
    assertTrue(punch() > 90);
    FileExtent extent = pool.allocator.extent();
    long before = extent.backed();
    assertTrue(before >= PAGES + 64, "space for " + before + " pages");
    CountDownLatch growing = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    device.beforeResize =
        () -> {
          growing.countDown();
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    Thread grower = new Thread(() -> extent.ensure(before + 10));
    grower.start();
    growing.await();
    Pools.await(
        "the end is truncated",
        () -> {
          space.cutAll(session, () -> false);
          return pool.allocatorState().highWater() == 200;
        });
    assertTrue(extent.backed() < PAGES, "truncated pages may be holes");
    go.countDown();
    grower.join();
    device.beforeResize = () -> {};
    assertTrue(extent.backed() >= before + 10);
    for (long pid = 200; pid < extent.backed(); pid++) {
      assertFalse(device.isHole(pid * 4096), "page " + pid + " is both usable space and a hole");
    }
    check(pool, used);
    log.close();
    pool.close();
  }
}
