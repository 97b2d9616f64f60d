package io.fovea.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/**
 * Calls of libc on files: opening, positioned reads and writes, durability, length and space,
 * locks. For errors, threads and addresses see {@link Libc}.
 *
 * <p>{@code pread}, {@code pwrite} and {@code fdatasync} are hot and allocate nothing once
 * compiled.
 *
 * @since 0.1.0
 */
public final class FileCalls {
  // Literals, not references to the generated class, so that using a constant loads nothing.
  // LibcTest compares them. Except for the two that depend on the platform, they are the same on
  // x86-64 and AArch64.

  /** {@link #open}: read only. */
  public static final int O_RDONLY = 0;

  /** {@link #open}: write only. */
  public static final int O_WRONLY = 1;

  /** {@link #open}: read and write. */
  public static final int O_RDWR = 2;

  /** {@link #open}: create the file if it does not exist. */
  public static final int O_CREAT = 0x40;

  /** {@link #open}: with {@link #O_CREAT}, fail with {@link Errno#EEXIST} if it exists. */
  public static final int O_EXCL = 0x80;

  /** {@link #open}: truncate the file to length 0. */
  public static final int O_TRUNC = 0x200;

  /** {@link #open}: a write returns once its data is durable. */
  public static final int O_DSYNC = 0x1000;

  /**
   * {@link #open}: bypass the page cache. Address, length and offset must be multiples of the
   * device's logical block, commonly 512 or 4096 bytes; otherwise {@link Errno#EINVAL}.
   */
  public static final int O_DIRECT = Platform.AARCH64 ? 0x10000 : 0x4000;

  /** {@link #open}: a directory, for {@link #fsync} after a rename. */
  public static final int O_DIRECTORY = Platform.AARCH64 ? 0x4000 : 0x10000;

  /** {@link #open}: close on exec. */
  public static final int O_CLOEXEC = 0x80000;

  /** {@link #flock}: shared lock. */
  public static final int LOCK_SH = 1;

  /** {@link #flock}: exclusive lock. */
  public static final int LOCK_EX = 2;

  /** {@link #flock}: do not wait; {@link Errno#EAGAIN} if the lock is taken. */
  public static final int LOCK_NB = 4;

  /** {@link #flock}: release. */
  public static final int LOCK_UN = 8;

  /** {@link #fallocate}: keep the file's length. */
  public static final int FALLOC_FL_KEEP_SIZE = 1;

  /** {@link #fallocate}: deallocate the range; requires {@link #FALLOC_FL_KEEP_SIZE}. */
  public static final int FALLOC_FL_PUNCH_HOLE = 2;

  /** {@link #fallocate}: zero the range and keep it allocated. */
  public static final int FALLOC_FL_ZERO_RANGE = 0x10;

  /** {@link #memfdCreate}: close on exec. */
  public static final int MFD_CLOEXEC = 1;

  /** The charset in which the JVM encodes file names. */
  private static final Charset NAMES = fileNames();

  private static final int SEEK_END = 2;
  private static final int F_OFD_SETLK = 37;
  private static final short F_RDLCK = 0;
  private static final short F_WRLCK = 1;
  private static final short F_UNLCK = 2;
  private static final int STRUCT_FLOCK_BYTES = 32;

  private FileCalls() {}

  /**
   * Opens a file.
   *
   * @param path the file's name
   * @param flags {@code O_*}; {@link #O_CLOEXEC} is not implied
   * @param mode the permissions of a file that {@link #O_CREAT} creates, before the umask, for
   *     example {@code 0644}; otherwise ignored
   * @return the descriptor or a negated error number
   * @throws IllegalArgumentException if the name contains a NUL
   * @since 0.1.0
   */
  public static int open(String path, int flags, int mode) {
    if (path.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("A file name cannot contain NUL: " + path + ".");
    }
    try (Arena arena = Arena.ofConfined()) {
      return Calls.OPEN.retryInt(arena.allocateFrom(path, NAMES).address(), flags, mode, 0);
    }
  }

  /**
   * Closes a descriptor. The descriptor is closed whatever the result, even if a signal interrupted
   * the call.
   *
   * @param fd the descriptor
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int close(int fd) {
    int result = Calls.CLOSE.callInt(fd, 0, 0, 0);
    return result == -Errno.EINTR ? 0 : result;
  }

  /**
   * Reads once at a position, independent of the file position.
   *
   * @param fd the descriptor
   * @param address the destination of the bytes
   * @param count the maximum number of bytes
   * @param offset the position in the file, in bytes
   * @return the number of bytes read, 0 at or after the end of the file, fewer than requested near
   *     it; or a negated error number
   * @since 0.1.0
   */
  public static long pread(int fd, long address, long count, long offset) {
    return Calls.PREAD.retryLong(fd, address, count, offset);
  }

