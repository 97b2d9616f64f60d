package io.fovea.inspection;

import io.fovea.changes.ChangePoint;
import io.fovea.changes.ChangeReader;
import io.fovea.changes.LoggedCommit;
import io.fovea.error.ChangesLostException;
import io.fovea.error.CorruptionException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.FileView;
import io.fovea.io.Storage;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.wal.DurableRecords;
import io.fovea.wal.ForeignLog;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the commits of a database that another process may have open, from the database's files.
 *
 * <pre>
 *   fill   1. commits from the log, in batches         {@link ForeignLog}: damage and reuse
 *          2. the superblock: is the log at which     if not, the commits are lost, and none
 *             step 1 started still retained?          is delivered
 *          3. the commits are delivered
 * </pre>
 *
 * <p><b>Completeness.</b> Starting at the LSN that the superblock names, the log was written for
 * change subscribers and its segments have no gaps. The superblock names a later LSN, or none,
 * before a segment is reused, and before a process without change retention writes to the log. The
 * superblock is read after the log, so all log records read are from such a range. If one
 * superblock is read while it is being written, the other is used; it was valid while the log was
 * read, or is newer.
 *
 * <p><b>Apparent damage</b> may be a segment that was reused. So the log is read again, several
 * times, from the last delivered commit, and the superblock is checked before damage is reported.
 * Damage in the last segment looks like the log's end, until the writer begins another segment or a
 * superblock contains a later durable position.
 *
 * <p>Used by one thread.
 */
public final class FollowedFile implements AutoCloseable {
  /** The number of times that damaged data is read. */
  private static final int TRIES = 20;

  /** Limits repeated updates: a busy writer always has another group. */
  private static final int UPDATES_MAX = 10;

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  /** The number of commits per check of the superblock. */
  private static final int COMMITS = 64;

  private final String file;
  private final BlockDevice data;
  private final BlockDevice log;
  private final SuperblockFile superblocks;
  private final UUID id;
  private final int pageSize;
  private final ForeignLog records;
  private final ArrayDeque<LoggedCommit> read = new ArrayDeque<>();

  private @Nullable ChangeReader reader;

  /** The position after the last delivered commit; null if {@link #reader} keeps it. */
  private @Nullable ChangePoint delivered;

  /** The end of the valid part of what {@link #reader} has read; null if all of it is valid. */
  private @Nullable ChangePoint unread;

  /** The reason why there are no more commits. */
  private @Nullable ChangesLostException lost;

  private boolean closed;

  private FollowedFile(String file, BlockDevice data, BlockDevice log, BooleanSupplier sync) {
    this.file = file;
    this.data = data;
    this.log = log;
    this.superblocks = new SuperblockFile(data, file);
    Superblock s = superblocks.require(superblocks.readForeign());
    this.id = s.id();
    this.pageSize = s.pageSize();
    this.records = new ForeignLog(log, id, sync);
  }

  /**
   * Opens the files of a database.
   *
   * @param file the data file
   * @throws IncompatibleFormatException if there is no such file or it is not a database
   * @throws InvalidUseException if its log has no commits to follow
   */
  public static FollowedFile open(Path file) {
    OpenFile.open(file).close(); // rejects files that are not databases
    Path logFile = file.resolveSibling(file.getFileName() + Storage.LOG);
    if (!Files.exists(logFile)) {
      throw noChanges(file.toString());
    }
    FileView data = FileView.open(file);
    FileView log = null;
    boolean done = false;
    try {
      log = FileView.open(logFile);
      FollowedFile opened = of(file.toString(), data, log, log::force);
      done = true;
      return opened;
    } finally {
      if (!done) {
        close(data, log);
      }
    }
  }

  /**
   * Follows a database on devices, which are closed together with the result.
   *
   * @param name the database's name, for messages
   * @param data its pages
   * @param log its log
   * @param sync syncs the log, and returns whether that was possible
   * @throws IncompatibleFormatException if the devices do not contain a database
   * @throws InvalidUseException if its log has no commits to follow
   */
  public static FollowedFile of(
      String name, BlockDevice data, BlockDevice log, BooleanSupplier sync) {
    FollowedFile opened = new FollowedFile(name, data, log, sync);
    if (opened.superblock().changes() == 0) {
      throw noChanges(name);
    }
    return opened;
  }

  private static InvalidUseException noChanges(String file) {
    return new InvalidUseException(
        "The log of "
            + file
            + " retains no changes. Open the database with a log and"
            + " LogOptions.changeRetentionBytes; changes are retained from then on.");
  }

  /**
   * Moves to a position.
   *
   * @throws ChangesLostException if the log no longer has the following commits
   * @throws CorruptionException if the log is damaged
   */
  public void from(ChangePoint at) {
    again(false, null, () -> begin(at));
  }

  /** Moves to the position after the first retained list of tables, or after the last commit. */
  public void from(boolean start) {
    again(
        false,
        null,
        () -> {
          long kept;
          ChangePoint tables;
          do {
            update(Long.MAX_VALUE);
            kept = kept();
            tables = kept == Long.MAX_VALUE ? null : afterTables(kept, !start);
          } while (tables == null && kept() != kept);
          if (tables == null) {
            throw noChanges(file);
          }
          long end = Math.max(tables.lsn(), records.durableLsn());
          begin(start ? tables : new ChangePoint(id, tables.tables(), end));
        });
  }

  private @Nullable ChangePoint afterTables(long from, boolean last) {
    try (DurableRecords all = records.records()) {
      return ChangeReader.afterTables(file, all, from, id, last);
    }
  }

