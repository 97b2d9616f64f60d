package io.fovea.io;

import io.fovea.bindings.Errno;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;

/**
 * Converts error numbers to exceptions.
 *
 * <p>Within this package a failure is a positive error number, because most operations end on a
 * thread of the device, where no caller could catch an exception. It becomes an exception when it
 * is delivered to the caller.
 */
final class IoErrors {
  private IoErrors() {}

  static boolean isFull(int errno) {
    return errno == Errno.ENOSPC || errno == Errno.EDQUOT || errno == Errno.EFBIG;
  }

  static FoveaException exception(IoOp op, String name, long offset, long len, int errno) {
    String described = Errno.describe(errno);
    return isFull(errno)
        ? new StorageFullException(op.word(), name, offset < 0 ? -1 : offset + len, described)
        : new StorageException(op.word(), name, offset, errno, described);
  }

  /**
   * Logs an unexpected exception and returns an error number, so that no caller is left waiting.
   */
  static int unexpected(String name, Throwable t) {
    try {
      System.getLogger("io.fovea.io")
          .log(System.Logger.Level.ERROR, "An operation of " + name + " failed unexpectedly", t);
    } catch (Throwable again) {
      // The logger may fail just as the operation did. Waiters are notified nevertheless.
    }
    return t instanceof OutOfMemoryError ? Errno.ENOMEM : Errno.EIO;
  }
}
