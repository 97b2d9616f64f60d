package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.CorruptionException;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Free pages at the end of the file are truncated, and others are allocated in the order of their
 * ids.
 */
@Timeout(60)
class FreeListWalkTest {
  private static final LogSession NONE = LogSession.NONE;

  private final TestDevice device = new TestDevice();
  private final BufferPool pool = Pools.open(device);
  private final List<Long> used = new ArrayList<>();

  private long allocate() {
    int frame = pool.allocate(1, PageHeader.LEAF, NONE);
    long pid = pool.pid(frame);
    pool.releaseExclusive(frame);
    used.add(pid);
    return pid;
  }

  private void free(long pid) {
    assertTrue(used.remove(pid));
    pool.free(pool.fixExclusive(pid), NONE);
  }

  private long cut(long least) {
    return pool.checkpoint().space().cut(NONE, least, Long.MAX_VALUE, () -> false);
  }

  /** Each page below the high-water mark is free or in use. */
  private void check() {
    Set<Long> all = new HashSet<>(used);
    FreeList.visit(pool, pid -> assertTrue(all.add(pid)));
    assertEquals(pool.allocatorState().highWater() - AllocatorState.FIRST_PID, all.size());
    Pools.check(pool);
  }

  @Test
  void freePagesAtTheEndAreTruncated() {
    for (int i = 0; i < 40; i++) {
      allocate();
    }
    for (long pid : new long[] {40, 7, 42, 41, 9, 39, 11}) {
      free(pid);
    }
    assertEquals(0, cut(5), "four are not enough");
    assertEquals(43, pool.allocatorState().highWater());
    assertEquals(4, cut(4));
    assertEquals(new AllocatorState(39, 11, 3), pool.allocatorState());
    check();
    assertEquals(11, allocate());
    assertEquals(9, allocate());
    assertEquals(7, allocate());
    assertEquals(39, allocate(), "the file grows again");
    check();
    assertEquals(4, pool.checkpoint().space().pagesCut());
    pool.close();
  }

  @Test
  void allPagesMayBeTruncated() {
    List<Long> all = new ArrayList<>();
    for (int i = 0; i < 700; i++) {
      all.add(allocate());
    }
    Collections.shuffle(all, new Random(1));
    all.forEach(this::free);
    long gone = 0;
    for (int i = 0; i < 1000 && gone < 700; i++) {
      gone += cut(1); // ends early if a page is busy because it is being written or evicted
    }
    assertEquals(700, gone);
    assertEquals(AllocatorState.EMPTY, pool.allocatorState());
    assertTrue(pool.checkpoint().space().shrink(0, true));
    assertEquals(AllocatorState.FIRST_PID * 4096, device.size());
    check();
    for (int i = 0; i < 700; i++) {
      assertEquals(AllocatorState.FIRST_PID + i, allocate());
    }
    check();
    pool.close();
  }

  /** A thread that has read the id of a page before it was freed finds a free page. */
  @Test
  void truncatedPageCountsAsFree() {
    for (int i = 0; i < 200; i++) {
      allocate();
    }
    pool.flushAll();
    for (long pid = 202; pid > 190; pid--) {
      free(pid);
    }
    assertEquals(12, cut(1));
    assertTrue(pool.checkpoint().space().shrink(0, true));
    for (int again = 0; again < 2; again++) {
      for (long pid = 192; pid < 203; pid++) {
        Pools.evict(pool, pid, used.stream().mapToLong(p -> p).toArray());
        int frame = pool.fixShared(pid);
        assertEquals(PageHeader.FREE, PageHeader.type(pool.pages(), pool.base(frame)));
        pool.releaseShared(frame);
      }
      allocate(); // the mark is above the first of them
    }
    assertEquals(203, pool.pidLimit());
    assertThrows(CorruptionException.class, () -> pool.fixShared(203));
    pool.close();
  }

  @Test
  void retainedPagesAreNotTruncated() {
    for (int i = 0; i < 10; i++) {
      allocate();
    }
    free(12);
    pool.checkpoint().space().blockCuts();
    assertEquals(0, cut(1));
    pool.checkpoint().space().blockCuts();
    pool.checkpoint().space().unblockCuts();
    assertEquals(0, cut(1));
    pool.checkpoint().space().unblockCuts();
    assertEquals(1, cut(1));
    check();
    pool.close();
  }

  @Test
  void lowPagesMoveToTheTop() {
    for (int i = 0; i < 60; i++) {
      allocate();
    }
    for (long pid : new long[] {20, 55, 4, 60, 10, 33, 58}) {
      free(pid);
    }
    assertEquals(3, pool.checkpoint().space().raise(NONE, 25, 256, () -> false));
    check();
    for (long pid : new long[] {4, 10, 20, 58, 33, 60, 55}) {
      assertEquals(pid, allocate());
    }
    assertEquals(0, pool.checkpoint().space().raise(NONE, 25, 256, () -> false));
    free(5);
    free(6);
    assertEquals(2, pool.checkpoint().space().raise(NONE, 25, 256, () -> false), "the whole list");
    assertEquals(5, allocate());
    check();
    pool.close();
  }

  @Test
  void durableMarkLimitsTruncation() {
    for (int i = 0; i < 600; i++) {
      allocate();
    }
    while (used.size() > 10) {
      free(used.getLast());
    }
    assertEquals(590, cut(1));
    assertTrue(pool.checkpoint().space().shrink(603, true));
    assertEquals(603 * 4096, device.size());
    assertTrue(pool.checkpoint().space().shrink(0, true));
    assertEquals(13 * 4096, device.size());
    assertFalse(
        pool.checkpoint().space().shrink(0, false), "spare space is at most one growth step");
    pool.close();
  }

  /** The file keeps space for reservations, however much is truncated. */
  @Test
  void reservationsAreHonored() {
    TestDevice small = new TestDevice(100 * 4096);
    BufferPool full = Pools.open(small);
    LogSession log = LogSession.unlogged();
    List<Long> mine = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      int frame = full.allocate(1, PageHeader.LEAF, log);
      mine.add(full.pid(frame));
      full.releaseExclusive(frame);
    }
    full.pageReservations().reserve(log, 30);
    for (long pid : mine) {
      full.free(full.fixExclusive(pid), log);
    }
    assertEquals(50, full.checkpoint().space().cut(log, 1, Long.MAX_VALUE, () -> false));
    assertTrue(full.checkpoint().space().shrink(0, true));
    assertEquals(33 * 4096, small.size());
    for (int i = 0; i < 30; i++) {
      full.releaseExclusive(full.allocate(1, PageHeader.LEAF, log));
    }
    assertEquals(33 * 4096, small.size(), "no reserved page had to come from elsewhere");
    full.close();
  }
}
