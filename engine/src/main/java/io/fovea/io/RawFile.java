package io.fovea.io;

import io.fovea.bindings.Errno;
import java.lang.foreign.MemorySegment;

/**
 * An open file as the operating system provides it: transfers may be short, and errors are negated
 * numbers.
 *
 * <p>The interface below {@link DeviceFile}. It is implemented on libc, on RandomAccessFile for
 * systems without it, and, in the tests, by a file that does everything the manual pages allow.
 */
interface RawFile {
  /** Reads; returns the number of bytes, 0 at the end of the file, or a negated error number. */
  long pread(MemorySegment seg, long segOff, long len, long offset);

  /** Writes; returns the number of bytes or a negated error number. */
  long pwrite(MemorySegment seg, long segOff, long len, long offset);

  /** Returns whether {@link #pwriteDurably} is supported. */
  default boolean writesDurably() {
    return false;
  }

  /**
   * Writes like {@link #pwrite}; the bytes are durable on return, as after a {@link #sync} of these
   * bytes alone.
   */
  default long pwriteDurably(MemorySegment seg, long segOff, long len, long offset) {
    throw new UnsupportedOperationException();
  }

  /** Syncs; returns 0 or a negated error number. */
  int sync();

  /**
   * Allocates space for the bytes from {@code from} to {@code to}, and extends the file to {@code
   * to}.
   */
  int allocate(long from, long to);

  /** Truncates the file. */
  int truncate(long bytes);

  /** Releases the space of a range; returns 0 or a negated error number. */
  default int punch(long offset, long len) {
    return -Errno.EOPNOTSUPP;
  }

  /**
   * Allocates space for a range without changing its contents or the length; returns 0 or a negated
   * error number.
   */
  default int reserve(long offset, long len) {
    return -Errno.EOPNOTSUPP;
  }

  /** Returns the length in bytes, or a negated error number. */
  long size();

  /** Returns whether transfers bypass the page cache and need aligned memory. */
  boolean direct();

  /**
   * Switches to the page cache, for a file system that accepted O_DIRECT when the file was opened
   * and refuses it now. Any thread; happens once.
   *
   * @return whether the transfer should be retried
   */
  boolean disableDirect();

  /** Returns the descriptor that transfers use now, or -1 if there is none. */
  int fd();

  int close();
}
