package io.fovea.error;

/**
 * Thrown when the log no longer contains all changes after a position. Start over: open a snapshot,
 * copy its contents, and subscribe to the changes from the snapshot's position ({@code
 * Database.changesPosition}).
 *
 * @since 0.1.0
 */
public final class ChangesLostException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param name the name of the database
   * @param why the reason
   */
  public ChangesLostException(String name, String why) {
    super(
        "Changes of database "
            + name
            + " can't be followed from this position: "
            + why
            + ". Take a new snapshot, and continue from its position.");
  }
}
