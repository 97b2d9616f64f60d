package io.fovea.buffer;

import io.fovea.config.Translation;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import io.fovea.support.Records;
import io.fovea.wal.LogSession;
import java.util.function.BooleanSupplier;

/** Helpers for the tests of this package. */
final class Pools {
  static final int FRAMES = 64;
  static final long WORD = PageHeader.BYTES;

  private Pools() {}

  static BufferPool open(BlockDevice device, Translation kind, AllocatorState state) {
    return new BufferPool(
        device,
        Records.with(PoolConfig.ofFrames(4096, FRAMES, kind), "exhaustedMillis", 300L),
        state);
  }

  static BufferPool open(BlockDevice device) {
    return open(device, Translation.PREDICTIVE, AllocatorState.EMPTY);
  }

  /** A new leaf whose first word is its page id. */
  static long page(BufferPool pool) {
    int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
    long pid = pool.pid(frame);
    Mem.putLong(pool.pages(), pool.base(frame) + WORD, pid);
    pool.releaseExclusive(frame);
    return pid;
  }

  static long word(BufferPool pool, long pid) {
    int frame = pool.fixShared(pid);
    long word = Mem.getLong(pool.pages(), pool.base(frame) + WORD);
    pool.releaseShared(frame);
    return word;
  }

  /** Returns the LSN of a page. */
  static long lsn(BufferPool pool, long pid) {
    int frame = pool.fixShared(pid);
    long lsn = PageHeader.pageLsn(pool.pages(), pool.base(frame));
    pool.releaseShared(frame);
    return lsn;
  }

  static void setWord(BufferPool pool, long pid, long value) {
    int frame = pool.fixExclusive(pid);
    Mem.putLong(pool.pages(), pool.base(frame) + WORD, value);
    pool.markDirty(frame);
    pool.releaseExclusive(frame);
  }

  /** Reads pages until a page is in no frame. */
  static void evict(BufferPool pool, long pid, long[] others) {
    for (int turn = 0; turn < 1000; turn++) {
      if (pool.pid(where(pool, pid)) != pid) {
        return;
      }
      for (long other : others) {
        if (other != pid) {
          word(pool, other);
        }
      }
    }
    throw new AssertionError("page " + pid + " stays");
  }

  /** Returns the frame that has the page, or 0. */
  static int where(BufferPool pool, long pid) {
    if (pool.frames.translator.own) {
      return Math.max(0, pool.resident(pid));
    }
    for (int frame = 0; frame < pool.frames(); frame++) {
      if (pool.pid(frame) == pid) {
        return frame;
      }
    }
    return 0;
  }

  /** Waits until another thread has made a condition true; fails on a timeout. */
  static void await(String what, BooleanSupplier condition) {
    long end = System.nanoTime() + 20_000_000_000L;
    int round = 0;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("timed out waiting: " + what);
      }
      round = Backoff.pause(round);
    }
  }

  /**
   * The invariants of an idle pool: no latch is held, a page is in one frame and the translation
   * finds it, free frames are counted.
   */
  static void check(BufferPool pool) {
    // No batch is in progress, and the background writer waits.
    pool.writeBack.begin();
    try {
      check(pool.frames);
    } finally {
      pool.writeBack.end();
    }
  }

  private static void check(Frames frames) {
    int free = 0;
    Residency residency = frames.residency;
    for (int i = 0; i < residency.maxResidents(); i++) {
      int frame = residency.resident(i);
      if (frame < 0) {
        continue;
      }
      int f = frame;
      long pid = frames.pid(frame);
      await(
          "latch of frame " + f + " is released",
          () ->
              (Latch.word(frames.headers, f) & (Latch.EXCLUSIVE | Latch.SHARED_MASK)) == 0
                  && !FrameHeader.isWriting(frames.headers, f));
      if (pid == 0) {
        free++;
        if (FrameHeader.isDirty(frames.headers, frame)) {
          throw new AssertionError("free frame " + frame + " is dirty");
        }
      } else if (frames.translator.locate(pid) != frame) {
        throw new AssertionError(
            "page "
                + pid
                + " is in frame "
                + frame
                + "instead of "
                + frames.translator.locate(pid));
      } else if (PageHeader.pid(frames.pages, frames.base(frame)) != pid) {
        throw new AssertionError("frame " + frame + " does not have the page named in its header");
      }
    }
    if (frames.translator.own) {
      checkResidents(frames);
    } else if (free != frames.free.count()) {
      throw new AssertionError(free + " frames are free, but counted as " + frames.free.count());
    }
  }

  /**
   * Every header that names a page is in the list of resident pages; every held grant has a page.
   */
  private static void checkResidents(Frames frames) {
    Residency residency = frames.residency;
    int held = 0;
    for (int i = 0; i < residency.maxResidents(); i++) {
      int frame = residency.resident(i);
      if (frame >= 0 && (frames.pid(frame) != frame || residency.indexOf(frame) != i)) {
        throw new AssertionError("resident " + i + " names frame " + frame);
      }
      held += frame >= 0 ? 1 : 0;
    }
    int named = 0;
    for (int frame = 0; frame < frames.count; frame++) {
      named += frames.pid(frame) != 0 ? 1 : 0;
    }
    int taken = residency.capacity() - residency.free();
    if (held != taken || named != taken) {
      throw new AssertionError(
          taken + " grants are held, of " + held + " residents and " + named + " pages");
    }
  }
}
