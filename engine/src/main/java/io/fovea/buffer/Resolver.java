package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import java.lang.foreign.MemorySegment;

/**
 * The slow path: finds the frame of a page that is not in its predicted frame, waits for it, or has
 * it loaded; and takes latches by page id.
 *
 * <p>A returned frame held the page at some instant. A caller that needs more latches the frame and
 * checks the page id again, or reads optimistically and validates.
 */
final class Resolver {
  private final Frames frames;
  private final MemorySegment headers;
  private final Translator translator;
  private final Loader loader;
  private final PagePromoter pagePromoter;
  private final PageAllocator allocator;
  private volatile boolean closed;

  Resolver(Frames frames, Loader loader, PagePromoter pagePromoter, PageAllocator allocator) {
    this.frames = frames;
    this.headers = frames.headers;
    this.translator = frames.translator;
    this.loader = loader;
    this.pagePromoter = pagePromoter;
    this.allocator = allocator;
  }

  void close() {
    closed = true;
  }

  int findSlow(long pid) {
    return find(pid, true, false);
  }

  int findQuietly(long pid) {
    return find(pid, false, false);
  }

  /**
   * Finds a page for a scan in page id order, which has no reference to it. Returns {@link
   * Loader#ABSENT} for a page that reads as zeros: another thread has allocated it and not yet
   * filled it, or the device has lost it.
   */
  int findAny(long pid) {
    return find(pid, false, true);
  }

  /**
   * Returns the frame of a page, which is read if it is in none; waits for no page latch. The page
   * may be latched, or gone again: the caller tries the latch, or validates. For threads that hold
   * a lock for which latch holders wait. The page is neither marked as used nor promoted.
   */
  int frameOf(long pid) {
    check(pid);
    int frame = translator.lookup(pid);
    if (frame >= 0) {
      return frame;
    }
    frame = loader.load(pid);
    if (frame < 0) {
      return ~frame;
    }
    try {
      FrameHeader.setUsed(headers, frame, false);
    } finally {
      Latch.releaseExclusive(headers, frame);
    }
    return frame;
  }

  /** A page that is not used is neither marked nor promoted. */
  private int find(long pid, boolean used, boolean any) {
    check(pid);
    for (int round = 0; ; round = frames.pause(round)) {
      int frame = translator.lookup(pid);
      if (frame < 0) {
        frame = any ? loader.loadAny(pid) : loader.load(pid);
        if (frame >= 0) {
          try {
            FrameHeader.setUsed(headers, frame, used);
          } finally {
            Latch.releaseExclusive(headers, frame);
          }
          return frame;
        }
        if (frame == Loader.ABSENT) {
          return frame;
        }
        frame = ~frame;
      }
      if (awaitPage(frame, pid)) {
        return used ? found(pid, frame) : frame;
      }
      check(pid);
    }
  }

  /** Called when the page was in the frame, and the frame was not latched exclusively. */
  private int found(long pid, int frame) {
    FrameHeader.use(headers, frame, pid);
    int preferred = translator.preferred(pid);
    if (preferred < 0 || preferred == frame) {
      frames.counters.preferredFrameSlowHits.increment();
      return frame;
    }
    frames.counters.slowElsewhere.increment();
    return pagePromoter.maybePromote(pid, frame, preferred);
  }

  /**
   * Waits until the frame is not latched exclusively; returns false if it then holds another page.
   */
  private boolean awaitPage(int frame, long pid) {
    if (Latch.isExclusive(headers, frame)) {
      frames.counters.latchWaits.increment();
      for (int round = 0; Latch.isExclusive(headers, frame); round = frames.pause(round)) {
        if (frames.pid(frame) != pid) {
          return false;
        }
        requireOpen();
      }
    }
    return frames.pid(frame) == pid;
  }

  int fixExclusive(long pid) {
    int frame = latchExclusive(pid);
    boolean kept = false;
    try {
      frames.beforeChange(frame);
      kept = true;
    } finally {
      if (!kept) {
        Latch.releaseExclusiveUnchanged(headers, frame);
      }
    }
    return frame;
  }

  private int latchExclusive(long pid) {
    check(pid);
    for (int round = 0; ; round = frames.pause(round)) {
      int frame = resident(pid);
      if (frame < 0) {
        frame = loader.load(pid);
        if (frame >= 0) {
          return frame;
        }
        frame = ~frame;
      }
      if (latchExclusive(frame, pid)) {
        return frame;
      }
      check(pid);
    }
  }

