package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when an operation of the operating system or the device fails for a reason other than lack
 * of space.
 *
 * @since 0.1.0
 */
public final class StorageException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The failed operation. */
  private final String operation;

  /** The error number, or 0. */
  private final int errno;

  /** The offset in the file in bytes, or -1. */
  private final long offset;

  /**
   * Creates the exception for an error of the operating system.
   *
   * @param operation the operation, such as {@code "read"}
   * @param path the file or device
   * @param offset the offset in bytes, or -1 if there is no offset
   * @param errno the error number, positive, or 0 if there is none
   * @param errnoName its name and meaning, such as {@code "EIO (input/output error)"}
   */
  public StorageException(String operation, String path, long offset, int errno, String errnoName) {
    this(operation, path, offset, errno, errnoName, null);
  }

  /**
   * Creates the exception with its cause.
   *
   * @param operation the operation, such as {@code "read"}
   * @param path the file or device
   * @param offset the offset in bytes, or -1 if there is no offset
   * @param errno the error number, positive, or 0 if there is none
   * @param errnoName its name and meaning, such as {@code "EIO (input/output error)"}
   * @param cause the cause, or null
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
   * Returns the failed operation.
   *
   * @return a word such as {@code read}, {@code write}, {@code sync}, {@code resize}, {@code open}
   */
  public String operation() {
    return operation;
  }

  /**
   * Returns the error number of the operating system.
   *
   * @return a positive number, or 0 if there is none
   */
  public int errno() {
    return errno;
  }

  /**
   * Returns the position of the operation in the file.
   *
   * @return an offset in bytes, or -1 if there is no offset
   */
  public long offset() {
    return offset;
  }
}