  /**
   * Reads once at a position into a part of a native segment, like {@link #pread(int, long, long,
   * long)}.
   *
   * @param fd the descriptor
   * @param segment the destination of the bytes; native
   * @param start the offset of the first byte in the segment
   * @param count the maximum number of bytes
   * @param offset the position in the file, in bytes
   * @return the number of bytes read, or a negated error number
   * @throws IndexOutOfBoundsException if the segment is too short
   * @throws IllegalArgumentException if the segment is on the heap or read-only
   * @throws IllegalStateException if the segment's arena is closed
   * @since 0.1.0
   */
  public static long pread(int fd, MemorySegment segment, long start, long count, long offset) {
    if (segment.isReadOnly()) {
      throw new IllegalArgumentException(
          "The target of a read is read-only. Pass a writable segment.");
    }
    long address = NativeFunction.address(segment, start, count);
    try {
      return pread(fd, address, count, offset);
    } finally {
      Reference.reachabilityFence(segment);
    }
  }

  /**
   * Reads until the requested bytes have arrived or the file ends.
   *
   * @param fd the descriptor
   * @param address the destination of the bytes
   * @param count the number of bytes
   * @param offset the position in the file, in bytes
   * @return the number of bytes read, fewer than requested only at the end of the file; or a
   *     negated error number, in which case some bytes may have been read
   * @since 0.1.0
   */
  public static long preadFully(int fd, long address, long count, long offset) {
    long done = 0;
    while (done < count) {
      long n = pread(fd, address + done, count - done, offset + done);
      if (n < 0) {
        return n;
      }
      if (n == 0) {
        break;
      }
      done += n;
    }
    return done;
  }

  /**
   * Writes once at a position, independent of the file position.
   *
   * @param fd the descriptor
   * @param address the source of the bytes
   * @param count the maximum number of bytes
   * @param offset the position in the file, in bytes
   * @return the number of bytes written, which may be fewer than requested; or a negated error
   *     number
   * @since 0.1.0
   */
  public static long pwrite(int fd, long address, long count, long offset) {
    return Calls.PWRITE.retryLong(fd, address, count, offset);
  }

  /**
   * Writes once at a position from a part of a native segment, like {@link #pwrite(int, long, long,
   * long)}.
   *
   * @param fd the descriptor
   * @param segment the source of the bytes; native
   * @param start the offset of the first byte in the segment
   * @param count the maximum number of bytes
   * @param offset the position in the file, in bytes
   * @return the number of bytes written, or a negated error number
   * @throws IndexOutOfBoundsException if the segment is too short
   * @throws IllegalArgumentException if the segment is on the heap
   * @throws IllegalStateException if the segment's arena is closed
   * @since 0.1.0
   */
  public static long pwrite(int fd, MemorySegment segment, long start, long count, long offset) {
    long address = NativeFunction.address(segment, start, count);
    try {
      return pwrite(fd, address, count, offset);
    } finally {
      Reference.reachabilityFence(segment);
    }
  }

  /**
   * Writes until all bytes are written.
   *
   * @param fd the descriptor
   * @param address the source of the bytes
   * @param count the number of bytes
   * @param offset the position in the file, in bytes
   * @return {@code count}, or a negated error number, in which case some bytes may have been
   *     written
   * @since 0.1.0
   */
  public static long pwriteFully(int fd, long address, long count, long offset) {
    long done = 0;
    while (done < count) {
      long n = pwrite(fd, address + done, count - done, offset + done);
      if (n < 0) {
        return n;
      }
      if (n == 0) {
        return -Errno.EIO; // a file accepts at least one byte or reports an error
      }
      done += n;
    }
    return done;
  }

  /**
   * Returns the length of a file. Moves the file position, which nothing here uses.
   *
   * @param fd the descriptor
   * @return bytes, or a negated error number
   * @since 0.1.0
   */
  public static long size(int fd) {
    return Calls.LSEEK.callLong(fd, 0, SEEK_END, 0, 0, 0);
  }

  /**
   * Makes a file's data and all of its metadata durable. On a directory: its entries.
   *
   * @param fd the descriptor
   * @return 0 or a negated error number; after a failure the data may be lost although a second
   *     call succeeds
   * @since 0.1.0
   */
  public static int fsync(int fd) {
    return Calls.FSYNC.retryInt(fd, 0, 0, 0);
  }

  /**
   * Makes a file's data durable, with the metadata that is needed to read it back.
   *
   * @param fd the descriptor
   * @return 0 or a negated error number; after a failure the data may be lost although a second
   *     call succeeds
   * @since 0.1.0
   */
  public static int fdatasync(int fd) {
    return Calls.FDATASYNC.retryInt(fd, 0, 0, 0);
  }

