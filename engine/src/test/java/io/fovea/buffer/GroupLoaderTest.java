package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.memory.Mem;
import io.fovea.support.Groups;
import io.fovea.support.HeldDevice;
import io.fovea.support.Records;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Many misses of one thread at once: which pages arrive, which do not, and which threads wait. */
@Timeout(60)
class GroupLoaderTest {
  private static final int PAGES = 600;
  private final HeldDevice device = new HeldDevice();
  private final PageGroup group = new PageGroup();

  /** A pool over a file of pages, none of which is in a frame. */
  private BufferPool cold(int frames, Translation kind) {
    PoolConfig config =
        Records.with(PoolConfig.ofFrames(4096, frames, kind), "exhaustedMillis", 300L);
    BufferPool pool = new BufferPool(device, config, AllocatorState.EMPTY);
    for (int i = 0; i < PAGES; i++) {
      assertEquals(pid(i), Pools.page(pool));
    }
    AllocatorState state = pool.allocatorState();
    pool.close();
    device.forget();
    return new BufferPool(device, config, state);
  }

  private BufferPool cold(int frames) {
    return cold(frames, Translation.PREDICTIVE);
  }

  private static long pid(int i) {
    return AllocatorState.FIRST_PID + i;
  }

  private static long offset(int i) {
    return pid(i) * 4096;
  }

  private int fetch(BufferPool pool, int from, int to) {
    group.clear();
    for (int i = from; i < to; i++) {
      group.add(pid(i));
    }
    return Groups.fetch(pool, group, true);
  }

  /** Reads a page in the frame that the group names; it must be resident. */
  private static long wordInFrame(BufferPool pool, long pid, int frame) {
    long version = pool.optimistic(frame, pid);
    assertFalse(version == BufferPool.RESTART, "page " + pid + " is not in frame " + frame);
    long word = Mem.getLong(pool.pages(), pool.base(frame) + Pools.WORD);
    assertTrue(pool.validate(frame, version));
    return word;
  }

  // ------------------------------------------------------------------------------ pages that
  // arrive

  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void allMissingPagesArriveInOneBatch(Translation kind) {
    BufferPool pool = cold(512, kind);
    assertEquals(32, fetch(pool, 100, 132));
    assertEquals(List.of(32), device.batches);
    for (int i = 0; i < 32; i++) {
      assertEquals(pid(100 + i), wordInFrame(pool, pid(100 + i), group.frame(i)));
      assertEquals(pid(100 + i), Pools.word(pool, pid(100 + i)));
    }
    assertEquals(32, device.reads(), "nothing is read a second time");
    assertEquals(32, pool.stats().misses());
    assertEquals(0, fetch(pool, 100, 132), "all are resident");
    assertEquals(List.of(32), device.batches);
    Pools.check(pool);
    pool.close();
  }

  @Test
  void idsThatAreNotPagesAreSkipped() {
    BufferPool pool = cold(512);
    Pools.word(pool, pid(7));
    long[] pids = {0, 1, -5, 1L << 60, pid(PAGES), pid(7), pid(9), pid(9), pid(11)};
    for (long pid : pids) {
      group.add(pid);
    }
    assertEquals(2, Groups.fetch(pool, group, true));
    assertEquals(List.of(2), device.batches);
    for (int i = 0; i < pids.length; i++) {
      assertEquals(i == 6 || i == 8, group.frame(i) >= 0, "place " + i);
    }
    assertEquals(0, pool.stats().readFailures());
    Pools.check(pool);
    pool.close();
  }

  @Test
  void usageIsSetAsRequested() {
    BufferPool pool = cold(512);
    for (boolean used : new boolean[] {true, false}) {
      group.clear();
      group.add(pid(used ? 1 : 2));
      assertEquals(1, Groups.fetch(pool, group, used));
      assertEquals(used, FrameHeader.isUsed(pool.frames.headers, group.frame(0)));
    }
    int frame = group.frame(0);
    assertFalse(pool.optimisticUncounted(frame, pid(2)) == BufferPool.RESTART);
    assertEquals(frame, pool.findQuietly(pid(2)));
    assertFalse(FrameHeader.isUsed(pool.frames.headers, frame), "reading ahead is not a use");
    assertFalse(FrameHeader.isUsed(pool.frames.headers, pool.findQuietly(pid(3))));
    pool.optimistic(frame, pid(2));
    assertTrue(FrameHeader.isUsed(pool.frames.headers, frame));
    assertEquals(BufferPool.RESTART, pool.optimisticUncounted(frame, pid(5)));
    pool.close();
  }

