package io.fovea.config;

/**
 * Which failures a commit survives once it has returned.
 *
 * @since 0.1.0
 */
public enum Durability {
  /**
   * Power loss: a commit returns once it is on stable storage. A read-only transaction returns once
   * everything it has read is on stable storage. The default for files.
   */
  SYNC,
  /**
   * Power loss, except for a bounded window of the newest commits ({@link
   * io.fovea.LogOptions#maxFlushDelay}). If commits are lost, they are a suffix: no surviving
   * commit has read from a lost one.
   */
  ASYNC,
  /**
   * Only a clean close: there is no log, and a file that was not closed cannot be opened again.
   * Databases in memory always use this.
   */
  NONE
}
