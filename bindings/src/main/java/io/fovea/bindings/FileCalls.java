package io.fovea.bindings;

import io.fovea.bindings.generated.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Reference;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/**
 * Calls of libc on files: opening, positioned reads and writes, durability, length and space,
 * locks. Errors, threads and addresses are as {@link Libc} says.
 *
 * <p>{@code pread}, {@code pwrite} and {@code fdatasync} are hot and allocate nothing once
 * compiled.
 *
 * @since 0.1.0
 */
public final class FileCalls {
  // Written out, and not taken from the generated class, so that naming a constant loads nothing;
  // LibcTest compares them. All but the two that ask for the platform are the same on x86-64 and
  // AArch64.

  /** {@link #open}: for reading. */
  public static final int O_RDONLY = 0;

  /** {@link #open}: for writing. */
  public static final int O_WRONLY = 1;

  /** {@link #open}: for both. */
  public static final int O_RDWR = 2;

  /** {@link #open}: make the file where it does not exist. */
  public static final int O_CREAT = 0x40;

  /** {@link #open}: with {@link #O_CREAT}, fail with {@link Errno#EEXIST} where it exists. */
  public static final int O_EXCL = 0x80;

  /** {@link #open}: cut the file to length 0. */
  public static final int O_TRUNC = 0x200;

  /** {@link #open}: a write returns when its data is durable. */
  public static final int O_DSYNC = 0x1000;

  /**
   * {@link #open}: past the page cache. Address, length and offset must be multiples of the
   * device's logical block, commonly 512 or 4096 bytes; else {@link Errno#EINVAL}.
   */
  public static final int O_DIRECT = Platform.AARCH64 ? 0x10000 : 0x4000;

  /** {@link #open}: a directory, for {@link #fsync} after a rename. */
  public static final int O_DIRECTORY = Platform.AARCH64 ? 0x4000 : 0x10000;

  /** {@link #open}: not inherited by programs that this process starts. */
  public static final int O_CLOEXEC = 0x80000;

  /** {@link #flock}: shared. */
  public static final int LOCK_SH = 1;

  /** {@link #flock}: exclusive. */
  public static final int LOCK_EX = 2;

  /** {@link #flock}: do not wait; {@link Errno#EAGAIN} where somebody else has it. */
  public static final int LOCK_NB = 4;

  /** {@link #flock}: release. */
  public static final int LOCK_UN = 8;

  /** {@link #fallocate}: leave the file's length as it is. */
  public static final int FALLOC_FL_KEEP_SIZE = 1;

  /**
   * {@link #fallocate}: give the range back to the file system; with {@link #FALLOC_FL_KEEP_SIZE}.
   */
  public static final int FALLOC_FL_PUNCH_HOLE = 2;

  /** {@link #fallocate}: the range reads as zeros and stays allocated. */
  public static final int FALLOC_FL_ZERO_RANGE = 0x10;

  /** {@link #memfdCreate}: not inherited by programs that this process starts. */
  public static final int MFD_CLOEXEC = 1;

