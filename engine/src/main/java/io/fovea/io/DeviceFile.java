package io.fovea.io;

import io.fovea.bindings.Errno;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.memory.Mem;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Completes the short transfers of a {@link RawFile}.
 *
 * <pre>
 *   aligned memory ───────────────────────► pread / pwrite until done
 *   other memory ──► copy on this thread ──► the same              (direct files only)
 *   end of the file ─► zeros
 * </pre>
 *
 * <p>It also tracks the file's length: all growth, by writes and by {@link #resize}, happens here,
 * since a file has one opener ({@link FileLock}).
 *
 * <p>All methods return 0 or a positive error number. They block, so they must not be called on
 * virtual threads. Any number of platform threads.
 */
final class DeviceFile {
  /**
   * The unit of transfers. Page sizes are multiples of it, and it is a multiple of nearly every
   * device's block size; otherwise direct transfers fail and the page cache takes over.
   */
  static final int BLOCK = 4096;

  /** How often a transfer may make no progress before it fails. */
  static final int STALLS_MAX = 100;

  private final Path path;
  private final RawFile file;
  private final IoStats stats;
  private final AtomicLong size;

  /**
   * Whether there are writes or changes of the length that no later sync has made durable. Set
   * after a write is done, before its caller returns; cleared before a sync begins: a sync that
   * could miss the write never clears the flag it set. Initially true, since another process may
   * have written.
   */
  private volatile boolean unsynced = true;

  DeviceFile(Path path, RawFile file, IoStats stats) {
    this.path = path;
    this.file = file;
    this.stats = stats;
    long bytes = file.size();
    if (bytes < 0) {
      file.close();
      throw openFailed(path, (int) -bytes);
    }
    this.size = new AtomicLong(bytes);
  }

  /** Returns the error number of a JDK exception; EIO if it is not known. */
  static int errno(IOException e) {
    if (e instanceof NoSuchFileException) {
      return Errno.ENOENT;
    }
    if (e instanceof AccessDeniedException) {
      return Errno.EACCES;
    }
    if (e instanceof FileAlreadyExistsException) {
      return Errno.EEXIST;
    }
    String message = String.valueOf(e.getMessage()).toLowerCase(Locale.ROOT);
    if (message.contains("no space") || message.contains("not enough space")) {
      return Errno.ENOSPC;
    }
    if (message.contains("too many open files")) {
      return Errno.EMFILE;
    }
    if (e instanceof FileNotFoundException) { // the only exception of opening a RandomAccessFile
      return message.contains("permission denied")
          ? Errno.EACCES
          : message.contains("is a directory")
              ? Errno.EISDIR
              : message.contains("read-only") ? Errno.EROFS : Errno.ENOENT;
    }
    return Errno.EIO;
  }

  static FoveaException openFailed(Path path, int errno) {
    String described = Errno.describe(errno);
    return IoErrors.isFull(errno)
        ? new StorageFullException("open", path.toString(), -1, described)
        : new StorageException("open", path.toString(), -1, errno, described);
  }

  RawFile raw() {
    return file;
  }

  Path path() {
    return path;
  }

  long size() {
    return size.get();
  }

  /** Records that a write reached a position. */
  void wrote(long end) {
    if (!unsynced) {
      unsynced = true;
    }
    reached(end);
  }

  private void reached(long end) {
    if (end > size.get()) {
      size.accumulateAndGet(end, Math::max);
    }
  }

  /** Returns whether the memory must be copied for the device. */
  boolean bounces(MemorySegment seg, long segOff) {
    return (seg.address() + segOff & BLOCK - 1) != 0 && file.direct();
  }