  /**
   * A page that is only read ahead takes its preferred frame if that is free, and displaces no
   * other page.
   */
  @Test
  void readingAheadDisplacesNoPage() {
    BufferPool pool = cold(64);
    // With one preferred frame: the first page is resident and cold; other frames are free.
    int preferred = Pools.where(pool, pid(0)) == 0 ? pool.findQuietly(pid(0)) : -1;
    group.add(pid(64));
    group.add(pid(65));
    assertEquals(2, Groups.fetch(pool, group, false));
    assertEquals(pid(0), pool.pid(preferred));
    assertTrue(pool.predicted(pid(65)) && !pool.predicted(pid(64)));
    group.clear();
    group.add(pid(128));
    assertEquals(1, Groups.fetch(pool, group, true));
    assertEquals(
        pid(128), pool.pid(preferred), "a used page takes its preferred frame from a cold page");
    pool.close();
  }

  // ---------------------------------------------------------------------- pages that do not arrive

  @Test
  void failedEntryIsDroppedAndTheOthersArrive() {
    BufferPool pool = cold(512);
    device.readFails = offset -> offset == offset(3) || offset == offset(20);
    assertEquals(30, fetch(pool, 0, 32));
    for (int i = 0; i < 32; i++) {
      assertEquals(i != 3 && i != 20, group.frame(i) >= 0, "page " + i);
    }
    assertEquals(2, pool.stats().readFailures());
    assertEquals(30, pool.stats().misses());
    assertThrows(StorageException.class, () -> pool.findSlow(pid(3)));
    device.readFails = offset -> false;
    assertEquals(pid(3), Pools.word(pool, pid(3)));
    Pools.check(pool);
    pool.close();
  }

  @Test
  void aDamagedPageIsReportedToItsReader() {
    BufferPool pool = cold(512);
    MemorySegment bytes = Arena.ofAuto().allocate(4096, 4096);
    device.below().read(offset(5), bytes, 0, 4096);
    Mem.putLong(bytes, 1000, 1);
    device.below().write(offset(5), bytes, 0, 4096);
    // Another page in its position, sound in itself.
    device.below().read(offset(7), bytes, 0, 4096);
    device.below().write(offset(6), bytes, 0, 4096);
    assertEquals(8, fetch(pool, 0, 10));
    assertEquals(-1, group.frame(5));
    assertEquals(-1, group.frame(6));
    assertEquals(2, pool.stats().readFailures());
    assertThrows(CorruptionException.class, () -> pool.findSlow(pid(5)));
    assertThrows(CorruptionException.class, () -> pool.findSlow(pid(6)));
    for (int i = 0; i < 1000; i++) {
      assertEquals(0, fetch(pool, 5, 7), "and no frame is lost");
    }
    Pools.check(pool);
    pool.abandon();
  }

  @Test
  void pageOfAnotherLogDoesNotArrive() {
    HeldDevice file = device;
    PoolConfig config = PoolConfig.ofFrames(4096, 512, Translation.PREDICTIVE);
    BufferPool pool = new BufferPool(file, config, AllocatorState.EMPTY);
    for (int i = 0; i < 10; i++) {
      long pid = Pools.page(pool);
      int frame = pool.fixExclusive(pid);
      pool.markDirty(frame, 0, 100L * i);
      pool.releaseExclusive(frame);
    }
    AllocatorState state = pool.allocatorState();
    pool.close();
    BufferPool again = new BufferPool(file, config, state, PoolLogs.upTo(500), null);
    assertEquals(6, fetch(again, 0, 10));
    assertEquals(4, again.stats().readFailures());
    assertThrows(CorruptionException.class, () -> again.findSlow(pid(6)));
    Pools.check(again);
    again.close();
  }

  @Test
  void rejectedReadsLeaveNoFrameClaimed() {
    TestDevice test = new TestDevice();
    BufferPool pool = Pools.open(test);
    long[] pids = new long[200];
    for (int i = 0; i < pids.length; i++) {
      pids[i] = Pools.page(pool);
    }
    pool.flushAll();
    for (int i = 0; i < 8; i++) {
      Pools.evict(pool, pids[i], pids);
    }
    long misses = pool.stats().misses();
    StorageException refused = new StorageException("read", "test", -1, TestDevice.EIO, "EIO");
    test.beforeBatch =
        batch -> {
          throw refused;
        };
    for (int turn = 0; turn < 100; turn++) {
      group.clear();
      for (long pid : pids) {
        if (pool.resident(pid) < 0 && group.size() < 8) {
          group.add(pid);
        }
      }
      assertSame(
          refused, assertThrows(StorageException.class, () -> Groups.fetch(pool, group, true)));
      assertEquals(-1, group.frame(0));
    }
    test.beforeBatch = batch -> {};
    assertEquals(misses, pool.stats().misses());
    Pools.check(pool);
    assertEquals(8, Groups.fetch(pool, group, true));
    pool.close();
  }

