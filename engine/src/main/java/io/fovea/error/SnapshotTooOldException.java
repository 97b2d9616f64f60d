package io.fovea.error;

/**
 * A snapshot can't be read any more: pages have changed since it was opened, and there is no room
 * to keep what they were. Open a new one, or allow more in {@code SnapshotOptions}.
 *
 * @since 0.1.0
 */
public final class SnapshotTooOldException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes one.
   *
   * @param name of the snapshot
   */
  public SnapshotTooOldException(String name) {
    super(
        "Snapshot "
            + name
            + " is too old: copies of the pages that have changed since it was opened took more"
            + " than SnapshotOptions.memoryBytes and fileBytes allow. Open a new one, read faster,"
            + " or allow more.");
  }
}