  int read(long offset, MemorySegment seg, long segOff, int len) {
    if (!bounces(seg, segOff)) {
      return readFully(offset, seg, segOff, len);
    }
    stats.recordBounce();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment copy = arena.allocate(len, BLOCK);
      int errno = readFully(offset, copy, 0, len);
      MemorySegment.copy(copy, 0, seg, segOff, len);
      return errno;
    }
  }

  private int readFully(long offset, MemorySegment seg, long segOff, int len) {
    int done = 0;
    int stalls = 0;
    while (done < len) {
      int fd = file.fd();
      long n = file.pread(seg, segOff + done, len - done, offset + done);
      if (n < 0) {
        if (!worthAnother((int) -n, fd) || ++stalls > STALLS_MAX) {
          return (int) -n;
        }
        continue;
      }
      done += (int) n;
      if (done < len && (n == 0 || isEnd(offset + done))) {
        Mem.zero(seg, segOff + done, len - done);
        return 0;
      }
      if (file.direct()) {
        // Short in the middle of a block: direct transfers can only continue at its start.
        int rest = done & BLOCK - 1;
        if (rest != 0 && ++stalls > STALLS_MAX) {
          return Errno.EIO;
        }
        done -= rest;
      }
    }
    return 0;
  }

  int write(long offset, MemorySegment seg, long segOff, int len) {
    if (!bounces(seg, segOff)) {
      return writeFully(offset, seg, segOff, len, false);
    }
    stats.recordBounce();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment copy = arena.allocate(len, BLOCK);
      MemorySegment.copy(seg, segOff, copy, 0, len);
      return writeFully(offset, copy, 0, len, false);
    }
  }

  /**
   * Returns whether {@link #writeDurably} alone makes a write and everything before it durable: the
   * call is available, and nothing else needs a sync.
   */
  boolean onlyDurably() {
    return !unsynced && file.writesDurably();
  }

  /**
   * Returns whether {@link #writeDurably} reports only errors that concern its own bytes. That
   * holds for direct writes: the system gets the error from the device, and nothing is in the page
   * cache, whose errors are reported once, to the first thread that syncs. A concurrent sync does
   * not consume the error.
   */
  boolean writesApart() {
    return file.direct() && file.writesDurably();
  }

  /** Writes aligned memory durably: one call instead of two. */
  int writeDurably(long offset, MemorySegment seg, long segOff, int len) {
    return writeFully(offset, seg, segOff, len, true);
  }

  private int writeFully(long offset, MemorySegment seg, long segOff, int len, boolean durably) {
    int done = 0;
    int stalls = 0;
    while (done < len) {
      int fd = file.fd();
      long at = offset + done;
      long n =
          durably
              ? file.pwriteDurably(seg, segOff + done, len - done, at)
              : file.pwrite(seg, segOff + done, len - done, at);
      if (n < 0) {
        if (!worthAnother((int) -n, fd) || ++stalls > STALLS_MAX) {
          return (int) -n;
        }
        continue;
      }
      done += (int) n;
      if (done < len) {
        int rest = file.direct() ? done & BLOCK - 1 : 0;
        if ((n == 0 || rest != 0) && ++stalls > STALLS_MAX) {
          return Errno.EIO;
        }
        done -= rest;
      }
    }
    if (durably) {
      reached(offset + len);
    } else {
      wrote(offset + len);
    }
    return 0;
  }

  /**
   * Returns whether to retry a transfer. Signals are ignored; an EINVAL of an aligned transfer
   * means that direct transfers are not possible here.
   *
   * @param errno how it failed
   * @param fd the descriptor that it was tried with; if the file has another one by now, another
   *     thread has found the same problem
   */
  boolean worthAnother(int errno, int fd) {
    return errno == Errno.EINTR
        || errno == Errno.EAGAIN
        || errno == Errno.EINVAL && (file.fd() != fd || file.direct() && file.disableDirect());
  }

  /** Returns whether a short transfer that ended here met the end of the file. */
  boolean isEnd(long at) {
    return (at & BLOCK - 1) != 0 && at >= file.size();
  }

  int sync() {
    unsynced = false;
    int result = file.sync();
    if (result != 0) {
      unsynced = true;
    }
    return -result;
  }

  synchronized int resize(long bytes) {
    long now = size.get();
    if (bytes == now) {
      return 0;
    }
    int result = bytes > now ? file.allocate(now, bytes) : file.truncate(bytes);
    if (result == 0) {
      size.set(bytes);
      unsynced = true;
    }
    return -result;
  }

  int punch(long offset, int len) {
    int result = file.punch(offset, len);
    if (result == 0) {
      unsynced = true;
    }
    return -result;
  }

  int reserve(long offset, int len) {
    return -file.reserve(offset, len);
  }

  /**
   * Performs one entry of a batch; a sync only if all others have succeeded. Any platform thread.
   * Does not throw, since a caller waits for the result.
   */
  int perform(IoBatch batch, int i) {
    try {
      long address = batch.address(i);
      return switch (batch.op(i)) {
        case READ -> read(batch.offset(i), batch.memory(i), address, batch.length(i));
        case WRITE -> write(batch.offset(i), batch.memory(i), address, batch.length(i));
        case SYNC -> {
          int verdict = batch.syncVerdict();
          yield verdict != 0 ? verdict : sync();
        }
        case RESIZE -> resize(batch.offset(i));
        case PUNCH -> punch(batch.offset(i), batch.length(i));
        case RESERVE -> reserve(batch.offset(i), batch.length(i));
      };
    } catch (Throwable t) {
      return IoErrors.unexpected(path.toString(), t);
    }
  }

  void close() {
    file.close();
  }
}
