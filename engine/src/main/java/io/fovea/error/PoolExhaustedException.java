package io.fovea.error;

/**
 * No frame of the buffer pool could be had for some seconds.
 *
 * @since 0.1.0
 */
public final class PoolExhaustedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The number of frames of the pool. */
  private final int frames;

  /**
   * Makes one.
   *
   * @param frames how many frames the pool has
   * @param waitedMillis how long a free one was waited for, in milliseconds
   */
  public PoolExhaustedException(int frames, long waitedMillis) {
    super(
        "None of the buffer pool's "
            + frames
            + " frames could be freed within "
            + waitedMillis
            + " ms. Give the database a larger buffer, or run fewer transactions at a time.");
    this.frames = frames;
  }

  /**
   * How large the pool is.
   *
   * @return its number of frames
   */
  public int frames() {
    return frames;
  }
}
