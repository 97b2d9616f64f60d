package io.fovea.io;

import io.fovea.bindings.Errno;
import io.fovea.bindings.Libc;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * A file on libc: positioned reads and writes that no interrupt of Java reaches.
 *
 * <p>O_DIRECT is asked for and not relied on. Some file systems refuse it when the file is opened,
 * some only at the first transfer; in both cases the page cache is used instead. In the second, the
 * file is opened again; the first descriptor stays open until the end, since others may be using
 * it.
 */
final class LibcFile implements RawFile {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");

  private final Path path;
  private final int first;
  private volatile int fd;
  private volatile boolean direct;

  /** The same file with O_DSYNC; -1 as long as nobody asked for it, and where there is none. */
  private volatile int durableFd = -1;

  private boolean durableAsked;

  /** What {@link #durableFd} was before direct transfers were given up; others may be using it. */
  private int abandonedFd = -1;

  private LibcFile(Path path, int fd, boolean direct) {
    this.path = path;
    this.first = fd;
    this.fd = fd;
    this.direct = direct;
  }

  /**
   * Opens a file for reading and writing.
   *
   * @throws io.fovea.error.FoveaException where the operating system refuses
   */
  static LibcFile open(Path path, boolean create, boolean direct) {
    int flags = Libc.O_RDWR | Libc.O_CLOEXEC | (create ? Libc.O_CREAT : 0);
    String name = path.toString();
    if (direct) {
      int fd = Libc.open(name, flags | Libc.O_DIRECT, 0666);
      if (fd >= 0) {
        return new LibcFile(path, fd, true);
      }
      if (fd != -Errno.EINVAL && fd != -Errno.EOPNOTSUPP) {
        throw DeviceFile.openFailed(path, -fd);
      }
    }
    int fd = Libc.open(name, flags, 0666);
    if (fd < 0) {
      throw DeviceFile.openFailed(path, -fd);
    }
    return new LibcFile(path, fd, false);
  }

  @Override
  public long pread(MemorySegment seg, long segOff, long len, long offset) {
    return Libc.pread(fd, seg, segOff, len, offset);
  }

  @Override
  public long pwrite(MemorySegment seg, long segOff, long len, long offset) {
    return Libc.pwrite(fd, seg, segOff, len, offset);
  }

  @Override
  public boolean writesDurably() {
    return durableFd >= 0 || openDurably();
  }

  private synchronized boolean openDurably() {
    if (!durableAsked) {
      durableAsked = true;
      durableFd = reopen(Libc.O_DSYNC | (direct ? Libc.O_DIRECT : 0));
    }
    return durableFd >= 0;
  }

  @Override
  public long pwriteDurably(MemorySegment seg, long segOff, long len, long offset) {
    return Libc.pwrite(durableFd, seg, segOff, len, offset);
  }

  /** Through the descriptor, so that a rename meanwhile does no harm. */
  private int reopen(int flags) {
    return Libc.open("/proc/self/fd/" + first, Libc.O_RDWR | Libc.O_CLOEXEC | flags, 0);
  }

  @Override
  public int sync() {
    return Libc.fdatasync(fd);
  }

  @Override
  public int allocate(long from, long to) {
    int result = Libc.fallocate(fd, 0, from, to - from);
    if (result == -Errno.EOPNOTSUPP || result == -Errno.ENOSYS) {
      return Libc.ftruncate(fd, to);
    }
    return result;
  }

  @Override
  public int truncate(long bytes) {
    return Libc.ftruncate(fd, bytes);
  }

  @Override
  public long size() {
    return Libc.size(fd);
  }

  @Override
  public boolean direct() {
    return direct;
  }

  @Override
  public synchronized boolean giveUpDirect() {
    if (!direct) {
      return true;
    }
    int buffered = reopen(0);
    if (buffered < 0) {
      return false;
    }
    int durable = durableFd;
    if (durable >= 0) {
      int bufferedDurable = reopen(Libc.O_DSYNC);
      if (bufferedDurable < 0) {
        Libc.close(buffered);
        return false;
      }
      abandonedFd = durable;
      durableFd = bufferedDurable;
    }
    LOG.log(Level.WARNING, "{0}: direct I/O is refused, going on through the page cache", path);
    fd = buffered;
    direct = false;
    return true;
  }

  @Override
  public int fd() {
    return fd;
  }

  @Override
  public boolean interruptible() {
    return false;
  }

  @Override
  public int close() {
    if (fd != first) {
      Libc.close(fd);
    }
    if (durableFd >= 0) {
      Libc.close(durableFd);
    }
    if (abandonedFd >= 0) {
      Libc.close(abandonedFd);
    }
    return Libc.close(first);
  }
}
