package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * The operating system or the device refused an operation for a reason other than lack of space.
 *
 * @since 0.1.0
 */
public final class StorageException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** What was asked for, as in {@code read}. */
  private final String operation;

  /** The number of the error, positive; 0 where there is none. */
  private final int errno;

  /** Bytes from the start of the file, or -1. */
  private final long offset;

  /**
   * Makes one for a refusal by the operating system.
   *
   * @param operation what was asked for, as in {@code "read"}
   * @param path the file, or another name of the device
   * @param offset where, in bytes, or -1 where the operation has no place
   * @param errno the number of the error, positive; 0 where there is none
   * @param errnoName its name and meaning, as in {@code "EIO (input/output error)"}
   */
  public StorageException(String operation, String path, long offset, int errno, String errnoName) {
    this(operation, path, offset, errno, errnoName, null);
  }

  /**
   * Makes one, with what was thrown underneath.
   *
   * @param operation what was asked for, as in {@code "read"}
   * @param path the file, or another name of the device
   * @param offset where, in bytes, or -1 where the operation has no place
   * @param errno the number of the error, positive; 0 where there is none
   * @param errnoName its name and meaning, as in {@code "EIO (input/output error)"}
   * @param cause what was thrown underneath, or null
   */
  public StorageException(
      String operation,
      String path,
      long offset,
      int errno,
      String errnoName,
      @Nullable Throwable cause) {
    super(
        "The "
            + operation
            + (offset < 0 ? "" : " at offset " + offset)
            + " of "
            + path
            + " failed: "
            + errnoName
            + ".",
        cause);
    this.operation = operation;
    this.errno = errno;
    this.offset = offset;
  }

  /**
   * The operation that failed.
   *
   * @return a word such as {@code read}, {@code write}, {@code sync}, {@code resize}, {@code open}
   */
  public String operation() {
    return operation;
  }

  /**
   * The operating system's number of the error.
   *
   * @return a positive number, or 0 where there is none
   */
  public int errno() {
    return errno;
  }

  /**
   * Where the operation was to happen.
   *
   * @return bytes from the start of the file, or -1 where the operation has no place
   */
  public long offset() {
    return offset;
  }
}
