package io.fovea.error;

/**
 * Thrown when no frame of the buffer pool became available for several seconds.
 *
 * @since 0.1.0
 */
public final class PoolExhaustedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The number of frames in the pool. */
  private final int frames;

  /**
   * Creates the exception.
   *
   * @param frames the number of frames in the pool
   * @param waitedMillis the time waited for a free frame, in milliseconds
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
   * Returns the size of the pool.
   *
   * @return the number of frames
   */
  public int frames() {
    return frames;
  }
}
