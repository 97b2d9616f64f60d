package io.fovea.bindings;

import io.fovea.bindings.generated.LibC;
import java.lang.invoke.MethodHandle;

/**
 * Calls of libc on the address space: mappings, advice, protection. Errors, threads and addresses
 * are as {@link Libc} says.
 *
 * @since 0.1.0
 */
public final class MemoryCalls {
  // Written out, and not taken from the generated class, so that naming a constant loads nothing;
  // LibcTest compares them.

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

  private MemoryCalls() {}

  /**
   * Maps memory or a file.
   *
   * @param address where, or 0 to let the kernel choose
   * @param length bytes
   * @param prot {@code PROT_*}
   * @param flags {@code MAP_*}
   * @param fd the file, or -1 with {@link #MAP_ANONYMOUS}
   * @param offset where in the file, a multiple of {@link Libc#pageSize()}
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
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Takes a mapping away. An access to it afterwards ends the process, or hits what was mapped
   * there since.
   *
   * @param address its first byte, a multiple of {@link Libc#pageSize()}
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
      throw Downcall.unexpected(t);
    } finally {
      state.release();
    }
  }

  /**
   * Tells the kernel how a range of memory is used.
   *
   * @param address its first byte, a multiple of {@link Libc#pageSize()}
   * @param length bytes
   * @param advice {@code MADV_*}
   * @return 0 or a negated error number; {@link Errno#EINVAL} where the kernel does not know the
   *     advice
   * @since 0.1.0
   */
  public static int madvise(long address, long length, int advice) {
    return Downcall.range(Calls.MADVISE, address, length, advice);
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
    return Downcall.range(Calls.MPROTECT, address, length, prot);
  }

  /** Linked by the first call; {@code Libc.probe} links nothing. */
  private static final class Calls {
    static final MethodHandle MMAP = Downcall.link(LibC.mmap$address(), LibC.mmap$descriptor());
    static final MethodHandle MUNMAP =
        Downcall.link(LibC.munmap$address(), LibC.munmap$descriptor());
    static final MethodHandle MADVISE =
        Downcall.link(LibC.madvise$address(), LibC.madvise$descriptor());
    static final MethodHandle MPROTECT =
        Downcall.link(LibC.mprotect$address(), LibC.mprotect$descriptor());

    private Calls() {}
  }
}
