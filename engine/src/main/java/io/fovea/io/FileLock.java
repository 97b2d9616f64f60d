package io.fovea.io;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Errno;
import io.fovea.bindings.Libc;
import io.fovea.error.DatabaseLockedException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Keeps a file to one opener, and tells a second who that is.
 *
 * <pre>
 *   data file  ◄── flock(LOCK_EX)       the lock: of the inode, so that links make no difference;
 *                                       gone when the process is, however it ended
 *   data file + ".lock"                 a note for people: the holder's process id, in ASCII
 * </pre>
 *
 * <p>The note beside the file, named by the file's real path, is never asked whether the file is
 * locked, only by whom. It is written by the holder after it has the lock and removed before it
 * gives the lock up; one that a killed process left behind is overwritten by the next holder. A
 * second opener that comes between a holder's lock and its note finds no note or an old one, so a
 * note that names no living process is read again for a moment before the answer is "not known".
 *
 * <p>flock belongs to the open file description: a second open in the same JVM conflicts as one in
 * another process does, and nothing static has to remember who holds what. (POSIX record locks
 * would be lost as soon as anybody in the process closed any descriptor of the file.) Where there
 * is no libc that the engine knows, a FileChannel's lock is used instead.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class FileLock implements AutoCloseable {
  private static final int NOTE_ATTEMPTS = 20;
  private static final long NOTE_WAIT_NANOS = 5_000_000;

  private final Path note;
  private final int fd;
  private final @Nullable FileChannel channel;
  private boolean closed;

  private FileLock(Path note, int fd, @Nullable FileChannel channel) {
    this.note = note;
    this.fd = fd;
    this.channel = channel;
  }

  /**
   * Locks a file, without waiting. The file is made where it does not exist.
   *
   * @param file the file; may be a link to it
   * @return the lock, to be closed after the file
   * @throws DatabaseLockedException where it is locked, with the id of the process that holds it
   * @throws io.fovea.error.StorageException where the file cannot be opened
   */
  public static FileLock acquire(Path file) {
    return Libc.probe() instanceof Availability.Available ? flock(file) : channelLock(file);
  }

  private static FileLock flock(Path file) {
    int fd = Libc.open(file.toString(), Libc.O_RDWR | Libc.O_CREAT | Libc.O_CLOEXEC, 0666);
    if (fd < 0) {
      throw DeviceFile.openFailed(file, -fd);
    }
    int result = Libc.flock(fd, Libc.LOCK_EX | Libc.LOCK_NB);
    if (result < 0) {
      Libc.close(fd);
      if (result == -Errno.EAGAIN) {
        throw locked(file);
      }
      throw DeviceFile.openFailed(file, -result);
    }
    return noted(file, new FileLock(noteOf(file), fd, null));
  }

  private static FileLock channelLock(Path file) {
    try {
      FileChannel channel =
          FileChannel.open(
              file, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE);
      try {
        if (channel.tryLock() != null) {
          return noted(file, new FileLock(noteOf(file), -1, channel));
        }
      } catch (OverlappingFileLockException e) {
        // Held by this JVM.
      }
      channel.close();
      throw locked(file);
    } catch (IOException e) {
      throw DeviceFile.openFailed(file, ChannelFile.errno(e));
    }
  }

  private static FileLock noted(Path file, FileLock lock) {
    try {
      Files.writeString(lock.note, ProcessHandle.current().pid() + "\n", StandardCharsets.US_ASCII);
    } catch (IOException | RuntimeException e) {
      // The note is for people; the lock holds without it.
      System.getLogger("io.fovea.io")
          .log(System.Logger.Level.DEBUG, "No note of the holder beside " + file, e);
    }
    return lock;
  }

  private static Path noteOf(Path file) {
    Path real;
    try {
      real = file.toRealPath();
    } catch (IOException e) {
      real = file.toAbsolutePath();
    }
    return real.resolveSibling(real.getFileName() + ".lock");
  }

  private static DatabaseLockedException locked(Path file) {
    return new DatabaseLockedException(file.toString(), holder(noteOf(file)));
  }

  /** The living process that a note names, or -1. */
  private static long holder(Path note) {
    boolean interrupted = false;
    long pid = -1;
    for (int i = 0; i < NOTE_ATTEMPTS && pid < 0; i++) {
      if (i > 0) {
        LockSupport.parkNanos(NOTE_WAIT_NANOS);
        interrupted |= Thread.interrupted();
      }
      pid = living(note);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return pid;
  }

  private static long living(Path note) {
    try {
      long pid = Long.parseLong(Files.readString(note, StandardCharsets.US_ASCII).strip());
      return ProcessHandle.of(pid).isPresent() ? pid : -1;
    } catch (IOException | NumberFormatException e) {
      return -1;
    }
  }

  /** Gives the file free. A second call does nothing. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      Files.deleteIfExists(note);
    } catch (IOException e) {
      // An old note does no harm; the next holder overwrites it.
    }
    if (channel != null) {
      try {
        channel.close();
      } catch (IOException e) {
        throw DeviceFile.openFailed(note, ChannelFile.errno(e));
      }
    } else {
      Libc.close(fd);
    }
  }
}
