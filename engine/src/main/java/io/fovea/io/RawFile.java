package io.fovea.io;

import io.fovea.bindings.Errno;
import java.lang.foreign.MemorySegment;

/**
 * An open file as the operating system offers it: transfers may be short, and errors are negated
 * numbers.
 *
 * <p>The seam below {@link DeviceFile}. There is one on libc, one on RandomAccessFile for machines
 * without it, and one in the tests that does everything that the manual pages allow a file to do.
 */
interface RawFile {
  /** Bytes read, 0 at the end of the file, or a negated error number. */
  long pread(MemorySegment seg, long segOff, long len, long offset);

  /** Bytes written, or a negated error number. */
  long pwrite(MemorySegment seg, long segOff, long len, long offset);

  /** Whether there is {@link #pwriteDurably}. */
  default boolean writesDurably() {
    return false;
  }

  /**
   * As {@link #pwrite}, and what it took is durable when it returns, as after a {@link #sync} that
   * is about these bytes alone.
   */
  default long pwriteDurably(MemorySegment seg, long segOff, long len, long offset) {
    throw new UnsupportedOperationException();
  }

  /** 0 or a negated error number. */
  int sync();

  /**
   * Sets space aside for the bytes from {@code from} to {@code to}, and makes the file that long.
   */
  int allocate(long from, long to);

  /** Cuts the file. */
  int truncate(long bytes);

  /** Gives the space of a range back; 0 or a negated error number. */
  default int punch(long offset, long len) {
    return -Errno.EOPNOTSUPP;
  }

  /**
   * Sets space aside for a range, which keeps what it has, as the file its length; 0 or a negated
   * error number.
   */
  default int reserve(long offset, long len) {
    return -Errno.EOPNOTSUPP;
  }

  /** Bytes, or a negated error number. */
  long size();

  /** Whether transfers go past the page cache and need aligned memory. */
  boolean direct();

  /**
   * Goes on through the page cache, for a file system that took O_DIRECT when the file was opened
   * and refuses it now. Any thread; happens once.
   *
   * @return whether another attempt is worth while
   */
  boolean giveUpDirect();

  /** The descriptor that transfers use now, or -1 where there is none. */
  int fd();

  int close();
}
