package io.fovea.buffer;

import io.fovea.memory.Threads;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The thread that keeps frames available, so that a miss need not wait for a write.
 *
 * <pre>
 *   round: the policy's proposals ─┬─ clean: given up ─────────────────────────┐
 *                                  └─ dirty: given up, in the batch ──► write ─┴─► ready ──► free
 *
 *          misses' proposals ── dirty: given up, listed ──► in the next batch
 *
 *   available = free + ready;  marks and size of a batch: {@link WriterPace}
 * </pre>
 *
 * <p>Pages are cleaned ahead and stay where they are: {@link ReadyFrames} lists them for the next
 * misses, and a page that is used before its frame is taken stays. Only a few frames are emptied,
 * for threads that want one and no page to drop.
 *
 * <p>While the data fits into the pool the writer sleeps and nothing is written: a page that is
 * changed a thousand times leaves once, at the end. A miss that finds too few frames available
 * wakes it.
 *
 * <p>Where all that is cold waits for the log, which may be idle, the writer has the log made
 * durable and waits for that, with no latch held ({@link WriteBack}): so whoever waits for a frame
 * gets on, and nobody spins. Once durability is lost, that fails like a device that refuses.
 *
 * <p>It survives whatever a device throws: the pages stay dirty, the failure is kept for those who
 * wait for frames in vain, and it tries again, less and less often.
 */
final class BackgroundWriter implements FrameAllocator.Writer, Runnable {
  private static final System.Logger LOG = System.getLogger(BackgroundWriter.class.getName());

  private static final long SLEEP_NANOS = 100_000_000;
  private static final int FAILURES_SHIFT_MAX = 7;
  private static final int MORE_PART = 64;
  private static final int MORE_MAX = 32;

  private final Frames frames;
  private final WriteBack writeBack;
  private final WriterPace pace;

  /** How many more are emptied than are wanted; few in a small pool. */
  private final int more;

  /** Frames that are emptied, which are given back together: of the thread. */
  private final EvictionBatch claimed;

  private @Nullable Thread thread;
  private volatile boolean asleep;
  private volatile boolean urgent;
  private volatile boolean stopped;

  BackgroundWriter(Frames frames, WriteBack writeBack) {
    this.frames = frames;
    this.writeBack = writeBack;
    this.claimed = frames.residency.newLeaving();
    this.more = Math.clamp(frames.residency.places() / MORE_PART, 1, MORE_MAX) - 1;
    this.pace = new WriterPace(frames.least(), frames.plan.batch(), System.nanoTime());
  }

  void start(String name) {
    // Known before it begins, to those who wake it. If its start fails the pool is not opened.
    Thread t = Threads.unstarted(name, this);
    thread = t;
    if (frames.share != null) {
      frames.share.wakes(() -> wake(false));
    }
    t.start();
  }

  @Override
  public void wake(boolean urgently) {
    if (urgently) {
      urgent = true;
    }
    if (asleep && (urgently || isShort())) {
      asleep = false;
      LockSupport.unpark(thread);
    }
  }

  @Override
  public @Nullable Throwable failure() {
    return writeBack.failure();
  }

