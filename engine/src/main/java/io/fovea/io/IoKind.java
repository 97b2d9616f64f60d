package io.fovea.io;

/**
 * Which device to open.
 *
 * @since 0.1.0
 */
public enum IoKind {
  /** The best that works here: io_uring, else positioned reads and writes. */
  AUTO,
  /** io_uring; where it is not to be had, positioned reads and writes take over with a warning. */
  URING,
  /** Positioned reads and writes. */
  POSIX,
  /** Native memory; nothing is kept. */
  MEMORY
}
