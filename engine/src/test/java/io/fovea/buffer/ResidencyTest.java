package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.PoolExhaustedException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Where the memory of pages comes from: claimed, exchanged, dropped, given back; never lost. */
class ResidencyTest {
  private static final int FRAMES = 64;
  private static final int PAGES = 400;

  private static final Replacement.Writer NO_WRITER =
      new Replacement.Writer() {
        @Override
        public void wake(boolean urgent) {}

        @Override
        public @Nullable Throwable failure() {
          return null;
        }
      };

  private static Frames frames(Translation kind) {
    Frames frames = new Frames(PoolConfig.ofFrames(4096, FRAMES, kind));
    new Replacement(frames, 20, NO_WRITER);
    return frames;
  }

  /** What Loader does with a frame that it has claimed; false: somebody has the page. */
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
    FrameHeader.setUsed(frames.headers, frame, true); // so that no other page pushes it out
    Latch.releaseExclusive(frames.headers, frame);
  }

  private static int resident(Frames frames) {
    int n = 0;
    for (int i = 0; i < frames.residency.places(); i++) {
      int frame = frames.residency.resident(i);
      n += frame >= 0 && frames.pid(frame) != 0 ? 1 : 0;
    }
    return n;
  }

  private static void dropAll(Frames frames) {
    for (int i = 0; i < frames.residency.places(); i++) {
      int frame = frames.residency.resident(i);
      if (frame >= 0 && frames.pid(frame) != 0) {
        FrameHeader.setUsed(frames.headers, frame, false);
        assertTrue(frames.claimCold(frame), "frame " + frame);
        frames.giveBack(frame);
      }
    }
  }

  @ParameterizedTest
  // In DIRECT no page leaves: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void whatIsReservedBecomesAnyPage(Translation kind) {
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
   * Each page has a place, in which it is found; the places of others are another's or nobody's.
   */
  @ParameterizedTest
  // In DIRECT no page leaves: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void everyResidentHasAPlace(Translation kind) {
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
      assertEquals(frame, residency.resident(residency.place(frame)));
    }
    frames.release();
  }

  /** Where everything is in use nobody gets anything, and who does not wait is told at once. */
  @ParameterizedTest
  // In DIRECT no page leaves: DirectTest.
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
    residency.giveBack(frame);
    for (int i = 1; i < n; i++) {
      residency.cancel(reserved[i]);
    }
    assertEquals(n, residency.free());
    frames.release();
  }

  /** Four threads claim, exchange and drop at random: in the end everything is free again. */
  @ParameterizedTest
  // In DIRECT no page leaves: DirectTest.
  @EnumSource(value = Translation.class, names = "DIRECT", mode = EnumSource.Mode.EXCLUDE)
  void noneIsLost(Translation kind) throws Exception {
    Frames frames = frames(kind);
    int free = frames.residency.free();
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<?>> ends = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      SplittableRandom random = new SplittableRandom(t);
      ends.add(threads.submit(() -> steps(frames, random)));
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

  private static void steps(Frames frames, SplittableRandom random) {
    Residency residency = frames.residency;
    for (int i = 0; i < 50_000; i++) {
      long pid = 2 + random.nextInt(PAGES);
      switch (random.nextInt(4)) {
        case 0 -> {
          int frame = residency.use(residency.reserve(pid), pid);
          boolean there = frames.pid(frame) == pid;
          if (!there && !enter(frames, pid, frame)) {
            residency.giveBack(frame);
          } else {
            Latch.releaseExclusive(frames.headers, frame);
          }
        }
        case 1 -> {
          int frame = frames.translator.lookup(pid);
          if (frame >= 0) {
            FrameHeader.setUsed(frames.headers, frame, false);
            if (frames.claimCold(frame)) {
              residency.giveBack(frame);
            }
          }
        }
        default -> {
          int frame = residency.claim(pid, random.nextBoolean(), random.nextBoolean());
          if (frame >= 0 && enter(frames, pid, frame)) {
            Latch.releaseExclusive(frames.headers, frame);
          } else if (frame >= 0) {
            residency.giveBack(frame);
          }
        }
      }
    }
  }
}
