package io.fovea.io;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Errno;
import io.fovea.bindings.FileCalls;
import io.fovea.bindings.Libc;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.memory.Mem;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.System.Logger.Level;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Locks a file for one writer or any number of readers. A refused opener gets an exception that
 * names the holder.
 *
 * <pre>
 *                            with native access           without
 *   data file                flock, F_OFD_SETLK           a record lock of the process
 *   data file + ".lock"      F_OFD_SETLK                  a record lock of the process
 *                            a writer, and a reader       a writer, and a reader
 *                            if the file exists           if it can create the file
 *   system property          -                            what this JVM holds, for copies of the
 *                                                         engine in other class loaders
 * </pre>
 *
 * <p><b>The data file.</b> flock and F_OFD_SETLK belong to the open file: a second open in the same
 * JVM conflicts like one in another process, links make no difference, and the lock ends with the
 * process. Without a libc that the engine knows, or if the JVM denies native access, there is only
 * the record lock, which conflicts with F_OFD_SETLK but not with flock.
 *
 * <p><b>The lock file.</b> A record lock is lost when its process closes any descriptor of the
 * file, as a copy, a dump and a refused opening do. So every opener also locks a file that no other
 * code opens, after the data file. Both locks are required: if two openers believe that they hold
 * the data file's lock because one of them has lost it, the second is refused the lock file's. A
 * writer writes its process into the lock file: the id, the boot of the system and the start of the
 * process, which distinguish it from a later process with the same id. An opener that gets both
 * locks but finds the note of another live process is refused too.
 *
 * <p>The lock file need not survive a power loss, so its directory is not synced for it: no lock is
 * held after a restart, and a note of an earlier boot is ignored.
 *
 * <p>The holder removes the lock file, with the locks held. A thread that has locked it checks that
 * the file still has its name, and starts over otherwise.
 *
 * <p>A JVM without native access must not open the lock file a second time while it holds it. Its
 * locks are recorded in this class, and in a system property for the same class in another class
 * loader, which checks it before it opens anything. Readers there share the locks of the first
 * loader for as long as that one holds them.
 *
 * <p>A reader that cannot create the lock file, lacking write access to the folder, holds only the
 * data file's lock.
 *
 * <p>Safe for use by any thread.
 *
 * @since 0.1.0
 */
