package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Pretouch;
import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.PoolTooSmallException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.memory.Mem;
import io.fovea.support.Records;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class BufferPoolTest {
  private final TestDevice device = new TestDevice();

  private static long[] pages(BufferPool pool, int n) {
    long[] pids = new long[n];
    for (int i = 0; i < n; i++) {
      pids[i] = Pools.page(pool);
    }
    return pids;
  }

  // ------------------------------------------------------------------------------ reading, loading

  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void concurrentMissesReadAPageOnce(Translation kind) throws Exception {
    BufferPool pool = Pools.open(device, kind, AllocatorState.EMPTY);
    long[] pids = pages(pool, 200);
    Pools.evict(pool, pids[7], pids);
    device.readsAt.clear();
    CountDownLatch go = new CountDownLatch(1);
    device.beforeRead =
        () -> {
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    AtomicInteger ways = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    for (int i = 0; i < 6; i++) {
      Runnable body =
          () -> {
            try {
              assertEquals(
                  pids[7],
                  ways.getAndIncrement() % 2 == 0
                      ? Pools.word(pool, pids[7])
                      : optimisticWord(pool, pids[7]));
            } catch (Throwable e) {
              failure.set(e);
            }
          };
      threads.add(i < 4 ? Thread.ofPlatform().start(body) : Thread.ofVirtual().start(body));
    }
    Pools.await("all threads access the page", () -> ways.get() == 6);
    Pools.await("one reads", () -> device.readsAt.containsKey(pids[7] * 4096));
    go.countDown();
    for (Thread thread : threads) {
      thread.join();
    }
    assertNull(failure.get());
    assertEquals(1, device.readsAt.get(pids[7] * 4096).get());
    pool.close();
  }

  static long optimisticWord(BufferPool pool, long pid) {
    while (true) {
      int frame = pool.predict(pid);
      long version = pool.optimistic(frame, pid);
      if (version == BufferPool.RESTART) {
        frame = pool.findSlow(pid);
        version = pool.optimistic(frame, pid);
      }
      if (version != BufferPool.RESTART) {
        long word = Mem.getLong(pool.pages(), pool.base(frame) + Pools.WORD);
        if (pool.validate(frame, version)) {
          return word;
        }
      }
    }
  }

  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void failedReadIsThrownAndNotCached(Translation kind) {
    BufferPool pool = Pools.open(device, kind, AllocatorState.EMPTY);
    long[] pids = pages(pool, 200);
    Pools.evict(pool, pids[0], pids);
    device.readFails = offset -> offset == pids[0] * 4096;
    for (int i = 0; i < 100; i++) {
      // More often than there are frames: none may leak.
      assertThrows(StorageException.class, () -> pool.findSlow(pids[0]));
      assertThrows(StorageException.class, () -> pool.fixExclusive(pids[0]));
    }
    assertEquals(200, pool.stats().readFailures());
    device.readFails = offset -> false;
    assertEquals(pids[0], Pools.word(pool, pids[0]));
    Pools.check(pool);
    pool.close();
  }

  @Test
  void waitersOfAFailedReadDoNotHang() throws Exception {
    BufferPool pool = Pools.open(device);
    long[] pids = pages(pool, 200);
    Pools.evict(pool, pids[0], pids);
    CountDownLatch go = new CountDownLatch(1);
    device.beforeRead =
        () -> {
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    device.readFails = offset -> true;
    AtomicInteger failed = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      int how = i % 3;
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      if (how == 0) {
                        pool.findSlow(pids[0]);
                      } else if (how == 1) {
                        pool.fixExclusive(pids[0]);
                      } else {
                        pool.fixShared(pids[0]);
                      }
                    } catch (StorageException e) {
                      failed.incrementAndGet();
                    }
                  }));
    }
    Pools.await("one reads", () -> device.readsAt.containsKey(pids[0] * 4096));
    go.countDown();
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(4, failed.get());
    pool.abandon();
  }

  @Test
  void damageIsFound() {
    BufferPool pool = Pools.open(device);
    long[] pids = pages(pool, 10);
    pool.flushAll();
    AllocatorState state = pool.allocatorState();
    pool.close();
    MemorySegment page = Arena.ofAuto().allocate(4096, 4096);

    device.read(pids[1] * 4096, page, 0, 4096);
    Mem.putByte(page, 1000, (byte) 1);
    device.write(pids[1] * 4096, page, 0, 4096);
    device.read(pids[2] * 4096, page, 0, 4096);
    device.write(pids[3] * 4096, page, 0, 4096);
    Mem.zero(page, 0, 4096);
    device.write(pids[4] * 4096, page, 0, 4096);

    BufferPool again = Pools.open(device, Translation.PREDICTIVE, state);
    assertEquals(pids[0], Pools.word(again, pids[0]));
    for (int i = 1; i <= 4; i += i == 1 ? 2 : 1) {
      long pid = pids[i];
      CorruptionException e =
          assertThrows(CorruptionException.class, () -> Pools.word(again, pid), "page " + i);
      assertEquals(pid, e.pid());
      assertEquals(pid * 4096, e.fileOffset());
    }
    assertEquals(pids[2], Pools.word(again, pids[2]), "the other pages are unchanged");
    again.close();
  }

  @Test
  void pagesNeverAllocatedAreRejected() {
    BufferPool pool = Pools.open(device);
    long pid = Pools.page(pool);
    for (long bad : new long[] {0, -1, pid + 1, Long.MAX_VALUE, Long.MIN_VALUE, 1L << 48}) {
      int frame = pool.predict(bad);
      assertTrue(frame >= 0 && frame < pool.frames());
      if (bad != 0) {
        assertEquals(BufferPool.RESTART, pool.optimistic(frame, bad));
      }
      assertThrows(CorruptionException.class, () -> pool.findSlow(bad));
      assertThrows(CorruptionException.class, () -> pool.fixShared(bad));
      assertThrows(CorruptionException.class, () -> pool.fixExclusive(bad));
    }
    pool.close();
  }

  // ---------------------------------------------------------------------------- latches by page id

  /**
   * A page below the high-water mark that is not yet in a frame counts as being loaded, and readers
   * wait for it.
   */
  @Test
  void aPageBeingAllocatedIsAwaited() throws Exception {
    BufferPool pool = Pools.open(device);
    long pid = pool.allocator.highWater();
    Translator translator = pool.frames.translator;
    int bucket = translator.bucket(pid);
    translator.lock(bucket); // the page cannot be entered yet
    Thread giving = Thread.ofPlatform().start(() -> Pools.page(pool));
    Pools.await("the high-water mark", () -> pool.allocator.highWater() == pid + 1);
    assertEquals(1, pool.allocator.entering.get());
    Thread asking = Thread.ofPlatform().start(() -> pool.checkpoint().space().awaitEntered());
    Pools.await(
        "the wait",
        () ->
            Arrays.stream(asking.getStackTrace())
                .anyMatch(f -> f.getMethodName().equals("awaitEntered")));
    translator.unlock(bucket);
    asking.join();
    assertTrue(pool.resident(pid) >= 0);
    giving.join();
    assertEquals(0, pool.allocator.entering.get());
    Pools.check(pool);
    pool.close();
  }

  /** The pool's only batch can be used by other threads once it has ended. */
  @Test
  void aBatchThatHasEndedIsNotUsed() {
    BufferPool pool = Pools.open(device);
    long pid = Pools.page(pool);
    int frame = pool.resident(pid);
    pool.writeBack.begin();
    pool.writeBack.add(pid, frame);
    pool.writeBack.end();
    assertThrows(AssertionError.class, () -> pool.writeBack.add(pid, frame));
    assertThrows(AssertionError.class, () -> pool.writeBack.write(true));
    assertThrows(AssertionError.class, pool.writeBack::clear);
    pool.close();
  }

  @Test
  void latchesAndVersions() {
    BufferPool pool = Pools.open(device);
    long pid = Pools.page(pool);
    int frame = pool.predict(pid);
    long version = pool.optimistic(frame, pid);
    assertNotEquals(BufferPool.RESTART, version);
    assertEquals(BufferPool.RESTART, pool.optimistic(frame, pid + 1));
    assertFalse(pool.tryExclusive(frame, pid + 1));
    assertFalse(pool.tryShared(frame, pid + 1));
    assertTrue(pool.validate(frame, version), "a failed attempt has no effect");
    assertTrue(pool.tryShared(frame, pid));
    assertFalse(pool.tryExclusive(frame, pid));
    pool.releaseShared(frame);
    assertTrue(pool.tryUpgrade(frame, version));
    assertEquals(BufferPool.RESTART, pool.optimistic(frame, pid));
    pool.releaseExclusiveUnchanged(frame);
    assertTrue(pool.validate(frame, version));
    assertEquals(frame, pool.fixExclusive(pid));
    pool.downgrade(frame);
    assertFalse(pool.validate(frame, version));
    pool.releaseShared(frame);
    pool.close();
  }

  // ---------------------------------------------------------------------------------- allocation

  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void densePagesAreInTheirPreferredFrames(Translation kind) {
    BufferPool pool = Pools.open(device, kind, AllocatorState.EMPTY);
    // The writer keeps an eighth available at this rate of allocation (WriterPace).
    long[] pids = pages(pool, Pools.FRAMES * 3 / 4);
    if (kind == Translation.PREDICTIVE) {
      for (long pid : pids) {
        assertEquals(
            pid,
            pool.pid(pool.predict(pid)),
            "a file that fits has every page in its preferred frame");
      }
    }
    assertEquals(0, pool.stats().misses());
    assertEquals(0, pool.stats().pagesWritten(), "nothing is written ahead of need");
    pool.close();
  }

  @Test
  void newPagesAreEmpty() {
    BufferPool pool = Pools.open(device);
    for (int round = 0; round < 3; round++) {
      int frame = pool.allocate(9, PageHeader.OVERFLOW, LogSession.NONE);
      long base = pool.base(frame);
      assertEquals(PageHeader.OVERFLOW, PageHeader.type(pool.pages(), base));
      assertEquals(9, PageHeader.treeId(pool.pages(), base));
      assertEquals(pool.pid(frame), PageHeader.pid(pool.pages(), base));
      assertEquals(AllocatorState.FIRST_PID, pool.pid(frame), "the freed page is reused");
      assertTrue(Mem.isZero(pool.pages(), base + 32, 4096 - 32));
      Mem.putLong(pool.pages(), base + 100, -1);
      PageHeader.raisePageLsn(pool.pages(), base, 50 + round);
      assertEquals(50 + round, PageHeader.pageLsn(pool.pages(), base), "the LSN advances");
      pool.free(frame, LogSession.NONE);
    }
    pool.close();
  }

  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void freedPagesAreReusedEvenAfterReopening(Translation kind) {
    BufferPool pool = Pools.open(device, kind, AllocatorState.EMPTY);
    long[] pids = pages(pool, 300);
    Set<Long> freed = new HashSet<>();
    for (int i = 0; i < 300; i += 2) {
      pool.free(pool.fixExclusive(pids[i]), LogSession.NONE);
      freed.add(pids[i]);
    }
    AllocatorState state = pool.allocatorState();
    assertEquals(150, state.freePages());
    assertEquals(303, state.highWater());
    pool.close();

    BufferPool again = Pools.open(device, kind, state);
    Set<Long> listed = new HashSet<>();
    FreeList.visit(again, pid -> assertTrue(listed.add(pid)));
    assertEquals(freed, listed);
    for (int i = 0; i < 150; i++) {
      assertTrue(freed.remove(Pools.page(again)), "each freed page is reused once");
    }
    assertEquals(303, Pools.page(again), "then the file grows");
    for (int i = 1; i < 300; i += 2) {
      assertEquals(pids[i], Pools.word(again, pids[i]), "the other pages are unchanged");
    }
    assertEquals(new AllocatorState(304, 0, 0), again.allocatorState());
    again.close();
  }

  @Test
  void doubleFreeIsDetected() {
    BufferPool pool = Pools.open(device);
    long pid = Pools.page(pool);
    pool.free(pool.fixExclusive(pid), LogSession.NONE);
    assertThrows(
        CorruptionException.class, () -> pool.free(pool.fixExclusive(pid), LogSession.NONE));
    assertEquals(1, pool.allocatorState().freePages());
    Pools.check(pool);
    pool.close();
  }

  @Test
  void fixedPages() {
    BufferPool pool = Pools.open(device);
    int frame = pool.allocateAt(2, 1, PageHeader.LEAF, LogSession.NONE);
    assertEquals(2, pool.pid(frame));
    pool.releaseExclusive(frame);
    assertThrows(
        InvalidUseException.class, () -> pool.allocateAt(3, 1, PageHeader.LEAF, LogSession.NONE));
    assertThrows(
        InvalidUseException.class, () -> pool.allocateAt(0, 1, PageHeader.LEAF, LogSession.NONE));
    pool.close();
    BufferPool again = Pools.open(device);
    again.releaseShared(again.fixShared(2));
    again.close();
  }

  @Test
  void aFullDiskChangesNothing() {
    TestDevice small = new TestDevice(2 << 20);
    BufferPool pool = Pools.open(small);
    List<Long> pids = new ArrayList<>();
    StorageFullException full = null;
    while (full == null) {
      try {
        pids.add(Pools.page(pool));
      } catch (StorageFullException e) {
        full = e;
      }
    }
    assertEquals((2 << 20) / 4096 - 3, pids.size(), "every page that fits is allocated");
    AllocatorState state = pool.allocatorState();
    assertThrows(StorageFullException.class, () -> Pools.page(pool));
    assertEquals(state, pool.allocatorState());
    for (long pid : pids) {
      assertEquals(pid, Pools.word(pool, pid), "reads continue");
    }
    pool.free(pool.fixExclusive(pids.get(5)), LogSession.NONE);
    assertEquals(pids.get(5), Pools.page(pool), "freed frames can be taken");
    Pools.check(pool);
    pool.close();
    small.close();
  }

  @Test
  void invalidStateIsRejectedOnOpen() {
    BufferPool pool = Pools.open(device);
    pages(pool, 10);
    pool.close();
    long pages = device.size() / 4096;
    AllocatorState[] bad = {
      new AllocatorState(0, 0, 0),
      new AllocatorState(pages + 1, 0, 0),
      new AllocatorState(13, 13, 1),
      new AllocatorState(13, -1, 1),
      new AllocatorState(13, 5, 0),
      new AllocatorState(13, 0, 4)
    };
    for (AllocatorState state : bad) {
      assertThrows(
          CorruptionException.class,
          () -> Pools.open(device, Translation.PREDICTIVE, state),
          state.toString());
    }
    PoolConfig config = PoolConfig.ofFrames(4096, 64, Translation.PREDICTIVE);
    assertThrows(
        PoolTooSmallException.class,
        () ->
            new BufferPool(
                device, PoolConfig.of(4096, config.bufferBytes() - 1), AllocatorState.EMPTY));
    assertThrows(
        InvalidUseException.class,
        () -> new BufferPool(device, PoolConfig.of(5000, 1 << 30), AllocatorState.EMPTY));
    // A free list that leads to a page in use.
    BufferPool again = Pools.open(device, Translation.PREDICTIVE, new AllocatorState(13, 5, 1));
    assertThrows(CorruptionException.class, () -> Pools.page(again));
    assertThrows(AssertionError.class, () -> FreeList.visit(again, pid -> {}));
    Pools.check(again);
    again.close();
  }

  // ------------------------------------------------------------------------------------ eviction

  @Test
  void exhaustedPoolThrows() {
    BufferPool pool = Pools.open(device);
    long[] pids = pages(pool, 70);
    List<Integer> held = new ArrayList<>();
    for (int i = 0; i < Pools.FRAMES; i++) {
      held.add(pool.fixShared(pids[i]));
    }
    FoveaException e = assertThrows(PoolExhaustedException.class, () -> Pools.word(pool, pids[69]));
    assertTrue(e.getMessage().contains("64"), e.getMessage());
    AllocatorState state = pool.allocatorState();
    assertThrows(PoolExhaustedException.class, () -> Pools.page(pool));
    assertEquals(state, pool.allocatorState(), "no page id is lost");
    held.forEach(pool::releaseShared);
    assertEquals(pids[69], Pools.word(pool, pids[69]));
    Pools.check(pool);
    pool.close();
  }

  @Test
  void pagesThatCannotBeWrittenStayDirty() {
    BufferPool pool = Pools.open(device);
    long[] pids = pages(pool, 60);
    device.writeFails = offset -> true;
    List<Long> more = new ArrayList<>();
    PoolExhaustedException exhausted = null;
    for (int i = 0; exhausted == null; i++) {
      // Pages that the writer has written can be evicted; a new one cannot.
      assertTrue(i <= Pools.FRAMES, "this loop must end");
      try {
        more.add(Pools.page(pool));
      } catch (PoolExhaustedException e) {
        exhausted = e;
      }
    }
    assertTrue(exhausted.getCause() instanceof StorageException, "the exception names the cause");
    assertTrue(pool.stats().writeFailures() > 0);
    for (long pid : pids) {
      // A page that was written in time may have been evicted, and now finds no frame.
      if (pool.resident(pid) >= 0) {
        assertEquals(pid, optimisticWord(pool, pid), "nothing is lost");
      }
    }
    assertThrows(StorageException.class, pool::flushAll);
    device.writeFails = offset -> false;
    for (long pid : pids) {
      assertEquals(pid, onceThereIsAFrame(() -> Pools.word(pool, pid)), "nothing is lost");
    }
    for (int i = 0; i < 100; i++) {
      more.add(onceThereIsAFrame(() -> Pools.page(pool)));
    }
    for (long pid : more) {
      assertEquals(pid, onceThereIsAFrame(() -> Pools.word(pool, pid)));
    }
    Pools.check(pool);
    pool.close();
    assertEquals(0, device.overlaps.get());
  }

  /** The writer pauses after failures, on a busy machine for longer than the limit of the pool. */
  private static long onceThereIsAFrame(LongSupplier access) {
    while (true) {
      try {
        return access.getAsLong();
      } catch (PoolExhaustedException e) {
        Thread.onSpinWait();
      }
    }
  }

  @Test
  void aFailedWriteAtTheEndIsThrownAndTheMemoryReleased() {
    BufferPool pool = Pools.open(device);
    Pools.page(pool);
    device.writeFails = offset -> true;
    assertThrows(StorageException.class, pool::close);
    pool.close();
    assertThrows(DatabaseClosedException.class, () -> pool.findSlow(3));
  }

  @Test
  void adjacentPagesAreOneTransfer() {
    BufferPool pool = Pools.open(device);
    pages(pool, 32);
    pool.flushAll();
    assertEquals(32, device.writes.get());
    assertEquals(4, device.transfers.get(), "batches of 8 in a pool of 64 frames");
    assertEquals(1, device.syncs.get());
    assertEquals(0, pool.stats().framesDirty());
    pool.flushAll();
    assertEquals(32, device.writes.get(), "nothing is dirty any more");
    pool.close();
  }

  @Test
  void noPageIsWrittenBeforeItsLog() {
    java.util.concurrent.atomic.AtomicLong durable = new java.util.concurrent.atomic.AtomicLong(10);
    BufferPool pool =
        new BufferPool(
            device,
            Records.with(
                PoolConfig.ofFrames(4096, 64, Translation.PREDICTIVE), "exhaustedMillis", 100L),
            AllocatorState.EMPTY,
            durable::get,
            null);
    int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
    long pid = pool.pid(frame);
    PageHeader.raisePageLsn(pool.pages(), pool.base(frame), 11);
    pool.markDirty(frame, 7, 11);
    pool.markDirty(frame, 9, 10);
    pool.releaseExclusive(frame);
    assertEquals(7, pool.checkpoint().minRecLsn());
    long[] pids = pages(pool, 200);
    assertThrows(InvalidUseException.class, pool::flushAll);
    assertEquals(pid, pool.pid(Pools.where(pool, pid)), "it stays resident");
    durable.set(11);
    pool.flushAll();
    assertEquals(Long.MAX_VALUE, pool.checkpoint().minRecLsn());
    Pools.evict(pool, pid, pids);
    pool.close();
  }

  @Test
  void pageBeingWrittenIsNeitherEvictedNorWrittenTwice() throws Exception {
    BufferPool pool = Pools.open(device);
    long[] pids = pages(pool, 200);
    pool.flushAll();
    CountDownLatch go = new CountDownLatch(1);
    CountDownLatch there = new CountDownLatch(1);
    device.beforeWrite =
        () -> {
          there.countDown();
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    Pools.setWord(pool, pids[0], 1);
    Thread flush = Thread.ofPlatform().start(pool::flushAll);
    there.await();
    // Changed again while the first state is being written; the pool is put under pressure.
    Pools.setWord(pool, pids[0], 2);
    for (int i = 1; i < 200; i++) {
      assertEquals(pids[i], Pools.word(pool, pids[i]));
    }
    assertEquals(pids[0], pool.pid(Pools.where(pool, pids[0])), "it stays resident");
    go.countDown();
    flush.join();
    Pools.evict(pool, pids[0], pids);
    assertEquals(2, Pools.word(pool, pids[0]));
    assertEquals(0, device.overlaps.get());
    pool.close();
  }

  // --------------------------------------------------------------------------------------- close

  @Test
  void accessAfterCloseDoesNotCrash() {
    BufferPool pool = Pools.open(device);
    long pid = Pools.page(pool);
    int frame = pool.predict(pid);
    long version = pool.optimistic(frame, pid);
    pool.close();
    pool.close();
    assertTrue(version > 0, "released memory never has the version of a page");
    Mem.getLong(pool.pages(), pool.base(frame));
    assertThrows(DatabaseClosedException.class, () -> pool.findSlow(pid));
    assertThrows(DatabaseClosedException.class, () -> pool.fixShared(pid));
    assertThrows(DatabaseClosedException.class, () -> pool.fixExclusive(pid));
    assertThrows(
        DatabaseClosedException.class, () -> pool.allocate(1, PageHeader.LEAF, LogSession.NONE));
    assertThrows(
        DatabaseClosedException.class,
        () -> pool.allocateAt(2, 1, PageHeader.LEAF, LogSession.NONE));
    assertThrows(DatabaseClosedException.class, pool::flushAll);
    assertNotNull(pool.stats());
  }

  @ParameterizedTest
  @EnumSource(Pretouch.class)
  void pretouchIsHarmless(Pretouch when) {
    PoolConfig config = Records.with(PoolConfig.of(4096, 8 << 20), "pretouch", when);
    BufferPool pool = new BufferPool(device, config, AllocatorState.EMPTY);
    long[] pids = pages(pool, 500);
    for (long pid : pids) {
      assertEquals(pid, Pools.word(pool, pid));
    }
    assertTrue(pool.stats().bytes() <= 8 << 20);
    pool.close();
  }

  @Test
  void interruptsArePreserved() throws Exception {
    BufferPool pool = Pools.open(device);
    long[] pids = pages(pool, 200);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    Thread.currentThread().interrupt();
                    for (long pid : pids) {
                      assertEquals(pid, Pools.word(pool, pid));
                      Pools.setWord(pool, pid, pid);
                    }
                    Pools.page(pool);
                    pool.flushAll();
                    assertTrue(Thread.currentThread().isInterrupted());
                  } catch (Throwable e) {
                    failure.set(e);
                  }
                });
    thread.join();
    assertNull(failure.get());
    Thread.currentThread().interrupt();
    pool.close();
    assertTrue(Thread.interrupted());
  }

  @Test
  void segmentsAreTheSame() {
    BufferPool pool = Pools.open(device);
    assertSame(pool.pages(), pool.pages());
    assertEquals((long) pool.frames() * pool.pageSize(), pool.pages().byteSize());
    assertEquals(pool.pageSize(), 1 << pool.pageShift());
    assertEquals(0, pool.pages().address() % 4096);
    pool.close();
  }
}
