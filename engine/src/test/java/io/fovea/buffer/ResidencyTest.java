package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.PoolExhaustedException;
import io.fovea.memory.DropList;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory of pages is claimed, exchanged, dropped, released, and never lost. */
class ResidencyTest {
  private static final int FRAMES = 64;
  private static final int PAGES = 400;

  private static final FrameAllocator.Writer NO_WRITER =
      new FrameAllocator.Writer() {
        @Override
        public void wake(boolean urgent) {}

        @Override
        public @Nullable Throwable failure() {
          return null;
        }
      };

  private static Frames frames(Translation kind) {
    return frames(kind, FRAMES);
  }

  private static Frames frames(Translation kind, int n) {
    Frames frames = new Frames(PoolConfig.ofFrames(4096, n, kind), null);
    new FrameAllocator(frames, 20, NO_WRITER);
    return frames;
  }

  /** Acts like Loader with a claimed frame; false: another thread has the page. */
  private static boolean enter(Frames frames, long pid, int frame) {
    Translator t = frames.translator;
    int bucket = t.bucket(pid);
    t.lock(bucket);
    try {
      if (t.find(bucket, pid) >= 0) {
        return false;
      }
      t.insert(bucket, pid, frame);
      return true;
    } finally {
      t.unlock(bucket);
    }
  }

  private static void bring(Frames frames, long pid) {
    int frame = frames.residency.claim(pid, true, false);
    assertTrue(frame >= 0 && enter(frames, pid, frame));
    FrameHeader.setUsed(frames.headers, frame, true); // so that no other page displaces it
    Latch.releaseExclusive(frames.headers, frame);
  }

  private static int resident(Frames frames) {
    int n = 0;
    for (int i = 0; i < frames.residency.maxResidents(); i++) {
      int frame = frames.residency.resident(i);
      n += frame >= 0 && frames.pid(frame) != 0 ? 1 : 0;
    }
    return n;
  }

  private static void dropAll(Frames frames) {
    for (int i = 0; i < frames.residency.maxResidents(); i++) {
      int frame = frames.residency.resident(i);
      if (frame >= 0 && frames.pid(frame) != 0) {
        FrameHeader.setUsed(frames.headers, frame, false);
        assertTrue(frames.claimCold(frame), "frame " + frame);
        frames.unclaim(frame);
      }
    }
  }

  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void aReservationBecomesAnyPage(Translation kind) {
    Frames frames = frames(kind);
    Residency residency = frames.residency;
    int free = residency.free();
    int reserved = residency.reserve(5);
    assertEquals(free - 1, residency.free());
    int frame = residency.use(reserved, 7);
    assertEquals(0, frames.pid(frame));
    assertTrue(Latch.isExclusive(frames.headers, frame));
    assertTrue(enter(frames, 7, frame));
    Latch.releaseExclusive(frames.headers, frame);
    assertEquals(frame, frames.translator.lookup(7));
    assertEquals(1, resident(frames));
    residency.cancel(residency.reserve(9));
    assertEquals(free - 1, residency.free());
    dropAll(frames);
    assertEquals(free, residency.free());
    frames.release();
  }

  /**
   * Each page has an index, by which it is found; other indexes belong to other pages or are free.
   */
  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void everyResidentHasAnIndex(Translation kind) {
    Frames frames = frames(kind);
    Residency residency = frames.residency;
    int n = residency.free();
    for (long pid = 2; pid < 2 + n; pid++) {
      bring(frames, pid);
    }
    assertEquals(0, residency.free());
    assertEquals(n, resident(frames));
    for (long pid = 2; pid < 2 + n; pid++) {
      int frame = frames.translator.lookup(pid);
      assertEquals(frame, residency.resident(residency.indexOf(frame)));
    }
    frames.release();
  }