  /**
   * Latches the head of the free list exclusively, but only while it is the head: a thread that
   * takes it off keeps the latch for as long as a split takes, and other threads need not wait for
   * that.
   *
   * @return the frame; -1 if another page is the head now
   */
  int fixFreeHead(long pid) {
    for (int round = 0; allocator.isFreeHead(pid); round = frames.pause(round)) {
      check(pid);
      int frame = resident(pid);
      if (frame < 0) {
        frame = loader.load(pid);
        if (frame >= 0) {
          return frame;
        }
        frame = ~frame;
      }
      if (frames.pid(frame) == pid && Latch.tryExclusive(headers, frame)) {
        boolean right = false;
        try {
          right = FrameHeader.use(headers, frame, pid);
        } finally {
          if (!right) {
            Latch.releaseExclusiveUnchanged(headers, frame);
          }
        }
        if (right) {
          return frame;
        }
      }
    }
    return -1;
  }

  int fixForImage(long pid) {
    // 0 and 1 are the superblocks, which do not pass through the pool.
    long end = PageRef.PID_MASK + 1;
    if (pid <= 1 || pid >= end) {
      throw new CorruptionException("page id of an image in the log", pid, -1, end, pid);
    }
    allocator.raise(pid + 1);
    for (int round = 0; ; round = frames.pause(round)) {
      requireOpen();
      int frame = resident(pid);
      if (frame < 0) {
        frame = loader.loadForImage(pid);
        if (frame >= 0) {
          return frame;
        }
        frame = ~frame;
      }
      if (latchExclusive(frame, pid)) {
        return frame;
      }
    }
  }

  /**
   * Exclusively latches a page whose contents will be replaced: if it is in no frame, it becomes
   * zeros instead of being read.
   */
  int fixUnread(long pid) {
    check(pid);
    if (frames.copies.isWatched(pid)) {
      try {
        return fixExclusive(pid);
      } catch (CorruptionException e) {
        // Reported to the readers of the snapshot.
      }
    }
    for (int round = 0; ; round = frames.pause(round)) {
      int frame = resident(pid);
      if (frame < 0) {
        frame = loader.loadUnread(pid);
        if (frame >= 0) {
          return frame;
        }
        frame = ~frame;
      }
      if (latchExclusive(frame, pid)) {
        return frame;
      }
      check(pid);
    }
  }

  int fixShared(long pid) {
    check(pid);
    for (int round = 0; ; round = frames.pause(round)) {
      int frame = resident(pid);
      if (frame < 0) {
        frame = loader.load(pid);
        if (frame >= 0) {
          Latch.downgrade(headers, frame);
          return frame;
        }
        frame = ~frame;
      }
      if (latchShared(frame, pid)) {
        return frame;
      }
      check(pid);
    }
  }

  boolean tryExclusive(int frame, long pid) {
    if (!Latch.tryExclusive(headers, frame)) {
      return false;
    }
    boolean right = false;
    try {
      if (FrameHeader.pid(headers, frame) == pid) {
        frames.beforeChange(frame);
        right = true;
      }
    } finally {
      if (!right) {
        Latch.releaseExclusiveUnchanged(headers, frame);
      }
    }
    return right;
  }

  boolean tryShared(int frame, long pid) {
    if (!Latch.tryShared(headers, frame)) {
      return false;
    }
    boolean right = false;
    try {
      right = FrameHeader.pid(headers, frame) == pid;
    } finally {
      if (!right) {
        Latch.releaseShared(headers, frame);
      }
    }
    return right;
  }

  private int resident(long pid) {
    int frame = translator.predict(pid);
    return frames.pid(frame) == pid ? frame : translator.lookup(pid);
  }

  private boolean latchExclusive(int frame, long pid) {
    for (int round = 0; frames.pid(frame) == pid; round = frames.pause(round)) {
      if (Latch.tryExclusive(headers, frame)) {
        boolean right = false;
        try {
          right = FrameHeader.use(headers, frame, pid);
        } finally {
          if (!right) {
            Latch.releaseExclusiveUnchanged(headers, frame);
          }
        }
        return right;
      }
      requireOpen();
    }
    return false;
  }

  private boolean latchShared(int frame, long pid) {
    for (int round = 0; frames.pid(frame) == pid; round = frames.pause(round)) {
      if (Latch.tryShared(headers, frame)) {
        boolean right = false;
        try {
          right = FrameHeader.use(headers, frame, pid);
        } finally {
          if (!right) {
            Latch.releaseShared(headers, frame);
          }
        }
        return right;
      }
      requireOpen();
    }
    return false;
  }

  private void requireOpen() {
    if (closed) {
      throw new DatabaseClosedException();
    }
  }

  /**
   * Rejects a page id that was never allocated as damage: ids are validated before they get here.
   */
  private void check(long pid) {
    requireOpen();
    frames.poolStop.requireRunning();
    long end = allocator.limit();
    if (pid <= 0 || pid >= end) {
      throw new CorruptionException("a reference to a page that does not exist", pid, -1, end, pid);
    }
  }
}
