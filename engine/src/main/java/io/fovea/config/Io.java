package io.fovea.config;

/**
 * How a database accesses its file.
 *
 * @since 0.1.0
 */
public enum Io {
  /** io_uring if the kernel and the library allow it, otherwise {@link #POSIX}. */
  AUTO,
  /** io_uring; if unavailable, {@link #POSIX} with a warning. */
  URING,
  /** Positioned reads and writes of the C library. */
  POSIX
}
