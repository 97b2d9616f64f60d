package io.fovea.bindings;

import io.fovea.bindings.generated.LibC;
import io.fovea.bindings.generated.rlimit;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Reference;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/**
 * The functions of libc that Fovea calls: files, mappings, and a few facts about the process.
 *
 * <p><b>Errors.</b> A call that fails returns the negated error number of {@link Errno}; none
 * throws for it. Calls that a signal interrupted are made again, except {@link #close}: Linux has
 * released the descriptor by then.
 *
 * <p><b>Threads.</b> Any. A call that blocks holds its carrier where a virtual thread makes it. The
 * hot calls ({@code pread}, {@code pwrite}, {@code fdatasync}) allocate nothing once compiled:
 * errno goes to a slot of a small shared cache ({@code CallState} says why not to a ThreadLocal),
 * and addresses are passed as longs, for an address layout would make a segment object.
 *
 * <p><b>Addresses.</b> The forms that take a raw address check nothing: a wrong one ends in {@link
 * Errno#EFAULT} or in a damaged process. The forms that take a segment check bounds and liveness
 * before the call and keep the segment reachable during it; nobody may close a shared arena while a
 * call uses it.
 *
 * <p>Call {@link #probe()} first: elsewhere than on Linux (x86-64 or AArch64) the first call of any
 * other method ends in a {@link LinkageError}.
 *
 * @since 0.1.0
 */
public final class Libc {
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

  /** {@link #mmap}, {@link #mprotect}: no access. */
  public static final int PROT_NONE = 0;

  /** {@link #mmap}, {@link #mprotect}: reads. */
  public static final int PROT_READ = 1;

  /** {@link #mmap}, {@link #mprotect}: writes. */
  public static final int PROT_WRITE = 2;

  /** {@link #mmap}: shared with whoever maps the same file. */
  public static final int MAP_SHARED = 1;

  /** {@link #mmap}: a copy of its own. */
  public static final int MAP_PRIVATE = 2;

  /** {@link #mmap}: at the given address, replacing what is there. */
  public static final int MAP_FIXED = 0x10;

  /** {@link #mmap}: no file, zeros. */
  public static final int MAP_ANONYMOUS = 0x20;

  /** {@link #mmap}: reserve no swap for it. */
  public static final int MAP_NORESERVE = 0x4000;

  /** {@link #mmap}: fault all pages in at once. */
  public static final int MAP_POPULATE = 0x8000;

  /** {@link #mmap}: from the pool of huge pages that the administrator set aside. */
  public static final int MAP_HUGETLB = 0x40000;

  /** {@link #madvise}: no special treatment. */
  public static final int MADV_NORMAL = 0;

  /** {@link #madvise}: no read-ahead. */
  public static final int MADV_RANDOM = 1;

  /** {@link #madvise}: more read-ahead. */
  public static final int MADV_SEQUENTIAL = 2;

  /** {@link #madvise}: needed soon. */
  public static final int MADV_WILLNEED = 3;

  /** {@link #madvise}: release the pages; a private anonymous range reads as zeros after it. */
  public static final int MADV_DONTNEED = 4;

  /** {@link #madvise}: a forked child does not get it. */
  public static final int MADV_DONTFORK = 10;

  /** {@link #madvise}: use transparent huge pages. */
  public static final int MADV_HUGEPAGE = 14;

  /** {@link #madvise}: use none. */
  public static final int MADV_NOHUGEPAGE = 15;

  /** {@link #madvise}: leave it out of core dumps. */
  public static final int MADV_DONTDUMP = 16;

  /** {@link #madvise}: fault the pages in for reading; Linux 5.14. */
  public static final int MADV_POPULATE_READ = 22;

  /** {@link #madvise}: fault the pages in for writing; Linux 5.14. */
  public static final int MADV_POPULATE_WRITE = 23;

  /** {@link #memfdCreate}: not inherited by programs that this process starts. */
  public static final int MFD_CLOEXEC = 1;

  /** {@link #eventfd}: reads of a zero count fail with {@link Errno#EAGAIN} instead of waiting. */
  public static final int EFD_NONBLOCK = 0x800;

  /** {@link #eventfd}: not inherited by programs that this process starts. */
  public static final int EFD_CLOEXEC = 0x80000;

  /** {@link #rlimit}: open descriptors. */
  public static final int RLIMIT_NOFILE = 7;

  /** {@link #rlimit}: bytes that may be locked in memory, registered buffers among them. */
  public static final int RLIMIT_MEMLOCK = 8;

