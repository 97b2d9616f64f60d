package io.fovea.io;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Errno;
import io.fovea.bindings.FileCalls;
import io.fovea.bindings.Libc;
import io.fovea.error.DatabaseLockedException;
import io.fovea.memory.Mem;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Keeps a file to one opener that writes, or to any number that only read, and tells who is kept
 * out who that is.
 *
 * <pre>
 *   data file  ◄── flock(LOCK_EX, LOCK_SH)   the lock: of the inode, so that links make no
 *                                            difference; gone when the process is, however it ended
 *   data file  ◄── fcntl(F_OFD_SETLK)        the same once more, for those that have no flock
 *   data file + ".lock"                      a note for people: the process id of the one that
 *                                            writes, in ASCII
 * </pre>
 *
 * <p>The note beside the file, named by the file's real path, is never asked whether the file is
 * locked, only by whom. It is written by the holder after it has the lock and removed before it
 * gives the lock up; one that a killed process left behind is overwritten by the next holder. A
 * second opener that comes between a holder's lock and its note finds no note or an old one, so a
 * note that names no living process is read again for a moment before the answer is "not known".
 * Those that only read write no note: nothing in the folder changes by them.
 *
 * <p>flock belongs to the open file description: a second open in the same JVM conflicts as one in
 * another process does, and nothing static has to remember who holds what. Where there is no libc
 * that the engine knows, or the JVM denies native access, a FileChannel's lock is used instead.
 * That is a lock of records, which flock does not see; for its sake every holder has one as well.
 * It belongs to the process, which loses it when it closes any descriptor of the file: so what this
 * JVM holds that way is remembered here, as long as it does, and such a file is not opened again.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class FileLock implements AutoCloseable {
  private static final int NOTE_ATTEMPTS = 20;
  private static final long NOTE_WAIT_NANOS = 5_000_000;

  /** What channels of this JVM have locked, by the file's key; it is its own lock. */
  private static final Map<Object, Held> HELD = new HashMap<>();

  /** A lock of a channel. */
  private static final class Held {
    final Object key;
    final FileChannel channel;
    final boolean shared;
    int holders = 1;

    Held(Object key, FileChannel channel, boolean shared) {
      this.key = key;
      this.channel = channel;
      this.shared = shared;
    }

    void release() throws IOException {
      synchronized (HELD) {
        if (--holders == 0) {
          HELD.remove(key);
          channel.close();
        }
      }
    }
  }

  /** Null where the lock is shared. */
  private final @Nullable Path note;

  private final int fd;
  private final @Nullable Held held;
  private @Nullable OverlayStorage covered;
  private boolean closed;

  private FileLock(@Nullable Path note, int fd, @Nullable Held held) {
    this.note = note;
    this.fd = fd;
    this.held = held;
  }

  /**
   * Locks a file for one that writes, without waiting. The file is made where it does not exist.
   *
   * @param file the file; may be a link to it
   * @return the lock, to be closed after the file
   * @throws DatabaseLockedException where it is locked, with the id of the process that holds it
   * @throws io.fovea.error.StorageException where the file cannot be opened
   */
  public static FileLock acquire(Path file) {
    return acquire(file, false);
  }

  /**
   * Whether there is the note of a holder: one who has the file now, or who died with it.
   *
   * @param file the file, which need not exist
   * @return a moment's truth
   */
  public static boolean isNoted(Path file) {
    return Files.exists(noteOf(file));
  }

  /**
   * Locks a file for one that only reads, beside others that do, without waiting. Nothing in its
   * folder is changed.
   *
   * @param file the file, which exists; may be a link to it
   * @return the lock, to be closed after the file
   * @throws DatabaseLockedException where one that writes has locked it
   * @throws io.fovea.error.StorageException where the file cannot be opened
   */
  public static FileLock acquireShared(Path file) {
    return acquire(file, true);
  }

  private static FileLock acquire(Path file, boolean shared) {
    return Mem.isRaw() && Libc.probe() instanceof Availability.Available
        ? flock(file, shared)
        : channelLock(file, shared);
  }

  private static FileLock flock(Path file, boolean shared) {
    int flags = shared ? FileCalls.O_RDONLY : FileCalls.O_RDWR | FileCalls.O_CREAT;
    int fd = FileCalls.open(file.toString(), flags | FileCalls.O_CLOEXEC, 0666);
    if (fd < 0) {
      throw DeviceFile.openFailed(file, -fd);
    }
    int result =
        FileCalls.flock(fd, (shared ? FileCalls.LOCK_SH : FileCalls.LOCK_EX) | FileCalls.LOCK_NB);
    if (result == 0 && conflicts(FileCalls.lockRecords(fd, shared))) {
      result = -Errno.EAGAIN;
    }
    if (result < 0) {
      FileCalls.close(fd);
      if (result == -Errno.EAGAIN) {
        throw locked(file);
      }
      throw DeviceFile.openFailed(file, -result);
    }
    if (!shared && !Files.exists(file)) {
      // Another opening made the file, failed, and removed it before this one had the lock.
      FileCalls.close(fd);
      return flock(file, false);
    }
    return shared ? new FileLock(null, fd, null) : noted(file, fd, null);
  }

  /** Where there are no such locks, flock does alone. */
  private static boolean conflicts(int result) {
    return result == -Errno.EAGAIN || result == -Errno.EACCES;
  }

  private static FileLock channelLock(Path file, boolean shared) {
    try {
      Held held = hold(file, shared);
      return shared ? new FileLock(null, -1, held) : noted(file, -1, held);
    } catch (IOException e) {
      throw DeviceFile.openFailed(file, JdkFile.errno(e));
    }
  }

  private static Held hold(Path file, boolean shared) throws IOException {
    synchronized (HELD) {
      Held held = Files.exists(file) ? HELD.get(key(file)) : null;
      if (held != null) {
        if (shared && held.shared) {
          held.holders++;
          return held;
        }
        throw locked(file);
      }
      FileChannel channel =
          shared
              ? FileChannel.open(file, StandardOpenOption.READ)
              : FileChannel.open(
                  file,
                  StandardOpenOption.READ,
                  StandardOpenOption.WRITE,
                  StandardOpenOption.CREATE);
      try {
        if (channel.tryLock(0, Long.MAX_VALUE, shared) != null) {
          held = new Held(key(file), channel, shared);
          HELD.put(held.key, held);
          return held;
        }
      } catch (OverlappingFileLockException e) {
        // Somebody else's of this JVM.
      } finally {
        if (held == null) {
          channel.close();
        }
      }
      throw locked(file);
    }
  }

  /** What is the same for all names of a file. */
  private static Object key(Path file) throws IOException {
    Object key = Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    return key == null ? file.toRealPath() : key;
  }

  private static FileLock noted(Path file, int fd, @Nullable Held held) {
    Path note = noteOf(file);
    try {
      Files.writeString(note, ProcessHandle.current().pid() + "\n", StandardCharsets.US_ASCII);
    } catch (IOException | RuntimeException e) {
      // The note is for people; the lock holds without it.
      System.getLogger("io.fovea.io")
          .log(System.Logger.Level.DEBUG, "No note of the holder beside " + file, e);
    }
    return new FileLock(note, fd, held);
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

  /**
   * Closes a storage with the lock, before the file is given free.
   *
   * @param storage what is open as long as the lock is held
   */
  public synchronized void covers(OverlayStorage storage) {
    covered = storage;
  }

  /** Gives the file free. A second call does nothing. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    if (covered != null) {
      covered.close();
    }
    try {
      if (note != null) {
        Files.deleteIfExists(note);
      }
    } catch (IOException e) {
      // An old note does no harm; the next holder overwrites it.
    }
    if (held == null) {
      FileCalls.close(fd);
      return;
    }
    try {
      held.release();
    } catch (IOException e) {
      System.getLogger("io.fovea.io").log(System.Logger.Level.DEBUG, "closing a lock", e);
    }
  }
}
