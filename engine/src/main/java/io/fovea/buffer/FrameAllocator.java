package io.fovea.buffer;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.PoolExhaustedException;
import org.jspecify.annotations.Nullable;

/**
 * Obtains memory for pages: the preferred frame, free frames, and pages to evict. {@link Residency}
 * defines what "a frame" means here.
 *
 * <pre>
 *   acquire(p):  1. frame p, if it is free
 *                2. frame p, if its page is cold, clean and no inner node
 *                3. a free frame
 *                4. a frame whose page the writer has made ready
 *                5. the first frame proposed by the policy whose page is clean; dirty ones on the
 *                   way are listed for the writer, while the list has space
 *                6. wait for the writer; finally: exhausted
 * </pre>
 *
 * <p>The {@link ReplacementPolicy} chooses the pages to evict. This class writes no page: a miss
 * that finds only dirty pages waits for the background writer.
 *
 * <p><b>Clean pages have no priority.</b> A miss that encounters a cold dirty page lists it for the
 * writer ({@link Frames#unwritten}). If that list is full, the miss stops the clock and waits, so
 * that the clock advances no faster than pages leave. Otherwise misses that outpace the writer
 * would skip all dirty pages and evict the last clean ones, which are those used most; the pool
 * would fill with cold dirty pages, and each miss would inspect thousands of frames. Exceptions:
 * while most pages are clean, a miss that finds the list full takes the next clean page, which is
 * near; and a thread that has waited for {@link #PATIENCE_NANOS} takes any cold and clean page, so
 * that a device that stalls writes does not block readers.
 *
 * <p><b>Too few frames.</b> While no page can be written, only frames of clean pages are reused. If
 * they are fewer than a read needs at once ({@link #FEW}), each page of the read takes the frame of
 * the previous one, and the read never ends. So once this has lasted as long as the timeout for an
 * exhausted pool, a miss throws, with the cause.
 *
 * <p><b>Batch eviction</b> ({@link Residency#evictionBatchSize}): a miss that finds nothing free
 * evicts several pages while that is cheap, and takes the memory of one; the rest is free for later
 * misses of any thread. For its latches see {@link ResidencyBudget}, V7.
 */
final class FrameAllocator implements Residency.Reclaimer {
  /** The maximum number of steps before a thread checks the free list again. */
  private static final int SWEEP_MAX = 4096;

  /** How long a thread waits for the writer before it takes clean pages out of order. */
  private static final long PATIENCE_NANOS = 20_000_000;

  /** The maximum number of listed pages that a miss inspects in {@link #claimWritten}. */
  private static final int WRITTEN_CHECKS = 8;

  /**
   * Attempts between two expensive checks of a waiting thread, about eight milliseconds: whether
   * the wait must end, and whether any page is clean.
   */
  private static final int CHECK_ROUNDS = 4;

  /**
   * A descent, a page of a long value, and a few more. The pages of a long value are read one after
   * the other, while the leaf that names them stays.
   */
  static final int FEW = 8;

  private static final int MORE_STEPS = 64;

  private final Frames frames;

  /** Batches for evicting pages together. Read by tests. */
  final EvictionBatch.Lists lists;

  private final long exhaustedMillis;
  private final Writer writer;
  private volatile boolean closed;

  // When the current interval of few frames began, and when it was last seen; races are harmless.
  private volatile long shortageSince;
  private volatile long shortageSeen;

  interface Writer {
    /** Requests frames: there are few, or (urgent) none. */
    void wake(boolean urgent);

    @Nullable Throwable failure();
  }

  FrameAllocator(Frames frames, long exhaustedMillis, Writer writer) {
    this.frames = frames;
    this.exhaustedMillis = exhaustedMillis;
    this.writer = writer;
    this.lists = new EvictionBatch.Lists(frames.residency);
    frames.residency.wire(this);
  }

  void close() {
    closed = true;
  }

  /** Takes a frame if it is free, or its page may be displaced and is not an inner node. */
  @Override
  public boolean claimPreferred(int preferred) {
    if (frames.pid(preferred) == 0) {
      return frames.claimFree(preferred);
    }
    return frames.mayBeDisplaced(preferred) && !frames.isInner(preferred) && evict(preferred);
  }