public final class FileLock implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");
  private static final int NOTE_BYTES_MAX = 200;
  private static final int NOTE_ATTEMPTS = 20;
  private static final long NOTE_WAIT_NANOS = 5_000_000;
  private static final String PROPERTY = "io.fovea.lock.";

  /**
   * The locks of this JVM without native access, by the file's key. The map is also the monitor
   * that guards it.
   */
  private static final Map<Object, Held> HELD = new HashMap<>();

  /** The lock file, open. */
  private record LockFile(RandomAccessFile file, java.nio.channels.FileLock lock) {}

  /** The locks of one file without native access. */
  private record Locks(@Nullable RandomAccessFile data, @Nullable LockFile lockFile) {
    /** Another class loader holds them. */
    static final Locks NONE = new Locks(null, null);
  }

  private static final class Held {
    final Object key;
    final Locks locks;
    final Path note;
    final boolean shared;
    int holders = 1;

    Held(Object key, Locks locks, Path note, boolean shared) {
      this.key = key;
      this.locks = locks;
      this.note = note;
      this.shared = shared;
    }

    void release() {
      synchronized (HELD) {
        if (--holders > 0) {
          return;
        }
        HELD.remove(key);
        LockFile lockFile = locks.lockFile;
        if (lockFile != null) {
          if (!shared || isUnused(lockFile)) {
            delete(note);
          }
          FileLock.close(lockFile.file);
        }
        FileLock.close(locks.data);
        unclaim(key);
      }
    }

    /** If the lock file was a reader's and no other reader holds it, locks it and returns true. */
    private static boolean isUnused(LockFile lockFile) {
      try {
        if (lockFile.file.length() > 0) {
          return false; // left by a writer that was killed: the next writer has to find it
        }
        lockFile.lock.release();
        return tryLock(lockFile.file, false) != null;
      } catch (IOException | RuntimeException e) { // for example a file opened read-only
        LOG.log(Level.DEBUG, "A lock file could not be deleted", e);
        return false;
      }
    }
  }

  /** The writer's note, which is removed with the lock; null for a reader. */
  private final @Nullable Path note;

  /** The data file's descriptor with native access; -1 without. */
  private final int fd;

  /** The lock file's descriptor; -1 for none. */
  private final int lockFileFd;

  private final @Nullable Held held;
  private @Nullable OverlayStorage covered;
  private boolean closed;

  private FileLock(@Nullable Path note, int fd, int lockFileFd, @Nullable Held held) {
    this.note = note;
    this.fd = fd;
    this.lockFileFd = lockFileFd;
    this.held = held;
  }

  /**
   * Locks a file for a writer, without waiting. A missing file is created.
   *
   * @param file the file; may be a link to it
   * @return the lock, to be closed after the file
   * @throws DatabaseLockedException if it is locked, with the id of the holding process
   * @throws IncompatibleFormatException if another file has the name of the lock file
   * @throws io.fovea.error.StorageException if the file cannot be opened
   */
  public static FileLock acquire(Path file) {
    return acquire(file, false);
  }

  /**
   * Returns whether there is a note of a writer that holds the file or was killed with it.
   *
   * @param file the file, which need not exist
   * @return the answer, which may be outdated immediately
   */
  public static boolean isNoted(Path file) {
    try {
      return Files.size(noteOf(file)) > 0;
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Locks a file for a reader, shared with other readers, without waiting. Nothing in its folder is
   * changed, except that without native access the lock file exists while it is held.
   *
   * @param file the file, which exists; may be a link to it
   * @return the lock, to be closed after the file
   * @throws DatabaseLockedException if a writer has locked it
   * @throws io.fovea.error.StorageException if the file cannot be opened
   */
  public static FileLock acquireShared(Path file) {
    return acquire(file, true);
  }

  private static FileLock acquire(Path file, boolean shared) {
    if (!shared) {
      requireNote(file, noteOf(file));
    }
    if (Mem.isRaw() && Libc.probe() instanceof Availability.Available) {
      return byOpenFile(file, shared);
    }
    // One at a time: a refused opener reads the note, and closes a descriptor of it.
    synchronized (HELD) {
      try {
        return byProcess(file, shared);
      } catch (IOException e) {
        throw DeviceFile.openFailed(file, DeviceFile.errno(e));
      }
    }
  }

  // ---------------------------------------------------------------------------- with native access

  private static FileLock byOpenFile(Path file, boolean shared) {
    if (isClaimed(file)) {
      throw locked(file);
    }
    int flags = shared ? FileCalls.O_RDONLY : FileCalls.O_RDWR | FileCalls.O_CREAT;
    String name = LibcFile.name(file);
    int fd;
    try {
      fd =
          Directories.opening(
              file, () -> FileCalls.open(name, flags | FileCalls.O_CLOEXEC, 0666)); // creates it
    } catch (IOException e) {
      throw DeviceFile.openFailed(file, DeviceFile.errno(e));
    }
    if (fd < 0) {
      throw DeviceFile.openFailed(file, -fd);
    }
    int lockFile = -1;
    boolean done = false;
    try {
      int result =
          FileCalls.flock(fd, (shared ? FileCalls.LOCK_SH : FileCalls.LOCK_EX) | FileCalls.LOCK_NB);
      if (result == -Errno.EAGAIN || result == 0 && conflicts(FileCalls.lockRecords(fd, shared))) {
        throw locked(file);
      }
      if (result < 0) {
        throw DeviceFile.openFailed(file, -result);
      }
      Path note = noteOf(file);
      lockFile = acquireLockFile(file, note, shared);
      // Another opener may have created the file, failed, and removed it before this lock was
      // taken.
      if (shared || Files.exists(file)) {
        if (!shared) {
          requireNoOther(file, living(note, true));
          write(note);
        }
        done = true;
        return new FileLock(shared ? null : note, fd, lockFile, null);
      }
    } finally {
      if (!done) {
        if (lockFile >= 0) {
          unlock(lockFile);
        }
        unlock(fd);
      }
    }
    return byOpenFile(file, false);
  }

  /** Returns the descriptor of the lock file, locked; -1 if it cannot be opened. */
  private static int acquireLockFile(Path file, Path note, boolean shared) {
    while (true) {
      int flags = shared ? FileCalls.O_RDONLY : FileCalls.O_RDWR | FileCalls.O_CREAT;
      int fd = FileCalls.open(note.toString(), flags | FileCalls.O_CLOEXEC, 0666);
      if (fd < 0) {
        LOG.log(Level.DEBUG, () -> "Could not lock " + note + ": " + Errno.describe(-fd));
        return -1;
      }
      if (conflicts(FileCalls.lockRecords(fd, shared))) {
        FileCalls.close(fd);
        throw locked(file);
      }
      Object has = key(Path.of("/proc/self/fd/" + fd));
      if (has == null || has.equals(key(note))) {
        return fd;
      }
      unlock(fd); // it was removed
    }
  }

  /**
   * Returns whether a record lock conflicts. If the system lacks such locks, flock must suffice.
   */
  private static boolean conflicts(int result) {
    return result == -Errno.EAGAIN || result == -Errno.EACCES;
  }

  private static void write(Path note) {
    try {
      Files.writeString(note, OwnProcess.text(), StandardCharsets.US_ASCII);
    } catch (IOException | RuntimeException e) {
      LOG.log(
          Level.DEBUG,
          "Could not record the holder of the lock in " + note,
          e); // the locks hold without it
    }
  }

  // ------------------------------------------------------------------------- without native access

  private static FileLock byProcess(Path file, boolean shared) throws IOException {
    RandomAccessFile data = null;
    Object key = key(file);
    if (key == null) {
      data = open(file, shared); // creates it
      key = Objects.requireNonNullElse(key(file), file.toRealPath());
    }
    Held held = HELD.get(key);
    if (held != null && shared && held.shared) {
      held.holders++;
      return new FileLock(null, -1, -1, held);
    }
    // Before opening any file that this JVM may hold: a close would end its locks.
    int claims = claim(key, shared);
    if (claims == 0) {
      close(data);
      throw locked(file);
    }
    Locks locks = null;
    try {
      locks = claims > 1 ? Locks.NONE : locks(file, data, shared);
      held = new Held(key, locks, noteOf(file), shared);
      HELD.put(key, held);
      return new FileLock(null, -1, -1, held);
    } finally {
      if (locks == null) {
        unclaim(key);
      }
    }
  }

  private static RandomAccessFile open(Path file, boolean shared) throws IOException {
    return Directories.opening(
        file, () -> new RandomAccessFile(file.toFile(), shared ? "r" : "rw"));
  }

  private static Locks locks(Path file, @Nullable RandomAccessFile made, boolean shared)
      throws IOException {
    RandomAccessFile data = made == null ? open(file, shared) : made;
    LockFile lockFile = null;
    boolean done = false;
    try {
      if (tryLock(data, shared) == null) {
        throw new DatabaseLockedException(file.toString(), holder(noteOf(file)));
      }
      lockFile = tryAcquireLockFile(file, noteOf(file), shared);
      if (!shared && lockFile != null) {
        byte[] found = new byte[(int) Math.min(lockFile.file.length(), NOTE_BYTES_MAX)];
        lockFile.file.readFully(found);
        requireNoOther(file, living(new String(found, StandardCharsets.US_ASCII), true));
        lockFile.file.setLength(0);
        lockFile.file.write(OwnProcess.text().getBytes(StandardCharsets.US_ASCII));
      }
      done = true;
      return new Locks(data, lockFile);
    } finally {
      if (!done) {
        close(lockFile == null ? null : lockFile.file);
        close(data);
      }
    }
  }

  private static java.nio.channels.@Nullable FileLock tryLock(RandomAccessFile file, boolean shared)
      throws IOException {
    try {
      return file.getChannel().tryLock(0, Long.MAX_VALUE, shared);
    } catch (OverlappingFileLockException e) {
      return null; // held by other code in this JVM
    }
  }

  /**
   * Returns the lock file, locked; null if it cannot be opened.
   *
   * <p>Its key before and after locking shows whether it has kept its name: while it is open, no
   * other file gets this key.
   */
  private static @Nullable LockFile tryAcquireLockFile(Path data, Path note, boolean shared)
      throws IOException {
    while (true) {
      RandomAccessFile file = openLockFile(note, shared);
      if (file == null) {
        return null;
      }
      boolean done = false;
      try {
        Object before = key(note);
        java.nio.channels.FileLock lock = tryLock(file, shared);
        if (lock == null) {
          close(file);
          throw new DatabaseLockedException(data.toString(), holder(note));
        }
        done = Files.exists(note) && Objects.equals(before, key(note));
        if (done) {
          return new LockFile(file, lock);
        }
      } finally {
        if (!done) {
          close(file);
        }
      }
    }
  }

  private static @Nullable RandomAccessFile openLockFile(Path note, boolean shared) {
    for (String mode : shared ? new String[] {"rw", "r"} : new String[] {"rw"}) {
      try {
        return new RandomAccessFile(note.toFile(), mode);
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "Could not lock " + note, e);
      }
    }
    return null;
  }

  private static void close(@Nullable RandomAccessFile file) {
    try {
      if (file != null) {
        file.close();
      }
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "closing a lock", e);
    }
  }

  private static void delete(Path note) {
    try {
      Files.deleteIfExists(note);
    } catch (IOException e) {
      // An old note does no harm; the next holder overwrites it.
      LOG.log(Level.DEBUG, "An old lock file could not be deleted: " + note, e);
    }
  }

  // ------------------------------------------------------ for copies of the engine in this JVM

  /**
   * Records what this JVM holds: "w" for a writer, otherwise the number of class loaders that read.
   *
   * @return 0 if refused; 1 for the first holder, which takes the locks; otherwise the number of
   *     readers
   */
  private static int claim(Object key, boolean shared) {
    Properties all = System.getProperties();
    synchronized (all) {
      String now = all.getProperty(PROPERTY + key);
      if (now != null && (!shared || now.equals("w"))) {
        return 0;
      }
      int readers = now == null ? 1 : Integer.parseInt(now) + 1;
      all.setProperty(PROPERTY + key, shared ? String.valueOf(readers) : "w");
      return readers;
    }
  }

  private static void unclaim(Object key) {
    Properties all = System.getProperties();
    synchronized (all) {
      String now = all.getProperty(PROPERTY + key);
      if (now == null || now.equals("w") || now.equals("1")) {
        all.remove(PROPERTY + key);
      } else {
        all.setProperty(PROPERTY + key, String.valueOf(Integer.parseInt(now) - 1));
      }
    }
  }

  private static boolean isClaimed(Path file) {
    Object key = key(file);
    return key != null && System.getProperty(PROPERTY + key) != null;
  }

  /** Returns a key that is the same for all names of a file; null if it does not exist. */
  private static @Nullable Object key(Path file) {
    try {
      return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    } catch (IOException e) {
      return null;
    }
  }

  // -------------------------------------------------------------------------------- the holder

  private static Path noteOf(Path file) {
    Path real;
    try {
      real = file.toRealPath();
    } catch (IOException e) {
      real = file.toAbsolutePath();
    }
    return real.resolveSibling(real.getFileName() + ".lock");
  }

  /**
   * Rejects a file with the note's name that is too long to be a note, since it would be
   * overwritten.
   */
  private static void requireNote(Path file, Path note) {
    long bytes;
    try {
      bytes = Files.size(note);
    } catch (IOException e) {
      return; // there is none
    }
    if (bytes > NOTE_BYTES_MAX) {
      throw new IncompatibleFormatException(
          note
              + " has "
              + bytes
              + " bytes, and is not the lock file of a process that has "
              + file
              + " open. Opening would overwrite it. Move it to another name; "
              + "then open again.");
    }
  }

  private static void requireNoOther(Path file, long pid) {
    if (pid >= 0 && pid != ProcessHandle.current().pid()) {
      throw new DatabaseLockedException(file.toString(), pid);
    }
  }

  private static DatabaseLockedException locked(Path file) {
    long pid = isClaimed(file) ? ProcessHandle.current().pid() : holder(noteOf(file));
    return new DatabaseLockedException(file.toString(), pid);
  }

  /**
   * Returns the live process that a note names, or -1. A holder writes its note after its lock, so
   * a note that names no live process is read again for a short time.
   */
  private static long holder(Path note) {
    boolean interrupted = false;
    long pid = -1;
    for (int i = 0; i < NOTE_ATTEMPTS && pid < 0; i++) {
      if (i > 0) {
        LockSupport.parkNanos(NOTE_WAIT_NANOS);
        interrupted |= Thread.interrupted();
      }
      pid = living(note, false);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return pid;
  }

  private static long living(Path note, boolean requireIdentity) {
    try {
      return living(Files.readString(note, StandardCharsets.US_ASCII), requireIdentity);
    } catch (IOException e) {
      return -1;
    }
  }

  /**
   * Returns the process of a note if it is alive, or -1. If {@code requireIdentity} is true, the
   * note must contain more than an id.
   */
  private static long living(String note, boolean requireIdentity) {
    return OwnProcess.living(note.strip(), requireIdentity);
  }

  /**
   * Sets a storage to be closed together with the lock, before the file is unlocked.
   *
   * @param storage open for as long as the lock is held
   */
  public synchronized void covers(OverlayStorage storage) {
    covered = storage;
  }

  /** Unlocks the file. Idempotent. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    if (covered != null) {
      covered.close();
    }
    if (held != null) {
      held.release();
      return;
    }
    if (note != null) {
      delete(note);
    }
    if (lockFileFd >= 0) {
      unlock(lockFileFd);
    }
    unlock(fd);
  }

  /**
   * Unlocks before closing: a child process being started has a copy of each descriptor until it
   * executes its program, and would keep the locks until then.
   */
  private static void unlock(int fd) {
    FileCalls.flock(fd, FileCalls.LOCK_UN);
    FileCalls.unlockRecords(fd);
    FileCalls.close(fd);
  }
}
