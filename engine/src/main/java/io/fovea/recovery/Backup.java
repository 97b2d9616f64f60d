package io.fovea.recovery;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.io.Storage;
import io.fovea.memory.Mem;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Copies a database.
 */
public final class Backup implements AutoCloseable {
  /** How much is read at a time. */
  private static final int CHUNK_BYTES = 1 << 20;

  /** How often a page that does not check out is read again before the pool is asked. */
  private static final int READS = 20;

  private static final long READ_PAUSE_NANOS = 200_000;

  /** Longest sleep at a time where the bandwidth is limited. */
  private static final long PAUSE_NANOS = 50_000_000;

  /**
   * What was copied.
   *
   * @param pages pages of the data file, superblocks included
   * @param pagesTorn pages that were being written when they were read, and were read again
   * @param logBytes bytes of the copy's log file; 0 where it has none
   * @param lsn up to where the log was copied: what was durable before that is in the copy; 0
   *     without a log
   */
  public record Result(long pages, long pagesTorn, long logBytes, long lsn) {}

  private final String what;
  private final BackupTarget target;
  private final long bytesPerSecond;
  private final long startNanos = System.nanoTime();
  private final Arena arena = Arena.ofShared();
  private final MemorySegment chunk = arena.allocate(CHUNK_BYTES, 4096);
  private final byte[] bytes = new byte[CHUNK_BYTES];
  private long bytesDone;
  private long pagesTorn;
  private long maxPageLsn;
  private boolean interrupted;

  private Backup(String what, BackupTarget target, long bytesPerSecond) {
    this.what = what;
    this.target = target;
    this.bytesPerSecond = bytesPerSecond;
  }

  /**
   * Begins a backup to a directory.
   *
   * @param directory where to; made where it does not exist
   * @param name what the data file is to be called
   * @param bytesPerSecond how fast at most; 0 for no limit
   * @return the backup, to be closed
   * @throws io.fovea.error.InvalidUseException if there is a file of that name, or of one that
   *     belongs to it
   * @throws StorageException if the directory can't be made
   */
  public static Backup to(Path directory, String name, long bytesPerSecond) {
    try {
      return new Backup(
          directory.toString(), new DirectoryTarget(directory, name), bytesPerSecond);
    } catch (IOException e) {
      throw failed(directory.toString(), e);
    }
  }

  /**
   * Begins a backup to a stream, as a tar archive.
   *
   * @param out where to; stays open
   * @param name what the data file is to be called
   * @param bytesPerSecond how fast at most; 0 for no limit
   * @return the backup, to be closed
   */
  public static Backup to(OutputStream out, String name, long bytesPerSecond) {
    return new Backup("a stream", new TarTarget(out, name), bytesPerSecond);
  }

  private static StorageException failed(String what, IOException e) {
    return new StorageException("backup", what, -1, 0, String.valueOf(e.getMessage()), e);
  }

  // --------------------------------------------------------------------------- without a log

  /**
   * Copies a database that nobody changes meanwhile, and whose device has all of it.
   *
   * @param device the pages
   * @param pool the same, for what can't be read
   * @param superblock what the copy's superblock is to say: that it is clean
   * @return what was copied
   */
  public Result cold(BlockDevice device, BufferPool pool, Superblock superblock) {
    try {
      long pages = superblock.allocator().highWater();
      data(device, pool, superblock, pages);
      target.finish();
      return new Result(pages, pagesTorn, 0, 0);
    } catch (IOException e) {
      throw failed(what, e);
    }
  }

  // ---------------------------------------------------------------------------------- pages

  private void data(BlockDevice device, BufferPool pool, Superblock superblock, long pages)
      throws IOException {
    int pageSize = superblock.pageSize();
    target.begin(Storage.DATA, pages * pageSize);
    superblocks(superblock);
    int perChunk = CHUNK_BYTES / pageSize;
    for (long pid = Superblock.CATALOG_ROOT_PID; pid < pages; pid += perChunk) {
      int n = (int) Math.min(perChunk, pages - pid);
      device.read(pid * pageSize, chunk, 0, n * pageSize);
      for (int i = 0; i < n; i++) {
        long at = (long) i * pageSize;
        if (!whole(at, pid + i, pageSize)) {
          again(device, pool, pid + i, at, pageSize);
        }
        maxPageLsn = Math.max(maxPageLsn, PageHeader.pageLsn(chunk, at));
      }
      put(n * pageSize);
    }
    target.end();
  }

  /** Pages 0 and 1: one superblock, and nothing in the place of the other. */
  private void superblocks(Superblock superblock) throws IOException {
    int pageSize = superblock.pageSize();
    try (MemoryDevice memory = new MemoryDevice()) {
      memory.resize(2L * pageSize);
      new SuperblockFile(memory, what).write(superblock);
      memory.read(0, chunk, 0, 2 * pageSize);
    }
    put(2 * pageSize);
  }

  private boolean whole(long at, long pid, int pageSize) {
    return PageHeader.checksum(chunk, at) == PageHeader.sum(chunk, at, pageSize)
            && PageHeader.pid(chunk, at) == pid
            && PageHeader.type(chunk, at) != PageHeader.NEVER_WRITTEN
        || Mem.isZero(chunk, at, pageSize);
  }

  /** A page that was being written while it was read, most likely. */
  private void again(BlockDevice device, BufferPool pool, long pid, long at, int pageSize) {
    pagesTorn++;
    for (int i = 0; i < READS; i++) {
      LockSupport.parkNanos(READ_PAUSE_NANOS);
      device.read(pid * pageSize, chunk, at, pageSize);
      if (whole(at, pid, pageSize)) {
        return;
      }
    }
    // Memory may have what the device has lost; if it has not, this says what is damaged.
    int frame = pool.fixShared(pid);
    Mem.copy(pool.pages(), pool.base(frame), chunk, at, pageSize);
    pool.releaseShared(frame);
    PageHeader.seal(chunk, at, pageSize);
  }

  // --------------------------------------------------------------------------------- writing

  /** Writes the beginning of the chunk. */
  private void put(int len) throws IOException {
    Mem.getBytes(chunk, 0, bytes, 0, len);
    target.write(bytes, 0, len);
    bytesDone += len;
    if (bytesPerSecond > 0) {
      long due = startNanos + (long) (1e9 * bytesDone / bytesPerSecond);
      for (long wait; (wait = due - System.nanoTime()) > 0; ) {
        LockSupport.parkNanos(Math.min(wait, PAUSE_NANOS));
        interrupted |= Thread.interrupted(); // which would not let it park
      }
    }
  }

  /** Gives everything back; takes away what is not finished. */
  @Override
  public void close() {
    target.close();
    arena.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
