package io.fovea.error;

/**
 * Thrown when the device or the quota has no space left, or the file has reached its maximum size.
 *
 * <p>Nothing is lost. Reads continue, and writes succeed again once there is space.
 *
 * @since 0.1.0
 */
public final class StorageFullException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The size that the file would have reached, or -1. */
  private final long bytesRequested;

  /**
   * Creates the exception.
   *
   * @param operation the operation, such as {@code "write"}
   * @param path the file or device
   * @param bytesRequested the size that the file would have reached, in bytes, or -1 if unknown
   * @param errnoName the name and meaning of the error, such as {@code "ENOSPC (no space left)"}
   */
  public StorageFullException(
      String operation, String path, long bytesRequested, String errnoName) {
    super(
        "The storage is full: "
            + operation
            + " of "
            + path
            + (bytesRequested < 0 ? "" : ", up to byte " + bytesRequested)
            + ": "
            + errnoName
            + ". Free some space: reads continue, and writes succeed again "
            + "once there is enough.");
    this.bytesRequested = bytesRequested;
  }

  /**
   * Returns the size that the file would have reached.
   *
   * @return the size in bytes, or -1 if unknown
   */
  public long bytesRequested() {
    return bytesRequested;
  }
}
