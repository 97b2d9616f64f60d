package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.wal.LogSession;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class ReplacementTest {
  private static final int FRAMES = 64;

  private final TestDevice device = new TestDevice();

  private static final FrameAllocator.Writer NO_WRITER =
      new FrameAllocator.Writer() {
        @Override
        public void wake(boolean urgent) {}

        @Override
        public @Nullable Throwable failure() {
          return null;
        }
      };

  /** Frames full of clean leaves that have been used; page 64 + i is in frame i. */
  private static Frames full(Replacement kind) {
    Frames frames =
        new Frames(PoolConfig.ofFrames(4096, FRAMES, Translation.PREDICTIVE, kind), null);
    for (int i = 0; i < FRAMES; i++) {
      PagePromoterTest.put(frames, FRAMES + i, i, PageHeader.LEAF);
    }
    return frames;
  }

  /** One page is evicted and another arrives, as in a miss; returns the frame. */
  private static int bring(Frames frames, FrameAllocator replacement, long pid) {
    int frame = replacement.acquire(-1);
    frames.unclaim(frame);
    PagePromoterTest.put(frames, pid, frame, PageHeader.LEAF);
    return frame;
  }

  private static boolean use(Frames frames, long pid) {
    int frame = frames.translator.locate(pid);
    return frame >= 0 && FrameHeader.use(frames.headers, frame, pid);
  }

  @Test
  void pagesInUseGetASecondChance() {
    Frames frames = full(Replacement.SECOND_CHANCE);
    FrameAllocator clock = new FrameAllocator(frames, 100, NO_WRITER);
    int first = clock.acquire(-1);
    for (int i = 0; i < 64; i++) {
      assertFalse(
          FrameHeader.isUsed(frames.headers, i), "one revolution of the clock hand clears all");
    }
    int second = clock.acquire(-1);
    assertEquals((first + 1) % 64, second, "the next one is cold now");
    FrameHeader.setUsed(frames.headers, (second + 1) % 64, true);
    FrameHeader.setDirty(frames.headers, (second + 2) % 64, true);
    assertTrue(Latch.tryShared(frames.headers, (second + 3) % 64));
    FrameHeader.setWriting(frames.headers, (second + 4) % 64, true);
    assertEquals((second + 5) % 64, clock.acquire(-1), "in use, dirty, latched, being written");
    assertFalse(FrameHeader.isUsed(frames.headers, (second + 1) % 64));
    assertEquals(3, frames.counters.evictionsClean.sum());
    assertEquals(0, frames.free.count());
    assertEquals(0, frames.counters.frameWaits.sum());
  }

  /** For the writer: no page twice, and none that is being written. */
  @ParameterizedTest
  @EnumSource(Replacement.class)
  void thePolicyProposesEachPageOnce(Replacement kind) {
    Frames frames = full(kind);
    FrameHeader.setWriting(frames.headers, 7, true);
    FrameHeader.setDirty(frames.headers, 8, true);
    boolean[] proposed = new boolean[FRAMES];
    int attempt = 0;
    for (int found = 0; found < FRAMES - 1; ) {
      assertTrue(attempt < Sampling.ATTEMPTS + 2 * FRAMES + 2, found + " were found");
      int frame = frames.policy.propose(attempt++, false);
      if (frame >= 0) {
        assertFalse(proposed[frame], "frame " + frame + " again");
        proposed[frame] = true;
        FrameHeader.markCandidate(frames.headers, frame);
        attempt = 0;
        found++;
      }
    }
    assertFalse(proposed[7]);
    assertTrue(proposed[8], "dirty ones, too");
    for (int i = 0; i < Sampling.ATTEMPTS + 3 * FRAMES; i++) {
      assertEquals(-1, frames.policy.propose(i, false), "there is no other candidate");
    }
  }

  /**
   * All frames but one are dirty, latched or being written, and all are hot: the remaining one is
   * found immediately.
   */
  @ParameterizedTest
  @EnumSource(Replacement.class)
  void theOnlyFrameIsFound(Replacement kind) {
    for (int only = 0; only < FRAMES; only++) {
      Frames frames = full(kind);
      for (int i = 0; i < FRAMES; i++) {
        if (i == only) {
          continue;
        }
        switch (i % 3) {
          case 0 -> FrameHeader.setDirty(frames.headers, i, true);
          case 1 -> assertTrue(Latch.tryShared(frames.headers, i));
          default -> FrameHeader.setWriting(frames.headers, i, true);
        }
      }
      FrameAllocator replacement = new FrameAllocator(frames, 0, NO_WRITER);
      assertEquals(only, replacement.acquire(-1));
      assertThrows(PoolExhaustedException.class, () -> replacement.acquire(-1));
      frames.release();
    }
  }

  /** A waiting thread soon gets a frame if there is one, however hot all pages are. */
  @ParameterizedTest
  @EnumSource(Replacement.class)
  void everythingIsHot(Replacement kind) {
    Frames frames = full(kind);
    int[] wakes = new int[1];
    FrameAllocator replacement =
        new FrameAllocator(
            frames,
            10_000,
            new FrameAllocator.Writer() {
              /** Cleans a page at the third urgent request; all pages are in constant use. */
              @Override
              public void wake(boolean urgent) {
                for (int i = 0; i < FRAMES; i++) {
                  FrameHeader.setUsed(frames.headers, i, true);
                }
                while (frames.unwritten.take() != ReadyFrames.EMPTY) {} // as the writer does
                if (urgent && ++wakes[0] == 3) {
                  FrameHeader.setDirty(frames.headers, 33, false);
                }
              }

              @Override
              public @Nullable Throwable failure() {
                return null;
              }
            });
    for (int i = 0; i < FRAMES; i++) {
      FrameHeader.setDirty(frames.headers, i, true);
    }
    frames.counters.dirty.add(FRAMES);
    assertEquals(33, replacement.acquire(-1));
    // Each attempt lists some of the dirty ones first, up to the size of a batch.
    assertTrue(wakes[0] >= 3 && wakes[0] <= 3 + 10 * FRAMES, wakes[0] + " looks");
    assertEquals(1, frames.counters.frameWaits.sum());
    assertTrue(frames.counters.frameWaitNanos.sum() > 0);
    assertEquals(1, frames.counters.framesTaken.sum());
  }

  /** Sixty pages are dirty and cold, and the four after them clean. */
  private static Frames mostlyDirty(boolean cleanAreUsed) {
    Frames frames = full(Replacement.SECOND_CHANCE);
    for (int i = 0; i < FRAMES; i++) {
      FrameHeader.setUsed(frames.headers, i, i >= 60 && cleanAreUsed);
      FrameHeader.setDirty(frames.headers, i, i < 60);
    }
    frames.counters.dirty.add(60);
    return frames;
  }

  /**
   * Misses that encounter cold dirty pages list them for the writer, and stop the clock once the
   * writer has enough to do. The clean pages, which are hot, keep their second chance however often
   * that happens.
   */
  @Test
  void cleanPagesAreNotEvictedFirst() {
    Frames frames = mostlyDirty(true);
    FrameAllocator replacement = new FrameAllocator(frames, 10_000, NO_WRITER);
    int room = frames.plan.batch();
    for (int i = 0; i < 1_000; i++) {
      assertEquals(-1, replacement.tryAcquire(-1));
    }
    for (int i = 0; i < FRAMES; i++) {
      assertEquals(i < room, FrameHeader.isEvictionCandidate(frames.headers, i), "frame " + i);
      assertEquals(i >= 60, FrameHeader.isUsed(frames.headers, i), "frame " + i);
    }
    // The writer takes two of them, one of which is used again.
    int used = frames.unwritten.take();
    int written = frames.unwritten.take();
    assertTrue(FrameHeader.use(frames.headers, used, FRAMES + used));
    FrameHeader.setDirty(frames.headers, written, false);
    frames.ready.add(written, true);
    assertEquals(written, replacement.acquire(-1));
    assertEquals(-1, replacement.tryAcquire(-1));
    assertTrue(
        FrameHeader.isEvictionCandidate(frames.headers, room + 1),
        "the list had space for one more");
    for (int i = 60; i < FRAMES; i++) {
      assertTrue(FrameHeader.isUsed(frames.headers, i), "frame " + i);
    }
  }

  /** If dirty pages are rare, a full list of them makes no thread wait. */
  @Test
  void ifMostPagesAreCleanTheNextIsEvicted() {
    Frames frames = mostlyDirty(false);
    for (int i = 24; i < 60; i++) {
      FrameHeader.setDirty(frames.headers, i, false);
    }
    frames.counters.dirty.add(-36);
    FrameAllocator replacement = new FrameAllocator(frames, 10_000, NO_WRITER);
    int room = frames.plan.batch();
    assertTrue(room < 24);
    for (int i = 24; i < FRAMES; i++) {
      assertEquals(i, replacement.tryAcquire(-1));
    }
    assertTrue(frames.unwritten.isFull());
    for (int i = 0; i < 24; i++) {
      assertEquals(i < room, FrameHeader.isEvictionCandidate(frames.headers, i), "frame " + i);
    }
    // The others now count as in use: with half of them dirty the thread waits.
    frames.counters.dirty.add(20 + 40);
    FrameHeader.setDirty(frames.headers, 23, false);
    assertEquals(-1, replacement.tryAcquire(-1));
    frames.counters.dirty.add(-60);
    assertEquals(23, replacement.tryAcquire(-1));
  }

  /** A flush writes pages listed for the writer, which has to wait for the end of the flush. */
  @Test
  void pagesThatAFlushHasWrittenLeaveTheList() {
    Frames frames = mostlyDirty(true);
    FrameAllocator replacement = new FrameAllocator(frames, 10_000, NO_WRITER);
    assertEquals(-1, replacement.tryAcquire(-1));
    FrameHeader.setDirty(frames.headers, 3, false);
    FrameHeader.setDirty(frames.headers, 5, false);
    FrameHeader.setWriting(frames.headers, 5, true);
    assertTrue(FrameHeader.use(frames.headers, 6, FRAMES + 6));
    assertEquals(3, replacement.tryAcquire(-1));
    assertEquals(-1, replacement.tryAcquire(-1), "being written");
    FrameHeader.setWriting(frames.headers, 5, false);
    assertEquals(5, replacement.acquire(-1));
    assertTrue(FrameHeader.isUsed(frames.headers, 6));
    assertEquals(2, frames.counters.evictionsDirty.sum());
    assertTrue(FrameHeader.isUsed(frames.headers, 63), "hot and clean");
  }

  /** A stalled writer does not keep a thread from a frame that needs no write. */
  @Test
  void aThreadThatHasWaitedTakesCleanPages() {
    Frames frames = mostlyDirty(false);
    FrameAllocator replacement = new FrameAllocator(frames, 10_000, NO_WRITER);
    assertEquals(-1, replacement.tryAcquire(-1));
    assertTrue(frames.unwritten.isFull());
    for (int i = 60; i < FRAMES; i++) {
      assertEquals(i, replacement.acquire(-1));
    }
    assertTrue(frames.counters.frameWaits.sum() > 0);
    assertEquals(frames.plan.batch(), frames.unwritten.size());
  }

  /**
   * While no page can be written, the last clean pages replace each other: a read that needs more
   * of them at a time than there are would restart forever, although each of its misses gets a
   * frame.
   */
  @Test
  void tooFewCleanFramesCountAsNone() {
    Frames frames = mostlyDirty(false);
    AtomicReference<Throwable> failure =
        new AtomicReference<>(new StorageException("write", "db", 0, 5, "EIO"));
    FrameAllocator replacement =
        new FrameAllocator(
            frames,
            300,
            new FrameAllocator.Writer() {
              @Override
              public void wake(boolean urgent) {}

              @Override
              public @Nullable Throwable failure() {
                return failure.get();
              }
            });
    int got = missesUntil(frames, replacement, 10_000);
    assertTrue(got < 10_000, "misses continued");
    // It ends with the failure, ...
    failure.set(null);
    assertEquals(40, missesUntil(frames, replacement, 40));
    // ... and succeeds if there are enough.
    failure.set(new StorageException("write", "db", 0, 5, "EIO"));
    frames.counters.dirty.add(-FrameAllocator.FEW);
    assertEquals(40, missesUntil(frames, replacement, 40));
  }

  /** Repeatedly takes the frame of a clean page and reads a page into it; returns how often. */
  private static int missesUntil(Frames frames, FrameAllocator replacement, int most) {
    for (int i = 0; i < most; i++) {
      try {
        FrameHeader.setUsed(frames.headers, bring(frames, replacement, 1_000 + i), false);
      } catch (PoolExhaustedException e) {
        assertTrue(e.getCause() instanceof StorageException, e::toString);
        return i;
      }
    }
    return most;
  }

  @Test
  void failedWaitsAreCountedAndTimed() {
    Frames frames = full(Replacement.SECOND_CHANCE);
    for (int i = 0; i < FRAMES; i++) {
      FrameHeader.setDirty(frames.headers, i, true);
    }
    FrameAllocator replacement = new FrameAllocator(frames, 20, NO_WRITER);
    assertThrows(PoolExhaustedException.class, () -> replacement.acquire(-1));
    assertThrows(PoolExhaustedException.class, () -> replacement.acquire(3));
    PoolStats stats = frames.stats();
    assertEquals(2, stats.frameWaits());
    assertTrue(stats.frameWaitNanos() >= 2 * 20_000_000L, stats.toString());
  }

  /**
   * Thirty pages are used in alternation with scans of four times the size of the pool. The clock
   * keeps none of them across a scan; sampling recognizes them after a few rounds.
   */
  @Test
  void aScanDoesNotEmptyThePool() {
    assertTrue(hotMisses(Replacement.SECOND_CHANCE) > 0.9);
    double misses = hotMisses(Replacement.SAMPLING);
    assertTrue(misses < 0.2, "misses of hot pages: " + misses);
  }

  private static double hotMisses(Replacement kind) {
    Frames frames = full(kind);
    FrameAllocator replacement = new FrameAllocator(frames, 100, NO_WRITER);
    int hot = 30;
    int misses = 0;
    int uses = 0;
    long scanned = 1000;
    // They are used while the pool is hardly short of frames: a hundred other pages arrive.
    for (int i = 0; i < 400; i++) {
      for (int k = 0; k < hot; k++) {
        long pid = FRAMES + k;
        if (!use(frames, pid)) {
          bring(frames, replacement, pid);
        }
      }
      bring(frames, replacement, scanned++);
    }
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < FRAMES; i++) {
        bring(frames, replacement, scanned++);
      }
      for (int k = 0; k < hot; k++) {
        uses++;
        if (!use(frames, FRAMES + k)) {
          misses++;
          bring(frames, replacement, FRAMES + k);
        }
      }
    }
    frames.release();
    return (double) misses / uses;
  }

  /**
   * A visit clears the usage byte of a hot page; that does not displace it from its preferred
   * frame.
   */
  @Test
  void aPreferredFrameIsNotTakenFromAPageWithCredit() {
    Frames frames = full(Replacement.SAMPLING);
    FrameAllocator replacement = new FrameAllocator(frames, 100, NO_WRITER);
    long scanned = 1000;
    for (int i = 0; i < 500; i++) {
      assertTrue(use(frames, FRAMES + 5), "it stays resident");
      bring(frames, replacement, scanned++);
    }
    FrameHeader.setUsed(frames.headers, 5, false);
    assertFalse(replacement.claimPreferred(5));
    FrameHeader.markCandidate(frames.headers, 5);
    assertTrue(replacement.claimPreferred(5), "a candidate of the policy may be evicted");
  }

  @Test
  void creditMovesWithThePage() {
    Frames frames = full(Replacement.SAMPLING);
    FrameAllocator replacement = new FrameAllocator(frames, 100, NO_WRITER);
    long hot = 3 * FRAMES + 5;
    int frame = bring(frames, replacement, hot);
    for (int i = 0; i < 500; i++) {
      assertTrue(use(frames, hot), "it stays resident");
      bring(frames, replacement, 1000 + i);
    }
    int preferred = frames.translator.preferred(hot);
    assertNotEquals(preferred, frame);
    assertEquals(preferred, new PagePromoter(frames).promote(hot, frame, preferred));
    FrameHeader.setUsed(frames.headers, preferred, false);
    FrameHeader.setUsed(frames.headers, frame, false);
    assertFalse(frames.mayBeDisplaced(preferred));
    // The frame that it left is free, or has a page without credit.
    frames.policy.left(preferred);
    bring(frames, replacement, 5000);
    FrameHeader.setUsed(frames.headers, preferred, false);
    assertFalse(frames.mayBeDisplaced(preferred), "not visited yet");
  }

  @Test
  void creditIsHalvedWithTime() {
    long word = 0x1_0000L << 32 | 1000;
    assertEquals(0x1_0000, Sampling.decayed(word, 1000));
    int half = Sampling.HALF_VISITS * Sampling.TICKS;
    assertEquals(0x8000, Sampling.decayed(word, 1000 + half));
    assertEquals(0xC000, Sampling.decayed(word, 1000 + half / 2));
    assertEquals(0x2000, Sampling.decayed(word, 1000 + 3 * half));
    assertEquals(0, Sampling.decayed(word, 1000 + 100 * half));
    assertEquals(0x1_0000, Sampling.decayed(word, 999), "an earlier visit");
    long wrapped = 0x1_0000L << 32 | Integer.toUnsignedLong(Integer.MAX_VALUE);
    assertEquals(0x8000, Sampling.decayed(wrapped, Integer.MAX_VALUE + half));
    int last = Integer.MAX_VALUE;
    for (int now = 1000; now < 1000 + 20 * half; now++) {
      int credit = Sampling.decayed(word, now);
      assertTrue(credit <= last, "it never grows");
      last = credit;
    }
  }

  @Test
  void theWriterKeepsSomeFramesFree() {
    BufferPool pool = Pools.open(device);
    for (int i = 0; i < 200; i++) {
      Pools.page(pool);
    }
    Pools.await("free frames", () -> pool.stats().framesFree() >= 2);
    assertTrue(pool.stats().evictionsDirty() > 0, pool.stats().toString());
    pool.close();
  }

  @Test
  void innerNodesAreNotDemotedByLeaves() {
    BufferPool pool = Pools.open(device);
    int inner = pool.allocate(1, PageHeader.INNER, LogSession.NONE);
    int leaf = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
    long innerPid = pool.pid(inner);
    pool.releaseExclusive(inner);
    pool.releaseExclusive(leaf);
    pool.flushAll();
    Frames frames = pool.frames;
    FrameHeader.setUsed(frames.headers, inner, false);
    FrameHeader.setUsed(frames.headers, leaf, false);
    FrameAllocator replacement =
        new FrameAllocator(frames, 100, new BackgroundWriter(frames, pool.writeBack));
    assertFalse(replacement.claimPreferred(inner));
    assertEquals(innerPid, frames.pid(inner));
    assertTrue(replacement.claimPreferred(leaf));
    assertEquals(0, frames.pid(leaf));
    frames.unclaim(leaf);
    assertNotEquals(0, frames.free.count());
    pool.close();
  }

  @Test
  void onlyColdCleanPagesAreEvictedImmediately() {
    BufferPool pool = Pools.open(device);
    long pid = Pools.page(pool);
    Frames frames = pool.frames;
    int frame = pool.predict(pid);
    FrameHeader.setUsed(frames.headers, frame, false);
    assertFalse(frames.claimCold(frame), "dirty");
    pool.flushAll();
    FrameHeader.setUsed(frames.headers, frame, true);
    assertFalse(frames.claimCold(frame), "used");
    FrameHeader.setUsed(frames.headers, frame, false);
    assertTrue(pool.tryShared(frame, pid));
    assertFalse(frames.claimCold(frame), "latched");
    pool.releaseShared(frame);
    FrameHeader.setWriting(frames.headers, frame, true);
    assertFalse(frames.claimCold(frame), "being written");
    FrameHeader.setWriting(frames.headers, frame, false);
    assertTrue(frames.claimCold(frame));
    frames.unclaim(frame);
    assertEquals(pid, Pools.word(pool, pid));
    pool.close();
  }
}
