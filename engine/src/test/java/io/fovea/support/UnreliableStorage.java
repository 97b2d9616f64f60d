package io.fovea.support;

import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;

/**
 * The files of a database on {@link UnreliableDevice}s. Operations of the data file may fail; those
 * of the log and the double-write area are only slow and reordered.
 */
public final class UnreliableStorage implements Storage {
  private final Storage below;
  private final UnreliableDeviceState deviceState;

  /** Wraps another storage. */
  public UnreliableStorage(Storage below, UnreliableDeviceState deviceState) {
    this.below = below;
    this.deviceState = deviceState;
  }

  @Override
  public BlockDevice open(String suffix) {
    return deviceState.on(below.open(suffix), below.name() + suffix, suffix.equals(DATA));
  }

  @Override
  public boolean exists(String suffix) {
    return below.exists(suffix);
  }

  @Override
  public void delete(String suffix) {
    below.delete(suffix);
  }

  @Override
  public String name() {
    return below.name();
  }
}
