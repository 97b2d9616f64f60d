package io.fovea.io;

import io.fovea.bindings.Availability;
import io.fovea.bindings.FileCalls;
import io.fovea.bindings.Libc;
import io.fovea.memory.Mem;
import io.fovea.memory.Threads;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * Makes the entries of directories durable.
 *
 * <p>Without native access only a FileChannel can do that, which an interrupt of its thread closes;
 * whether the sync has failed is not known then. So it is done on a thread that nobody interrupts.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class Directories {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");

  private Directories() {}

  /**
   * Syncs a directory: files that were made, renamed or removed in it are so for good. Some
   * platforms can't open a directory; what they promise instead is theirs to say.
   *
   * @param directory the directory
   * @throws io.fovea.error.StorageException where the sync fails
   */
  public static void sync(Path directory) {
    if (!Mem.isRaw() || !(Libc.probe() instanceof Availability.Available)) {
      Threads.undisturbed("fovea-sync", () -> byChannel(directory));
      return;
    }
    int fd = FileCalls.open(directory.toString(), FileCalls.O_RDONLY | FileCalls.O_CLOEXEC, 0);
    if (fd < 0) {
      LOG.log(Level.DEBUG, () -> "The directory " + directory + " can't be synced here");
      return;
    }
    int result = FileCalls.fsync(fd);
    FileCalls.close(fd);
    if (result < 0) {
      throw DeviceFile.openFailed(directory, -result);
    }
  }

  private static @Nullable Void byChannel(Path directory) {
    FileChannel channel;
    try {
      channel = FileChannel.open(directory, StandardOpenOption.READ);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "The directory " + directory + " can't be synced here", e);
      return null;
    }
    try (channel) {
      channel.force(true);
    } catch (IOException e) {
      throw DeviceFile.openFailed(directory, JdkFile.errno(e));
    }
    return null;
  }
}
