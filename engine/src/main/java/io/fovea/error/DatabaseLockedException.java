package io.fovea.error;

/**
 * The database is open already, in this process or in another.
 *
 * @since 0.1.0
 */
public final class DatabaseLockedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The id of the process, or -1. */
  private final long holderPid;

  /**
   * Makes one.
   *
   * @param path the file that was to be opened
   * @param holderPid the id of the process that has it open, or -1 where that is not known
   */
  public DatabaseLockedException(String path, long holderPid) {
    super(
        path
            + " is open already, in "
            + (holderPid < 0
                ? "a process whose id is not known: one that only reads leaves no note"
                : holderPid == ProcessHandle.current().pid()
                    ? "this process (" + holderPid + ")"
                    : "process " + holderPid)
            + ". Close it there first; a database belongs to one process that writes, or to any that only read.");
    this.holderPid = holderPid;
  }

  /**
   * The process that has the database open.
   *
   * @return the id of a process, this one included, or -1 where that is not known
   */
  public long holderPid() {
    return holderPid;
  }
}
