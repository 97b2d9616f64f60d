package io.fovea.config;

/**
 * How a database reaches its file.
 *
 * @since 0.1.0
 */
public enum Io {
  /** io_uring where the kernel and the library allow it, positioned reads and writes elsewhere. */
  AUTO,
  /** io_uring; where it is not to be had, positioned reads and writes take over with a warning. */
  URING,
  /** Positioned reads and writes of the C library. */
  POSIX
}
