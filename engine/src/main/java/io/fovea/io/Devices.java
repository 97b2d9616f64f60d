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
 * Opens devices and picks their kind.
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
 * <p>What was picked, and why not something better, is one line in the log {@code io.fovea.io}. A
 * database behaves the same on every kind.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class Devices {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");

  private static final Availability DENIED =
      new Availability.Unavailable("native access is denied", 0);

  private Devices() {}

  /**
   * Opens a file as a device, with the defaults; the file is made where it does not exist.
   *
   * @param path the file
   * @param kind which device
   * @return the device, open
   * @throws io.fovea.error.StorageException where the operating system refuses
   */
  public static BlockDevice open(Path path, Io kind) {
    return open(path, DeviceConfig.defaults().kind(kind));
  }

  /**
   * Opens a file as a device. It does not lock the file: {@link FileLock} does.
   *
   * @param path the file
   * @param options how
   * @return the device, open
   * @throws io.fovea.error.StorageException where the operating system refuses
   * @throws InvalidUseException where the path is no name that a file can have
   */
  public static BlockDevice open(Path path, DeviceConfig options) {
    return open(path, options, Uring::probe);
  }

  /** The same, with another opinion about whether there is a ring to be had. */
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
      throw new InvalidUseException("No file can be named " + path + ".", e);
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

  /** Says what was picked; a warning where somebody asked for something else. */
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
