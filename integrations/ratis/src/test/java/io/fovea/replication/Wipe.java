package io.fovea.replication;

import java.nio.file.Path;

/** Deletes the directory of a replica, for tests that wipe a peer. */
public final class Wipe {
  private Wipe() {}

  /**
   * Deletes a directory recursively.
   *
   * @param tree the directory
   */
  public static void tree(Path tree) {
    ReplicaFiles.delete(tree);
  }
}
