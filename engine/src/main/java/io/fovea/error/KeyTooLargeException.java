package io.fovea.error;

/**
 * A key is longer than its table allows.
 *
 * @since 0.1.0
 */
public final class KeyTooLargeException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** Bytes of the key. */
  private final long bytes;

  /** Bytes of the longest key. */
  private final long bytesMax;

  /**
   * Makes one.
   *
   * @param bytes how long the key is, in bytes
   * @param bytesMax how long it may be, in bytes
   */
  public KeyTooLargeException(long bytes, long bytesMax) {
    this("this tree", bytes, bytesMax);
  }

  /**
   * Makes one.
   *
   * @param where what it is too long for, in words
   * @param bytes how long the key is, in bytes
   * @param bytesMax how long it may be, in bytes
   */
  public KeyTooLargeException(String where, long bytes, long bytesMax) {
    super(
        "A key of "
            + bytes
            + " bytes is too long for "
            + where
            + ": it may have "
            + bytesMax
            + " bytes.");
    this.bytes = bytes;
    this.bytesMax = bytesMax;
  }

  /**
   * How long the key is.
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
  public long bytesMax() {
    return bytesMax;
  }
}
