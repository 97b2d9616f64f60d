package io.fovea.support;

import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;

/**
 * The files of a database on {@link RoughDevice}s. Operations of the data file may fail; those of
 * the log and the double-write area are only slow and reordered.
 */
public final class RoughStorage implements Storage {
  private final Storage below;
  private final Roughness roughness;

  /** Wraps another storage. */
  public RoughStorage(Storage below, Roughness roughness) {
    this.below = below;
    this.roughness = roughness;
  }

  @Override
  public BlockDevice open(String suffix) {
    return roughness.on(below.open(suffix), below.name() + suffix, suffix.equals(DATA));
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
