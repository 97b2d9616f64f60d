package io.fovea.buffer;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Stops a pool that can't continue, and notifies its waiting threads: {@link BufferPool#poolStop}.
 * Thread-safe.
 *
 * @since 0.1.0
 */
public final class PoolStop {
  private final Frames frames;

  PoolStop(Frames frames) {
    this.frames = frames;
  }

  /**
   * Stops the pool because an operation failed while pages or frames were half changed. The pool
   * then returns no pages, and every thread that waits for a latch, a frame or a page gets an
   * exception. Pages that the operation did not touch stay as they are.
   *
   * @param cause the exception
   */
  public void stop(Throwable cause) {
    frames.stop(cause);
  }

  /** Returns why the pool has stopped, or null. */
  public @Nullable Throwable stopped() {
    return frames.stopped();
  }

  /**
   * Sets the action that each thread that stops the pool runs before it releases its latches. It
   * may run more than once and in several threads, and must not fail.
   *
   * @param action receives the cause
   */
  public void onStop(Consumer<Throwable> action) {
    frames.onStop(action);
  }

  /**
   * Sets the check that threads run from time to time in long waits for a latch or a frame: it
   * throws if the wait must end.
   *
   * @param check the check, called without latches that other threads need
   */
  public void setWaitCheck(Runnable check) {
    frames.setWaitCheck(check);
  }

  /**
   * Stops the pool, then releases the exclusive latch of a page that may be half changed, so that
   * no thread reads it first. The page is never written: it gets an LSN that no log reaches.
   *
   * @param frame the page's frame, exclusively latched; the latch is consumed
   * @param cause the exception
   */
  public void stopAndRelease(int frame, Throwable cause) {
    frames.stop(cause);
    frames.markDirty(frame, 1);
    PageHeader.raisePageLsn(frames.pages, frames.base(frame), Long.MAX_VALUE);
    Latch.releaseExclusive(frames.headers, frame);
  }
}
