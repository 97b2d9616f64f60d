package io.fovea;

/**
 * What a commit that has returned survives.
 *
 * @since 0.1.0
 */
public enum Durability {
  /** A loss of power: a commit returns when it is on stable storage. Needs the log. */
  SYNC,
  /** A loss of power but for a bounded window of the newest commits. Needs the log. */
  ASYNC,
  /** Nothing but a clean close: the file is complete when the database was closed. */
  NONE
}
