package io.fovea.io;

/**
 * What a device can be asked for.
 *
 * @since 0.1.0
 */
public enum IoOp {
  /** Bytes from the device into memory. */
  READ,
  /** Bytes from memory to the device. */
  WRITE,
  /** What was written is made durable. */
  SYNC,
  /** The device is made longer or shorter. */
  RESIZE,
  /** A range reads as zeros from now on, and takes no space. */
  PUNCH,
  /** A range keeps what it has, and has space set aside for writes. */
  RESERVE;

  private final String word = name().toLowerCase(java.util.Locale.ROOT);

  /**
   * The operation as messages name it.
   *
   * @return for example {@code "read"}
   */
  public String word() {
    return word;
  }
}
