package io.fovea.buffer;

/**
 * When the operating system has to find the memory of the pool.
 *
 * @since 0.1.0
 */
public enum Pretouch {
  /** Page by page, as frames are used first. */
  NONE,

  /** A background thread touches all of it while the database is already in use. */
  BACKGROUND,

  /** Opening waits until all of it is there. */
  BLOCKING
}
