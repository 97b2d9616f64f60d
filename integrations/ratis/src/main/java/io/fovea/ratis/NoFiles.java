package io.fovea.ratis;

import java.io.File;
import java.util.function.Supplier;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.apache.ratis.statemachine.SnapshotRetentionPolicy;
import org.apache.ratis.statemachine.StateMachineStorage;
import org.jspecify.annotations.Nullable;

/**
 * The storage of a state machine that is its own snapshot: it has no files. Thread-safe.
 *
 * @param latest the latest durable snapshot; null for none
 */
record NoFiles(Supplier<@Nullable SnapshotInfo> latest) implements StateMachineStorage {
  @Override
  public void init(RaftStorage storage) {}

  @Override
  public @Nullable SnapshotInfo getLatestSnapshot() {
    return latest.get();
  }

  @Override
  public void format() {}

  @Override
  public void cleanupOldSnapshots(SnapshotRetentionPolicy policy) {}

  @Override
  public @Nullable File getSnapshotDir() {
    return null;
  }
}
