package io.fovea.buffer;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.PoolExhaustedException;
import org.jspecify.annotations.Nullable;

/**
 * Where memory for a page comes from: the preferred frame, what is free, and pages that are
 * evicted. What "a frame" is here, the {@link Residency} says.
 *
 * <pre>
 *   acquire(p):  1. frame p, if it is free
 *                2. frame p, if its page is cold, clean and no inner node
 *                3. a free frame
 *                4. a frame whose page the writer has made ready
 *                5. frames that the policy proposes: the first whose page is clean; those that
 *                   are dirty are listed for the writer on the way, as long as there is room
 *                6. wait for the writer; in the end: exhausted
 * </pre>
 *
 * <p>Which pages leave is the {@link ReplacementPolicy}'s choice. Readers set a frame's usage byte
 * only when they don't find it set, so a page that is read all the time costs a store for each look
 * of the policy. Nobody writes a page here: that is the background writer's business, and who finds
 * nothing but dirty pages waits for it. Such waits are counted and timed.
 *
 * <p><b>Being clean is no reason to leave.</b> All pages, clean or dirty, leave in the policy's
 * order: a miss that comes across a cold dirty page lists it for the writer ({@link
 * Frames#unwritten}), and where that list is full it turns the clock no further, but waits. So the
 * clock goes no faster than pages leave. Without that rule, misses that the writer does not keep up
 * with pass over all dirty pages, turn after turn, until they meet the last clean ones, which are
 * those in use most: the pool fills with cold dirty pages, hot clean ones come and go, and each
 * miss looks at thousands of frames.
 *
 * <p>That is a rule for pools in which dirty pages are many, and for a writer that gets on. Where
 * most pages are clean, a miss that finds no room in the list goes on to the next clean page, which
 * is one of the next two or three that are cold: it costs less than a wait, above all in a small
 * pool, whose list is short. Dirty pages are passed over then until they are half of all. And who
 * has waited for {@link #PATIENCE_NANOS} takes any page that is cold and clean, so that a device
 * that takes no writes for a while does not keep those from reading who need not wait for it.
 *
 * <p><b>Few frames are none.</b> While no page can be written, those frames alone come and go whose
 * pages were clean when that began. Where they are fewer than a read needs at a time ({@link
 * #FEW}), each of its pages takes the frame of the one before, and it begins anew until its time is
 * over. So a miss that finds it like that for as long as an empty pool is waited for is told that
 * there is no frame, and why.
 *
 * <p>Inner nodes are not pushed out of their frames by a page that prefers them: only the policy
 * evicts them.
 *
 * <p><b>Where pages leave together</b> ({@link Residency#together}), who finds nothing free goes on
 * from the first page that can leave to the next ones, as far as that is cheap, and takes memory of
 * one; that of the others is free, for its own next misses and for anybody's. They leave in the
 * order in which they would have left one by one, some misses earlier. The thread holds their
 * latches until their memory is gone, and waits for nothing meanwhile: see {@link ResidencyBudget},
 * V7.
 */
final class FrameAllocator implements Residency.Room {
  /** How many steps a thread that needs one frame makes before it looks at the free list again. */
  private static final int SWEEP_MAX = 4096;

  /** How long the writer is waited for before clean pages leave out of turn. */
  private static final long PATIENCE_NANOS = 20_000_000;

  /** How many pages that are listed for the writer a miss looks at. */
  private static final int WRITTEN_LOOKS = 8;

  /**
   * Each so many looks, some eight milliseconds, a wait is looked at from outside, and is long
   * enough for a look at clean pages.
   */
  private static final int LOOKS = 4;

  /**
   * A way down, a page of a long value, and some more. Those of one that is long are read one after
   * the other, and the leaf that names them has to stay.
   */
  static final int FEW = 8;

  /** How many steps a thread makes from one page that leaves to the next that leaves with it. */
  private static final int MORE_STEPS = 64;

  private final Frames frames;

  /** For pages that leave together. Seen by tests of the room. */
  final EvictionBatch.Lists lists;

