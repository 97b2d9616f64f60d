package io.fovea.recovery;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageCopy;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.io.Storage;
import io.fovea.memory.Mem;
import io.fovea.wal.Log;
import io.fovea.wal.LogCopy;
import io.fovea.wal.LogReader;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Copies a database, while it is changed or while it is not.
 *
 * <pre>
 *   hot    pin the log ─► checkpoint ─► superblock S: redo point R, "in use with a log"
 *          ─► pages, as the device has them, while writers run
 *          ─► log durable up to E: the tail of the beginning, and the LSN of every page copied
 *          ─► the log from R to E
 *
 *   copy   S | pages of different ages, each whole | log R .. E       what a crash at E might leave
 * </pre>
 *
 * <p><b>Why the copy is right.</b> Recovery asks three things of the files that it finds. Every
 * page has all changes from before R: it was on the device when S was written, and pages only grow
 * newer. No page has a change that the log lacks: the device's pages are no newer than the durable
 * log, those from the pool are waited for. The log is whole from R to its end: the pin keeps its
 * segments, and what is durable is never written again. A crash at E that lost all writes since a
 * page was copied would leave the same, and that such a crash is recovered from is what recovery is
 * for. Pages that were given out after the copy's size was taken are not copied; all that is in
 * them came after R, so the log has it.
 *
 * <p>What was acknowledged before the backup began is in the copy: E is not below the tail of that
 * moment.
 *
 * <p><b>A torn page</b>, read while it was written, does not check out and is read again; a page
 * that never does is asked for in the pool, which has it or says that it is damaged. Damage is
 * never copied: the log is read, too, before it is copied.
 *
 * <p><b>A page of zeros</b> is one that was never written, or one that the device has lost. From
 * the high-water mark of S on it may be either: such a page was given out after R, the log has all
 * of it, and recovery does not read it. Below the mark the file must have it, unless it is in the
 * pool and was not written yet: then that is what is copied. If neither has it, it is damaged.
 *
 * <p>Memory: two buffers of a MiB, whatever the size of the database. One thread.
 */
public final class Backup implements AutoCloseable {
  /** How much is read at a time. */
  private static final int CHUNK_BYTES = 1 << 20;

  /** How often a page that does not check out is read again before the pool is asked. */
  private static final int READS = 20;

  private static final long READ_PAUSE_NANOS = 200_000;

  private static final int SUPERBLOCK_WRITES = 3;

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

