package io.fovea.memory;

import io.fovea.bindings.FileCalls;
import io.fovea.bindings.Libc;
import io.fovea.bindings.MemoryCalls;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Whether this process can release many ranges of its memory with one system call ({@code
 * process_madvise}), and how it identifies itself in that call.
 *
 * <p>The kernel and the libc are probed, on three pages mapped for the purpose, rather than judged
 * by their versions: seccomp filters and container sandboxes refuse calls that the kernel supports.
 * The probe runs once per JVM, at the first use.
 *
 * <pre>
 *   Linux 5.10          the call                                    refuses MADV_DONTNEED
 *   6.13                MADV_DONTNEED for the caller itself         a TLB flush for each range
 *   6.15                PIDFD_SELF: no descriptor is needed
 *   6.16                one TLB flush for all ranges of a call      the purpose of this class
 * </pre>
 *
 * <p>{@code -Dfovea.onePageACall=true} disables it, for comparisons and tests.
 *
 * <p>A descriptor, if needed, stays open until the JVM exits. If it were closed with a database,
 * its number would soon belong to another file, and a late thread would pass that number to the
 * kernel.
 */
final class SelfAdvice {
  /** The process of the calling thread. Descriptors are never negative. */
  private static final int PIDFD_SELF = -10_000;

  private static final int NONE = -1;

  private static final int SELF = find(Boolean.getBoolean("fovea.onePageACall"));

  private SelfAdvice() {}

  /** Returns whether {@link #discard} works on this system. */
  static boolean works() {
    return SELF != NONE;
  }

  /**
   * Releases ranges of memory, in order.
   *
   * @param vector the address of the ranges, each given as an address and a length, both longs
   * @param count the number of ranges
   * @return the number of bytes released, counted from the start of the first range; a negated
   *     error number if none were released
   */
  static long discard(long vector, int count) {
    return MemoryCalls.processMadvise(SELF, vector, count, MemoryCalls.MADV_DONTNEED);
  }

  private static int find(boolean notWanted) {
    if (notWanted) {
      return NONE;
    }
    if (tried(PIDFD_SELF)) {
      return PIDFD_SELF;
    }
    int fd = MemoryCalls.pidfdOpen(Libc.getpid());
    if (fd < 0) {
      return NONE;
    }
    if (tried(fd)) {
      return fd;
    }
    FileCalls.close(fd);
    return NONE;
  }

  /** Writes three pages, releases the two outer ones with one call, and checks all three. */
  private static boolean tried(int self) {
    int page = Libc.pageSize();
    long address =
        MemoryCalls.mmap(
            0,
            4L * page,
            MemoryCalls.PROT_READ | MemoryCalls.PROT_WRITE,
            MemoryCalls.MAP_PRIVATE | MemoryCalls.MAP_ANONYMOUS,
            -1,
            0);
    if (address < 0) {
      return false;
    }
    MemorySegment s = MemorySegment.ofAddress(address).reinterpret(4L * page);
    for (int i = 0; i < 3; i++) {
      s.set(ValueLayout.JAVA_LONG, (long) i * page, 1);
    }
    long vector = address + 3L * page;
    for (int i = 0; i < 2; i++) {
      s.set(ValueLayout.JAVA_LONG, 3L * page + 16 * i, address + 2L * i * page);
      s.set(ValueLayout.JAVA_LONG, 3L * page + 16 * i + 8, page);
    }
    long done = MemoryCalls.processMadvise(self, vector, 2, MemoryCalls.MADV_DONTNEED);
    boolean good =
        done == 2L * page
            && s.get(ValueLayout.JAVA_LONG, 0) == 0
            && s.get(ValueLayout.JAVA_LONG, page) == 1
            && s.get(ValueLayout.JAVA_LONG, 2L * page) == 0;
    MemoryCalls.munmap(address, 4L * page);
    return good;
  }
}
