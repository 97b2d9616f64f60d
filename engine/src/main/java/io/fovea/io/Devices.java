package io.fovea.io;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Libc;
import io.fovea.bindings.Uring;
import io.fovea.config.Io;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.function.Supplier;

/**
 * Opens devices and chooses their kind.
 *
 * <pre>
 *   AUTO, URING ──► native access, libc? ──► liburing and the kernel? ──► UringDevice
 *                    │no                         │no
 *                    │                           ▼
 *   POSIX ───────────┼────────────────────► PosixDevice on libc
 *                    ▼
 *                   PosixDevice on RandomAccessFile
 *   MEMORY ─────────────────► MemoryDevice
 * </pre>
 *
 * <p>The choice, and why it is not a better one, is logged as one line to {@code io.fovea.io}. A
 * database behaves the same on every kind of device.
 *
 * <p>Safe for use by any thread.
 *
 * @since 0.1.0
 */
public final class Devices {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");

  private static final Availability DENIED =
      new Availability.Unavailable("native access is denied", 0);

  private Devices() {}

  /**
   * Opens a file as a device. It does not lock the file: {@link FileLock} does.
   *
   * @param path the file; not used for {@link Io#MEMORY}
   * @param options the configuration
   * @return the device, open
   * @throws io.fovea.error.StorageException if the operating system refuses
   * @throws InvalidUseException if the path is not a valid file name
   */
  public static BlockDevice open(Path path, DeviceConfig options) {
    return open(path, options, Uring::probe);
  }

  /** Opens a device with another probe for rings. */
  static BlockDevice open(Path path, DeviceConfig options, Supplier<Availability> ringProbe) {
    IoStats stats = new IoStats();
    Availability libc = Mem.isRaw() ? Libc.probe() : DENIED;
    if (!(libc instanceof Availability.Available)) {
      DeviceFile file = new DeviceFile(path, JdkFile.open(path, options.create()), stats);
      return log(new PosixDevice(options, file, stats), path, libc.describe(), options);
    }
    RawFile raw;
    try {
      raw = LibcFile.open(path, options.create(), options.direct());
    } catch (IllegalArgumentException e) {
      throw new InvalidUseException("\"" + path + "\" is not a valid file name.", e);
    }
    DeviceFile file = new DeviceFile(path, raw, stats);
    if (options.kind() == Io.POSIX) {
      return log(new PosixDevice(options, file, stats), path, "", options);
    }
    UringDevice.Attempt attempt = UringDevice.open(options, file, stats, ringProbe);
    if (attempt.device() != null) {
      return log(attempt.device(), path, "", options);
    }
    return log(
        new PosixDevice(options, file, stats), path, attempt.availability().describe(), options);
  }

  /** Logs the choice; as a warning if another kind was requested. */
  private static BlockDevice log(
      BlockDevice device, Path path, String whyNotBetter, DeviceConfig options) {
    Level level =
        whyNotBetter.isEmpty()
            ? Level.DEBUG
            : options.kind() == Io.URING ? Level.WARNING : Level.INFO;
    LOG.log(
        level,
        () ->
            path
                + ": "
                + device.kind()
                + (whyNotBetter.isEmpty() ? "" : " (" + whyNotBetter + ")"));
    return device;
  }
}
