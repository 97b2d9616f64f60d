package io.fovea.io;

/**
 * The files of one database: the data file, and others whose names consist of its name and a
 * suffix.
 *
 * <p>Safe for use by any thread.
 */
public interface Storage {
  /** The file of pages. */
  String DATA = "";

  String LOG = ".log";

  /** The double-write area. */
  String DOUBLE_WRITE = ".dwb";

  /** Timestamps, while the database is open and keeps them in a file. */
  String TIMESTAMPS = ".ts";

  /** Page copies, while open snapshots need more of them than fit into memory. */
  String SNAPSHOTS = ".snap";

  /** Sorted runs of loads in progress; a number follows. */
  String LOAD = ".load";

  /** The maximum number of files of sorted runs. */
  int LOADS = 8;

  /** Opens a file, creating it if it does not exist. */
  BlockDevice open(String suffix);

  boolean exists(String suffix);

  /** Deletes a file durably, if it exists. */
  void delete(String suffix);

  /** Returns the name of the data file, for messages. */
  String name();
}
