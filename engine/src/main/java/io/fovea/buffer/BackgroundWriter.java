package io.fovea.buffer;

import io.fovea.memory.Threads;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The thread that keeps frames available, so that misses need not wait for writes.
 *
 * <pre>
 *   round: the policy's proposals ─┬─ clean: candidate ────────────────────────┐
 *                                  └─ dirty: candidate, in the batch ► write ──┴─► ready ──► free
 *          misses' proposals ── dirty: candidate, listed ──► in the next batch
 *   available = free + ready;  marks and size of a batch: {@link WriterPace}
 * </pre>
 *
 * <p>Pages are cleaned ahead of need and keep their frames: {@link ReadyFrames} lists them for the
 * next misses. Only a few frames are emptied. While the data fits the pool the writer sleeps; a
 * miss that finds too few frames available wakes it.
 *
 * <p>If all cold pages wait for the log, which may be idle, the writer makes the log durable and
 * waits for that, with no latch held ({@link WriteBack}). Once durability is lost, this wait fails
 * like a write that the device rejects.
 *
 * <p>It survives all errors of a device: the pages stay dirty, the failure is kept for threads that
 * get no frame, and it retries at increasing intervals.
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

  private final int more;

  private final EvictionBatch claimed;

  private @Nullable Thread thread;
  private volatile boolean asleep;
  private volatile boolean urgent;
  private volatile boolean stopped;

  BackgroundWriter(Frames frames, WriteBack writeBack) {
    this.frames = frames;
    this.writeBack = writeBack;
    this.claimed = frames.residency.newBatch();
    this.more = Math.clamp(frames.residency.maxResidents() / MORE_PART, 1, MORE_MAX) - 1;
    this.pace = new WriterPace(frames.least(), frames.plan.batch(), System.nanoTime());
  }

  void start(String name) {
    // Published before it starts, for threads that wake it. If it can't start, opening fails.
    Thread t = Threads.unstarted(name, this);
    thread = t;
    if (frames.share != null) {
      frames.share.setWakeAction(() -> wake(false));
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

  /** Stops the thread and waits for it; an interrupt does not end the wait, and is kept. */
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
        Threads.beginIteration();
        gained = iterate();
      } catch (Throwable e) {
        // Nothing here should throw; if the writer ended, all misses would stall.
        asleep = false;
        Threads.logSafely(
            LOG,
            System.Logger.Level.ERROR,
            "The buffer pool's writer failed and continues.",
            "",
            "",
            e);
      }
      if (gained < 0) {
        continue;
      }
      failures = gained > 0 ? 0 : failures + 1;
      if (failures > 0 && !stopped) {
        // Everything is in use, or the device or the log rejects writes.
        LockSupport.parkNanos(this, 50_000L << Math.min(failures, FAILURES_SHIFT_MAX));
      }
    }
  }

  /** Sleeps, or makes frames available; returns their number, or -1 if none are wanted. */
  private int iterate() {
    pace.taken(frames.counters.framesTaken.sum(), System.nanoTime());
    if (frames.share != null) {
      frames.share.demand(frames.free.count(), System.nanoTime());
    }
    if (!isShort() && !urgent) {
      asleep = true;
      // After asleep is set: a thread that takes a frame now either sees it, or is seen here.
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

  /** Makes frames available, with at most one batch; returns their number. */
  private int round(boolean urgently) {
    writeBack.begin();
    try {
      // First, because it also drops list entries whose pages are in use again.
      int gained = emptyReadyFrames();
      gained += collectUnwritten();
      // Urgent: a miss found nothing, so nothing in the list is usable.
      gained += collect(urgently ? pace.batch() : pace.high() - available() + requested());
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
      return gained + emptyReadyFrames();
    } finally {
      writeBack.end();
    }
  }

  /** Takes the dirty pages that misses have listed; returns the number that are now clean. */
  private int collectUnwritten() {
    int clean = 0;
    while (writeBack.size() < pace.batch()) {
      int frame = frames.unwritten.take();
      if (frame == ReadyFrames.EMPTY) {
        break;
      }
      long pid = frames.pid(frame);
      if (pid == 0 || !FrameHeader.isEvictionCandidate(frames.headers, frame)) {
        continue; // used again, or gone
      }
      if (FrameHeader.isDirty(frames.headers, frame)) {
        writeBack.add(pid, frame);
      } else if (FrameHeader.isWriting(frames.headers, frame)) {
        frames.unwritten.keep(frame);
      } else {
        frames.ready.add(frame, false);
        clean++;
      }
    }
    return clean;
  }

  /** Makes pages eviction candidates; the clean ones are ready. Returns their number. */
  private int collect(int wanted) {
    int clean = 0;
    int attempt = 0;
    for (int steps = 2 * frames.residency.maxResidents(); steps > 0 && !stopped; steps--) {
      if (clean + writeBack.size() >= wanted || writeBack.size() >= pace.batch()) {
        break;
      }
      int frame = frames.policy.propose(attempt++, false);
      long pid = frame < 0 ? 0 : frames.pid(frame);
      if (pid == 0) {
        continue;
      }
      attempt = 0;
      FrameHeader.markCandidate(frames.headers, frame);
      if (FrameHeader.isDirty(frames.headers, frame)) {
        writeBack.add(pid, frame);
      } else {
        frames.ready.add(frame, false);
        clean++;
      }
    }
    return clean;
  }

  /**
   * Writes the batch. Pages newer than the durable log are skipped if other pages, or the frames
   * already available, suffice; otherwise the writer makes the log durable and waits for that.
   *
   * @return the number of pages written without waiting for the log
   */
  private int write(int gained) {
    int written = writeBack.write(false);
    if (written == 0 && gained == 0 && writeBack.leftForLog() > 0 && !stopped) {
      writeBack.write(true);
    }
    return written;
  }

  /** Lists pages that were written and have not been used since; returns their number. */
  private int ready() {
    int ready = 0;
    for (int i = 0; i < writeBack.size(); i++) {
      int frame = writeBack.frame(i);
      if (!FrameHeader.isEvictionCandidate(frames.headers, frame)) {
        continue;
      }
      if (frames.isColdAndClean(frame)) {
        frames.ready.add(frame, true);
        ready++;
      } else {
        frames.ready.keep(frame);
      }
    }
    return ready;
  }

  private int requested() {
    return frames.share == null ? 0 : frames.share.requested();
  }

  /** Evicts pages unused since the last round, for other members of the share. */
  private int collectIdle() {
    PoolShare.Member share = frames.share;
    int wanted = share == null ? 0 : share.takeRequestedIdle(System.nanoTime());
    int given = 0;
    for (int frame = 0; wanted > 0 && frame < frames.count && !stopped; frame++) {
      long pid = frames.pid(frame);
      if (pid == 0 || FrameHeader.isEvictionCandidate(frames.headers, frame)) {
        continue;
      }
      if (FrameHeader.isUsed(frames.headers, frame)) {
        FrameHeader.setUsed(frames.headers, frame, false);
      } else if (FrameHeader.isDirty(frames.headers, frame)) {
        // Written now, and evicted in the next round if still idle.
        if (writeBack.size() < pace.batch()) {
          writeBack.add(pid, frame);
        }
      } else if (given < wanted && frames.claimCold(frame)) {
        frames.counters.evictionsClean.increment();
        frames.unclaim(frame);
        given++;
      }
    }
    return given;
  }

  /** Returns whether too few frames are free; in a share, whether other members wait for some. */
  private boolean isFewer(int claimed, int wanted) {
    PoolShare.Member share = frames.share;
    return share != null ? share.requested() > 0 : frames.residency.free() + claimed < wanted;
  }

  /**
   * Empties ready frames while too few are free, and {@link #more} beyond that; returns their
   * number. Without the extra frames, each miss would find one too few and wake the writer for one
   * page.
   */
  private int emptyReadyFrames() {
    int emptied = 0;
    int wanted = pace.free();
    boolean left = isFewer(0, wanted);
    wanted += more;
    while (left) {
      while (!claimed.isFull() && isFewer(claimed.size(), wanted)) {
        int frame = frames.claimReady();
        if (frame < 0) {
          left = false;
          break;
        }
        claimed.add(frame);
      }
      left &= claimed.isFull();
      emptied += claimed.size();
      frames.residency.unclaim(claimed);
    }
    return emptied;
  }
}
