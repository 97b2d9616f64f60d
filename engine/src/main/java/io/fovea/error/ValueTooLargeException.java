package io.fovea.error;

/**
 * Thrown when a value is longer than its table allows.
 *
 * @since 0.1.0
 */
public final class ValueTooLargeException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The length of the value. */
  private final long bytes;

  /** The maximum length. */
  private final long maxBytes;

  /**
   * Creates the exception.
   *
   * @param bytes the length of the value, in bytes
   * @param maxBytes the maximum length, in bytes
   */
  public ValueTooLargeException(long bytes, long maxBytes) {
    this("this tree", bytes, maxBytes);
  }

  /**
   * Creates the exception.
   *
   * @param where what the value is too long for
   * @param bytes the length of the value, in bytes
   * @param maxBytes the maximum length, in bytes
   */
  public ValueTooLargeException(String where, long bytes, long maxBytes) {
    super(
        "A value of "
            + bytes
            + " bytes is too long for "
            + where
            + ": the maximum is "
            + maxBytes
            + " bytes.");
    this.bytes = bytes;
    this.maxBytes = maxBytes;
  }

  /**
   * Returns the length of the value.
   *
   * @return bytes
   */
  public long bytes() {
    return bytes;
  }

  /**
   * Returns the maximum length.
   *
   * @return bytes
   */
  public long maxBytes() {
    return maxBytes;
  }
}
