package io.fovea.config;

/**
 * Which failures a returned commit survives.
 *
 * @since 0.1.0
 */
public enum Durability {
  /**
   * Power loss: a commit returns once it is on stable storage. So does a read-only transaction,
   * with everything it has read. The default for files.
   */
  SYNC,
  /**
   * Power loss, except for a bounded window of the newest commits ({@link
   * io.fovea.LogOptions#maxFlushDelay}). A suffix of the commits is lost: no surviving commit has
   * read from a lost one.
   */
  ASYNC,
  /**
   * Only a clean close: there is no log, and a file that was not closed cannot be opened again.
   * Databases in memory always use this.
   */
  NONE
}
