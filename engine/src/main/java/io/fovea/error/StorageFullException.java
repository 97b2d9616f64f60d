package io.fovea.error;

/**
 * There is no space left on the device, in the quota, or below the largest file that is allowed.
 *
 * <p>Nothing is lost: reads go on, and writes succeed again as soon as there is space.
 *
 * @since 0.1.0
 */
public final class StorageFullException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** Bytes, or -1 where that is not known. */
  private final long bytesWanted;

  /**
   * Makes one.
   *
   * @param operation what was asked for, as in {@code "write"}
   * @param path the file, or another name of the device
   * @param bytesWanted how large the file would have become, in bytes, or -1 where that is not
   *     known
   * @param errnoName the name and meaning of the error, as in {@code "ENOSPC (no space left)"}
   */
  public StorageFullException(String operation, String path, long bytesWanted, String errnoName) {
    super(
        "The storage is full: "
            + operation
            + " of "
            + path
            + (bytesWanted < 0 ? "" : ", up to byte " + bytesWanted)
            + ": "
            + errnoName
            + ". Make space; reads go on, and writes succeed again once there is some.");
    this.bytesWanted = bytesWanted;
  }

  /**
   * How large the file would have become.
   *
   * @return bytes, or -1 where that is not known
   */
  public long bytesWanted() {
    return bytesWanted;
  }
}
