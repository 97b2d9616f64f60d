package io.fovea.buffer;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a pool stops that can't go on, and who is told: {@link BufferPool#stopping}. Any thread.
 *
 * @since 0.1.0
 */
public final class PoolStop {
  private final Frames frames;

  PoolStop(Frames frames) {
    this.frames = frames;
  }

  /**
   * Says that something failed while pages or frames were half changed: nothing is given out any
   * more, and any thread that waits for a latch, a frame or a page is told so. What was not spoiled
   * stays as it is.
   *
   * @param cause what was thrown
   */
  public void stop(Throwable cause) {
    frames.stop(cause);
  }

  /** Why the pool has stopped, or null. */
  public @Nullable Throwable stopped() {
    return frames.stopped();
  }

  /**
   * Sets what each thread that stops the pool does before it releases what it has latched. It may
   * run more than once and in several threads, and must not fail.
   *
   * @param action gets the cause
   */
  public void onStop(Consumer<Throwable> action) {
    frames.onStop(action);
  }

  /**
   * What is asked now and then by who waits for a latch or a frame and has waited for long: it
   * throws where the waiting shall end.
   *
   * @param look is called with nothing latched that others need
   */
  public void whileWaiting(Runnable look) {
    frames.patience(look);
  }

  /**
   * Gives back the exclusive latch of a page that may be half changed, and stops the pool before
   * anybody sees it. The page is never written: it gets an LSN that no log reaches.
   *
   * @param frame the page's frame, exclusively latched; the latch is consumed
   * @param cause what was thrown
   */
  public void spoil(int frame, Throwable cause) {
    frames.stop(cause);
    frames.markDirty(frame, 1);
    PageHeader.raisePageLsn(frames.pages, frames.base(frame), Long.MAX_VALUE);
    Latch.releaseExclusive(frames.headers, frame);
  }
}