  /**
   * Takes a frame, exclusively latched and empty. The caller holds no latch.
   *
   * @param preferred the preferred frame, or -1
   * @throws PoolExhaustedException if there was none for several seconds
   */
  @Override
  public int acquire(int preferred) {
    try {
      if (preferred >= 0 && claimPreferred(preferred)) {
        return taken(preferred);
      }
      int frame = claimAny(false);
      return taken(frame >= 0 ? frame : await());
    } catch (Error e) {
      throw frames.poolStop.stop(e); // a frame may stay claimed
    }
  }

  private int taken(int frame) {
    frames.counters.framesTaken.increment();
    writer.wake(false);
    return frame;
  }

  /**
   * Returns a frame that is free or can be freed without waiting, or -1.
   *
   * @param cleanFirst whether a clean page may leave before equally cold dirty ones
   */
  private int claimAny(boolean cleanFirst) {
    int frame = frames.residency.takeFree();
    return frame >= 0 ? frame : sweep(cleanFirst);
  }

  private int await() {
    long begin = System.nanoTime();
    long max = exhaustedMillis * 1_000_000;
    long patience = Math.min(PATIENCE_NANOS, max);
    frames.counters.frameWaits.increment();
    FrameWaits.Waiter waiter = frames.waits.enter();
    try {
      for (int round = 1; ; round++) {
        if (closed) {
          throw new DatabaseClosedException();
        }
        writer.wake(true);
        long waited = System.nanoTime() - begin;
        // Not in each round: if no page is clean, this inspects thousands of frames.
        boolean check = round % CHECK_ROUNDS == 0 || waited >= max;
        if (check && isStarvedFor(max)) {
          throw exhausted();
        }
        int frame = claimAny(check && waited >= patience);
        if (frame >= 0) {
          return frame;
        }
        if (waited >= max) {
          throw exhausted();
        }
        frames.checkWhileWaiting(check);
        frames.waits.await(waiter);
      }
    } finally {
      frames.waits.leave(waiter);
      frames.counters.frameWaitNanos.add(System.nanoTime() - begin);
    }
  }

  /**
   * Like {@link #acquire}, but without waiting: for a thread that holds latches.
   *
   * @return a frame, or -1 if none is available without waiting
   */
  @Override
  public int tryAcquire(int preferred) {
    try {
      int frame = preferred >= 0 && claimPreferred(preferred) ? preferred : claimAny(false);
      if (frame >= 0) {
        return taken(frame);
      }
      writer.wake(true);
      return -1;
    } catch (Error e) {
      throw frames.poolStop.stop(e); // a frame may stay claimed
    }
  }

  /**
   * Returns whether no page could be written for the given time, and few are clean.
   *
   * <p>Two concurrent callers may both start an interval, or one may end the other's; this only
   * delays a result of true.
   */
  private boolean isStarvedFor(long nanos) {
    if (frames.residency.capacity() - frames.counters.dirty.sum() >= FEW
        || writer.failure() == null) {
      shortageSeen = 0;
      return false;
    }
    long now = System.nanoTime();
    // An interval not checked for that long may have ended in between.
    if (shortageSeen == 0 || now - shortageSeen > nanos) {
      shortageSince = now;
    }
    shortageSeen = now == 0 ? 1 : now;
    return now - shortageSince >= nanos;
  }

  private RuntimeException exhausted() {
    Throwable cause = writer.failure();
    if (cause instanceof DurabilityLostException lost) {
      return new DurabilityLostException(
          "No frame of the buffer pool can be freed, because no page can be written: "
              + lost.getMessage(),
          lost);
    }
    PoolExhaustedException e =
        new PoolExhaustedException(frames.residency.capacity(), exhaustedMillis);
    if (cause != null) {
      e.initCause(cause);
    }
    return e;
  }

  /** Evicts one or more pages that are cold and clean; -1 if there is none. */
  private int sweep(boolean cleanFirst) {
    EvictionBatch evictionBatch = lists.borrow();
    if (evictionBatch == null) {
      return sweepOne(cleanFirst);
    }
    try {
      // Repeats if the memory of the whole batch exceeds the capacity by now.
      int n;
      do {
        gather(evictionBatch, cleanFirst);
        n = evictionBatch.size();
        int taken = n == 0 ? -1 : frames.residency.take(evictionBatch);
        if (taken >= 0) {
          frames.waits.wake(n - 1);
          return taken;
        }
      } while (n > 0);
      return -1;
    } finally {
      lists.putBack(evictionBatch);
    }
  }

