package io.fovea.error;

/**
 * Thrown when the options specify a buffer pool that is too small for the engine to work.
 *
 * @since 0.1.0
 */
public final class PoolTooSmallException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The specified size in bytes. */
  private final long bytesSpecified;

  /** The minimum size in bytes. */
  private final long bytesNeeded;

  /**
   * Creates the exception.
   *
   * @param bytesSpecified the specified size, in bytes
   * @param bytesNeeded the minimum for the other options, in bytes
   */
  public PoolTooSmallException(long bytesSpecified, long bytesNeeded) {
    super(
        "A buffer of "
            + bytesSpecified
            + " bytes is too small: with this page size and this number of transactions it needs"
            + " at least "
            + bytesNeeded
            + " bytes.");
    this.bytesSpecified = bytesSpecified;
    this.bytesNeeded = bytesNeeded;
  }

  /**
   * Returns the specified size.
   *
   * @return the size in bytes
   */
  public long bytesSpecified() {
    return bytesSpecified;
  }

  /**
   * Returns the minimum size.
   *
   * @return the size in bytes
   */
  public long bytesNeeded() {
    return bytesNeeded;
  }
}
