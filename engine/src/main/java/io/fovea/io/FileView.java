package io.fovea.io;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Errno;
import io.fovea.bindings.Libc;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * A read-only file, for tools that inspect a database and must not change a byte of it.
 *
 * <p>The file is opened for reading, so no error in the code above can write to it. Writes fail
 * with EROFS; a sync does nothing. {@link #force} syncs the writes of others.
 *
 * <p>Any thread; interrupts have no effect.
 *
 * @since 0.1.0
 */
public final class FileView extends AbstractBlockDevice {
  private static final int BLOCK_BYTES = 4096;

  private final Path path;
  private final RawFile file;

  private FileView(Path path, RawFile file) {
    super(path.toString(), BLOCK_BYTES);
    this.path = path;
    this.file = file;
  }

  /**
   * Opens a file.
   *
   * @param path the file, which exists
   * @return a device for the caller to close
   * @throws io.fovea.error.StorageException if it cannot be opened
   */
  public static FileView open(Path path) {
    return new FileView(
        path,
        Mem.isRaw() && Libc.probe() instanceof Availability.Available
            ? LibcFile.openToRead(path)
            : JdkFile.openToRead(path));
  }

  @Override
  public String kind() {
    return "file, to be read only";
  }

  /** Returns the actual length, by which a truncated file is recognized. */
  @Override
  public long size() {
    long bytes = file.size();
    if (bytes < 0) {
      throw DeviceFile.openFailed(path, (int) -bytes);
    }
    return bytes;
  }

  @Override
  protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
    for (int done = 0; done < len; ) {
      long n = file.pread(seg, segOff + done, len - done, offset + done);
      if (n < 0) {
        return (int) -n;
      }
      if (n == 0) {
        Mem.zero(seg, segOff + done, len - done);
        break;
      }
      done += (int) n;
    }
    return 0;
  }

  @Override
  protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
    return Errno.EROFS;
  }

  @Override
  protected int syncNow() {
    return 0;
  }

  /**
   * Makes the writes of others to the file durable.
   *
   * @return whether that was possible
   */
  public boolean force() {
    return file.sync() == 0;
  }

  @Override
  protected int resizeNow(long bytes) {
    return Errno.EROFS;
  }

  @Override
  protected void closeNow() {
    file.close();
  }
}