  private static final int SEEK_END = 2;
  private static final int F_OFD_SETLK = 37;
  private static final short F_RDLCK = 0;
  private static final short F_WRLCK = 1;
  private static final int STRUCT_FLOCK_BYTES = 32;

  private static final List<String> FUNCTIONS =
      List.of(
          "open",
          "close",
          "pread",
          "pwrite",
          "read",
          "write",
          "lseek",
          "fsync",
          "fdatasync",
          "ftruncate",
          "fallocate",
          "flock",
          "fcntl",
          "mmap",
          "munmap",
          "madvise",
          "mprotect",
          "memfd_create",
          "eventfd",
          "getrlimit",
          "getpid",
          "getpagesize");

  private Libc() {}

  /**
   * Whether this class works here: the machine is one that it knows, the JVM lets it call native
   * code, and every function is there. Loads nothing that could fail; any thread.
   *
   * @return the answer; nothing is thrown
   * @since 0.1.0
   */
  public static Availability probe() {
    return probe(FUNCTIONS);
  }

  static Availability probe(List<String> functions) {
    String unsupported = Platform.unsupported();
    if (unsupported != null) {
      return new Availability.Unavailable("libc " + unsupported, 0);
    }
    try {
      Linker linker = Linker.nativeLinker();
      for (String function : functions) {
        MemorySegment address = linker.defaultLookup().find(function).orElse(MemorySegment.NULL);
        if (address.address() == 0) {
          return new Availability.Unavailable("libc has no function " + function, 0);
        }
      }
      linker.downcallHandle(FunctionDescriptor.of(ValueLayout.JAVA_INT));
    } catch (IllegalCallerException e) {
      return new Availability.Unavailable(
          "native access is denied, start the JVM with "
              + NativeAccess.missingOption(Libc.class.getModule()),
          0);
    } catch (UnsupportedOperationException e) {
      return new Availability.Unavailable("this JVM has no foreign linker", 0);
    }
    return new Availability.Available("libc", Platform.KERNEL, 0, 0);
  }