  @Test
  void noThreadWaitsWithoutFrames() {
    TestDevice test = new TestDevice();
    BufferPool pool = Pools.open(test);
    long[] pids = new long[200];
    for (int i = 0; i < pids.length; i++) {
      pids[i] = Pools.page(pool);
    }
    pool.flushAll();
    test.writeFails = offset -> true;
    // Dirty pages in all frames, none of which can be written.
    assertThrows(
        PoolExhaustedException.class,
        () -> {
          for (long pid : pids) {
            int frame = pool.fixExclusive(pid);
            pool.markDirty(frame);
            pool.releaseExclusive(frame);
          }
        });
    for (long pid : pids) {
      if (pool.resident(pid) < 0 && group.size() < 8) {
        group.add(pid);
      }
    }
    assertEquals(8, group.size());
    long stalls = pool.stats().frameWaits();
    assertEquals(0, Groups.fetch(pool, group, true));
    assertEquals(stalls, pool.stats().frameWaits());
    test.writeFails = offset -> false;
    pool.close();
  }

  @Test
  void noPagesAfterClose() {
    BufferPool pool = cold(64);
    pool.close();
    group.add(pid(0));
    assertThrows(DatabaseClosedException.class, () -> Groups.fetch(pool, group, true));
  }

  // --------------------------------------------------------------------------------- waiting

