package io.fovea.memory;

import io.fovea.bindings.Errno;
import io.fovea.bindings.FileCalls;
import io.fovea.bindings.MemoryCalls;

/**
 * The calls of the kernel that {@link Granules} and {@link Rewiring} are made of. An interface, so
 * that a test can have each of them refused; {@link #KERNEL} is the only one that is no test's.
 *
 * <p>Each returns a negated error number where it fails, and throws nothing for it. Any thread.
 *
 * @since 0.1.0
 */
public interface MemoryFiles {
  /** The kernel. */
  MemoryFiles KERNEL = new MemoryFiles() {};

  /**
   * Makes a file that lives in memory and has no bytes.
   *
   * @param name as {@code /proc/self/maps} shows it
   * @return its descriptor
   */
  default int create(String name) {
    return FileCalls.memfdCreate(name, FileCalls.MFD_CLOEXEC);
  }

  /** Sets the length of a file; what is new reads as zeros, and has no memory yet. */
  default int resize(int fd, long bytes) {
    return FileCalls.ftruncate(fd, bytes);
  }

  /** Gives a part of a file its memory. */
  default int allocate(int fd, long off, long len) {
    return FileCalls.fallocate(fd, FileCalls.FALLOC_FL_KEEP_SIZE, off, len);
  }

  /** Takes the memory of a part of a file away; it reads as zeros. */
  default int punch(int fd, long off, long len) {
    return FileCalls.fallocate(
        fd, FileCalls.FALLOC_FL_PUNCH_HOLE | FileCalls.FALLOC_FL_KEEP_SIZE, off, len);
  }

  /** Maps a part of a file over what is mapped at an address. */
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
   * Fills the page table of a range, so that no access to it faults. A kernel before Linux 5.14
   * does not know how; the first access does it then.
   */
  default int populate(long address, long len, boolean write) {
    int result =
        MemoryCalls.madvise(
            address, len, write ? MemoryCalls.MADV_POPULATE_WRITE : MemoryCalls.MADV_POPULATE_READ);
    return result == -Errno.EINVAL ? 0 : result;
  }

  /** Closes a file. Its memory goes when nothing of it is mapped. */
  default int close(int fd) {
    return FileCalls.close(fd);
  }
}
