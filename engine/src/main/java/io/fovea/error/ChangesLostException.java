package io.fovea.error;

/**
 * The changes behind a position are not all there any more, so who follows them would miss some.
 * Begin anew: open a snapshot, take what it has, and follow changes from its position on ({@code
 * Database.changesPosition}).
 *
 * @since 0.1.0
 */
public final class ChangesLostException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes one.
   *
   * @param name of the database
   * @param why what has happened
   */
  public ChangesLostException(String name, String why) {
    super(
        "Changes of database "
            + name
            + " can't be followed from this position: "
            + why
            + ". Begin anew with a snapshot, and from its position.");
  }
}
