package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyLocationCache;
import io.fovea.btree.Position;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Page promotion, step by step, on frames without a pool. */
class PagePromoterTest {
  private static Frames frames(Translation kind) {
    return new Frames(PoolConfig.ofFrames(4096, 64, kind), null);
  }

  /** Puts a page into a frame. */
  static void put(Frames frames, long pid, int frame, int type) {
    assertTrue(frames.claimFree(frame));
    int bucket = frames.translator.bucket(pid);
    frames.translator.lock(bucket);
    frames.translator.insert(bucket, pid, frame);
    frames.translator.unlock(bucket);
    frames.zero(frame);
    PageHeader.init(frames.pages, frames.base(frame), type, pid, 1);
    Mem.putLong(frames.pages, frames.base(frame) + 4088, pid);
    FrameHeader.setUsed(frames.headers, frame, true);
    Latch.releaseExclusive(frames.headers, frame);
  }

  private static void checkAt(Frames frames, long pid, int frame) {
    checkIn(frames, pid, frame);
    assertEquals(pid, PageHeader.pid(frames.pages, frames.base(frame)));
    assertEquals(pid, Mem.getLong(frames.pages, frames.base(frame) + 4088));
    assertFalse(Latch.isExclusive(frames.headers, frame));
  }

  /** A frame that none of these pages prefers. */
  private static int away(Frames frames, long... pids) {
    for (int frame = 0; ; frame++) {
      boolean preferred = frames.pid(frame) != 0;
      for (long pid : pids) {
        preferred |= frames.translator.preferred(pid) == frame;
      }
      if (!preferred) {
        return frame;
      }
    }
  }

  /** Another page with the same preferred frame. */
  private static long rival(Frames frames, long pid) {
    for (long other = pid + 1; ; other++) {
      if (frames.translator.preferred(other) == frames.translator.preferred(pid)) {
        return other;
      }
    }
  }

  /** 1 of 32 if the preferred frame is free: each of many pages gets one chance. */
  @Test
  void theOddsOfAFreeFrame() {
    int n = 16_000;
    Frames frames = new Frames(PoolConfig.ofFrames(4096, 2 * n + 1, Translation.PREDICTIVE), null);
    PagePromoter pagePromoter = new PagePromoter(frames);
    int moved = 0;
    for (int pid = 1; pid <= n; pid++) {
      put(frames, pid, pid + n, PageHeader.LEAF);
      moved += pagePromoter.maybePromote(pid, pid + n, pid) == pid ? 1 : 0;
    }
    // The standard deviation is 4.4 % of it.
    assertEquals(n / 32.0, moved, 0.25 * n / 32);
    frames.release();
  }

