package io.fovea.error;

/**
 * Thrown when a snapshot can no longer be read, because copies of the pages changed since it was
 * opened exceed the limits. Open a new one, or raise the limits in {@code SnapshotOptions}.
 *
 * @since 0.1.0
 */
public final class SnapshotTooOldException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param name the name of the snapshot
   */
  public SnapshotTooOldException(String name) {
    super(
        "Snapshot "
            + name
            + " is too old: copies of the pages that have changed since it was opened took more"
            + " than SnapshotOptions.memoryBytes and fileBytes allow. Open a new one, finish "
            + "reading sooner, or raise these limits.");
  }
}
