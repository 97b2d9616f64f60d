package io.fovea.buffer;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.PoolExhaustedException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Where frames come from: home, the free list, and second chance.
 *
 * <pre>
 *   acquire(home):  home free? ──► home cold and clean, no inner node? ──► a free frame? ──►
 *                   the clock: next cold and clean one ──► wait for the writer ──► exhausted
 *
 *   clock:   f  f+1  f+2 ...        used   → clear, go on (the second chance)
 *            ▲                      dirty  → the writer's business
 *           hand                    else   → take it
 * </pre>
 *
 * <p>Readers set a frame's usage byte only when they find it clear, so a page that is read all the
 * time costs one store for each turn of the hand. The hand is one counter for all threads; who
 * turns it owns the frame it passes.
 *
 * <p>Inner nodes are not pushed out of their frames by a page that wants its home: only the clock
 * evicts them, after it has given them their second chance.
 */
final class Replacement {
  /**
   * How far a thread that needs one frame turns the hand before it looks at the free list again.
   */
  private static final int SWEEP_MAX = 4096;

  private final Frames frames;
  private final AtomicLong hand = new AtomicLong();
  private final long exhaustedMillis;
  private final Writer writer;
  private volatile boolean closed;

  /** What the background writer looks like from here. */
  interface Writer {
    /** Asks for frames: there are few, or (urgent) none. */
    void wake(boolean urgent);

    /** Why the last batch failed, or null. */
    @Nullable Throwable failure();
  }

  Replacement(Frames frames, long exhaustedMillis, Writer writer) {
    this.frames = frames;
    this.exhaustedMillis = exhaustedMillis;
    this.writer = writer;
  }

  void close() {
    closed = true;
  }

  /** The next frame under the clock's hand. */
  int next() {
    return (int) Long.remainderUnsigned(hand.getAndIncrement(), frames.count);
  }

  /** Takes a frame if that costs nothing: it is free, or its page cold, clean and no inner node. */
  boolean claimHome(int home) {
    if (frames.pid(home) == 0) {
      return frames.claimFree(home);
    }
    return frames.coldAndClean(home) && !frames.isInner(home) && evict(home);
  }

  /**
   * Takes a frame: exclusively latched and empty. The caller holds no latch.
   *
   * @param preferred the frame that is liked best, or -1
   * @throws PoolExhaustedException where none could be had for some seconds
   */
  int acquire(int preferred) {
    if (preferred >= 0 && claimHome(preferred)) {
      writer.wake(false);
      return preferred;
    }
    long begin = 0;
    for (int round = 0; ; round = Backoff.pause(round)) {
      int frame = frames.claimAnyFree();
      if (frame < 0) {
        frame = sweep();
      }
      if (frame >= 0) {
        writer.wake(false);
        return frame;
      }
      if (closed) {
        throw new DatabaseClosedException();
      }
      writer.wake(true);
      if (begin == 0) {
        begin = System.nanoTime();
        frames.counters.frameStalls.increment();
      } else if (System.nanoTime() - begin > exhaustedMillis * 1_000_000) {
        Throwable cause = writer.failure();
        if (cause instanceof DurabilityLostException lost) {
          throw new DurabilityLostException(
              "No frame of the buffer pool can be freed, for no page can be written any more: "
                  + lost.getMessage(),
              lost);
        }
        PoolExhaustedException e = new PoolExhaustedException(frames.count, exhaustedMillis);
        if (cause != null) {
          e.initCause(cause);
        }
        throw e;
      }
    }
  }

  /**
   * As {@link #acquire}, but waits for nobody: for a thread that holds latches.
   *
   * @return a frame, or -1 where none is to be had at once
   */
  int tryAcquire(int preferred) {
    int frame = preferred >= 0 && claimHome(preferred) ? preferred : frames.claimAnyFree();
    if (frame < 0) {
      frame = sweep();
    }
    writer.wake(false);
    return frame;
  }

  /** Turns the hand until it finds a page that can leave at once; -1 where it does not. */
  private int sweep() {
    int steps = Math.min(2 * frames.count, SWEEP_MAX);
    for (int i = 0; i < steps; i++) {
      int frame = next();
      if (frames.pid(frame) == 0) {
        if (frames.claimFree(frame)) {
          return frame;
        }
      } else if (!secondChance(frame) && evict(frame)) {
        return frame;
      }
    }
    return -1;
  }

  /** Takes the frame of a page that is cold and clean. */
  boolean evict(int frame) {
    if (!frames.claimCold(frame)) {
      return false;
    }
    frames.counters.evictionsClean.increment();
    return true;
  }

  /** Clears the usage byte of a frame that is under the hand; whether there was something to do. */
  boolean secondChance(int frame) {
    if (!FrameHeader.used(frames.headers, frame)) {
      return false;
    }
    FrameHeader.setUsed(frames.headers, frame, false);
    return true;
  }
}