  /**
   * A key location names a page, whose preferred frame is tried first. A reader that then finds the
   * page elsewhere by a hint gives it the chance of promotion, because no other reader would.
   */
  @Test
  void aReaderThatTriesThePreferredFramePromotes() {
    BufferPool pool =
        new BufferPool(
            new MemoryDevice(),
            PoolConfig.ofFrames(4096, 64, Translation.PREDICTIVE),
            AllocatorState.EMPTY);
    pool.releaseExclusive(pool.allocateAt(2, 0, PageHeader.LEAF, LogSession.NONE));
    pool.preload();
    BTree tree = BTree.create(pool, 1, LogSession.NONE);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment key = arena.allocate(8, 8);
      Position p = new Position();
      tree.find(key, 0, 8, p);
      int home = p.frame;
      assertEquals(home, pool.predict(p.pid));
      Frames frames = pool.frames;
      int away = away(frames, p.pid);
      p.frame = new PagePromoter(frames).promote(p.pid, home, away);
      checkIn(frames, p.pid, away);
      KeyLocationCache places = new KeyLocationCache(KeyLocationCache.BYTES_MIN, 4096);
      int looks = 0;
      for (; frames.pid(away) == p.pid && looks < 100 * 32; looks++) {
        places.cache(tree, tree.keyHash(key, 0, 8), p);
      }
      checkIn(frames, p.pid, home);
      assertTrue(looks > 0);
      places.close();
    }
    pool.abandon();
  }

  private static void checkIn(Frames frames, long pid, int frame) {
    assertEquals(frame, frames.translator.locate(pid));
    assertEquals(pid, frames.pid(frame));
  }

  /** 1 of 512 if another page in use is there, which is demoted. */
  @Test
  void theOddsOfADemotion() {
    Frames frames = frames(Translation.PREDICTIVE);
    PagePromoter pagePromoter = new PagePromoter(frames);
    int preferred = frames.translator.preferred(70);
    int from = away(frames, 70);
    long out = 70;
    long in = rival(frames, 70);
    put(frames, out, from, PageHeader.LEAF);
    put(frames, in, preferred, PageHeader.LEAF);
    int tries = 1_000_000;
    int swapped = 0;
    for (int i = 0; i < tries; i++) {
      FrameHeader.setUsed(frames.headers, preferred, true);
      if (pagePromoter.maybePromote(out, from, preferred) == preferred) {
        swapped++;
        checkAt(frames, out, preferred);
        checkAt(frames, in, from);
        long before = out;
        out = in;
        in = before;
      }
    }
    // The standard deviation is 2.3 % of it.
    assertEquals(tries / 512.0, swapped, 0.12 * tries / 512);
    frames.release();
  }

  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "PREDICTIVE.*", mode = Mode.MATCH_ANY)
  void toAFreePreferredFrame(Translation kind) {
    Frames frames = frames(kind);
    int preferred = frames.translator.preferred(70);
    int from = away(frames, 70);
    put(frames, 70, from, PageHeader.LEAF);
    FrameHeader.setRecLsn(frames.headers, from, 5);
    FrameHeader.setDirty(frames.headers, from, true);
    long version = Latch.optimistic(frames.headers, from);
    assertEquals(preferred, new PagePromoter(frames).promote(70, from, preferred));
    checkAt(frames, 70, preferred);
    assertEquals(0, frames.pid(from));
    assertEquals(5, FrameHeader.recLsn(frames.headers, preferred));
    assertEquals(0, FrameHeader.recLsn(frames.headers, from));
    assertTrue(FrameHeader.isDirty(frames.headers, preferred));
    assertFalse(FrameHeader.isDirty(frames.headers, from));
    assertTrue(Latch.optimistic(frames.headers, preferred) > version);
    assertTrue(Latch.optimistic(frames.headers, from) > version);
    assertEquals(63, frames.free.count());
    assertTrue(frames.claimFree(from));
  }

  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "PREDICTIVE.*", mode = Mode.MATCH_ANY)
  void toTheFrameOfAColdPage(Translation kind) {
    Frames frames = frames(kind);
    int preferred = frames.translator.preferred(70);
    long cold = rival(frames, 70);
    put(frames, cold, preferred, PageHeader.LEAF);
    FrameHeader.setUsed(frames.headers, preferred, false);
    int from = away(frames, 70, cold);
    put(frames, 70, from, PageHeader.LEAF);
    assertEquals(preferred, new PagePromoter(frames).promote(70, from, preferred));
    checkAt(frames, 70, preferred);
    assertEquals(-1, frames.translator.locate(cold));
    assertEquals(63, frames.free.count());
    assertEquals(1, frames.counters.evictionsClean.sum());
  }

  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "PREDICTIVE.*", mode = Mode.MATCH_ANY)
  void demotesAPageThatIsInUse(Translation kind) {
    Frames frames = frames(kind);
    int preferred = frames.translator.preferred(70);
    long other = rival(frames, 70);
    put(frames, other, preferred, PageHeader.LEAF);
    FrameHeader.setDirty(frames.headers, preferred, true);
    FrameHeader.setRecLsn(frames.headers, preferred, 9);
    int from = away(frames, 70, other);
    put(frames, 70, from, PageHeader.LEAF);
    assertEquals(preferred, new PagePromoter(frames).promote(70, from, preferred));
    checkAt(frames, 70, preferred);
    checkAt(frames, other, from);
    assertTrue(FrameHeader.isDirty(frames.headers, from));
    assertEquals(9, FrameHeader.recLsn(frames.headers, from));
    assertFalse(FrameHeader.isDirty(frames.headers, preferred));
    assertEquals(0, FrameHeader.recLsn(frames.headers, preferred));
    assertEquals(1, frames.counters.demotions.sum());
  }

  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "PREDICTIVE.*", mode = Mode.MATCH_ANY)
  void bothCanBePromoted(Translation kind) {
    Frames frames = frames(kind);
    long a = 70;
    long b = 71;
    while (frames.translator.preferred(b) == frames.translator.preferred(a)) {
      b++;
    }
    int preferredA = frames.translator.preferred(a);
    int preferredB = frames.translator.preferred(b);
    put(frames, a, preferredB, PageHeader.LEAF);
    put(frames, b, preferredA, PageHeader.LEAF);
    assertEquals(preferredA, new PagePromoter(frames).promote(a, preferredB, preferredA));
    checkAt(frames, a, preferredA);
    checkAt(frames, b, preferredB);
  }

  @Test
  void leavesDoNotDisplaceInnerNodes() {
    Frames frames = frames(Translation.PREDICTIVE);
    put(frames, 70 + 64, 70 - 64, PageHeader.INNER);
    put(frames, 70, 1, PageHeader.LEAF);
    PagePromoter pagePromoter = new PagePromoter(frames);
    assertEquals(1, pagePromoter.promote(70, 1, 6));
    FrameHeader.setUsed(frames.headers, 6, false);
    assertEquals(1, pagePromoter.promote(70, 1, 6), "even if it seems cold");
    put(frames, 70 + 128, 2, PageHeader.INNER);
    assertEquals(6, pagePromoter.promote(70 + 128, 2, 6), "an inner node may");
    checkAt(frames, 70, 1);
  }

  @Test
  void neverWaitsAndNeverMovesAPageBeingWritten() {
    Frames frames = frames(Translation.PREDICTIVE);
    put(frames, 70 + 64, 6, PageHeader.LEAF);
    put(frames, 70, 1, PageHeader.LEAF);
    PagePromoter pagePromoter = new PagePromoter(frames);
    long versions = Latch.optimistic(frames.headers, 1) ^ Latch.optimistic(frames.headers, 6);
    for (int frame : new int[] {1, 6}) {
      assertTrue(Latch.tryShared(frames.headers, frame));
      assertEquals(1, pagePromoter.promote(70, 1, 6), "a reader holds the latch");
      Latch.releaseShared(frames.headers, frame);
      FrameHeader.setWriting(frames.headers, frame, true);
      assertEquals(1, pagePromoter.promote(70, 1, 6), "a write is in progress");
      FrameHeader.setWriting(frames.headers, frame, false);
    }
    assertEquals(1, pagePromoter.promote(71, 1, 7), "the frame has another page by now");
    pagePromoter.pause();
    assertEquals(1, pagePromoter.promote(70, 1, 6), "a flush is in progress");
    pagePromoter.resume();
    assertEquals(
        versions, Latch.optimistic(frames.headers, 1) ^ Latch.optimistic(frames.headers, 6));
    assertEquals(6, pagePromoter.promote(70, 1, 6));
  }

  /**
   * How often a page found outside its preferred frame is promoted: the paper's odds for pages of 4
   * KiB, less often if more has to be copied. Within five standard deviations.
   */
  @ParameterizedTest
  @CsvSource({"4096, true, 32", "4096, false, 512", "16384, true, 128", "16384, false, 2048"})
  void odds(int pageSize, boolean easy, int oneIn) {
    Frames frames = new Frames(PoolConfig.ofFrames(pageSize, 64, Translation.PREDICTIVE), null);
    PagePromoter pagePromoter = new PagePromoter(frames);
    int preferred = frames.translator.preferred(70);
    long home = rival(frames, 70);
    long met = 70;
    int from = away(frames, home, met);
    put(frames, home, preferred, PageHeader.LEAF);
    put(frames, met, from, PageHeader.LEAF);
    int times = 400 * oneIn;
    int moved = 0;
    for (int i = 0; i < times; i++) {
      FrameHeader.setUsed(frames.headers, preferred, !easy);
      if (pagePromoter.maybePromote(met, from, preferred) == preferred) {
        moved++;
        // They were swapped, or the cold one was evicted.
        long other = home;
        home = met;
        met = other;
        if (easy) {
          put(frames, met, from, PageHeader.LEAF);
        }
      }
    }
    assertEquals(400, moved, 5 * Math.sqrt(400));
    assertEquals(moved, frames.counters.promotions.sum());
    assertEquals(easy ? 0 : moved, frames.counters.demotions.sum());
  }
}