  /** Ends the thread and waits for it; an interrupt does not end the wait, and is kept. */
  void stop() {
    stopped = true;
    Thread t = thread;
    if (t == null) {
      return;
    }
    boolean interrupted = false;
    while (t.isAlive()) {
      LockSupport.unpark(t);
      try {
        t.join(10);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private int available() {
    return frames.residency.free() + frames.ready.size();
  }

  private boolean isShort() {
    PoolShare.Member share = frames.share;
    if (!frames.residency.evicts()) {
      return false;
    }
    return share == null
        ? frames.residency.free() < pace.free() || available() < pace.low()
        : share.isOwing() || available() < pace.low();
  }

  @Override
  public void run() {
    int failures = 0;
    while (!stopped) {
      int gained = 0;
      try {
        Threads.turn();
        gained = turn();
      } catch (Throwable e) {
        // Nothing here throws on purpose; a writer that ended would stop everybody.
        asleep = false;
        Threads.tell(
            LOG,
            System.Logger.Level.ERROR,
            "The buffer pool's writer failed and goes on.",
            "",
            "",
            e);
      }
      if (gained < 0) {
        continue;
      }
      failures = gained > 0 ? 0 : failures + 1;
      if (failures > 0 && !stopped) {
        // Nothing could be had: everything is in use, or the device or the log refuses.
        LockSupport.parkNanos(this, 50_000L << Math.min(failures, FAILURES_SHIFT_MAX));
      }
    }
  }

  /** Sleeps, or makes frames available; how many, negative where none are wanted. */
  private int turn() {
    pace.taken(frames.counters.framesTaken.sum(), System.nanoTime());
    if (frames.share != null) {
      frames.share.demand(frames.free.count(), System.nanoTime());
    }
    if (!isShort() && !urgent) {
      asleep = true;
      // After asleep: a thread that takes a frame now either sees it, or is seen here.
      if (!isShort() && !urgent && !stopped) {
        LockSupport.parkNanos(this, SLEEP_NANOS);
      }
      asleep = false;
      return -1;
    }
    boolean urgently = urgent;
    urgent = false;
    return round(urgently);
  }

  /** Makes frames available, with one batch at most; how many. */
  private int round(boolean urgently) {
    writeBack.begin();
    try {
      // First of all: it also takes those off the list whose pages are in use again.
      int gained = empty();
      gained += collectUnwritten();
      // Urgent: somebody found nothing, so nothing of the list is of any use.
      gained += collect(urgently ? pace.batch() : pace.high() - available() + owed());
      gained += collectIdle();
      frames.waits.wake(gained);
      if (writeBack.size() > 0) {
        long begin = System.nanoTime();
        int written = write(gained);
        int ready = ready();
        frames.waits.wake(ready);
        if (written > 0) {
          pace.wrote(written, System.nanoTime() - begin, available() < pace.low() / 2);
        }
        gained += ready;
      }
      return gained + empty();
    } finally {
      writeBack.end();
    }
  }

  /** Takes what misses have given up and could not have, being dirty; how many are clean now. */
  private int collectUnwritten() {
    int clean = 0;
    while (writeBack.size() < pace.batch()) {
      int frame = frames.unwritten.take();
      if (frame == ReadyFrames.EMPTY) {
        break;
      }
      long pid = frames.pid(frame);
      if (pid == 0 || !FrameHeader.evictionCandidate(frames.headers, frame)) {
        continue; // used again, or gone
      }
      if (FrameHeader.dirty(frames.headers, frame)) {
        writeBack.add(pid, frame);
      } else if (FrameHeader.writing(frames.headers, frame)) {
        frames.unwritten.keep(frame);
      } else {
        frames.ready.add(frame, false);
        clean++;
      }
    }
    return clean;
  }

  /** Gives pages up; those that are clean are ready. How many were. */
  private int collect(int wanted) {
    int clean = 0;
    int attempt = 0;
    for (int steps = 2 * frames.residency.places(); steps > 0 && !stopped; steps--) {
      if (clean + writeBack.size() >= wanted || writeBack.size() >= pace.batch()) {
        break;
      }
      int frame = frames.policy.propose(attempt++, false);
      long pid = frame < 0 ? 0 : frames.pid(frame);
      if (pid == 0) {
        continue;
      }
      attempt = 0;
      FrameHeader.giveUp(frames.headers, frame);
      if (FrameHeader.dirty(frames.headers, frame)) {
        writeBack.add(pid, frame);
      } else {
        frames.ready.add(frame, false);
        clean++;
      }
    }
    return clean;
  }

  /**
   * Writes the batch. Pages that are newer than the durable log are left out where others, or the
   * frames that are available already, will do; else the log is asked to become durable, and waited
   * for.
   *
   * @return how many were written without a wait for the log
   */
  private int write(int gained) {
    int written = writeBack.write(false);
    if (written == 0 && gained == 0 && writeBack.leftForLog() > 0 && !stopped) {
      writeBack.write(true);
    }
    return written;
  }

  /** Lists what was written and not used meanwhile; how many. */
  private int ready() {
    int ready = 0;
    for (int i = 0; i < writeBack.size(); i++) {
      int frame = writeBack.frame(i);
      if (!FrameHeader.evictionCandidate(frames.headers, frame)) {
        continue;
      }
      if (frames.coldAndClean(frame)) {
        frames.ready.add(frame, true);
        ready++;
      } else {
        frames.ready.keep(frame);
      }
    }
    return ready;
  }

  /** How many frames others of the share wait for. */
  private int owed() {
    return frames.share == null ? 0 : frames.share.owed();
  }

  /** Gives pages up for others of the share that nobody has used since the last turn. */
  private int collectIdle() {
    PoolShare.Member share = frames.share;
    int wanted = share == null ? 0 : share.takeOwedIdle(System.nanoTime());
    int given = 0;
    for (int frame = 0; wanted > 0 && frame < frames.count && !stopped; frame++) {
      long pid = frames.pid(frame);
      if (pid == 0 || FrameHeader.evictionCandidate(frames.headers, frame)) {
        continue;
      }
      if (FrameHeader.used(frames.headers, frame)) {
        FrameHeader.setUsed(frames.headers, frame, false);
      } else if (FrameHeader.dirty(frames.headers, frame)) {
        // Written now, and given at the next turn if it is still idle then.
        if (writeBack.size() < pace.batch()) {
          writeBack.add(pid, frame);
        }
      } else if (given < wanted && frames.claimCold(frame)) {
        frames.counters.evictionsClean.increment();
        frames.giveBack(frame);
        given++;
      }
    }
    return given;
  }

  /** Whether fewer than so many frames are free; in a share, whether others wait for some. */
  private boolean isFewer(int claimed, int wanted) {
    PoolShare.Member share = frames.share;
    return share != null ? share.owed() > 0 : frames.residency.free() + claimed < wanted;
  }

  /**
   * Empties frames that are ready, as long as free ones are wanted; how many. Once some are wanted,
   * so many more are emptied: else each miss would find one too few, and wake the writer for one
   * page, which was a sixth of the time of reads beyond memory.
   */
  private int empty() {
    int emptied = 0;
    int wanted = pace.free();
    boolean left = isFewer(0, wanted);
    wanted += more;
    while (left) {
      while (!claimed.full() && isFewer(claimed.size(), wanted)) {
        int frame = frames.claimReady();
        if (frame < 0) {
          left = false;
          break;
        }
        claimed.add(frame);
      }
      left &= claimed.full();
      emptied += claimed.size();
      frames.residency.giveBack(claimed);
    }
    return emptied;
  }
}
