package io.fovea.io;

import io.fovea.bindings.Errno;
import io.fovea.memory.Mem;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A file that can only be read: for tools that look at a database and must not change a byte of it.
 *
 * <p>The file is opened for reading, so nothing that goes wrong above can write to it. Writes fail
 * with EROFS; a sync does nothing. {@link #force} syncs what others have written.
 *
 * <p>Any thread. An interrupted thread closes the channel, as channels do; it is opened again and
 * the flag is kept.
 *
 * @since 0.1.0
 */
public final class FileView extends AbstractBlockDevice {
  private static final int BLOCK_BYTES = 4096;

  private final Path path;
  private volatile FileChannel channel;

  private FileView(Path path, FileChannel channel) {
    super(path.toString(), BLOCK_BYTES);
    this.path = path;
    this.channel = channel;
  }

  /**
   * Opens a file.
   *
   * @param path the file, which exists
   * @return a device, to be closed
   * @throws io.fovea.error.StorageException where it can't be opened
   */
  public static FileView open(Path path) {
    try {
      return new FileView(path, FileChannel.open(path, StandardOpenOption.READ));
    } catch (IOException e) {
      throw DeviceFile.openFailed(path, ChannelFile.errno(e));
    }
  }

  @Override
  public String kind() {
    return "file, to be read only";
  }

  /** The length as it is: a file that was cut is to be known by it. */
  @Override
  public long size() {
    boolean interrupted = false;
    try {
      while (true) {
        FileChannel from = channel;
        try {
          return from.size();
        } catch (ClosedChannelException e) {
          interrupted |= Thread.interrupted();
          reopen(from);
        }
      }
    } catch (IOException e) {
      throw DeviceFile.openFailed(path, ChannelFile.errno(e));
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
    ByteBuffer to = seg.asSlice(segOff, len).asByteBuffer();
    boolean interrupted = false;
    try {
      while (to.hasRemaining()) {
        FileChannel from = channel;
        try {
          if (from.read(to, offset + to.position()) < 0) {
            Mem.zero(seg, segOff + to.position(), to.remaining());
            break;
          }
        } catch (ClosedChannelException e) {
          interrupted |= Thread.interrupted();
          reopen(from);
        }
      }
      return 0;
    } catch (IOException e) {
      return ChannelFile.errno(e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private synchronized void reopen(FileChannel closed) throws IOException {
    if (channel == closed) {
      channel = FileChannel.open(path, StandardOpenOption.READ);
    }
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
   * Makes durable what others have written to the file.
   *
   * @return whether that was possible
   */
  public boolean force() {
    boolean interrupted = false;
    try {
      while (true) {
        FileChannel from = channel;
        try {
          from.force(false);
          return true;
        } catch (ClosedChannelException e) {
          interrupted |= Thread.interrupted();
          reopen(from);
        }
      }
    } catch (IOException e) {
      return false;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  protected int resizeNow(long bytes) {
    return Errno.EROFS;
  }

  @Override
  protected void closeNow() {
    try {
      channel.close();
    } catch (IOException e) {
      System.getLogger("io.fovea.io").log(System.Logger.Level.DEBUG, "closing " + path, e);
    }
  }
}
