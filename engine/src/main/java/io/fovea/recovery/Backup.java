package io.fovea.recovery;

import io.fovea.buffer.BufferPool;
import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
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
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Copies a database, which may be in use: all of it, or the changes since an earlier backup.
 *
 * <pre>
 *   online   pin the log ─► checkpoint ─► superblock S: redo point R, "in use with a log"
 *            ─► pages, as the device has them, while writers run
 *            ─► log durable up to E: the tail at the beginning, and the LSN of every page copied
 *            ─► the log from R to E
 *            ─► manifest: checksums of all that, and R, the position for the next backup
 *
 *   copy     S | pages of different ages, each whole | log R .. E:  possible after a crash at E
 * </pre>
 *
 * <p><b>Correctness.</b> Recovery has three requirements. Every page contains all changes from
 * before R: it was on the device when S was written, and pages only get newer. No page contains a
 * change that the log lacks: pages on the device are no newer than the durable log, and the backup
 * waits for the log of pages from the pool. The log is whole from R to its end: the pin keeps its
 * segments, and durable records are never rewritten. A crash at E that lost, for each page, all
 * writes since it was copied would leave the same state. Pages allocated after the copy's size was
 * determined are not copied: everything in them came after R, so the log contains it.
 *
 * <p>Everything acknowledged before the backup began is in the copy: E is not below the tail at
 * that time.
 *
 * <p><b>Incremental backups</b> since an earlier one with redo point Q read all pages after the
 * checkpoint, and copy those whose LSN is beyond Q. An omitted page had no change ending beyond Q
 * when it was read. So its changes from before R began before Q, and the earlier copy contains
 * them; later changes are after R, in the log. The set of pages is known before the first one is
 * copied, so a stream can state their number. Unlogged changes move no LSN, and rule out such a
 * backup ({@link BackupPoint}).
 *
 * <p><b>From another process</b> ({@link #copyForeign}) there is no pin, no pool and no checkpoint.
 * S is the superblock on disk. The copy is valid if no superblock is written between reading the
 * first page and the end of copying the log:
 *
 * <pre>
 *   S ─► pages ─► the log from R to its end E, as far as it is whole ─► S still the newest? else again
 * </pre>
 *
 * <p>Reusing a segment of the log, punching a page, and publishing a table loaded without a log all
 * require a superblock first. So until the next superblock the files hold everything that recovery
 * from S needs, and each page read is one that a crash could have left: its state at S or a newer
 * one. The log is read after the pages, and a page is written after the log up to its LSN, so E is
 * beyond all of them. A page or log group that is read during its write fails its check; then it is
 * read again, or the whole backup is repeated.
 *
 * <p><b>Damage</b> is never copied: each page is checked as it is read ({@link BackupPages}), even
 * if it is left out, and the log is read before it is copied.
 *
 * <p>Memory: two buffers of 1 MiB and a bit per page. Used by one thread.
 */
public final class Backup implements AutoCloseable {
  /** The number of bytes read at a time. */
  private static final int CHUNK_BYTES = 1 << 20;

  private static final int SUPERBLOCK_WRITES = 3;

  /** The longest sleep at a time with limited bandwidth. */
  private static final long PAUSE_NANOS = 50_000_000;

  /** "FOVBKP1" and a zero, in the byte order of the file. */
  private static final long PAGES_MAGIC = 0x0031504B42564F46L;

  /** The header size of a file of changed pages, and the size of its entry per run of pages. */
  private static final int PAGES_HEADER = 32;

  private static final int EXTENT = 16;

  /**
   * The result of a backup.
   *
   * @param pages the number of pages of the data file, including superblocks, all read and checked
   * @param pagesCopied the number of those pages that are in the copy
   * @param pagesTorn the number of pages that were read while being written, and were read again
   * @param dataBytes the size of the copy's file of pages
   * @param logBytes the size of the copy's log file; 0 if there is none
   * @param logRecords the number of log records that were checked
   * @param lsn the end of the copied log: everything durable before it is in the copy; 0 without a
   *     log
   * @param position the start for an incremental backup on top of this one; null without a log
   */
  public record Result(
      long pages,
      long pagesCopied,
      long pagesTorn,
      long dataBytes,
      long logBytes,
      long logRecords,
      long lsn,
      @Nullable BackupPoint position) {}

  private final String what;
  private final BackupTarget target;
  private final long bytesPerSecond;
  private final @Nullable BackupPoint since;
  private final long startNanos = System.nanoTime();
  private final Arena arena = Arena.ofShared();
  private final MemorySegment chunk = arena.allocate(CHUNK_BYTES, 4096);
  private final byte[] bytes = new byte[CHUNK_BYTES];
  private final List<BackupManifest.Part> parts = new ArrayList<>();
  private final CRC32C crc = new CRC32C();
  private long fileBytes;
  private long dataBytes;
  private long logRecords;
  private long bytesDone;

  /** Whether no other thread depends on the backup, so that an interrupt ends it. */
  private boolean alone;

  private boolean interrupted;

  /** Returns whether everything copied so far is invalid; null if it cannot become invalid. */
  private @Nullable BooleanSupplier stale;

  private Backup(
      String what, BackupTarget target, long bytesPerSecond, @Nullable BackupPoint since) {
    this.what = what;
    this.target = target;
    this.bytesPerSecond = bytesPerSecond;
    this.since = since;
  }

  /**
   * Begins a backup to a directory.
   *
   * @param directory the directory; created if it does not exist
   * @param name the name of the data file
   * @param bytesPerSecond the maximum rate; 0 for no limit
   * @param since the start of an incremental backup; null for a full one
   * @param like the name of a file whose permissions the backup gets, if it exists
   * @return the backup, for the caller to close
   * @throws io.fovea.error.InvalidUseException if a file of that name, or of one that belongs to
   *     it, exists
   * @throws StorageException if the directory cannot be created
   */
  public static Backup to(
      Path directory, String name, long bytesPerSecond, @Nullable BackupPoint since, String like) {
    try {
      return new Backup(
          directory.toString(), new DirectoryTarget(directory, name, like), bytesPerSecond, since);
    } catch (IOException e) {
      throw failed(directory.toString(), e);
    }
  }

  /**
   * Begins a backup to a stream, as a tar archive.
   *
   * @param out the stream; stays open
   * @param name the name of the data file
   * @param bytesPerSecond the maximum rate; 0 for no limit
   * @param since the start of an incremental backup; null for a full one
   * @param like the name of a file whose permissions the backup gets, if it exists
   * @return the backup, for the caller to close
   */
  public static Backup to(
      OutputStream out,
      String name,
      long bytesPerSecond,
      @Nullable BackupPoint since,
      String like) {
    return new Backup("a stream", new TarTarget(out, name, like), bytesPerSecond, since);
  }

  private static StorageException failed(String what, IOException e) {
    return new StorageException("backup", what, -1, 0, String.valueOf(e.getMessage()), e);
  }

  /**
   * Checks that an incremental backup since the requested position is possible.
   *
   * @throws InvalidUseException if it is not
   */
  private void requireSince(@Nullable BackupPoint now) {
    BackupPoint asked = since;
    if (asked == null) {
      return;
    }
    String why =
        now == null
            ? "a database that is changed without a log (in memory, or with Durability.NONE) does"
                + " not record when a page was changed"
            : asked.whyNot(now);
    if (why != null) {
      throw new InvalidUseException(
          "Can't back up only the changes since "
              + asked.text()
              + ". Make a full backup: "
              + why
              + ".");
    }
  }

  // --------------------------------------------------------------------------- without a log

  /**
   * Copies a database that no thread changes, and that is entirely on its device.
   *
   * @param device the pages
   * @param pool the same pages in memory, for pages that cannot be read from the device
   * @param superblock the copy's superblock: it says that the copy is clean
   * @param unchanged whether the file is as its last close with a log left it
   */
  public Result copyOffline(
      BlockDevice device, BufferPool pool, Superblock superblock, boolean unchanged) {
    try {
      long pages = superblock.allocator().highWater();
      long end = superblock.endLsn();
      BackupPoint position =
          unchanged && end > 0
              ? new BackupPoint(superblock.id(), end, superblock.unlogged())
              : null;
      requireSince(position);
      alone = true;
      BackupPages reader =
          new BackupPages(
              device,
              pool,
              superblock.pageSize(),
              pages,
              () -> end > 0 ? end : Long.MAX_VALUE,
              chunk);
      long copied = data(reader, superblock, pages);
      return finish(superblock, pages, copied, reader, 0, position == null ? 0 : end, position);
    } catch (IOException e) {
      throw failed(what, e);
    }
  }

  // ------------------------------------------------------------------------------ with a log

  /**
   * Copies a database while it is changed.
   *
   * @param device the pages
   * @param pool the same pages in memory
   * @param log the log
   * @param logDevice the log's file
   * @param checkpoint makes a checkpoint and returns the superblock after it
   * @return the result
   * @throws io.fovea.error.CorruptionException if a page or the log is damaged
   * @throws io.fovea.error.DurabilityLostException if the log fails during the backup
   */
  public Result copyOnline(
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
      BackupPoint position = new BackupPoint(s.id(), s.redoLsn(), s.unlogged());
      requireSince(position);
      long pages = pool.allocatorState().highWater();
      BackupPages reader =
          new BackupPages(device, pool, s.pageSize(), s.allocator().highWater(), log::tail, chunk);
      long copied = data(reader, s, pages);
      if (reader.maxLsn() > log.tail()) {
        // A page in the pool contains a change that the log did not accept.
        log.requireAlive();
        throw new CorruptionException("LSN of a page", -1, -1, log.tail(), reader.maxLsn());
      }
      // The writer may be waiting for the segments that are pinned here.
      log.awaitDurableUnlessFull(
          Math.max(Math.max(begun, reader.maxLsn()), Math.max(s.redoLsn(), s.snapshotLsn())));
      long end = log.durableLsn();
      check(logDevice, s, end);
      return finish(s, pages, copied, reader, log(logDevice, s, end), end, position);
    } catch (IOException e) {
      throw failed(what, e);
    }
  }

  /** Copies the log from the redo point to its end; returns the size of the copy. */
  private long log(BlockDevice logDevice, Superblock s, long end) throws IOException {
    LogCopy copy = new LogCopy(logDevice, s.id(), s.redoLsn(), end);
    begin(Storage.LOG, copy.bytes());
    copy.run(
        (seg, off, len) -> {
          Mem.getBytes(seg, off, bytes, 0, len);
          put(len);
        },
        chunk);
    end(Storage.LOG);
    return copy.bytes();
  }

  // ----------------------------------------------------------------- open in another process

  /**
   * Copies a database that another process may have open, with a log or for reading.
   *
   * @param device the pages
   * @param logDevice the log; null if there is none
   * @param superblock reads the newest whole superblock
   * @return the result; null if a superblock was written during the backup: the caller must repeat
   *     the backup
   * @throws InvalidUseException if the database is changed without a log
   * @throws CorruptionException if a check fails: because of damage, or of a concurrent write
   */
  public @Nullable Result copyForeign(
      BlockDevice device, @Nullable BlockDevice logDevice, Supplier<Superblock> superblock) {
    Superblock s = superblock.get();
    stale = () -> superblock.get().sequence() != s.sequence();
    alone = true;
    try {
      BackupPoint position =
          s.redoLsn() > 0 || s.endLsn() > 0
              ? new BackupPoint(s.id(), s.isClean() ? s.endLsn() : s.redoLsn(), s.unlogged())
              : null;
      requireSince(position);
      long pages = s.allocator().highWater();
      BackupPages reader =
          new BackupPages(device, null, s.pageSize(), pages, () -> Long.MAX_VALUE, chunk);
      long copied = data(reader, s, pages);
      long logBytes = 0;
      long end = s.isClean() ? s.endLsn() : 0;
      if (!s.isClean() && !stale.getAsBoolean()) {
        if (s.state() != Superblock.LOGGED || logDevice == null) {
          throw new InvalidUseException(
              "A database that is changed without a log can't be copied from outside: its pages are"
                  + " of different ages, and no log records their changes.");
        }
        end = endOfLog(logDevice, s, reader.maxLsn());
        logBytes = log(logDevice, s, end);
      }
      return stale.getAsBoolean()
          ? null
          : finish(s, pages, copied, reader, logBytes, end, position);
    } catch (Stale e) {
      return null;
    } catch (IOException e) {
      throw failed(what, e);
    }
  }

  /** A superblock was written: everything copied so far is invalid. */
  private static final class Stale extends RuntimeException {
    private static final long serialVersionUID = 1;

    Stale() {
      super(null, null, false, false);
    }
  }

  /** Returns the end of the whole part of the log, and checks that it covers all pages. */
  private long endOfLog(BlockDevice logDevice, Superblock s, long pageLsn) {
    long at = s.redoLsn();
    try (LogReader reader = LogReader.open(logDevice, s.id(), at)) {
      while (reader.next()) {
        at = reader.end();
        logRecords++;
      }
    }
    long needed = Math.max(Math.max(pageLsn, s.durable().lsn()), s.snapshotLsn());
    if (at < needed) {
      throw new CorruptionException("the end of the log", -1, -1, needed, at);
    }
    return at;
  }

  /**
   * Reads the log to be copied, to find damage during the backup rather than when the copy is
   * needed.
   */
  private void check(BlockDevice logDevice, Superblock s, long end) {
    try (LogReader reader = LogReader.open(logDevice, s.id(), s.redoLsn())) {
      long at = s.redoLsn();
      while (at < end && reader.next()) {
        at = reader.end();
        logRecords++;
      }
      if (at < end) {
        throw new CorruptionException("the end of the log", -1, -1, end, at);
      }
    }
  }

  private Result finish(
      Superblock s,
      long pages,
      long copied,
      BackupPages reader,
      long logBytes,
      long end,
      @Nullable BackupPoint position)
      throws IOException {
    byte[] manifest =
        new BackupManifest(s.id(), s.pageSize(), pages, since, position, end, parts).bytes();
    target.begin(BackupManifest.SUFFIX, manifest.length);
    target.write(manifest, 0, manifest.length);
    target.end();
    target.finish();
    return new Result(pages, copied, reader.torn(), dataBytes, logBytes, logRecords, end, position);
  }

  // ---------------------------------------------------------------------------------- pages

  /**
   * Copies all pages, or only those that were changed.
   *
   * @param pages the number of pages
   * @return the number of pages copied
   */
  private long data(BackupPages reader, Superblock superblock, long pages) throws IOException {
    int pageSize = superblock.pageSize();
    BackupPoint from = since;
    if (from == null) {
      begin(Storage.DATA, pages * pageSize);
      superblocks(superblock);
      copy(reader, Superblock.CATALOG_ROOT_PID, pages, pageSize);
      dataBytes = end(Storage.DATA);
      return pages;
    }
    PageBits changed = changed(reader, pages, pageSize, from.lsn());
    long extents = changed.extents();
    begin(BackupManifest.PAGES, PAGES_HEADER + extents * EXTENT + changed.size() * pageSize);
    header(changed, pages, pageSize, extents);
    superblocks(superblock);
    long firstDataPid = Superblock.CATALOG_ROOT_PID; // the pages before it are superblocks
    for (long at = changed.first(0); at < pages; at = changed.first(changed.end(at))) {
      copy(reader, Math.max(at, firstDataPid), changed.end(at), pageSize);
    }
    dataBytes = end(BackupManifest.PAGES);
    return changed.size();
  }

  private void copy(BackupPages reader, long from, long to, int pageSize) throws IOException {
    for (long pid = from; pid < to; ) {
      checkInterrupt();
      int n = (int) Math.min(reader.pagesPerRead(), to - pid);
      reader.read(pid, n);
      Mem.getBytes(chunk, 0, bytes, 0, n * pageSize);
      put(n * pageSize);
      pid += n;
    }
  }

  /** Reads all pages and returns those that were changed, including the superblocks. */
  private PageBits changed(BackupPages reader, long pages, int pageSize, long from) {
    PageBits changed = new PageBits(pages);
    for (long pid = 0; pid < Superblock.CATALOG_ROOT_PID; pid++) {
      changed.add(pid);
    }
    for (long pid = Superblock.CATALOG_ROOT_PID; pid < pages; ) {
      checkInterrupt();
      int n = (int) Math.min(reader.pagesPerRead(), pages - pid);
      reader.read(pid, n);
      for (int i = 0; i < n; i++) {
        if (reader.changed(i, from)) {
          changed.add(pid + i);
        }
      }
      throttle(n * pageSize);
      pid += n;
    }
    return changed;
  }

  private void checkInterrupt() {
    BooleanSupplier over = stale;
    if (over != null && over.getAsBoolean()) {
      throw new Stale();
    }
    if (alone) {
      OperationInterruptedException.check("copy a database");
    }
  }

  /** Writes the header of a file of changed pages: the runs of pages. */
  private void header(PageBits changed, long pages, int pageSize, long extents) throws IOException {
    ByteBuffer b = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    b.putLong(PAGES_MAGIC).putInt(pageSize).putInt(0).putLong(pages).putLong(extents);
    for (long at = changed.first(0); at < pages; at = changed.first(changed.end(at))) {
      if (b.remaining() < EXTENT) {
        put(b.position());
        b.clear();
      }
      b.putLong(at).putLong(changed.end(at) - at);
    }
    put(b.position());
  }

  /**
   * Writes pages 0 and 1. The superblock is written three times, so that both locations have the
   * same contents and neither has sequence 0, which means an incomplete file.
   */
  private void superblocks(Superblock superblock) throws IOException {
    int pageSize = superblock.pageSize();
    try (MemoryDevice memory = new MemoryDevice()) {
      memory.resize(2L * pageSize);
      SuperblockFile file = new SuperblockFile(memory, what);
      for (int i = 0; i < SUPERBLOCK_WRITES; i++) {
        file.write(
            superblock.withChangesFrom(0)); // beyond its end, the copy's log is a different log
      }
      memory.read(0, chunk, 0, 2 * pageSize);
    }
    Mem.getBytes(chunk, 0, bytes, 0, 2 * pageSize);
    put(2 * pageSize);
  }

  // --------------------------------------------------------------------------------- writing

  private void begin(String suffix, long length) throws IOException {
    crc.reset();
    fileBytes = 0;
    target.begin(suffix, length);
  }

  private long end(String suffix) throws IOException {
    target.end();
    parts.add(new BackupManifest.Part(suffix, fileBytes, (int) crc.getValue()));
    return fileBytes;
  }

  private void put(int len) throws IOException {
    target.write(bytes, 0, len);
    crc.update(bytes, 0, len);
    fileBytes += len;
    throttle(len);
  }

  /** Sleeps if more was read or written than the bandwidth allows. */
  private void throttle(int len) {
    bytesDone += len;
    if (bytesPerSecond > 0) {
      long due = startNanos + (long) (1e9 * bytesDone / bytesPerSecond);
      for (long wait; (wait = due - System.nanoTime()) > 0; ) {
        LockSupport.parkNanos(Math.min(wait, PAUSE_NANOS));
        interrupted |= Thread.interrupted(); // the flag would prevent parking
      }
    }
  }

  /** Releases everything and removes unfinished files. */
  @Override
  public void close() {
    target.close();
    arena.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
