package io.fovea.io;

import io.fovea.bindings.Errno;
import io.fovea.bindings.FileCalls;
import io.fovea.error.InvalidUseException;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/**
 * A file on libc: positioned reads and writes that Java interrupts do not affect.
 *
 * <p>O_DIRECT is requested but not relied on. Some file systems refuse it when the file is opened,
 * some only at the first transfer; the page cache is used then. In the second case the file is
 * reopened; the first descriptor stays open until the file is closed, since other threads may be
 * using it.
 */
final class LibcFile implements RawFile {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");

  private final Path path;
  private final int first;
  private volatile int fd;
  private volatile boolean direct;

  /** A descriptor with O_DSYNC; -1 until it is first requested, and if it is not available. */
  private volatile int durableFd = -1;

  private boolean durableAsked;

  /** The {@link #durableFd} from before direct transfers were abandoned; others may be using it. */
  private int abandonedFd = -1;

  private LibcFile(Path path, int fd, boolean direct) {
    this.path = path;
    this.first = fd;
    this.fd = fd;
    this.direct = direct;
  }

  /**
   * Returns the absolute name of a file for libc, resolved as the JDK does. libc resolves a
   * relative name in the directory of the process, which is not {@code user.dir} if that was set.
   *
   * @throws InvalidUseException if the name cannot be represented in the encoding of the process,
   *     so that libc would open another file
   */
  static String name(Path path) {
    Path absolute = path.toAbsolutePath();
    String name = absolute.toString();
    boolean same;
    try {
      // A path contains the bytes of the name; its string contains replacements for undecodable
      // bytes.
      same = absolute.equals(absolute.getFileSystem().getPath(name));
    } catch (InvalidPathException e) {
      same = false;
    }
    boolean lost = !path.isAbsolute() && !Files.isDirectory(Path.of("").toAbsolutePath());
    if (!same || lost) {
      throw new InvalidUseException(
          (lost ? "The name of the working directory, in " : "The name of the file ")
              + name
              + ", can't be represented in the encoding of this process, "
              + System.getProperty("sun.jnu.encoding")
              + ". Start Java in a UTF-8 locale, for example with LC_ALL=C.UTF-8.");
    }
    return name;
  }

  /**
   * Opens a file for reading and writing.
   *
   * @throws io.fovea.error.FoveaException if the operating system refuses
   */
  static LibcFile open(Path path, boolean create, boolean direct) {
    int flags = FileCalls.O_RDWR | FileCalls.O_CLOEXEC | (create ? FileCalls.O_CREAT : 0);
    String name = name(path);
    if (direct) {
      int fd = FileCalls.open(name, flags | FileCalls.O_DIRECT, 0666);
      if (fd >= 0) {
        return new LibcFile(path, fd, true);
      }
      if (fd != -Errno.EINVAL && fd != -Errno.EOPNOTSUPP) {
        throw DeviceFile.openFailed(path, -fd);
      }
    }
    int fd = FileCalls.open(name, flags, 0666);
    if (fd < 0) {
      throw DeviceFile.openFailed(path, -fd);
    }
    return new LibcFile(path, fd, false);
  }

  /**
   * Opens an existing file for reading.
   *
   * @throws io.fovea.error.FoveaException if the operating system refuses
   */
  static LibcFile openToRead(Path path) {
    int fd = FileCalls.open(path.toString(), FileCalls.O_RDONLY | FileCalls.O_CLOEXEC, 0);
    if (fd < 0) {
      throw DeviceFile.openFailed(path, -fd);
    }
    return new LibcFile(path, fd, false);
  }

  @Override
  public long pread(MemorySegment seg, long segOff, long len, long offset) {
    return FileCalls.pread(fd, seg, segOff, len, offset);
  }

  @Override
  public long pwrite(MemorySegment seg, long segOff, long len, long offset) {
    return FileCalls.pwrite(fd, seg, segOff, len, offset);
  }

  @Override
  public boolean writesDurably() {
    return durableFd >= 0 || openDurably();
  }

  private synchronized boolean openDurably() {
    if (!durableAsked) {
      durableAsked = true;
      durableFd = reopen(FileCalls.O_DSYNC | (direct ? FileCalls.O_DIRECT : 0));
    }
    return durableFd >= 0;
  }

  @Override
  public long pwriteDurably(MemorySegment seg, long segOff, long len, long offset) {
    return FileCalls.pwrite(durableFd, seg, segOff, len, offset);
  }

  /** Reopens the file through its descriptor, so that a concurrent rename does not matter. */
  private int reopen(int flags) {
    return FileCalls.open(
        "/proc/self/fd/" + first, FileCalls.O_RDWR | FileCalls.O_CLOEXEC | flags, 0);
  }

  @Override
  public int sync() {
    return FileCalls.fdatasync(fd);
  }

  @Override
  public int allocate(long from, long to) {
    int result = FileCalls.fallocate(fd, 0, from, to - from);
    if (result == -Errno.EOPNOTSUPP || result == -Errno.ENOSYS) {
      return FileCalls.ftruncate(fd, to);
    }
    return result;
  }

  @Override
  public int punch(long offset, long len) {
    int mode = FileCalls.FALLOC_FL_PUNCH_HOLE | FileCalls.FALLOC_FL_KEEP_SIZE;
    return FileCalls.fallocate(fd, mode, offset, len);
  }

  @Override
  public int reserve(long offset, long len) {
    return FileCalls.fallocate(fd, FileCalls.FALLOC_FL_KEEP_SIZE, offset, len);
  }

  @Override
  public int truncate(long bytes) {
    return FileCalls.ftruncate(fd, bytes);
  }

  @Override
  public long size() {
    return FileCalls.size(fd);
  }

  @Override
  public boolean direct() {
    return direct;
  }

  @Override
  public synchronized boolean disableDirect() {
    if (!direct) {
      return true;
    }
    int buffered = reopen(0);
    if (buffered < 0) {
      return false;
    }
    int durable = durableFd;
    if (durable >= 0) {
      int bufferedDurable = reopen(FileCalls.O_DSYNC);
      if (bufferedDurable < 0) {
        FileCalls.close(buffered);
        return false;
      }
      abandonedFd = durable;
      durableFd = bufferedDurable;
    }
    LOG.log(Level.WARNING, "{0}: direct I/O is refused, continuing through the page cache", path);
    fd = buffered;
    direct = false;
    return true;
  }

  @Override
  public int fd() {
    return fd;
  }

  @Override
  public int close() {
    if (fd != first) {
      FileCalls.close(fd);
    }
    if (durableFd >= 0) {
      FileCalls.close(durableFd);
    }
    if (abandonedFd >= 0) {
      FileCalls.close(abandonedFd);
    }
    return FileCalls.close(first);
  }
}
