package io.fovea.io;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The files of a database as a private copy in memory: a database on it may change anything, and
 * the files stay as they are. See {@link OverlayDevice}.
 *
 * <p>Devices can be closed and reopened; their contents are kept until the storage is closed. One
 * thread opens and closes.
 *
 * @since 0.1.0
 */
public final class OverlayStorage implements Storage, AutoCloseable {
  private static final int BLOCK_BYTES = 4096;

  private final Path file;
  private final Path real;
  private final Map<String, @Nullable OverlayDevice> devices = new HashMap<>();

  /**
   * Creates a copy of the files of a database.
   *
   * @param file the data file
   */
  public OverlayStorage(Path file) {
    this.file = file;
    Path r;
    try {
      r = file.toRealPath();
    } catch (IOException e) {
      r = file.toAbsolutePath();
    }
    this.real = r;
  }

  private Path path(String suffix) {
    return suffix.isEmpty() ? real : real.resolveSibling(real.getFileName() + suffix);
  }

  @Override
  public BlockDevice open(String suffix) {
    OverlayDevice device = devices.get(suffix);
    if (device == null) {
      Path path = path(suffix);
      boolean below = !devices.containsKey(suffix) && Files.exists(path);
      device = new OverlayDevice(path.toString(), below ? FileView.open(path) : null, BLOCK_BYTES);
      devices.put(suffix, device);
    }
    return new SharedDevice(device);
  }

  @Override
  public boolean exists(String suffix) {
    return devices.containsKey(suffix) ? devices.get(suffix) != null : Files.exists(path(suffix));
  }

  @Override
  public void delete(String suffix) {
    OverlayDevice device = devices.put(suffix, null);
    if (device != null) {
      device.close();
    }
  }

  @Override
  public String name() {
    return file.toString();
  }

  /** Discards everything that was written. */
  @Override
  public void close() {
    for (OverlayDevice device : devices.values()) {
      if (device != null) {
        device.close();
      }
    }
    devices.clear();
  }

  /** A handle on a device; closing it keeps the contents. */
  private static final class SharedDevice implements BlockDevice {
    private final OverlayDevice device;

    SharedDevice(OverlayDevice device) {
      this.device = device;
    }

    @Override
    public int blockSize() {
      return device.blockSize();
    }

    @Override
    public long size() {
      return device.size();
    }

    @Override
    public void read(long offset, MemorySegment seg, long segOff, int len) {
      device.read(offset, seg, segOff, len);
    }

    @Override
    public void write(long offset, MemorySegment seg, long segOff, int len) {
      device.write(offset, seg, segOff, len);
    }

    @Override
    public void submit(IoBatch batch) {
      device.submit(batch);
    }

    @Override
    public void sync() {
      device.sync();
    }

    @Override
    public void resize(long bytes) {
      device.resize(bytes);
    }

    @Override
    public String kind() {
      return device.kind();
    }

    @Override
    public IoStats stats() {
      return device.stats();
    }

    @Override
    public void close() {}
  }
}
