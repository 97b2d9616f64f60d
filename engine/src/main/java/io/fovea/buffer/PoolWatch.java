package io.fovea.buffer;

import java.util.function.Consumer;

/**
 * How the owner of a pool hears of it, and is asked: {@link BufferPool#watch}.
 *
 * @since 0.1.0
 */
public final class PoolWatch {
  private final Frames frames;

  PoolWatch(Frames frames) {
    this.frames = frames;
  }

  /**
   * What to do when the pool stops: once, by the thread that stops it, before it releases what it
   * has latched. Must not fail.
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
}
