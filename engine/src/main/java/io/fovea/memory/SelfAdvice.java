package io.fovea.memory;

import io.fovea.bindings.FileCalls;
import io.fovea.bindings.Libc;
import io.fovea.bindings.MemoryCalls;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Whether this process can give many ranges of its own memory back with one system call ({@code
 * process_madvise}), and how it names itself there.
 *
 * <p>What the kernel and the libc have is tried out, on three pages that are mapped for it, and not
 * concluded from a version: seccomp filters and sandboxes of containers refuse calls that a kernel
 * has. Found out once, at the first use, for the whole JVM.
 *
 * <pre>
 *   Linux 5.10          the call                                    refuses MADV_DONTNEED
 *   6.13                MADV_DONTNEED for the caller itself         a flush of TLBs for each range
 *   6.15                PIDFD_SELF: no descriptor is needed
 *   6.16                one flush for all ranges of a call          what it is for
 * </pre>
 *
 * <p>{@code -Dfovea.onePageACall=true} does without, to compare, and for tests of all that there
 * is.
 *
 * <p>Where a descriptor is needed it stays open as long as the JVM runs. Closed with a database its
 * number would be another file's soon, and a thread that comes late would give that to the kernel.
 */
final class SelfAdvice {
  /** The process of the calling thread. No descriptor is negative. */
  private static final int PIDFD_SELF = -10_000;

  private static final int NONE = -1;

  private static final int SELF = find(Boolean.getBoolean("fovea.onePageACall"));

  private SelfAdvice() {}

  /** Whether {@link #forget} works here. */
  static boolean works() {
    return SELF != NONE;
  }

  /**
   * Gives ranges of memory back, one after the other.
   *
   * @param vector the address of the ranges: of each its address and its length, a long each
   * @param count how many ranges
   * @return how many bytes went, from the first on; or a negated error number where none did
   */
  static long forget(long vector, int count) {
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

  /** Writes three pages, gives the two outer ones back by one call, and looks at all. */
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
