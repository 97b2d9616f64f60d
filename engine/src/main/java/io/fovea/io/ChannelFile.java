package io.fovea.io;

import io.fovea.bindings.Errno;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/**
 * A file where there is no libc that the engine knows, or the JVM denies native access: on
 * FileChannel.
 *
 * <p>A channel closes itself when a thread is interrupted inside it, so this one is used by the
 * threads of the device alone, which nobody can interrupt ({@link #interruptible}). Error numbers
 * are derived from the exceptions, which is good enough to tell a full disk from a broken one.
 */
final class ChannelFile implements RawFile {
  private final FileChannel channel;

  private ChannelFile(FileChannel channel) {
    this.channel = channel;
  }

  static ChannelFile open(Path path, boolean create) {
    Set<StandardOpenOption> options = EnumSet.of(StandardOpenOption.READ, StandardOpenOption.WRITE);
    if (create) {
      options.add(StandardOpenOption.CREATE);
    }
    try {
      return new ChannelFile(FileChannel.open(path, options));
    } catch (IOException e) {
      throw DeviceFile.openFailed(path, errno(e));
    }
  }

  static int errno(IOException e) {
    if (e instanceof NoSuchFileException) {
      return Errno.ENOENT;
    }
    if (e instanceof AccessDeniedException) {
      return Errno.EACCES;
    }
    String message = String.valueOf(e.getMessage()).toLowerCase(Locale.ROOT);
    return message.contains("no space") || message.contains("not enough space")
        ? Errno.ENOSPC
        : Errno.EIO;
  }

  @Override
  public long pread(MemorySegment seg, long segOff, long len, long offset) {
    try {
      return Math.max(0, channel.read(seg.asSlice(segOff, len).asByteBuffer(), offset));
    } catch (IOException e) {
      return -errno(e);
    }
  }

  @Override
  public long pwrite(MemorySegment seg, long segOff, long len, long offset) {
    try {
      return channel.write(seg.asSlice(segOff, len).asByteBuffer(), offset);
    } catch (IOException e) {
      return -errno(e);
    }
  }

  @Override
  public int sync() {
    try {
      channel.force(false);
      return 0;
    } catch (IOException e) {
      return -errno(e);
    }
  }

  /** A channel cannot set space aside; a byte at the end makes the file long. */
  @Override
  public int allocate(long from, long to) {
    try (Arena arena = Arena.ofConfined()) {
      long n = pwrite(arena.allocate(1), 0, 1, to - 1);
      return n < 0 ? (int) n : 0;
    }
  }

  @Override
  public int truncate(long bytes) {
    try {
      channel.truncate(bytes);
      return 0;
    } catch (IOException e) {
      return -errno(e);
    }
  }

  @Override
  public long size() {
    try {
      return channel.size();
    } catch (IOException e) {
      return -errno(e);
    }
  }

  @Override
  public boolean direct() {
    return false;
  }

  @Override
  public boolean giveUpDirect() {
    return true;
  }

  @Override
  public int fd() {
    return -1;
  }

  @Override
  public boolean interruptible() {
    return true;
  }

  @Override
  public int close() {
    try {
      channel.close();
      return 0;
    } catch (IOException e) {
      return -errno(e);
    }
  }
}
