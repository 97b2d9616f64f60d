package io.fovea.buffer;

import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The thread that keeps some frames free, so that a miss need not wait for a write.
 *
 * <pre>
 *   free frames   0 ........ low ........ high ........ all
 *                 |  runs until high  |  finishes      | sleeps; nothing is written ahead of need
 *
 *   round: turn the clock's hand ─┬─ used: clear
 *                                 ├─ cold, clean: evict
 *                                 └─ cold, dirty: add to the batch ──► write ──► evict
 * </pre>
 *
 * <p>While the data fits into the pool the writer sleeps and nothing is written: a page that is
 * changed a thousand times leaves once, at the end. A miss that finds the free list short wakes it.
 *
 * <p>Where all that is cold waits for the log, which may be idle, the writer has the log made
 * durable and waits for that, with no latch held ({@link WriteBack}): so whoever waits for a frame
 * gets on, and nobody spins. Once durability is lost, that fails like a device that refuses.
 *
 * <p>It survives whatever a device throws: the pages stay dirty, the failure is kept for those who
 * wait for frames in vain, and it tries again, less and less often.
 */
final class BackgroundWriter implements Replacement.Writer, Runnable {
  private static final long SLEEP_NANOS = 100_000_000;
  private static final int FAILURES_SHIFT_MAX = 7;

  private final Frames frames;
  private final WriteBack writeBack;
  private final int low;
  private final int high;
  private @Nullable Replacement clock;
  private @Nullable Thread thread;
  private volatile boolean asleep;
  private volatile boolean urgent;
  private volatile boolean stopped;

  BackgroundWriter(Frames frames, WriteBack writeBack) {
    this.frames = frames;
    this.writeBack = writeBack;
    this.low = Math.max(2, Math.min(frames.count / 64, 512));
    this.high = Math.max(low + 2, Math.min(frames.count / 32, 1024));
  }

  void start(Replacement clock, String name) {
    this.clock = clock;
    Thread t = new Thread(this, name);
    t.setDaemon(true);
    thread = t;
    t.start();
  }

  @Override
  public void wake(boolean urgently) {
    if (urgently) {
      urgent = true;
    }
    if (asleep && (urgently || frames.free.count() < low)) {
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

  @Override
  public void run() {
    int failures = 0;
    while (!stopped) {
      if (frames.free.count() >= low && !urgent) {
        asleep = true;
        // After asleep: who takes a frame now either sees it, or is seen here.
        if (frames.free.count() >= low && !urgent && !stopped) {
          LockSupport.parkNanos(this, SLEEP_NANOS);
        }
        asleep = false;
        continue;
      }
      urgent = false;
      int freed = 0;
      try {
        freed = round();
      } catch (RuntimeException | Error e) {
        // Nothing here throws on purpose; a writer that ended would stop everybody.
        System.getLogger(BackgroundWriter.class.getName())
            .log(System.Logger.Level.ERROR, "The buffer pool's writer failed and goes on.", e);
      }
      failures = freed > 0 ? 0 : failures + 1;
      if (failures > 0 && !stopped) {
        // Nothing could be freed: everything is in use, or the device or the log refuses.
        LockSupport.parkNanos(this, 50_000L << Math.min(failures, FAILURES_SHIFT_MAX));
      }
    }
  }

  /** Frees frames up to the mark; returns how many. */
  private int round() {
    Replacement hand = Objects.requireNonNull(clock);
    int wanted = high - frames.free.count();
    int freed = 0;
    int steps = 2 * frames.count;
    writeBack.begin();
    try {
      while (steps-- > 0 && freed + writeBack.size() < wanted && !writeBack.full() && !stopped) {
        int frame = hand.next();
        long pid = frames.pid(frame);
        if (pid == 0 || FrameHeader.writing(frames.headers, frame) || hand.secondChance(frame)) {
          continue;
        }
        if (FrameHeader.dirty(frames.headers, frame)) {
          writeBack.add(pid, frame);
        } else if (hand.evict(frame)) {
          frames.giveBack(frame);
          freed++;
        }
      }
      if (writeBack.size() > 0 && write(freed) > 0) {
        freed += evictWritten();
      }
    } finally {
      writeBack.end();
    }
    return freed;
  }

  /**
   * Writes the batch. Pages that are newer than the durable log are left out where others, or the
   * frames that are free already, will do; else the log is asked to become durable, and waited for.
   */
  private int write(int freed) {
    int written = writeBack.write(false);
    if (written == 0 && freed == 0 && writeBack.leftForLog() > 0 && !stopped) {
      written = writeBack.write(true);
    }
    return written;
  }

  private int evictWritten() {
    int freed = 0;
    for (int i = 0; i < writeBack.size(); i++) {
      int frame = writeBack.frame(i);
      if (frames.pid(frame) != 0 && frames.claimCold(frame)) {
        frames.counters.evictionsDirty.increment();
        frames.giveBack(frame);
        freed++;
      }
    }
    return freed;
  }
}
