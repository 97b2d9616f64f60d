package io.fovea.io;

/**
 * The files of one database: the data file, and those beside it whose names are its name and a
 * suffix.
 *
 * <p>Any thread.
 */
public interface Storage {
  /** The file of pages. */
  String DATA = "";

  /** The log. */
  String LOG = ".log";

  /** The double-write area. */
  String DOUBLE_WRITE = ".dwb";

  /** Timestamps, while the database is open and has them there. */
  String TIMESTAMPS = ".ts";

  /** Copies of pages, while snapshots are open that need more of them than memory has room for. */
  String SNAPSHOTS = ".snap";

  /** Sorted runs of loads, while those are under way; a number follows. */
  String LOAD = ".load";

  /** How many files of sorted runs there may be. */
  int LOADS = 8;

  /** Opens a file, which is made where it does not exist. */
  BlockDevice open(String suffix);

  /** Whether a file exists. */
  boolean exists(String suffix);

  /** Removes a file, where it exists, durably. */
  void delete(String suffix);

  /** The name of the data file, for messages. */
  String name();
}
