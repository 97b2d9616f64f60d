package io.fovea.config;

/**
 * When the operating system allocates the memory of the buffer.
 *
 * @since 0.1.0
 */
public enum Pretouch {
  /** Page by page, on first use. The default. */
  NONE,
  /** A background thread touches all of the memory while the database is already in use. */
  BACKGROUND,
  /** Opening waits until all of the memory is allocated. */
  BLOCKING
}