  private final long exhaustedMillis;
  private final Writer writer;
  private volatile boolean closed;

  // Since when there are few frames, and when that was seen last; any thread, and as good as any.
  private volatile long fewSince;
  private volatile long fewSeen;

  /** What the background writer looks like from here. */
  interface Writer {
    /** Asks for frames: there are few, or (urgent) none. */
    void wake(boolean urgent);

    /** Why the last batch failed, or null. */
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

  /** Takes a frame if that costs nothing: it is free, or its page expendable and no inner node. */
  @Override
  public boolean claimPreferred(int preferred) {
    if (frames.pid(preferred) == 0) {
      return frames.claimFree(preferred);
    }
    return frames.expendable(preferred) && !frames.isInner(preferred) && evict(preferred);
  }

  /**
   * Takes a frame: exclusively latched and empty. The caller holds no latch.
   *
   * @param preferred the frame that is liked best, or -1
   * @throws PoolExhaustedException where none could be had for some seconds
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
      throw frames.stop(e); // a frame may be claimed by nobody
    }
  }

  private int taken(int frame) {
    frames.counters.framesTaken.increment();
    writer.wake(false);
    return frame;
  }

  /**
   * A frame that is free or can be made so at once, or -1.
   *
   * @param outOfTurn whether a clean page may leave before dirty ones that are as cold
   */
  private int claimAny(boolean outOfTurn) {
    int frame = frames.residency.takeFree();
    return frame >= 0 ? frame : sweep(outOfTurn);
  }

  private int await() {
    long begin = System.nanoTime();
    long most = exhaustedMillis * 1_000_000;
    long patience = Math.min(PATIENCE_NANOS, most);
    frames.counters.frameWaits.increment();
    FrameWaits.Waiter waiter = frames.waits.enter();
    try {
      for (int round = 1; ; round++) {
        if (closed) {
          throw new DatabaseClosedException();
        }
        writer.wake(true);
        long waited = System.nanoTime() - begin;
        // Not each time: where no page is clean, that is a look at thousands.
        boolean look = round % LOOKS == 0 || waited >= most;
        if (look && hasBeenFew(most)) {
          throw exhausted();
        }
        int frame = claimAny(look && waited >= patience);
        if (frame >= 0) {
          return frame;
        }
        if (waited >= most) {
          throw exhausted();
        }
        frames.checkWhileWaiting(look);
        frames.waits.await(waiter);
      }
    } finally {
      frames.waits.leave(waiter);
      frames.counters.frameWaitNanos.add(System.nanoTime() - begin);
    }
  }

  /**
   * As {@link #acquire}, but waits for nobody: for a thread that holds latches.
   *
   * @return a frame, or -1 where none is to be had at once
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
      throw frames.stop(e); // a frame may be claimed by nobody
    }
  }

  /**
   * Whether no page could be written for so long, and few are clean.
   *
   * <p>Two that come at the same time may both begin a time, or one may end that of the other: then
   * it is told later.
   */
  private boolean hasBeenFew(long nanos) {
    if (frames.residency.capacity() - frames.counters.dirty.sum() >= FEW
        || writer.failure() == null) {
      fewSeen = 0;
      return false;
    }
    long now = System.nanoTime();
    // A time that nobody has looked at for as long may have had an end.
    if (fewSeen == 0 || now - fewSeen > nanos) {
      fewSince = now;
    }
    fewSeen = now == 0 ? 1 : now;
    return now - fewSince >= nanos;
  }