  /** How the JVM writes the names of files. */
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
   * @param path the file's name, as the file system has it
   * @param flags {@code O_*}; {@link #O_CLOEXEC} is not implied
   * @param mode the permissions of a file that {@link #O_CREAT} makes, less the umask, for example
   *     {@code 0644}; otherwise ignored
   * @return the descriptor or a negated error number
   * @throws IllegalArgumentException if the name contains a NUL
   * @since 0.1.0
   */
  public static int open(String path, int flags, int mode) {
    if (path.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("A file's name cannot contain NUL: " + path + ".");
    }
    CallState state = CallState.acquire();
    try (Arena arena = Arena.ofConfined()) {
      long name = arena.allocateFrom(path, NAMES).address();
      int result;
      do {
        result = (int) Calls.OPEN.invokeExact(state.captured, name, flags, mode);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Closes a descriptor. It is gone whatever the result; an interrupted close counts as done.
   *
   * @param fd the descriptor
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int close(int fd) {
    int result = Downcall.call(Calls.CLOSE, fd, false);
    return result == -Errno.EINTR ? 0 : result;
  }

  /**
   * Reads once at a position. The descriptor's own position is neither used nor moved.
   *
   * @param fd the descriptor
   * @param address where the bytes go
   * @param count how many bytes at most
   * @param offset where in the file, in bytes
   * @return how many bytes were read, 0 at or after the end of the file, fewer than asked near it;
   *     or a negated error number
   * @since 0.1.0
   */
  public static long pread(int fd, long address, long count, long offset) {
    CallState state = CallState.acquire();
    try {
      long result;
      do {
        result = (long) Calls.PREAD.invokeExact(state.captured, fd, address, count, offset);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * As {@link #pread(int, long, long, long)}, into a part of a native segment.
   *
   * @param fd the descriptor
   * @param segment where the bytes go; native
   * @param start first byte in the segment
   * @param count how many bytes at most
   * @param offset where in the file, in bytes
   * @return how many bytes were read, or a negated error number
   * @throws IndexOutOfBoundsException if the segment is too short
   * @throws IllegalArgumentException if the segment is on the heap or read-only
   * @throws IllegalStateException if the segment's arena is closed
   * @since 0.1.0
   */
  public static long pread(int fd, MemorySegment segment, long start, long count, long offset) {
    if (segment.isReadOnly()) {
      throw new IllegalArgumentException("A read needs a segment that can be written.");
    }
    long address = Downcall.address(segment, start, count);
    try {
      return pread(fd, address, count, offset);
    } finally {
      Reference.reachabilityFence(segment);
    }
  }

  /**
   * Reads until all bytes are there or the file ends.
   *
   * @param fd the descriptor
   * @param address where the bytes go
   * @param count how many bytes
   * @param offset where in the file, in bytes
   * @return how many bytes were read, fewer than asked only where the file ends; or a negated error
   *     number, in which case some bytes may have been read
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
   * Writes once at a position. The descriptor's own position is neither used nor moved.
   *
   * @param fd the descriptor
   * @param address where the bytes are
   * @param count how many bytes at most
   * @param offset where in the file, in bytes
   * @return how many bytes were written, which may be fewer than asked; or a negated error number
   * @since 0.1.0
   */
  public static long pwrite(int fd, long address, long count, long offset) {
    CallState state = CallState.acquire();
    try {
      long result;
      do {
        result = (long) Calls.PWRITE.invokeExact(state.captured, fd, address, count, offset);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * As {@link #pwrite(int, long, long, long)}, from a part of a native segment.
   *
   * @param fd the descriptor
   * @param segment where the bytes are; native
   * @param start first byte in the segment
   * @param count how many bytes at most
   * @param offset where in the file, in bytes
   * @return how many bytes were written, or a negated error number
   * @throws IndexOutOfBoundsException if the segment is too short
   * @throws IllegalArgumentException if the segment is on the heap
   * @throws IllegalStateException if the segment's arena is closed
   * @since 0.1.0
   */
  public static long pwrite(int fd, MemorySegment segment, long start, long count, long offset) {
    long address = Downcall.address(segment, start, count);
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
   * @param address where the bytes are
   * @param count how many bytes
   * @param offset where in the file, in bytes
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
        return -Errno.EIO; // a file takes at least one byte or says why not
      }
      done += n;
    }
    return done;
  }

  /**
   * The length of a file. Moves the descriptor's own position, which nothing here uses.
   *
   * @param fd the descriptor
   * @return bytes, or a negated error number
   * @since 0.1.0
   */
  public static long size(int fd) {
    CallState state = CallState.acquire();
    try {
      long result = (long) Calls.LSEEK.invokeExact(state.captured, fd, 0L, SEEK_END);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Makes a file's data and all of its metadata durable; on a directory, its entries.
   *
   * @param fd the descriptor
   * @return 0 or a negated error number; after a failure the data may be lost although a second
   *     call succeeds
   * @since 0.1.0
   */
  public static int fsync(int fd) {
    return Downcall.call(Calls.FSYNC, fd, true);
  }

  /**
   * Makes a file's data durable, and of its metadata what is needed to read it back.
   *
   * @param fd the descriptor
   * @return 0 or a negated error number; after a failure the data may be lost although a second
   *     call succeeds
   * @since 0.1.0
   */
  public static int fdatasync(int fd) {
    return Downcall.call(Calls.FDATASYNC, fd, true);
  }

  /**
   * Sets the length of a file; what is added reads as zeros.
   *
   * @param fd the descriptor
   * @param length bytes
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int ftruncate(int fd, long length) {
    CallState state = CallState.acquire();
    try {
      int result;
      do {
        result = (int) Calls.FTRUNCATE.invokeExact(state.captured, fd, length);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Allocates, zeroes or gives back a range of a file.
   *
   * @param fd the descriptor
   * @param mode 0 to allocate, or {@code FALLOC_FL_*}
   * @param offset first byte
   * @param length bytes
   * @return 0 or a negated error number; {@link Errno#EOPNOTSUPP} where the file system cannot
   * @since 0.1.0
   */
  public static int fallocate(int fd, int mode, long offset, long length) {
    CallState state = CallState.acquire();
    try {
      int result;
      do {
        result = (int) Calls.FALLOCATE.invokeExact(state.captured, fd, mode, offset, length);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Locks or unlocks a whole file. The lock belongs to the open file description: a second {@link
   * #open} of the same file conflicts with it, in the same process too. It goes away when the last
   * descriptor is closed, also by the death of the process.
   *
   * @param fd the descriptor
   * @param operation {@link #LOCK_SH}, {@link #LOCK_EX} or {@link #LOCK_UN}, with {@link #LOCK_NB}
   *     or not; without it the call waits
   * @return 0 or a negated error number; {@link Errno#EAGAIN} where it is taken
   * @since 0.1.0
   */
  public static int flock(int fd, int operation) {
    CallState state = CallState.acquire();
    try {
      int result;
      do {
        result = (int) Calls.FLOCK.invokeExact(state.captured, fd, operation);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Locks all of a file, without waiting, against {@code fcntl} locks: those of programs that know
   * no {@link #flock}, such as the locks of a {@code FileChannel}. The lock is the open file's
   * (F_OFD_SETLK, Linux 3.15), as flock's is, and goes when the last descriptor is closed.
   *
   * @param fd the descriptor, open for reading for a shared lock, else for writing
   * @param shared whether others may share it
   * @return 0 or a negated error number; {@link Errno#EAGAIN} where somebody else has it
   * @since 0.1.0
   */
  public static int lockRecords(int fd, boolean shared) {
    return setRecordLock(fd, shared ? F_RDLCK : F_WRLCK);
  }

  /**
   * Releases what {@link #lockRecords} locked, for all descriptors of the open file: those that a
   * child process has inherited, and keeps until it executes its program, included.
   *
   * @param fd the descriptor
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int unlockRecords(int fd) {
    return setRecordLock(fd, F_UNLCK);
  }

  private static int setRecordLock(int fd, short type) {
    CallState state = CallState.acquire();
    try (Arena arena = Arena.ofConfined()) {
      // l_type, l_whence = SEEK_SET, l_start = 0, l_len = 0 for all of it, l_pid = 0
      MemorySegment lock = arena.allocate(STRUCT_FLOCK_BYTES, 8);
      lock.set(ValueLayout.JAVA_SHORT, 0, type);
      int result;
      do {
        result = (int) Calls.FCNTL.invokeExact(state.captured, fd, F_OFD_SETLK, lock.address());
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : 0;
    } catch (Throwable t) {
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * A file that lives in memory only.
   *
   * @param name for {@code /proc/self/fd}; need not be unique, 249 bytes at most
   * @param flags {@code MFD_*}
   * @return the descriptor or a negated error number
   * @throws IllegalArgumentException if the name contains a NUL
   * @since 0.1.0
   */
  public static int memfdCreate(String name, int flags) {
    if (name.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("A file's name cannot contain NUL: " + name + ".");
    }
    CallState state = CallState.acquire();
    try (Arena arena = Arena.ofConfined()) {
      long address = arena.allocateFrom(name, NAMES).address();
      int result = (int) Calls.MEMFD_CREATE.invokeExact(state.captured, address, flags);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /** File names are bytes; the JVM says how it turns them into strings. */
  private static Charset fileNames() {
    String name = System.getProperty("sun.jnu.encoding", "UTF-8");
    Charset charset = Charset.isSupported(name) ? Charset.forName(name) : StandardCharsets.UTF_8;
    // In the C locale the JVM says ASCII; then UTF-8, which contains it, does no harm.
    return charset.equals(StandardCharsets.US_ASCII) ? StandardCharsets.UTF_8 : charset;
  }

  /** Linked by the first call; {@code Libc.probe} links nothing. */
  private static final class Calls {
    static final MethodHandle OPEN =
        Downcall.link(
            LibC.open.address(),
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT,
                ValueLayout.ADDRESS,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT),
            Linker.Option.firstVariadicArg(2));
    static final MethodHandle CLOSE = Downcall.link(LibC.close$address(), LibC.close$descriptor());
    static final MethodHandle PREAD = Downcall.link(LibC.pread$address(), LibC.pread$descriptor());
    static final MethodHandle PWRITE =
        Downcall.link(LibC.pwrite$address(), LibC.pwrite$descriptor());
    static final MethodHandle LSEEK = Downcall.link(LibC.lseek$address(), LibC.lseek$descriptor());
    static final MethodHandle FSYNC = Downcall.link(LibC.fsync$address(), LibC.fsync$descriptor());
    static final MethodHandle FDATASYNC =
        Downcall.link(LibC.fdatasync$address(), LibC.fdatasync$descriptor());
    static final MethodHandle FTRUNCATE =
        Downcall.link(LibC.ftruncate$address(), LibC.ftruncate$descriptor());
    static final MethodHandle FALLOCATE =
        Downcall.link(LibC.fallocate$address(), LibC.fallocate$descriptor());
    static final MethodHandle FLOCK = Downcall.link(LibC.flock$address(), LibC.flock$descriptor());
    static final MethodHandle FCNTL =
        Downcall.link(
            Linker.nativeLinker().defaultLookup().find("fcntl").orElseThrow(),
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.ADDRESS),
            Linker.Option.firstVariadicArg(2));
    static final MethodHandle MEMFD_CREATE =
        Downcall.link(LibC.memfd_create$address(), LibC.memfd_create$descriptor());

    private Calls() {}
  }
}
