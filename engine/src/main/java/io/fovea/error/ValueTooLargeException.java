package io.fovea.error;

/**
 * A value is longer than its table allows.
 *
 * @since 0.1.0
 */
public final class ValueTooLargeException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** Bytes of the value. */
  private final long bytes;

  /** Bytes of the longest value. */
  private final long maxBytes;

  /**
   * Makes one.
   *
   * @param bytes how long the value is, in bytes
   * @param maxBytes how long it may be, in bytes
   */
  public ValueTooLargeException(long bytes, long maxBytes) {
    this("this tree", bytes, maxBytes);
  }

  /**
   * Makes one.
   *
   * @param where what it is too long for, in words
   * @param bytes how long the value is, in bytes
   * @param maxBytes how long it may be, in bytes
   */
  public ValueTooLargeException(String where, long bytes, long maxBytes) {
    super(
        "A value of "
            + bytes
            + " bytes is too long for "
            + where
            + ": it may have "
            + maxBytes
            + " bytes.");
    this.bytes = bytes;
    this.maxBytes = maxBytes;
  }

  /**
   * How long the value is.
   *
   * @return bytes
   */
  public long bytes() {
    return bytes;
  }

  /**
   * How long it may be.
   *
   * @return bytes
   */
  public long maxBytes() {
    return maxBytes;
  }
}