  /**
   * Updates the log until a position is known or there is no more log, including the last group.
   */
  private void update(long lsn) {
    long before;
    int n = 0;
    do {
      before = records.durableLsn();
      records.update();
    } while (n++ < UPDATES_MAX && records.durableLsn() > before && records.durableLsn() < lsn);
  }

  private void begin(ChangePoint at) {
    ChangeReader old = reader;
    if (old != null) {
      reader = null;
      old.close();
    }
    update(at.lsn());
    records.durableUpTo(at.lsn()); // otherwise the position would not exist
    reader = new ChangeReader(file, records, this::kept, id, pageSize, at);
  }

  /**
   * Returns the next commit that has changed tables.
   *
   * @return null if no further commit is durable yet
   * @throws InvalidUseException if this was closed
   * @throws ChangesLostException if the log no longer contains the commit
   * @throws CorruptionException if the log is damaged
   * @throws StorageException if the log cannot be read
   * @throws OperationInterruptedException if the thread is interrupted
   */
  public @Nullable LoggedCommit next() {
    requireOpen();
    if (lost != null) {
      throw lost;
    }
    if (read.isEmpty()) {
      boolean restart = unread != null;
      ChangePoint at = position();
      unread = at;
      delivered = null;
      try {
        again(restart, at, this::fill);
      } catch (ChangesLostException e) {
        lost = e;
        throw e;
      }
      unread = null;
    }
    LoggedCommit next = read.poll();
    delivered = next == null ? null : next.next();
    return next;
  }

  private void fill() {
    ChangeReader r = reader();
    long from = r.readLsn();
    List<LoggedCommit> some = new ArrayList<>();
    LoggedCommit next = r.next(() -> false);
    long durable = next == null ? durable() : 0;
    for (long before = -1; next == null && records.durableLsn() > before; ) {
      before = records.durableLsn();
      records.update();
      next = r.next(() -> false);
    }
    if (records.wholeLsn() < durable) {
      throw new CorruptionException(
          "readable end of the log of " + file, -1, -1, durable, records.wholeLsn());
    }
    while (next != null) {
      some.add(next);
      next = some.size() < COMMITS ? r.next(() -> false) : null;
    }
    requireKept(from);
    read.addAll(some);
  }

  private ChangeReader reader() {
    return Objects.requireNonNull(reader, "call from() first");
  }

  /**
   * Checks that this was not closed.
   *
   * @throws InvalidUseException if it was closed
   */
  public void requireOpen() {
    if (closed) {
      throw new InvalidUseException("This subscription to changes of file " + file + " is closed.");
    }
  }

  /** Returns the data file. */
  public Path path() {
    return Path.of(file);
  }

  /**
   * Returns the position after the last delivered commit, or a later position if the commits in
   * between have changed no table. May be called after {@link #close}.
   */
  public ChangePoint position() {
    if (unread != null) {
      return unread;
    }
    ChangePoint t = delivered;
    return t != null && !read.isEmpty() ? t : reader().position();
  }

  // ------------------------------------------------------------------------------ what is kept

  private Superblock superblock() {
    Superblock s = superblocks.readForeign();
    if (s == null) {
      throw new CorruptionException("valid superblocks of " + file, -1, -1, 1, 0);
    }
    return s;
  }

  /** Returns the position up to which the log must be intact in later reads. */
  private long durable() {
    Superblock s = superblock();
    return s.state() == Superblock.LOGGED ? s.durable().lsn() : 0;
  }

  /**
   * Returns the start of the retained log according to the superblock, or {@link Long#MAX_VALUE} if
   * no log is retained. A missing segment proves nothing: its header may have been read while it
   * was being written.
   */
  private long kept() {
    Superblock s = superblock();
    if (!s.id().equals(id)) {
      throw new ChangesLostException(
          file, "the file is another database now, " + s.id() + " instead of " + id);
    }
    return s.changes() == 0 ? Long.MAX_VALUE : s.changes();
  }

  private void requireKept(long from) {
    long kept = kept();
    if (kept > from) {
      throw new ChangesLostException(
          file,
          kept == Long.MAX_VALUE
              ? "the database was opened without LogOptions.changeRetentionBytes"
              : "changes are needed from LSN "
                  + from
                  + ", but retained only from LSN "
                  + kept
                  + ": LogOptions.changeRetentionBytes limits what is retained");
    }
  }

  /**
   * Runs an action, and repeats it if it finds data whose write may be in progress.
   *
   * @param restart whether to start over before the first attempt
   * @param at where to start over; null if the action does that itself
   */
  private void again(boolean restart, @Nullable ChangePoint at, Runnable work) {
    for (int n = 1; ; n++) {
      try {
        if (at != null && (restart || n > 1)) {
          begin(at);
        }
        work.run();
        return;
      } catch (CorruptionException e) {
        OperationInterruptedException.check("follow the commits of a file");
        if (n == TRIES) {
          throw e;
        }
        if (at != null) {
          requireKept(at.tables());
        }
        LockSupport.parkNanos(n * PAUSE_NANOS);
      }
    }
  }

  /** Closes the files. */
  @Override
  public void close() {
    closed = true;
    ChangeReader r = reader;
    if (r != null) {
      unread = position();
      reader = null;
      r.close();
    }
    close(data, log);
  }

  private static void close(BlockDevice data, @Nullable BlockDevice log) {
    data.close();
    if (log != null) {
      log.close();
    }
  }
}