  /**
   * Fills a batch with cold and clean pages, by the steps of {@link #sweepOne}, until finding the
   * next one takes many steps.
   */
  private void gather(EvictionBatch evictionBatch, boolean cleanFirst) {
    for (int ready = 0; ready >= 0 && !evictionBatch.isFull(); ) {
      ready = frames.claimReady();
      if (ready >= 0) {
        evictionBatch.add(ready);
      }
    }
    if (evictionBatch.isFull()) {
      return;
    }
    boolean inOrder = !cleanFirst && !isMostlyClean();
    if (inOrder && frames.unwritten.isFull()) {
      int written = evictionBatch.size() > 0 ? -1 : claimWritten();
      if (written >= 0) {
        evictionBatch.add(written);
      }
      return;
    }
    int all = Math.min(2 * frames.residency.maxResidents(), SWEEP_MAX);
    int attempt = 0;
    for (int left = evictionBatch.size() > 0 ? MORE_STEPS : all;
        left > 0 && !evictionBatch.isFull();
        left--) {
      int frame = frames.policy.propose(attempt++, true);
      if (frame < 0 || frames.pid(frame) == 0) {
        continue;
      }
      if (evict(frame)) {
        evictionBatch.add(frame);
        attempt = 0;
        left = Math.min(left, MORE_STEPS);
      } else if (!listForWriter(frame) && inOrder) {
        return;
      }
    }
  }

  private int sweepOne(boolean cleanFirst) {
    Residency residency = frames.residency;
    int ready = frames.claimReady();
    int taken = ready < 0 ? -1 : residency.take(ready);
    if (taken >= 0) {
      return taken;
    }
    boolean inOrder = !cleanFirst && !isMostlyClean();
    if (inOrder && frames.unwritten.isFull()) {
      int written = claimWritten();
      return written < 0 ? -1 : residency.take(written);
    }
    // In a share most frames may be free, without memory: inspecting one is hardly a step.
    int all = 2 * residency.maxResidents();
    int steps = frames.share == null ? Math.min(all, SWEEP_MAX) : all;
    for (int i = 0; i < steps; i++) {
      int frame = frames.policy.propose(i, true);
      if (frame < 0) {
        continue;
      }
      if (frames.pid(frame) == 0) {
        if (residency.takeFree(frame)) {
          return frame;
        }
      } else if (evict(frame)) {
        taken = residency.take(frame);
        if (taken >= 0) {
          return taken;
        }
      } else if (!listForWriter(frame) && inOrder) {
        return -1;
      }
    }
    return -1;
  }

  private boolean isMostlyClean() {
    Residency residency = frames.residency;
    int resident = residency.capacity() - Math.max(0, residency.free());
    return 2 * frames.counters.dirty.sum() < resident;
  }

  /**
   * Takes the frame of a page that was listed for the writer and then written by a flush, which
   * owns the batches that the writer would use. Inspects a few entries; dirty ones go to the end of
   * the list. Returns -1 if there is none.
   */
  private int claimWritten() {
    for (int i = 0; i < WRITTEN_CHECKS; i++) {
      int frame = frames.unwritten.take();
      if (frame == ReadyFrames.EMPTY) {
        return -1;
      }
      if (!FrameHeader.isEvictionCandidate(frames.headers, frame)) {
        continue; // used again
      }
      if (!frames.isColdAndClean(frame)) {
        frames.unwritten.offer(frame);
      } else if (frames.claimCold(frame)) {
        frames.counters.evictionsDirty.increment();
        return frame;
      } else {
        frames.unwritten.keep(frame);
      }
    }
    return -1;
  }

  /** Lists a cold page for the writer, if it is dirty; returns false if the list is full. */
  private boolean listForWriter(int frame) {
    if (!FrameHeader.isDirty(frames.headers, frame)
        || FrameHeader.isEvictionCandidate(frames.headers, frame)
        || FrameHeader.isWriting(frames.headers, frame)) {
      return true;
    }
    FrameHeader.markCandidate(frames.headers, frame);
    return frames.unwritten.offer(frame);
  }

  private boolean evict(int frame) {
    if (!frames.claimCold(frame)) {
      return false;
    }
    frames.counters.evictionsClean.increment();
    return true;
  }
}
