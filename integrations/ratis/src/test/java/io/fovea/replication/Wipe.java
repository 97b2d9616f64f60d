package io.fovea.replication;

import java.nio.file.Path;

/** What the replica deletes with, for tests that wipe a peer. */
public final class Wipe {
  private Wipe() {}

  /**
   * Deletes a directory with all that it has.
   *
   * @param tree the directory
   */
  public static void tree(Path tree) {
    ReplicaFiles.delete(tree);
  }
}
