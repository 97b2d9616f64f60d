package io.fovea.error;

/**
 * The options ask for a buffer pool that is smaller than the engine can work with.
 *
 * @since 0.1.0
 */
public final class PoolTooSmallException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** Bytes of the pool, as it was asked for. */
  private final long bytesGiven;

  /** Bytes of the smallest pool. */
  private final long bytesNeeded;

  /**
   * Makes one.
   *
   * @param bytesGiven what the options say, in bytes
   * @param bytesNeeded the least that works with the other options, in bytes
   */
  public PoolTooSmallException(long bytesGiven, long bytesNeeded) {
    super(
        "A buffer of "
            + bytesGiven
            + " bytes is too small: with this page size and this number of transactions it needs"
            + " at least "
            + bytesNeeded
            + " bytes.");
    this.bytesGiven = bytesGiven;
    this.bytesNeeded = bytesNeeded;
  }

  /**
   * The size that the options asked for.
   *
   * @return bytes
   */
  public long bytesGiven() {
    return bytesGiven;
  }

  /**
   * The least that would work.
   *
   * @return bytes
   */
  public long bytesNeeded() {
    return bytesNeeded;
  }
}
