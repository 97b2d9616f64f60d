package io.fovea.io;

/**
 * The kind of device to open.
 *
 * @since 0.1.0
 */
public enum IoKind {
  /** The best that is available: io_uring, otherwise positioned reads and writes. */
  AUTO,
  /** io_uring; if it is not available, positioned reads and writes with a warning. */
  URING,
  /** Positioned reads and writes. */
  POSIX,
  /** Native memory; nothing is persistent. */
  MEMORY
}
