package io.fovea.io;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A file on RandomAccessFile, for a system without a libc that the engine knows, or a JVM that
 * denies native access.
 *
 * <p>A FileChannel would save a copy, but it closes itself when a thread that uses it is
 * interrupted, and the error of a sync is then lost. Interrupts do not affect a RandomAccessFile.
 * It has one position, so each transfer takes a separate handle; up to {@link #HANDLES} are in use
 * concurrently.
 *
 * <p>Error numbers are derived from the exceptions, precisely enough to tell a full disk from a
 * broken one.
 */
final class JdkFile implements RawFile {
  private static final int HANDLES = 8;
  private static final int CHUNK = 1 << 16;

  /** A descriptor, and memory to copy through. Both are guarded by the lock. */
  private static final class Handle {
    final ReentrantLock lock = new ReentrantLock();
    final RandomAccessFile file;
    byte[] bytes = {};

    Handle(RandomAccessFile file) {
      this.file = file;
    }

    byte[] buffer(long len) {
      if (bytes.length < Math.min(len, CHUNK)) {
        bytes = new byte[(int) Math.min(CHUNK, Math.max(len, 4096))];
      }
      return bytes;
    }
  }

  private final Path path;
  private final String mode;

  /** Distinguishes the file from another one that gets its name later; null if nothing does. */
  private final @Nullable Object key;

  /** The first handle is open from the beginning; the others are opened when needed. */
  private final @Nullable Handle[] handles = new @Nullable Handle[HANDLES];

  private final Handle first;

  /** A handle with O_DSYNC; null until it is first requested, and if it is not available. */
  private volatile @Nullable Handle durable;

  private boolean durableAsked;
  private boolean closed;

  private JdkFile(Path path, String mode) throws IOException {
    this.path = path;
    this.mode = mode;
    this.first = new Handle(new RandomAccessFile(path.toFile(), mode));
    this.handles[0] = first;
    this.key = key(path);
  }

  private static @Nullable Object key(Path path) {
    try {
      return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
    } catch (IOException e) {
      return null;
    }
  }

  /**
   * Opens a file for reading and writing.
   *
   * @throws io.fovea.error.FoveaException if the operating system refuses
   */
  static JdkFile open(Path path, boolean create) {
    try {
      if (!create && !Files.exists(path)) {
        throw new NoSuchFileException(path.toString());
      }
      return new JdkFile(path, "rw");
    } catch (IOException e) {
      throw DeviceFile.openFailed(path, DeviceFile.errno(e));
    }
  }

  /**
   * Opens an existing file for reading.
   *
   * @throws io.fovea.error.FoveaException if the operating system refuses
   */
  static JdkFile openToRead(Path path) {
    try {
      return new JdkFile(path, "r");
    } catch (IOException e) {
      throw DeviceFile.openFailed(path, DeviceFile.errno(e));
    }
  }

  /** Returns a locked handle: an idle one, a new one, or the first once it is free. */
  private Handle take() {
    for (Handle handle : handles) {
      if (handle != null && handle.lock.tryLock()) {
        return handle;
      }
    }
    Handle more = another();
    if (more != null) {
      return more;
    }
    first.lock.lock();
    return first;
  }

  /** Opens one more handle, locked; returns null if that is not possible. */
  private synchronized @Nullable Handle another() {
    for (int i = 0; i < HANDLES && !closed; i++) {
      if (handles[i] == null) {
        Handle handle = reopen(mode);
        if (handle != null) {
          handle.lock.lock();
          handles[i] = handle;
        }
        return handle;
      }
    }
    return null;
  }

  /** Opens the same file by its name, if it still has that name; otherwise returns null. */
  private @Nullable Handle reopen(String how) {
    if (key == null || !key.equals(key(path))) {
      return null;
    }
    try {
      Handle handle = new Handle(new RandomAccessFile(path.toFile(), how));
      if (key.equals(key(path))) {
        return handle;
      }
      handle.file.close();
      return null;
    } catch (IOException e) {
      return null;
    }
  }

  @Override
  public long pread(MemorySegment seg, long segOff, long len, long offset) {
    Handle h = take();
    try {
      byte[] bytes = h.buffer(len);
      h.file.seek(offset);
      int n = h.file.read(bytes, 0, (int) Math.min(len, bytes.length));
      if (n <= 0) {
        return 0;
      }
      MemorySegment.copy(bytes, 0, seg, ValueLayout.JAVA_BYTE, segOff, n);
      return n;
    } catch (IOException e) {
      return -DeviceFile.errno(e);
    } finally {
      h.lock.unlock();
    }
  }

  @Override
  public long pwrite(MemorySegment seg, long segOff, long len, long offset) {
    Handle h = take();
    try {
      return write(h, seg, segOff, len, offset);
    } finally {
      h.lock.unlock();
    }
  }

  private static long write(Handle h, MemorySegment seg, long segOff, long len, long offset) {
    try {
      byte[] bytes = h.buffer(len);
      int n = (int) Math.min(len, bytes.length);
      MemorySegment.copy(seg, ValueLayout.JAVA_BYTE, segOff, bytes, 0, n);
      h.file.seek(offset);
      h.file.write(bytes, 0, n);
      return n;
    } catch (IOException e) {
      return -DeviceFile.errno(e);
    }
  }

  @Override
  public boolean writesDurably() {
    return durable != null || openDurably();
  }

  private synchronized boolean openDurably() {
    if (!durableAsked && !closed) {
      durableAsked = true;
      durable = reopen("rwd");
    }
    return durable != null;
  }

  @Override
  public long pwriteDurably(MemorySegment seg, long segOff, long len, long offset) {
    Handle h = Objects.requireNonNull(durable);
    h.lock.lock();
    try {
      return write(h, seg, segOff, len, offset);
    } finally {
      h.lock.unlock();
    }
  }

  /**
   * Syncs everything that was written, through any handle. Always uses the first handle: the system
   * reports an error once per descriptor.
   */
  @Override
  public int sync() {
    try {
      first.file.getFD().sync(); // needs no position, so no lock
      return 0;
    } catch (IOException e) {
      return -DeviceFile.errno(e);
    }
  }

  /** Extends the file by a byte at the end. Space cannot be allocated here. */
  @Override
  public int allocate(long from, long to) {
    Handle h = take();
    try {
      h.file.seek(to - 1);
      h.file.write(0);
      return 0;
    } catch (IOException e) {
      return -DeviceFile.errno(e);
    } finally {
      h.lock.unlock();
    }
  }

  @Override
  public int truncate(long bytes) {
    Handle h = take();
    try {
      h.file.setLength(bytes);
      return 0;
    } catch (IOException e) {
      return -DeviceFile.errno(e);
    } finally {
      h.lock.unlock();
    }
  }

  @Override
  public long size() {
    Handle h = take();
    try {
      return h.file.length();
    } catch (IOException e) {
      return -DeviceFile.errno(e);
    } finally {
      h.lock.unlock();
    }
  }

  @Override
  public boolean direct() {
    return false;
  }

  @Override
  public boolean disableDirect() {
    return true;
  }

  @Override
  public int fd() {
    return -1;
  }

  @Override
  public synchronized int close() {
    closed = true;
    int result = 0;
    for (int i = 0; i <= HANDLES; i++) {
      Handle handle = i < HANDLES ? handles[i] : durable;
      if (handle != null) {
        try {
          handle.file.close();
        } catch (IOException e) {
          result = -DeviceFile.errno(e);
        }
      }
    }
    return result;
  }
}
