package io.fovea.error;

/**
 * Thrown when the database is already open, in this process or in another one.
 *
 * @since 0.1.0
 */
public final class DatabaseLockedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The id of the process that has the file open, or -1. */
  private final long holderPid;

  /**
   * Creates the exception.
   *
   * @param path the file to open
   * @param holderPid the id of the process that has it open, or -1 if unknown
   */
  public DatabaseLockedException(String path, long holderPid) {
    super(
        path
            + " is already open, in "
            + (holderPid < 0
                ? "a process whose id is unknown, because a process that only "
                    + "reads does not record it"
                : holderPid == ProcessHandle.current().pid()
                    ? "this process (" + holderPid + ")"
                    : "process " + holderPid)
            + ". Close it there first: a database can be open in one process "
            + "that writes, or in any number that only read.");
    this.holderPid = holderPid;
  }

  /**
   * Returns the process that has the database open.
   *
   * @return the id of a process, possibly this one, or -1 if unknown
   */
  public long holderPid() {
    return holderPid;
  }
}