  @Test
  void groupsLeaveFramesToOthers() throws Exception {
    BufferPool pool = cold(64);
    assertEquals(8, pool.groupMax());
    device.hold(offset -> true);
    AtomicInteger brought = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 6; t++) {
      int from = 30 * t;
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    PageGroup mine = new PageGroup();
                    for (int i = from; i < from + 30; i++) {
                      mine.add(pid(i));
                    }
                    brought.addAndGet(Groups.fetch(pool, mine, true));
                  }));
    }
    Pools.await("two groups of eight", () -> device.held.get() == 16);
    // The others read nothing and did not wait.
    Pools.await("four have ended", () -> threads.stream().filter(Thread::isAlive).count() == 2);
    assertEquals(0, brought.get());
    assertEquals(16, device.held.get());
    device.release();
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(16, brought.get());
    assertEquals(8, fetch(pool, 500, 532), "the reservation is released");
    Pools.check(pool);
    pool.close();
  }

  /** The requested pages arrive, whatever the requesting thread does next. */
  @Test
  void groupArrivesWithoutItsInitiator() {
    BufferPool pool = cold(512);
    device.hold(offset -> offset == offset(10));
    PageGroup forgotten = new PageGroup();
    for (int i = 0; i < 20; i++) {
      forgotten.add(pid(i));
    }
    pool.begin(forgotten, true);
    try {
      Pools.await("all others have arrived", () -> pool.stats().misses() == 19);
      for (int i = 0; i < 20; i++) {
        if (i != 10) {
          assertEquals(
              pid(i), Pools.word(pool, pid(i)), "resident although one is still in flight");
        }
      }
    } finally {
      device.release();
    }
    assertEquals(pid(10), Pools.word(pool, pid(10)));
    assertEquals(20, device.reads());
    Pools.check(pool);
    pool.close();
  }

  /** Each thread has begun a group and now waits for a page of the other's. */
  @Test
  void initiatorMayWaitForAnotherGroup() throws Exception {
    BufferPool pool = cold(512);
    device.hold(offset -> true);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 2; t++) {
      int from = 100 * t;
      threads.add(
          start(
              failure,
              () -> {
                PageGroup mine = new PageGroup();
                for (int i = from; i < from + 8; i++) {
                  mine.add(pid(i));
                }
                pool.begin(mine, true);
                Pools.await("both are being read", () -> device.held.get() == 16);
                int other = 100 - from + 4;
                pool.findSlow(pid(other));
              }));
    }
    try {
      Pools.await("both wait", () -> pool.stats().latchWaits() == 2);
    } finally {
      device.release();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertNull(failure.get());
    assertEquals(16, device.reads());
    pool.close();
  }

  /** One thread reads; a thread that needs the page waits, one that only reads ahead does not. */
  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void aPageIsReadOnce(Translation kind) throws Exception {
    BufferPool pool = cold(512, kind);
    device.hold(offset -> offset == offset(10));
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread first = start(failure, () -> assertEquals(20, fetch(pool, 0, 20)));
    Pools.await("the page is being read", () -> device.held.get() == 1);
    List<Thread> waiting = new ArrayList<>();
    AtomicInteger begun = new AtomicInteger();
    for (int t = 0; t < 4; t++) {
      Runnable body =
          () -> {
            begun.incrementAndGet();
            assertEquals(pid(10), BufferPoolTest.optimisticWord(pool, pid(10)));
          };
      waiting.add(start(failure, body));
    }
    PageGroup other = new PageGroup();
    for (int i = 5; i < 25; i++) {
      other.add(pid(i));
    }
    assertEquals(5, Groups.fetch(pool, other, true), "those not being read yet");
    Pools.await("all have begun", () -> begun.get() == 4);
    device.release();
    first.join();
    for (Thread thread : waiting) {
      thread.join();
    }
    assertNull(failure.get());
    assertEquals(25, device.reads());
    for (Map.Entry<Long, AtomicInteger> reads : device.readsAt.entrySet()) {
      assertEquals(1, reads.getValue().get(), "reads at " + reads.getKey());
    }
    Pools.check(pool);
    pool.close();
  }

  /** A group also skips a page that a single miss is reading. */
  @Test
  void groupDoesNotWaitForASingleMiss() throws Exception {
    BufferPool pool = cold(512);
    device.hold(offset -> offset == offset(3));
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread lone = start(failure, () -> assertEquals(pid(3), Pools.word(pool, pid(3))));
    Pools.await("the page is being read", () -> device.held.get() == 1);
    assertEquals(9, fetch(pool, 0, 10));
    assertEquals(-1, group.frame(3));
    device.release();
    lone.join();
    assertNull(failure.get());
    assertEquals(10, device.reads());
    pool.close();
  }

  /** While a group is in flight, everything else continues: hits, misses, allocation, flushes. */
  @Test
  void otherOperationsContinue() throws Exception {
    BufferPool pool = cold(64);
    Pools.word(pool, pid(100));
    device.hold(offset -> offset == offset(0));
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread first = start(failure, () -> assertEquals(8, fetch(pool, 0, 8)));
    Pools.await("a page is being read", () -> device.held.get() == 1);
    for (int turn = 0; turn < 3; turn++) {
      for (int i = 100; i < 300; i++) {
        assertEquals(pid(i), Pools.word(pool, pid(i)));
        Pools.setWord(pool, pid(i), pid(i));
      }
      Pools.page(pool);
      pool.flushAll();
    }
    assertEquals(1, device.held.get());
    device.release();
    first.join();
    assertNull(failure.get());
    Pools.check(pool);
    pool.close();
  }

  @Test
  void interruptIsPreserved() throws Exception {
    BufferPool pool = cold(512);
    for (boolean virtual : new boolean[] {false, true}) {
      int from = virtual ? 100 : 0;
      device.hold(offset -> true);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      Runnable body =
          () -> {
            try {
              assertEquals(10, fetch(pool, from, from + 10));
              assertTrue(Thread.interrupted(), "the interrupt flag is preserved");
            } catch (Throwable e) {
              failure.set(e);
            }
          };
      Thread thread = virtual ? Thread.startVirtualThread(body) : Thread.ofPlatform().start(body);
      Pools.await("the reads are in flight", () -> device.held.get() == 10);
      thread.interrupt();
      device.release();
      thread.join();
      assertNull(failure.get());
      Pools.await("the reads have completed", () -> device.held.get() == 0);
    }
    pool.close();
  }

  /** Far more virtual threads than carriers miss at once, and all their reads are in flight. */
  @Test
  void virtualThreadsReleaseTheirCarriersOnAMiss() throws Exception {
    // A page for each; groups, which are half of the threads, may hold a quarter of the frames.
    int threads = Math.min(PAGES, 16 * Runtime.getRuntime().availableProcessors() + 32);
    BufferPool pool = cold(4 * threads);
    device.hold(offset -> true);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    List<Thread> all = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      int i = t;
      all.add(
          Thread.startVirtualThread(
              () -> {
                try {
                  if (i % 2 == 0) {
                    assertEquals(pid(i), Pools.word(pool, pid(i)));
                  } else {
                    PageGroup mine = new PageGroup();
                    mine.add(pid(i));
                    assertEquals(1, Groups.fetch(pool, mine, true));
                  }
                } catch (Throwable e) {
                  failure.set(e);
                }
              }));
    }
    Pools.await("all are in flight", () -> device.held.get() == threads || failure.get() != null);
    device.release();
    for (Thread thread : all) {
      thread.join();
    }
    assertNull(failure.get());
    pool.close();
  }

  private static Thread start(AtomicReference<Throwable> failure, Runnable body) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                body.run();
              } catch (Throwable e) {
                failure.set(e);
              }
            });
  }
}