  /** Everybody waits for it: an interrupt ends it. */
  private boolean alone;

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
      return new Backup(directory.toString(), new DirectoryTarget(directory, name), bytesPerSecond);
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
      long end = superblock.endLsn();
      alone = true;
      data(device, pool, superblock, pages, pages, () -> end > 0 ? end : Long.MAX_VALUE);
      target.finish();
      return new Result(pages, pagesTorn, 0, 0);
    } catch (IOException e) {
      throw failed(what, e);
    }
  }

  // ------------------------------------------------------------------------------ with a log

  /**
   * Copies a database while it is changed.
   *
   * @param device the pages
   * @param pool the same
   * @param log the log
   * @param logDevice the log's file
   * @param checkpoint makes a checkpoint; returns what the superblock says then
   * @return what was copied
   * @throws io.fovea.error.CorruptionException if a page or the log is damaged
   * @throws io.fovea.error.DurabilityLostException if the log fails meanwhile
   */
  public Result hot(
      BlockDevice device,
      BufferPool pool,
      Log log,
      BlockDevice logDevice,
      Supplier<Superblock> checkpoint) {
    try (Log.Pin pin = log.pin()) {
      long begun = log.tail();
      Superblock s = checkpoint.get();
      if (s.redoLsn() < pin.lsn()) {
        throw new IllegalStateException(
            "The redo point is " + s.redoLsn() + ", and the log is pinned at " + pin.lsn() + ".");
      }
      long pages = pool.allocatorState().highWater();
      data(device, pool, s, pages, s.allocator().highWater(), log::tail);
      if (maxPageLsn > log.tail()) {
        // Of a page in the pool, whose change the log did not take.
        log.requireAlive();
        throw new CorruptionException("LSN of a page", -1, -1, log.tail(), maxPageLsn);
      }
      log.awaitDurable(
          Math.max(Math.max(begun, maxPageLsn), Math.max(s.redoLsn(), s.snapshotLsn())));
      long end = log.durableLsn();
      check(logDevice, s, end);
      LogCopy copy = new LogCopy(logDevice, s.id(), s.redoLsn(), end);
      target.begin(Storage.LOG, copy.bytes());
      copy.run(
          (seg, off, len) -> {
            Mem.getBytes(seg, off, bytes, 0, len);
            put(len);
          },
          chunk);
      target.end();
      target.finish();
      return new Result(pages, pagesTorn, copy.bytes(), end);
    } catch (IOException e) {
      throw failed(what, e);
    }
  }

  /** Reads what will be copied of the log: damage is found now, and not when the copy is needed. */
  private static void check(BlockDevice logDevice, Superblock s, long end) {
    try (LogReader reader = LogReader.open(logDevice, s.id(), s.redoLsn())) {
      long at = s.redoLsn();
      while (at < end && reader.next()) {
        at = reader.end();
      }
      if (at < end) {
        throw new CorruptionException("the end of the log", -1, -1, end, at);
      }
    }
  }

  // ---------------------------------------------------------------------------------- pages

  /**
   * Copies all pages.
   *
   * @param pages how many
   * @param newFrom from which page on zeros are right
   * @param lsnLimit the largest LSN that a page may have which was read before this is asked
   */
  private void data(
      BlockDevice device,
      BufferPool pool,
      Superblock superblock,
      long pages,
      long newFrom,
      LongSupplier lsnLimit)
      throws IOException {
    int pageSize = superblock.pageSize();
    target.begin(Storage.DATA, pages * pageSize);
    superblocks(superblock);
    int perChunk = CHUNK_BYTES / pageSize;
    for (long pid = Superblock.CATALOG_ROOT_PID; pid < pages; pid += perChunk) {
      if (alone) {
        OperationInterruptedException.check("copy a database without a log");
      }
      int n = (int) Math.min(perChunk, pages - pid);
      device.read(pid * pageSize, chunk, 0, n * pageSize);
      long limit = lsnLimit.getAsLong();
      for (int i = 0; i < n; i++) {
        long at = (long) i * pageSize;
        boolean unread = pid + i >= newFrom && Mem.isZero(chunk, at, pageSize);
        boolean known = PageHeader.pageLsn(chunk, at) <= limit;
        if (!unread && !(known && whole(at, pid + i, pageSize))) {
          again(device, pool, pid + i, at, pageSize, lsnLimit);
        }
        maxPageLsn = Math.max(maxPageLsn, PageHeader.pageLsn(chunk, at));
      }
      Mem.getBytes(chunk, 0, bytes, 0, n * pageSize);
      put(n * pageSize);
    }
    target.end();
  }

  /**
   * Pages 0 and 1. Three writes, so that both places say the same, and neither has sequence 0,
   * which is that of a file in the making.
   */
  private void superblocks(Superblock superblock) throws IOException {
    int pageSize = superblock.pageSize();
    try (MemoryDevice memory = new MemoryDevice()) {
      memory.resize(2L * pageSize);
      SuperblockFile file = new SuperblockFile(memory, what);
      for (int i = 0; i < SUPERBLOCK_WRITES; i++) {
        file.write(superblock);
      }
      memory.read(0, chunk, 0, 2 * pageSize);
    }
    Mem.getBytes(chunk, 0, bytes, 0, 2 * pageSize);
    put(2 * pageSize);
  }

  private boolean whole(long at, long pid, int pageSize) {
    return PageHeader.checksum(chunk, at) == PageHeader.sum(chunk, at, pageSize)
        && PageHeader.pid(chunk, at) == pid
        && PageHeader.type(chunk, at) != PageHeader.NEVER_WRITTEN;
  }

  /** A page that was being written while it was read, most likely, or was never written yet. */
  private void again(
      BlockDevice device, BufferPool pool, long pid, long at, int pageSize, LongSupplier lsnLimit) {
    if (Mem.isZero(chunk, at, pageSize) && pool.resident(pid) >= 0) {
      fromPool(pool, pid, at, pageSize);
      return;
    }
    pagesTorn++;
    for (int i = 0; i < READS; i++) {
      LockSupport.parkNanos(READ_PAUSE_NANOS);
      device.read(pid * pageSize, chunk, at, pageSize);
      if (PageHeader.pageLsn(chunk, at) <= lsnLimit.getAsLong() && whole(at, pid, pageSize)) {
        return;
      }
    }
    fromPool(pool, pid, at, pageSize);
  }

  /** Memory may have what the device has lost; if it has not, this says what is damaged. */
  private void fromPool(BufferPool pool, long pid, long at, int pageSize) {
    int frame = pool.fixShared(pid);
    try {
      Mem.copy(pool.pages(), pool.base(frame), chunk, at, pageSize);
    } finally {
      pool.releaseShared(frame);
    }
    PageCopy.forgetFrames(chunk, at, pageSize);
    PageHeader.seal(chunk, at, pageSize);
  }

  // --------------------------------------------------------------------------------- writing

  /** Writes the beginning of {@link #bytes}. */
  private void put(int len) throws IOException {
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
