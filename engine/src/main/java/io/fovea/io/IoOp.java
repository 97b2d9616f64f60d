package io.fovea.io;

/**
 * The operations of a device.
 *
 * @since 0.1.0
 */
public enum IoOp {
  /** Transfers bytes from the device into memory. */
  READ,
  /** Transfers bytes from memory to the device. */
  WRITE,
  /** Makes previous writes durable. */
  SYNC,
  /** Changes the length of the device. */
  RESIZE,
  /** Releases the space of a range, which reads as zeros afterwards. */
  PUNCH,
  /** Allocates space for writes to a range, which keeps its contents. */
  RESERVE;

  private final String word = name().toLowerCase(java.util.Locale.ROOT);

  /**
   * Returns the name of the operation in messages.
   *
   * @return for example {@code "read"}
   */
  public String word() {
    return word;
  }
}