  private RuntimeException exhausted() {
    Throwable cause = writer.failure();
    if (cause instanceof DurabilityLostException lost) {
      return new DurabilityLostException(
          "No frame of the buffer pool can be freed, for no page can be written any more: "
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

  /** Looks for a page that can leave at once, or for some; -1 where it finds none. */
  private int sweep(boolean outOfTurn) {
    EvictionBatch evictionBatch = lists.borrow();
    if (evictionBatch == null) {
      return sweepOne(outOfTurn);
    }
    try {
      // Again, where all of it was above what there is by now.
      int n;
      do {
        gather(evictionBatch, outOfTurn);
        n = evictionBatch.size();
        int taken = n == 0 ? -1 : frames.residency.take(evictionBatch);
        if (taken >= 0) {
          frames.waits.wake(n - 1);
          return taken;
        }
      } while (n > 0);
      return -1;
    } finally {
      lists.giveBack(evictionBatch);
    }
  }

  /**
   * Fills a list with pages that can leave at once, by the steps of {@link #sweepOne}: as many as
   * there are, up to the first one that takes many steps.
   */
  private void gather(EvictionBatch evictionBatch, boolean outOfTurn) {
    for (int ready = 0; ready >= 0 && !evictionBatch.full(); ) {
      ready = frames.claimReady();
      if (ready >= 0) {
        evictionBatch.add(ready);
      }
    }
    if (evictionBatch.full()) {
      return;
    }
    boolean inTurn = !outOfTurn && !isMostlyClean();
    if (inTurn && frames.unwritten.full()) {
      int written = evictionBatch.size() > 0 ? -1 : claimWritten();
      if (written >= 0) {
        evictionBatch.add(written);
      }
      return;
    }
    int all = Math.min(2 * frames.residency.places(), SWEEP_MAX);
    int attempt = 0;
    for (int left = evictionBatch.size() > 0 ? MORE_STEPS : all;
        left > 0 && !evictionBatch.full();
        left--) {
      int frame = frames.policy.propose(attempt++, true);
      if (frame < 0 || frames.pid(frame) == 0) {
        continue;
      }
      if (evict(frame)) {
        evictionBatch.add(frame);
        attempt = 0;
        left = Math.min(left, MORE_STEPS);
      } else if (!list(frame) && inTurn) {
        return;
      }
    }
  }

  /** Looks for a page that can leave at once; -1 where it finds none. */
  private int sweepOne(boolean outOfTurn) {
    Residency residency = frames.residency;
    int ready = frames.claimReady();
    int taken = ready < 0 ? -1 : residency.take(ready);
    if (taken >= 0) {
      return taken;
    }
    boolean inTurn = !outOfTurn && !isMostlyClean();
    if (inTurn && frames.unwritten.full()) {
      int written = claimWritten();
      return written < 0 ? -1 : residency.take(written);
    }
    // In a share most frames may be free, without memory: a look at one is hardly a step.
    int all = 2 * residency.places();
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
      } else if (!list(frame) && inTurn) {
        return -1;
      }
    }
    return -1;
  }

  /** Whether most pages in memory are clean: then the next one of them is near. */
  private boolean isMostlyClean() {
    Residency residency = frames.residency;
    int resident = residency.capacity() - Math.max(0, residency.free());
    return 2 * frames.counters.dirty.sum() < resident;
  }

  /**
   * Takes the frame of a page that was listed for the writer, and that somebody else has written: a
   * flush, which keeps the writer from its batches as long as it lasts. Looks at some only, and
   * those that are dirty go to the end of the list. -1 where it finds none.
   */
  private int claimWritten() {
    for (int i = 0; i < WRITTEN_LOOKS; i++) {
      int frame = frames.unwritten.take();
      if (frame == ReadyFrames.EMPTY) {
        return -1;
      }
      if (!FrameHeader.evictionCandidate(frames.headers, frame)) {
        continue; // used again
      }
      if (!frames.coldAndClean(frame)) {
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

  /** Lists a cold page for the writer, if it is dirty; false where there is no room. */
  private boolean list(int frame) {
    if (!FrameHeader.dirty(frames.headers, frame)
        || FrameHeader.evictionCandidate(frames.headers, frame)
        || FrameHeader.writing(frames.headers, frame)) {
      return true;
    }
    FrameHeader.giveUp(frames.headers, frame);
    return frames.unwritten.offer(frame);
  }

  /** Takes the frame of a page that is cold and clean. */
  private boolean evict(int frame) {
    if (!frames.claimCold(frame)) {
      return false;
    }
    frames.counters.evictionsClean.increment();
    return true;
  }
}
