package io.fovea.bindings;

import org.jspecify.annotations.Nullable;

/**
 * Calls of libc on the address space: mappings, advice, protection. For errors, threads and
 * addresses see {@link Libc}.
 *
 * <p>{@link #pidfdOpen} and {@link #processMadvise} need glibc 2.36. They are linked if present;
 * {@link Libc#probe} does not require them. {@link #membarrier} has no wrapper in glibc and goes
 * through {@code syscall(2)}.
 *
 * @since 0.1.0
 */
public final class MemoryCalls {
  // Literals, not references to the generated class, so that using a constant loads nothing.
  // LibcTest compares them.

  /** {@link #mmap}, {@link #mprotect}: no access. */
  public static final int PROT_NONE = 0;

  /** {@link #mmap}, {@link #mprotect}: reads. */
  public static final int PROT_READ = 1;

  /** {@link #mmap}, {@link #mprotect}: writes. */
  public static final int PROT_WRITE = 2;

  /** {@link #mmap}: shared with all mappings of the same file. */
  public static final int MAP_SHARED = 1;

  /** {@link #mmap}: private copy on write. */
  public static final int MAP_PRIVATE = 2;

  /** {@link #mmap}: at the given address, replacing what is there. */
  public static final int MAP_FIXED = 0x10;

  /** {@link #mmap}: no file, zeros. */
  public static final int MAP_ANONYMOUS = 0x20;

  /** {@link #mmap}: reserve no swap space. */
  public static final int MAP_NORESERVE = 0x4000;

  /** {@link #mmap}: fault in all pages. */
  public static final int MAP_POPULATE = 0x8000;

  /** {@link #mmap}: from the pool of huge pages that the administrator reserved. */
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

  /** {@link #madvise}: not inherited by a forked child. */
  public static final int MADV_DONTFORK = 10;

  /** {@link #madvise}: use transparent huge pages. */
  public static final int MADV_HUGEPAGE = 14;

  /** {@link #madvise}: use no transparent huge pages. */
  public static final int MADV_NOHUGEPAGE = 15;

  /** {@link #madvise}: exclude from core dumps. */
  public static final int MADV_DONTDUMP = 16;

  /** {@link #madvise}: fault the pages in for reading; Linux 5.14. */
  public static final int MADV_POPULATE_READ = 22;

  /** {@link #madvise}: fault the pages in for writing; Linux 5.14. */
  public static final int MADV_POPULATE_WRITE = 23;

  private MemoryCalls() {}

  /**
   * Maps memory or a file.
   *
   * @param address the address, or 0 to let the kernel choose
   * @param length bytes
   * @param prot {@code PROT_*}
   * @param flags {@code MAP_*}
   * @param fd the file, or -1 with {@link #MAP_ANONYMOUS}
   * @param offset the position in the file, a multiple of {@link Libc#pageSize()}
   * @return the address, or a negated error number; no address is negative
   * @since 0.1.0
   */
  public static long mmap(long address, long length, int prot, int flags, int fd, long offset) {
    CallState state = CallState.acquire();
    try {
      long result = Calls.MMAP.call(state, address, length, prot, flags, fd, offset);
      return result == -1 ? -state.errno() : result;
    } finally {
      state.release();
    }
  }

  /**
   * Removes a mapping. A later access crashes the process, or hits whatever has been mapped there
   * since.
   *
   * @param address its first byte, a multiple of {@link Libc#pageSize()}
   * @param length bytes
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int munmap(long address, long length) {
    return Calls.MUNMAP.callInt(address, length, 0, 0);
  }

  /**
   * Tells the kernel how a range of memory is used.
   *
   * @param address its first byte, a multiple of {@link Libc#pageSize()}
   * @param length bytes
   * @param advice {@code MADV_*}
   * @return 0 or a negated error number; {@link Errno#EINVAL} if the kernel does not know the
   *     advice
   * @since 0.1.0
   */
  public static int madvise(long address, long length, int advice) {
    return Calls.MADVISE.retryInt(address, length, advice, 0);
  }

