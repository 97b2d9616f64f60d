package io.fovea.memory;

import io.fovea.bindings.Errno;
import io.fovea.bindings.FileCalls;
import io.fovea.bindings.MemoryCalls;

/**
 * The system calls used by {@link Granules} and {@link Rewiring}. An interface so that tests can
 * make each of them fail; {@link #KERNEL} is the only other implementation.
 *
 * <p>Each method returns a negated error number on failure and does not throw. Safe for use by any
 * thread.
 *
 * @since 0.1.0
 */
public interface MemoryFiles {
  MemoryFiles KERNEL = new MemoryFiles() {};

  /**
   * Creates an empty memory file.
   *
   * @param name its name in {@code /proc/self/maps}
   */
  default int create(String name) {
    return FileCalls.memfdCreate(name, FileCalls.MFD_CLOEXEC);
  }

  /** Sets the length of a file; new bytes read as zeros and have no memory yet. */
  default int resize(int fd, long bytes) {
    return FileCalls.ftruncate(fd, bytes);
  }

  /** Allocates the memory of a part of a file. */
  default int allocate(int fd, long off, long len) {
    return FileCalls.fallocate(fd, FileCalls.FALLOC_FL_KEEP_SIZE, off, len);
  }

  /** Maps a part of a file over existing mappings at an address. */
  default long map(long address, long len, int fd, long off) {
    return MemoryCalls.mmap(
        address,
        len,
        MemoryCalls.PROT_READ | MemoryCalls.PROT_WRITE,
        MemoryCalls.MAP_SHARED | MemoryCalls.MAP_FIXED,
        fd,
        off);
  }

  /**
   * Fills the page table of a range, so that no access to it faults. Before Linux 5.14 this is not
   * supported, and the first access fills the page table.
   */
  default int populate(long address, long len, boolean write) {
    int result =
        MemoryCalls.madvise(
            address, len, write ? MemoryCalls.MADV_POPULATE_WRITE : MemoryCalls.MADV_POPULATE_READ);
    return result == -Errno.EINVAL ? 0 : result;
  }

  /** Closes a file. Its memory is freed when none of it is mapped. */
  default int close(int fd) {
    return FileCalls.close(fd);
  }
}