  // ---------------------------------------------------------------- files

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
      long name = arena.allocateFrom(path, Calls.NAMES).address();
      int result;
      do {
        result = (int) Calls.OPEN.invokeExact(state.captured, name, flags, mode);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw unexpected(t);
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
    int result = call(Calls.CLOSE, fd, false);
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
      throw unexpected(t);
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
    long address = address(segment, start, count);
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
      throw unexpected(t);
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
    long address = address(segment, start, count);
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
      throw unexpected(t);
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
    return call(Calls.FSYNC, fd, true);
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
    return call(Calls.FDATASYNC, fd, true);
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
      throw unexpected(t);
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
      throw unexpected(t);
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
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Locks all of a file, without waiting, against {@code fcntl} locks: those of programs that know
   * no {@link #flock}, such as the locks of a {@code FileChannel}. The lock is the open file's
   * (F_OFD_SETLK, Linux 3.15), as flock's is, and goes when the descriptor is closed.
   *
   * @param fd the descriptor, open for reading for a shared lock, else for writing
   * @param shared whether others may share it
   * @return 0 or a negated error number; {@link Errno#EAGAIN} where somebody else has it
   * @since 0.1.0
   */
  public static int lockRecords(int fd, boolean shared) {
    CallState state = CallState.acquire();
    try (Arena arena = Arena.ofConfined()) {
      // l_type, l_whence = SEEK_SET, l_start = 0, l_len = 0 for all of it, l_pid = 0
      MemorySegment lock = arena.allocate(STRUCT_FLOCK_BYTES, 8);
      lock.set(ValueLayout.JAVA_SHORT, 0, shared ? F_RDLCK : F_WRLCK);
      int result;
      do {
        result = (int) Calls.FCNTL.invokeExact(state.captured, fd, F_OFD_SETLK, lock.address());
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : 0;
    } catch (Throwable t) {
      throw unexpected(t);
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
      long address = arena.allocateFrom(name, Calls.NAMES).address();
      int result = (int) Calls.MEMFD_CREATE.invokeExact(state.captured, address, flags);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  // ---------------------------------------------------------------- memory

  /**
   * Maps memory or a file.
   *
   * @param address where, or 0 to let the kernel choose
   * @param length bytes
   * @param prot {@code PROT_*}
   * @param flags {@code MAP_*}
   * @param fd the file, or -1 with {@link #MAP_ANONYMOUS}
   * @param offset where in the file, a multiple of {@link #pageSize()}
   * @return the address, or a negated error number; no address is negative
   * @since 0.1.0
   */
  public static long mmap(long address, long length, int prot, int flags, int fd, long offset) {
    CallState state = CallState.acquire();
    try {
      long result =
          (long) Calls.MMAP.invokeExact(state.captured, address, length, prot, flags, fd, offset);
      return result == -1 ? -state.errno() : result;
    } catch (Throwable t) {
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Takes a mapping away. An access to it afterwards ends the process, or hits what was mapped
   * there since.
   *
   * @param address its first byte, a multiple of {@link #pageSize()}
   * @param length bytes
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int munmap(long address, long length) {
    CallState state = CallState.acquire();
    try {
      int result = (int) Calls.MUNMAP.invokeExact(state.captured, address, length);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Tells the kernel how a range of memory is used.
   *
   * @param address its first byte, a multiple of {@link #pageSize()}
   * @param length bytes
   * @param advice {@code MADV_*}
   * @return 0 or a negated error number; {@link Errno#EINVAL} where the kernel does not know the
   *     advice
   * @since 0.1.0
   */
  public static int madvise(long address, long length, int advice) {
    return range(Calls.MADVISE, address, length, advice);
  }

  /**
   * Allows or forbids access to a range of memory.
   *
   * @param address its first byte, a multiple of {@link #pageSize()}
   * @param length bytes
   * @param prot {@code PROT_*}
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int mprotect(long address, long length, int prot) {
    return range(Calls.MPROTECT, address, length, prot);
  }

  // ---------------------------------------------------------------- events

  /**
   * A counter behind a descriptor, by which one thread wakes another that waits in the kernel, for
   * example in a {@link Ring} that has a read of it in flight.
   *
   * @param initial the first count
   * @param flags {@code EFD_*}
   * @return the descriptor or a negated error number
   * @since 0.1.0
   */
  public static int eventfd(int initial, int flags) {
    CallState state = CallState.acquire();
    try {
      int result = (int) Calls.EVENTFD.invokeExact(state.captured, initial, flags);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Adds to the count of an {@link #eventfd}.
   *
   * @param fd the eventfd
   * @param count what to add, at least 1
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int eventfdAdd(int fd, long count) {
    CallState state = CallState.acquire();
    try {
      state.scratch.set(ValueLayout.JAVA_LONG, 0, count);
      long result;
      do {
        result = (long) Calls.WRITE.invokeExact(state.captured, fd, state.scratch.address(), 8L);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : 0;
    } catch (Throwable t) {
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Takes the count of an {@link #eventfd} and leaves 0; waits while it is 0, unless it was made
   * with {@link #EFD_NONBLOCK}.
   *
   * @param fd the eventfd
   * @return the count, or a negated error number
   * @since 0.1.0
   */
  public static long eventfdTake(int fd) {
    CallState state = CallState.acquire();
    try {
      long result;
      do {
        result = (long) Calls.READ.invokeExact(state.captured, fd, state.scratch.address(), 8L);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : state.scratch.get(ValueLayout.JAVA_LONG, 0);
    } catch (Throwable t) {
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  // ---------------------------------------------------------------- the process

  /**
   * The id of this process.
   *
   * @return the id
   * @since 0.1.0
   */
  public static int getpid() {
    return LibC.getpid();
  }

  /**
   * The size of a page of memory.
   *
   * @return bytes
   * @since 0.1.0
   */
  public static int pageSize() {
    return LibC.getpagesize();
  }

  /**
   * The soft limit of a resource.
   *
   * @param resource {@code RLIMIT_*}
   * @return the limit, {@link Long#MAX_VALUE} where there is none, or a negated error number
   * @since 0.1.0
   */
  public static long rlimit(int resource) {
    CallState state = CallState.acquire();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment limits = rlimit.allocate(arena);
      int result = (int) Calls.GETRLIMIT.invokeExact(state.captured, resource, limits.address());
      if (result < 0) {
        return -state.errno();
      }
      long soft = rlimit.rlim_cur(limits);
      return soft < 0 ? Long.MAX_VALUE : soft; // RLIM_INFINITY is all ones
    } catch (Throwable t) {
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  // ---------------------------------------------------------------- inside

  private static int call(MethodHandle handle, int fd, boolean retry) {
    CallState state = CallState.acquire();
    try {
      int result;
      do {
        result = (int) handle.invokeExact(state.captured, fd);
      } while (retry && result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  private static int range(MethodHandle handle, long address, long length, int argument) {
    CallState state = CallState.acquire();
    try {
      int result;
      do {
        result = (int) handle.invokeExact(state.captured, address, length, argument);
      } while (result < 0 && state.errno() == Errno.EINTR);
      return result < 0 ? -state.errno() : result;
    } catch (Throwable t) {
      throw unexpected(t);
    } finally {
      state.release();
    }
  }

  /** The address of a part of a native segment, checked. */
  static long address(MemorySegment segment, long start, long count) {
    if (!segment.isNative()) {
      throw new IllegalArgumentException(
          "The kernel needs native memory, this is " + segment + ".");
    }
    Objects.checkFromIndexSize(start, count, segment.byteSize());
    if (!segment.scope().isAlive()) {
      throw new IllegalStateException("The memory of this segment was released.");
    }
    return segment.address() + start;
  }

  /** A linked function throws nothing; what comes out of its handle is a bug or an error. */
  static Error unexpected(Throwable t) {
    if (t instanceof RuntimeException e) {
      throw e;
    }
    return t instanceof Error e ? e : new AssertionError(t);
  }

  /** Loaded by the first call. The generated class has the descriptors and the addresses. */
  private static final class Calls {
    static final Charset NAMES = names();

    static final MethodHandle OPEN =
        link(
            LibC.open.address(),
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT,
                ValueLayout.ADDRESS,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT),
            Linker.Option.firstVariadicArg(2));
    static final MethodHandle CLOSE = link(LibC.close$address(), LibC.close$descriptor());
    static final MethodHandle PREAD = link(LibC.pread$address(), LibC.pread$descriptor());
    static final MethodHandle PWRITE = link(LibC.pwrite$address(), LibC.pwrite$descriptor());
    static final MethodHandle READ = link(LibC.read$address(), LibC.read$descriptor());
    static final MethodHandle WRITE = link(LibC.write$address(), LibC.write$descriptor());
    static final MethodHandle LSEEK = link(LibC.lseek$address(), LibC.lseek$descriptor());
    static final MethodHandle FSYNC = link(LibC.fsync$address(), LibC.fsync$descriptor());
    static final MethodHandle FDATASYNC =
        link(LibC.fdatasync$address(), LibC.fdatasync$descriptor());
    static final MethodHandle FTRUNCATE =
        link(LibC.ftruncate$address(), LibC.ftruncate$descriptor());
    static final MethodHandle FALLOCATE =
        link(LibC.fallocate$address(), LibC.fallocate$descriptor());
    static final MethodHandle FLOCK = link(LibC.flock$address(), LibC.flock$descriptor());
    static final MethodHandle FCNTL =
        link(
            Linker.nativeLinker().defaultLookup().find("fcntl").orElseThrow(),
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.ADDRESS),
            Linker.Option.firstVariadicArg(2));
    static final MethodHandle MEMFD_CREATE =
        link(LibC.memfd_create$address(), LibC.memfd_create$descriptor());
    static final MethodHandle MMAP = link(LibC.mmap$address(), LibC.mmap$descriptor());
    static final MethodHandle MUNMAP = link(LibC.munmap$address(), LibC.munmap$descriptor());
    static final MethodHandle MADVISE = link(LibC.madvise$address(), LibC.madvise$descriptor());
    static final MethodHandle MPROTECT = link(LibC.mprotect$address(), LibC.mprotect$descriptor());
    static final MethodHandle EVENTFD = link(LibC.eventfd$address(), LibC.eventfd$descriptor());
    static final MethodHandle GETRLIMIT =
        link(LibC.getrlimit$address(), LibC.getrlimit$descriptor());

    private Calls() {}

    /** As C declares it, but with errno captured and with addresses as longs. */
    private static MethodHandle link(
        MemorySegment function, FunctionDescriptor declared, Linker.Option... options) {
      MemoryLayout[] arguments =
          declared.argumentLayouts().stream().map(Calls::raw).toArray(MemoryLayout[]::new);
      FunctionDescriptor linked =
          FunctionDescriptor.of(raw(declared.returnLayout().orElseThrow()), arguments);
      Linker.Option[] all = new Linker.Option[options.length + 1];
      System.arraycopy(options, 0, all, 1, options.length);
      all[0] = Linker.Option.captureCallState("errno");
      return Linker.nativeLinker().downcallHandle(function, linked, all);
    }

    private static MemoryLayout raw(MemoryLayout layout) {
      return layout instanceof AddressLayout ? ValueLayout.JAVA_LONG : layout;
    }

    /** File names are bytes; the JVM says how it turns them into strings. */
    private static Charset names() {
      String name = System.getProperty("sun.jnu.encoding", "UTF-8");
      Charset charset = Charset.isSupported(name) ? Charset.forName(name) : StandardCharsets.UTF_8;
      // In the C locale the JVM says ASCII; then UTF-8, which contains it, does no harm.
      return charset.equals(StandardCharsets.US_ASCII) ? StandardCharsets.UTF_8 : charset;
    }
  }
}