  /**
   * Allows or forbids access to a range of memory.
   *
   * @param address its first byte, a multiple of {@link Libc#pageSize()}
   * @param length bytes
   * @param prot {@code PROT_*}
   * @return 0 or a negated error number
   * @since 0.1.0
   */
  public static int mprotect(long address, long length, int prot) {
    return Calls.MPROTECT.retryInt(address, length, prot, 0);
  }

  /**
   * Opens a descriptor of a process, with close on exec.
   *
   * @param pid the id of the process
   * @return the descriptor, to be closed, or a negated error number; {@link Errno#ENOSYS} if libc
   *     or the kernel (before Linux 5.3) lacks the call
   * @since 0.1.0
   */
  public static int pidfdOpen(int pid) {
    NativeFunction open = Calls.PIDFD_OPEN;
    return open == null ? -Errno.ENOSYS : open.callInt(pid, 0, 0, 0);
  }

  /**
   * Advises the kernel about several memory ranges of a process in one system call. It processes
   * the ranges in order and stops at the first one that fails. {@link #MADV_DONTNEED} works on the
   * calling process only, since Linux 6.13.
   *
   * @param pidfd a descriptor of {@link #pidfdOpen}, or -10000 for the calling thread's process
   *     (Linux 6.15)
   * @param vector the address of the ranges: for each its address and length, as longs, with the
   *     constraints of {@link #madvise}
   * @param count the number of ranges, 1 to 1,024
   * @param advice {@code MADV_*}
   * @return the number of bytes advised, a sum of leading whole ranges; or a negated error number
   *     if the first range failed; {@link Errno#ENOSYS} if libc or the kernel (before Linux 5.10)
   *     lacks the call
   * @since 0.1.0
   */
  public static long processMadvise(int pidfd, long vector, long count, int advice) {
    NativeFunction call = Calls.PROCESS_MADVISE;
    return call == null ? -Errno.ENOSYS : call.callLong(pidfd, vector, count, advice, 0, 0);
  }

  /**
   * Registers this process for {@link #membarrier} ({@code
   * MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED}). Further calls have no effect.
   *
   * @return 0 or a negated error number; {@link Errno#ENOSYS} or {@link Errno#EINVAL} if the kernel
   *     (before Linux 4.14) lacks the command, {@link Errno#EPERM} if a filter refuses it
   * @since 0.1.0
   */
  public static int registerMembarrier() {
    return membarrier(Barriers.REGISTER_PRIVATE_EXPEDITED);
  }

  /**
   * Executes a full memory barrier on every running thread of this process before it returns
   * ({@code MEMBARRIER_CMD_PRIVATE_EXPEDITED}). Takes microseconds: it interrupts each processor on
   * which a thread of the process runs.
   *
   * @return 0 or a negated error number; {@link Errno#EPERM} before {@link #registerMembarrier}
   * @since 0.1.0
   */
  public static int membarrier() {
    return membarrier(Barriers.PRIVATE_EXPEDITED);
  }

  private static int membarrier(long command) {
    NativeFunction call = Barriers.SYSCALL;
    return call == null ? -Errno.ENOSYS : (int) call.callLong(Barriers.NUMBER, command, 0, 0, 0, 0);
  }

  /** Linked by the first call, if libc has {@code syscall}. */
  private static final class Barriers {
    /** The system call number of {@code membarrier}. */
    static final long NUMBER = Platform.AARCH64 ? 283 : 324;

    static final long PRIVATE_EXPEDITED = 1 << 3;
    static final long REGISTER_PRIVATE_EXPEDITED = 1 << 4;

    /** {@code long syscall(long number, ...)}. */
    static final @Nullable NativeFunction SYSCALL = NativeFunction.optional("syscall");

    private Barriers() {}
  }

  /** Linked by the first call, so that {@code Libc.probe} links nothing. */
  private static final class Calls {
    static final NativeFunction MMAP = NativeFunction.libc("mmap");
    static final NativeFunction MUNMAP = NativeFunction.libc("munmap");
    static final NativeFunction MADVISE = NativeFunction.libc("madvise");
    static final NativeFunction MPROTECT = NativeFunction.libc("mprotect");
    static final @Nullable NativeFunction PIDFD_OPEN = NativeFunction.optional("pidfd_open");
    static final @Nullable NativeFunction PROCESS_MADVISE =
        NativeFunction.optional("process_madvise");

    private Calls() {}
  }
}
