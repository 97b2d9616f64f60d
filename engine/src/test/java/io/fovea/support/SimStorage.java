package io.fovea.support;

import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;

/** The files of one database on a {@link SimDisk}: {@code db}, {@code db.log}, {@code db.dwb}. */
public final class SimStorage implements Storage {
  /** The name of the data file. */
  public static final String NAME = "db";

  private final SimDisk disk;

  public SimStorage(SimDisk disk) {
    this.disk = disk;
  }

  @Override
  public BlockDevice open(String suffix) {
    return disk.device(NAME + suffix);
  }

  @Override
  public boolean exists(String suffix) {
    return disk.exists(NAME + suffix);
  }

  @Override
  public void delete(String suffix) {
    disk.delete(NAME + suffix);
  }

  @Override
  public String name() {
    return NAME;
  }
}