  /**
   * If all pages are in use no thread gets memory, and one that does not wait returns immediately.
   */
  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void exhausted(Translation kind) {
    Frames frames = frames(kind);
    Residency residency = frames.residency;
    int n = residency.free();
    int[] reserved = new int[n];
    for (int i = 0; i < n; i++) {
      reserved[i] = residency.reserve(2 + i);
    }
    assertEquals(Residency.NONE, residency.claim(2 + n, false, false));
    assertThrows(PoolExhaustedException.class, () -> residency.claim(2 + n, true, false));
    assertThrows(PoolExhaustedException.class, () -> residency.reserve(2 + n));
    residency.cancel(reserved[0]);
    int frame = residency.claim(2 + n, true, false);
    assertTrue(frame >= 0);
    residency.unclaim(frame);
    for (int i = 1; i < n; i++) {
      residency.cancel(reserved[i]);
    }
    assertEquals(n, residency.free());
    frames.release();
  }

  /** Four threads claim, exchange and drop at random: in the end everything is free again. */
  @ParameterizedTest
  // DIRECT evicts nothing: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void noneIsLost(Translation kind) throws Exception {
    noneIsLost(frames(kind), PAGES);
  }

  /** The same with sixteen pages evicted together, whose memory any thread may take. */
  @Test
  void noneIsLostIfPagesAreEvictedTogether() throws Exception {
    Frames frames = frames(Translation.VIRTUAL, 512);
    assertTrue(
        frames.residency.evictionBatchSize() >= 16,
        frames.residency.evictionBatchSize() + " pages");
    noneIsLost(frames, 4 * 512);
  }

  private static void noneIsLost(Frames frames, int pages) throws Exception {
    int free = frames.residency.free();
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<?>> ends = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      SplittableRandom random = new SplittableRandom(t);
      ends.add(threads.submit(() -> steps(frames, random, pages)));
    }
    for (Future<?> end : ends) {
      end.get();
    }
    threads.shutdown();
    assertEquals(free, frames.residency.free() + resident(frames));
    dropAll(frames);
    assertEquals(free, frames.residency.free());
    frames.release();
  }

  private static void steps(Frames frames, SplittableRandom random, int pages) {
    Residency residency = frames.residency;
    for (int i = 0; i < 50_000; i++) {
      long pid = 2 + random.nextInt(pages);
      switch (random.nextInt(4)) {
        case 0 -> {
          int frame = residency.use(residency.reserve(pid), pid);
          boolean there = frames.pid(frame) == pid;
          if (!there && !enter(frames, pid, frame)) {
            residency.unclaim(frame);
          } else {
            Latch.releaseExclusive(frames.headers, frame);
          }
        }
        case 1 -> {
          int frame = frames.translator.lookup(pid);
          if (frame >= 0) {
            FrameHeader.setUsed(frames.headers, frame, false);
            if (frames.claimCold(frame)) {
              residency.unclaim(frame);
            }
          }
        }
        default -> {
          int frame = residency.claim(pid, random.nextBoolean(), random.nextBoolean());
          if (frame >= 0 && enter(frames, pid, frame)) {
            Latch.releaseExclusive(frames.headers, frame);
          } else if (frame >= 0) {
            residency.unclaim(frame);
          }
        }
      }
    }
  }

  /** All grants taken, and all pages cold and clean. */
  private static Frames full(boolean oneByOne) {
    Frames frames = new Frames(PoolConfig.ofFrames(4096, 1024, Translation.VIRTUAL), null);
    ((ResidencyBudget) frames.residency).oneByOne = oneByOne;
    int n = frames.residency.free();
    new FrameAllocator(frames, 20, NO_WRITER);
    for (long pid = 2; pid < 2 + n; pid++) {
      bring(frames, pid);
    }
    for (long pid = 2; pid < 2 + n; pid++) {
      FrameHeader.setUsed(frames.headers, (int) pid, false);
    }
    assertEquals(0, frames.residency.free());
    return frames;
  }

  /**
   * One miss in {@link Residency#evictionBatchSize} evicts on behalf of the others too: one system
   * call for all pages, or one for each if the kernel has no such call or it is not wanted.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void missesShareACall(boolean oneByOne) {
    Frames frames = full(oneByOne);
    ResidencyBudget residencyBudget = (ResidencyBudget) frames.residency;
    int together = residencyBudget.evictionBatchSize();
    assertEquals(ResidencyBudget.TOGETHER, together);
    int n = residencyBudget.capacity();
    boolean one = !oneByOne && new DropList(frames.region, 1).together();
    // The clock passes every other page, so no two evicted pages are adjacent.
    for (long pid = 3; pid < 2 + n; pid += 2) {
      FrameHeader.setUsed(frames.headers, (int) pid, true);
    }
    for (int miss = 1; miss <= 4 * together; miss++) {
      bring(frames, 2 + n + miss);
      int evictors = (miss + together - 1) / together;
      assertEquals(evictors * together, frames.counters.pagesDiscarded.sum(), "miss " + miss);
      assertEquals(
          one ? evictors : evictors * together, frames.counters.discardCalls.sum(), "miss " + miss);
      assertEquals(evictors * together - miss, residencyBudget.free(), "miss " + miss);
    }
    for (long pid = 3; pid < 2 + n; pid += 2) {
      assertEquals(pid, frames.translator.lookup(pid), "a page in use was evicted");
    }
    frames.release();
  }

  /** A thread that finds all batches lent evicts a single page; so does one that does not wait. */
  @Test
  void withoutABatchAPageIsEvictedAlone() {
    Frames frames = new Frames(PoolConfig.ofFrames(4096, 1024, Translation.VIRTUAL), null);
    FrameAllocator replacement = new FrameAllocator(frames, 20, NO_WRITER);
    int n = frames.residency.free();
    for (long pid = 2; pid < 2 + n; pid++) {
      bring(frames, pid);
    }
    List<EvictionBatch> lent = new ArrayList<>();
    for (EvictionBatch list = replacement.lists.borrow();
        list != null;
        list = replacement.lists.borrow()) {
      assertEquals(0, list.size());
      lent.add(list);
    }
    assertEquals(replacement.lists.count(), lent.stream().distinct().count());
    bring(frames, 2 + n);
    assertEquals(1, frames.counters.pagesDiscarded.sum());
    assertEquals(0, frames.residency.free());
    int frame = frames.residency.claim(3 + n, false, false);
    assertEquals(3 + n, frame);
    assertEquals(2, frames.counters.pagesDiscarded.sum());
    lent.getFirst().add(7);
    replacement.lists.putBack(lent.getFirst());
    bring(frames, 4 + n);
    assertEquals(2 + ResidencyBudget.TOGETHER, frames.counters.pagesDiscarded.sum());
    frames.residency.unclaim(frame);
    frames.release();
  }

  /**
   * If the file has grown so that more grants are held than exist, all grants of a batch are
   * returned, until the held ones fit.
   */
  @Test
  void excessGrantsOfABatchAreReturned() {
    Frames frames = full(false);
    ResidencyBudget residencyBudget = (ResidencyBudget) frames.residency;
    int before = residencyBudget.capacity();
    long[] pages = {0};
    residencyBudget.setFilePages(() -> pages[0]);
    while (residencyBudget.capacity() > before - 70) {
      pages[0] += 100;
    }
    int over = -residencyBudget.free();
    assertTrue(over >= 70, "over by " + over);
    int frame = residencyBudget.claim(2_000, true, false);
    assertTrue(frame >= 0);
    assertTrue(residencyBudget.free() >= 0, "over by " + -residencyBudget.free());
    assertEquals(3L * ResidencyBudget.TOGETHER, frames.counters.pagesDiscarded.sum());
    residencyBudget.unclaim(frame);
    frames.release();
  }

  /** A batch is owned by one thread at a time. */
  @Test
  void batchIsLentToOneThread() throws Exception {
    Frames frames = frames(Translation.VIRTUAL, 1024);
    EvictionBatch.Lists lists = new EvictionBatch.Lists(frames.residency);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<?>> ends = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      int me = t + 1;
      ends.add(
          threads.submit(
              () -> {
                for (int i = 0; i < 20_000; i++) {
                  EvictionBatch list = lists.borrow();
                  if (list != null) {
                    assertEquals(0, list.size());
                    list.add(me);
                    list.add(me);
                    assertEquals(me, list.frames[0]);
                    assertEquals(me, list.frames[1]);
                    assertEquals(2, list.size());
                    lists.putBack(list);
                  }
                }
              }));
    }
    for (Future<?> end : ends) {
      end.get();
    }
    threads.shutdown();
    for (int i = lists.count(); i > 0; i--) {
      assertNotNull(lists.borrow());
    }
    assertNull(lists.borrow());
    frames.release();
  }
}