  /**
   * Sets the length of a file. Added bytes read as zeros.
   *
   * @param fd the descriptor
   * @param length bytes
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int ftruncate(int fd, long length) {
    return Calls.FTRUNCATE.retryInt(fd, length, 0, 0);
  }

  /**
   * Allocates, zeroes or deallocates a range of a file.
   *
   * @param fd the descriptor
   * @param mode 0 to allocate, or {@code FALLOC_FL_*}
   * @param offset first byte
   * @param length bytes
   * @return 0 or a negated error number; {@link Errno#EOPNOTSUPP} if the file system does not
   *     support it
   * @since 0.1.0
   */
  public static int fallocate(int fd, int mode, long offset, long length) {
    return Calls.FALLOCATE.retryInt(fd, mode, offset, length);
  }

  /**
   * Locks or unlocks a whole file. The lock belongs to the open file description: it conflicts with
   * a second {@link #open} of the same file, even in the same process. It is released when the last
   * descriptor is closed, including by the death of the process.
   *
   * @param fd the descriptor
   * @param operation {@link #LOCK_SH}, {@link #LOCK_EX} or {@link #LOCK_UN}; waits unless combined
   *     with {@link #LOCK_NB}
   * @return 0 or a negated error number; {@link Errno#EAGAIN} if it is taken
   * @since 0.1.0
   */
  public static int flock(int fd, int operation) {
    return Calls.FLOCK.retryInt(fd, operation, 0, 0);
  }

  /**
   * Locks a whole file with a {@code fcntl} lock, without waiting. It conflicts with programs that
   * do not use {@link #flock}, such as those that lock a {@code FileChannel}. Like a flock lock, it
   * belongs to the open file description (F_OFD_SETLK, Linux 3.15) and is released when the last
   * descriptor is closed.
   *
   * @param fd the descriptor, open for reading (shared lock) or for writing (exclusive lock)
   * @param shared true for a shared lock
   * @return 0 or a negated error number; {@link Errno#EAGAIN} if it is taken
   * @since 0.1.0
   */
  public static int lockRecords(int fd, boolean shared) {
    return setRecordLock(fd, shared ? F_RDLCK : F_WRLCK);
  }

  /**
   * Releases the lock of {@link #lockRecords}, for all descriptors of the open file description.
   * These include descriptors that a forked child holds until it executes its program.
   *
   * @param fd the descriptor
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int unlockRecords(int fd) {
    return setRecordLock(fd, F_UNLCK);
  }

  private static int setRecordLock(int fd, short type) {
    try (Arena arena = Arena.ofConfined()) {
      // l_type, l_whence = SEEK_SET, l_start = 0, l_len = 0 for the whole file, l_pid = 0
      MemorySegment lock = arena.allocate(STRUCT_FLOCK_BYTES, 8);
      lock.set(ValueLayout.JAVA_SHORT, 0, type);
      int result = Calls.FCNTL.retryInt(fd, F_OFD_SETLK, lock.address(), 0);
      return Math.min(result, 0);
    }
  }

  /**
   * Creates a file that exists only in memory.
   *
   * @param name shown in {@code /proc/self/fd}; need not be unique, at most 249 bytes
   * @param flags {@code MFD_*}
   * @return the descriptor or a negated error number
   * @throws IllegalArgumentException if the name contains a NUL
   * @since 0.1.0
   */
  public static int memfdCreate(String name, int flags) {
    if (name.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("A file name cannot contain NUL: " + name + ".");
    }
    try (Arena arena = Arena.ofConfined()) {
      return Calls.MEMFD_CREATE.callInt(arena.allocateFrom(name, NAMES).address(), flags, 0, 0);
    }
  }

  /** Returns the charset in which the JVM encodes file names. */
  private static Charset fileNames() {
    String name = System.getProperty("sun.jnu.encoding", "UTF-8");
    Charset charset = Charset.isSupported(name) ? Charset.forName(name) : StandardCharsets.UTF_8;
    // In the C locale the JVM reports ASCII. UTF-8 contains it.
    return charset.equals(StandardCharsets.US_ASCII) ? StandardCharsets.UTF_8 : charset;
  }

  /** Linked by the first call, so that {@code Libc.probe} links nothing. */
  private static final class Calls {
    static final NativeFunction OPEN = NativeFunction.libc("open");
    static final NativeFunction CLOSE = NativeFunction.libc("close");
    static final NativeFunction PREAD = NativeFunction.libc("pread");
    static final NativeFunction PWRITE = NativeFunction.libc("pwrite");
    static final NativeFunction LSEEK = NativeFunction.libc("lseek");
    static final NativeFunction FSYNC = NativeFunction.libc("fsync");
    static final NativeFunction FDATASYNC = NativeFunction.libc("fdatasync");
    static final NativeFunction FTRUNCATE = NativeFunction.libc("ftruncate");
    static final NativeFunction FALLOCATE = NativeFunction.libc("fallocate");
    static final NativeFunction FLOCK = NativeFunction.libc("flock");
    static final NativeFunction FCNTL = NativeFunction.libc("fcntl");
    static final NativeFunction MEMFD_CREATE = NativeFunction.libc("memfd_create");

    private Calls() {}
  }
}
