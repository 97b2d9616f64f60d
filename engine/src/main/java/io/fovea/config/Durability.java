package io.fovea.config;

/**
 * Which failures a commit survives that has returned.
 *
 * @since 0.1.0
 */
public enum Durability {
  /**
   * A loss of power: a commit returns when it is on stable storage, and so does a transaction that
   * only read, with all that it has read. The default for files.
   */
  SYNC,
  /**
   * A loss of power but for a bounded window of the newest commits ({@link
   * io.fovea.LogOptions#maxFlushDelay}). A suffix of the commits is lost: no commit is there
   * without those that it has read from.
   */
  ASYNC,
  /**
   * Nothing but a clean close: there is no log, and the file is complete when the database was
   * closed. A file that was not closed can't be opened again. A database in memory is always so.
   */
  NONE
}
