package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeCounts;
import io.fovea.buffer.Placement;
import io.fovea.catalog.BackupRun;
import io.fovea.catalog.FirstCount;
import io.fovea.catalog.Schema;
import io.fovea.config.Durability;
import io.fovea.error.ChangesLostException;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.PoolTooSmallException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.error.UncleanShutdownException;
import io.fovea.index.HintUse;
import io.fovea.inspection.Verification;
import io.fovea.io.OverlayStorage;
import io.fovea.io.Storage;
import io.fovea.memory.Threads;
import io.fovea.recovery.Backup;
import io.fovea.store.CloseListeners;
import io.fovea.store.Leaks;
import io.fovea.store.Opening;
import io.fovea.store.SnapshotOpening;
import io.fovea.store.Store;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A database, stored in one file or in memory.
 *
 * <pre>{@code
 * try (Database db = Database.open(Path.of("shop.fovea"), Options.defaults())) {
 *   Table stock = db.table(STOCK);
 *   db.run(tx -> {
 *     Key key = stock.key().set(7);
 *     Row row = stock.row();
 *     if (stock.get(tx, key, row)) {
 *       stock.update(tx, row.setInt(QUANTITY, row.getInt(QUANTITY) - 1));
 *     }
 *   });
 * }
 * }</pre>
 *
 * <p>Transactions are serializable: the committed ones have the same effect as some serial
 * execution. {@link #run}, {@link #call} and {@link #read} take the body of a transaction, commit
 * it, and repeat it after a conflict. A body may therefore run more than once, and must have no
 * side effects that repetition would spoil. An exception from a body rolls the transaction back and
 * is rethrown if the body's reads are consistent. Otherwise inconsistent data may have caused the
 * exception, and the body is repeated instead.
 *
 * <p>Safe for any thread, platform or virtual. Close the objects that {@link #open(Path)}, {@link
 * #inMemory()}, {@link #snapshot} and {@link #changes} return. All operations may throw the
 * following exceptions, whether their documentation says so or not:
 *
 * <ul>
 *   <li>{@link DatabaseClosedException} if the database is closed, before the operation or during
 *       it. This includes operations on everything obtained from the database.
 *   <li>{@link StorageException} if the operating system reports an error, and {@link
 *       CorruptionException} if a page or the log is damaged.
 *   <li>{@link DurabilityLostException} if they write or wait for durability, and nothing can
 *       become durable any longer.
 *   <li>{@link OperationInterruptedException} if the thread is interrupted while they wait.
 * </ul>
 *
 * @since 0.1.0
 */
public final class Database extends Catalog implements AutoCloseable {
  // Implemented by Store, Schema, TransactionRunner.Source and Verification.

  private final Options options;
  private final Store store;
  private final Schema schema;
  private final Leaks leaks;
  private final Runnable onClose;
  private final ReentrantLock closing = new ReentrantLock();
  private final CloseListeners listeners;
  private final SnapshotOpening snapshots;
  private final FirstCount firstCount;
  private final Set<Changes> following = ConcurrentHashMap.newKeySet();
  private boolean closed;

  private Database(Options options, Store store) {
    this(options, store, new Leaks(options.transactions().leakDetection()));
  }

  private Database(Options options, Store store, Leaks leaks) {
    super(options, store, leaks);
    this.options = options;
    this.store = store;
    this.leaks = leaks;
    this.listeners = new CloseListeners(store);
    this.snapshots = new SnapshotOpening(store, options.snapshots().toSnapshotConfig());
    Hints hints = options.experiments().hints();
    boolean all = options.experiments().cacheAllKeyLocations();
    HintUse use = new HintUse(store::isMarked, hints.pages(), hints.frames(), all);
    this.schema =
        new Schema(
            new RowIndex.SchemaHost(this),
            store,
            use,
            hints.ofNewIndexes(),
            options.expiry().timing());
    this.firstCount = new FirstCount(store, schema, snapshots);
    Runnable unwatch = leaks.watch(this, "Database " + store.name(), () -> {});
    this.onClose = unwatch == null ? () -> {} : unwatch;
    boolean begun = false;
    try {
      schema.begin(); // last: only a close stops its threads
      begun = true;
    } finally {
      if (!begun) {
        schema.cancel();
        onClose.run();
      }
    }
  }

  /**
   * Opens or creates a database with default options, as {@link #open(Path, Options)}.
   *
   * @param file the data file
   * @return the database
   */
  public static Database open(Path file) {
    return open(file, Options.defaults());
  }

  /**
   * Opens a database, and creates it if the file does not exist. A database with a log that was not
   * closed is recovered first: it then contains all acknowledged commits, and no partial ones. The
   * logger {@code io.fovea} reports the progress of long recoveries.
   *
   * <p>A database with a log ({@link Options#durability}) has two more files next to the data file,
   * with its name and the suffixes {@code .log} and {@code .dwb}. Copy, move and delete all three
   * together. With {@link Options#readOnly}, several processes may have the file open for reading.
   *
   * @param file the data file
   * @param options the options
   * @return the database
   * @throws DatabaseLockedException if it is already open, in this process or another
   * @throws IncompatibleFormatException if the file is not a database (an empty file is not), has
   *     another page size or a newer format, or does not exist and the options forbid creating it
   * @throws UncleanShutdownException if it was last opened without a log and was not closed
   * @throws CorruptionException if it is damaged, or was not closed and its log is missing or
   *     belongs to another database
   * @throws PoolTooSmallException if the buffer is smaller than the minimum
   * @throws InvalidUseException if buffer and heap together exceed the memory of the machine or the
   *     container, or an option is not supported here
   */
  public static Database open(Path file, Options options) {
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(options, "options");
    Store store = Opening.open(file, options.toStoreConfig(), Schema.CATALOG);
    return newDatabase(options.readOnly() ? options.asOpened(store) : options, store);
  }

  /**
   * Creates a database in memory with default options, as {@link #inMemory(Options)}.
   *
   * @return the database
   */
  public static Database inMemory() {
    return inMemory(Options.defaults());
  }

  /**
   * Creates a database in memory. Pages that do not fit into the buffer are kept in memory outside
   * it. All data is discarded when the database is closed.
   *
   * @param options the options; those about files have no effect
   * @return the database
   * @throws PoolTooSmallException if the buffer is smaller than the minimum
   * @throws InvalidUseException as {@link #open(Path, Options)}
   */
  public static Database inMemory(Options options) {
    Objects.requireNonNull(options, "options");
    return newDatabase(options, Opening.open(null, options.toStoreConfig(), Schema.CATALOG));
  }

  /**
   * Opens, for reading only, an in-memory overlay of files that another process may have open. See
   * {@link Opening#foreign} for its guarantees.
   */
  static Database openForeign(OverlayStorage storage, Options options) {
    Store store = Opening.openForeign(storage, options.toStoreConfig(), Schema.CATALOG);
    return newDatabase(options.asOpened(store), store);
  }

  /**
   * For tests: opens a database on the given devices; options that select a device have no effect.
   */
  static Database open(Storage storage, Options options) {
    return newDatabase(options, Opening.on(storage, options.toStoreConfig(), Schema.CATALOG));
  }

  /**
   * For tests: stops all threads and releases the files as they are, as if the process were killed.
   */
  void abandon() {
    closing.lock();
    try {
      if (!closed) {
        closed = true;
        onClose.run();
        endFollowing();
        snapshots.close();
        schema.cancel();
        store.discard();
      }
    } finally {
      closing.unlock();
    }
  }

  static Database newDatabase(Options options, Store store) {
    boolean done = false;
    try {
      Database db = new Database(options, store);
      done = true;
      return db;
    } catch (Threads.Refused e) {
      throw Opening.refused(store.name(), e);
    } finally {
      if (!done) {
        store.discard();
      }
    }
  }

  @Override
  Schema schema() {
    return schema;
  }

  Leaks leaks() {
    return leaks;
  }

  Store store() {
    return store;
  }

  void requireOpen() {
    store.requireOpen();
  }

  /** Returns the counts of a tree, counting it first if they are unknown. */
  TreeCounts counts(BTree tree) {
    store.requireServing();
    return firstCount.known(tree, source.isInBody());
  }

  /**
   * Like {@link #requireOpen}, but lets active bodies continue while {@link #close} waits for them.
   */
  void requireServing() {
    store.requireServing();
  }

  DatabaseClosedException closedException() {
    return store.closedException();
  }

  /** {@return the name in log lines and meters: from the options, or the file's name} */
  public String name() {
    return store.name();
  }

  /**
   * {@return the identity of this database, stored in the file and shared with its snapshots: 128
   * bits, new for each database created or restored}
   */
  public UUID id() {
    return store.id();
  }

  /** {@return the options that the database was opened with} */
  public Options options() {
    return options;
  }

  /** {@return whether the database is open; false as soon as {@link #close} begins} */
  public boolean isOpen() {
    return store.isOpen();
  }

  /** {@return counters since the database was opened, and current sizes; cheap enough to poll} */
  public DatabaseStats stats() {
    requireOpen();
    return DatabaseStats.of(options, store, schema, source.bodies());
  }

  /**
   * Opens a snapshot: a read-only view of the database as it is now, for any number of threads. It
   * contains everything committed before the call, and nothing committed later. Its readers never
   * conflict with writers and may read any number of records. Use it for exports, long reports and
   * copies.
   *
   * <pre>{@code
   * try (Database then = db.snapshot()) {
   *   Table accounts = then.table(ACCOUNTS);
   *   long sum = then.read(tx -> sum(accounts, tx));
   * }
   * }</pre>
   *
   * <p>The snapshot is a separate database: tables and rows of one cannot be used with the other.
   * Its transactions have no timeout. It has its own buffer, and while it is open, pages are copied
   * before they change; {@link SnapshotOptions} limits both. Closing this database closes the
   * snapshot too.
   *
   * <p>Opening takes milliseconds and may delay other transactions by about one. A transaction that
   * is active at that time and has read data that has since changed is aborted once, with a
   * retryable cause. With {@link Durability#SYNC}, everything in the snapshot is durable when this
   * method returns.
   *
   * @return the snapshot
   * @throws TransactionAbortedException if a commit that is waiting for the disk, and is partly
   *     visible, does not finish within a minute
   * @throws InvalidUseException in the body of a transaction of this database
   * @throws PoolTooSmallException if {@link SnapshotOptions#bufferBytes} is too small for the pages
   */
  public Database snapshot() {
    if (source.isInBody()) {
      throw new InvalidUseException(
          "A snapshot can't be opened inside the body of a transaction: it would not contain the"
              + " changes of that transaction.");
    }
    return snapshots.open(
        schema::whileFrozen,
        Schema.CATALOG,
        frozen -> newDatabase(options.ofSnapshot(frozen), frozen),
        Database::closeOnce);
  }

  /**
   * Subscribes to the committed changes after a position. Each commit arrives whole and exactly
   * once, in log order, across closes and crashes. See {@link Changes} for the order and for what
   * is omitted.
   *
   * <pre>{@code
   * try (Changes changes = db.changes(ChangePosition.parse(saved))) {
   *   while (running) {
   *     ChangeBatch batch = changes.poll(Duration.ofSeconds(1));
   *     if (batch != null) {
   *       apply(batch);
   *     }
   *   }
   * }
   * }</pre>
   *
   * @param from where to begin: {@link #changesPosition} of this database or of a snapshot, or the
   *     position of the last batch processed, however old
   * @return the changes
   * @throws ChangesLostException if some of them are no longer kept, or the position belongs to
   *     another database
   * @throws InvalidUseException if this is a snapshot, has no log, or was opened read-only or
   *     without {@link LogOptions#changeRetentionBytes}
   */
  public Changes changes(ChangePosition from) {
    Objects.requireNonNull(from, "from");
    requireOpen();
    Changes changes = new Changes(store, store.changes(from.point()), following::remove);
    following.add(changes);
    if (!store.isOpen()) {
      changes.close(); // the close may have missed it
      throw closedException();
    }
    return changes;
  }

  /**
   * Returns the position after the commits that this database contains: for a snapshot, the
   * position at which it was opened; otherwise, the current position. A subscriber starts, or
   * starts over, by reading a snapshot and then following the {@link #changes} from the snapshot's
   * position.
   *
   * <p>Everything before the position is durable when this method returns, so with {@link
   * Durability#ASYNC} it may wait for the log. A commit in progress may lie before the position of
   * this database and still be invisible to a read that follows. To combine a read with a position,
   * use a snapshot.
   *
   * @return the position, valid for this database as long as its changes are kept
   * @throws InvalidUseException if the database has no log, or was opened read-only or without
   *     {@link LogOptions#changeRetentionBytes}; if this thread has a transaction; or if this is a
   *     snapshot opened while the log was full
   * @throws StorageFullException if the log is full
   */
  public ChangePosition changesPosition() {
    requireOpen();
    return new ChangePosition(store.changePoint());
  }

  private void endFollowing() {
    following.forEach(Changes::end);
  }

  /**
   * {@return the counts of pages in the buffer pool by placement; pages that move during the call
   * may be counted twice or not at all} Unlike {@link #stats} this reads the header of every frame,
   * which takes milliseconds per gigabyte of buffer. For measurements, not for polling.
   */
  public DatabaseStats.Placement placement() {
    requireOpen();
    Placement p = store.pool().placement();
    return new DatabaseStats.Placement(
        p.pages(), p.pagesInPreferredFrame(), p.promotions(), p.demotions());
  }

  /**
   * Makes a checkpoint and waits for it. Everything committed before the call is then in the data
   * file, and needs no recovery after a crash. Checkpoints also happen automatically ({@link
   * LogOptions#maxBytes}, {@link LogOptions#checkpointInterval}); call this at times that suit the
   * application. Transactions continue meanwhile. If a checkpoint fails, the next one retries. Does
   * nothing without a log.
   */
  public void checkpoint() {
    requireOpen();
    store.checkpoint();
  }

  /**
   * Shortens the file while the database is in use: moves pages of tables and indexes to free pages
   * nearer to the front, and cuts off the end. {@link CompactOptions} describes when it is useful,
   * which pages stay, and how it ends early.
   *
   * @param how the speed, and the progress listener
   * @return the result
   * @throws InvalidUseException where {@link CompactOptions} excludes it
   * @throws StorageFullException if there is no space to move pages into holes punched earlier.
   *     Pages already moved stay moved; {@link CompactOptions#movePages movePages(false)} needs no
   *     space
   */
  public CompactReport compact(CompactOptions how) {
    return CompactReport.of(schema.compaction(), Objects.requireNonNull(how, "how"));
  }

  /**
   * Checks the whole database: that every tree is in order and reachable, every page is used once
   * or free, and every index entry has its record. Waits until no transaction is active, and delays
   * new ones until the check ends. In a snapshot, everything reachable is checked, but free pages
   * are not.
   *
   * <p>Before that, while transactions continue, it waits for loads of tables to end, which may
   * take as long as their sources, and for index trees to be written, which takes seconds, or
   * longer during a backup. To check without stopping transactions, use a snapshot, or {@link
   * FileReport#verify} on a backup.
   *
   * @return the findings; damage is reported, not thrown
   * @throws InvalidUseException if this thread has a transaction
   * @throws TransactionAbortedException if transactions do not end within a minute
   */
  public VerifyReport verify() {
    return VerifyReport.of(Verification.run(store, schema));
  }

  /**
   * Backs up the database into a directory, as {@link #backup(Path, BackupOptions)} with the
   * defaults.
   *
   * @param directory the directory; created if it does not exist
   * @return the report
   */
  public BackupReport backup(Path directory) {
    return backup(directory, BackupOptions.defaults());
  }

  /**
   * Backs up the database into a directory while it is in use: a file of the same name, its log,
   * and a manifest. {@link Restore} turns them into a database: a copy of this one at some time
   * between the beginning and the end of the backup. The copy contains everything acknowledged
   * before the backup began. Every page and log record is verified. No existing file is
   * overwritten, and a failed backup leaves no files.
   *
   * <p>Transactions continue meanwhile. The log grows by what they write, because the backup needs
   * those records. Without a log (in memory, or with {@link Durability#NONE}) the backup waits
   * until no transaction is active; new ones, and the creation and removal of tables, wait until
   * the backup ends or is interrupted.
   *
   * @param directory the directory; created if it does not exist
   * @param how the speed, and the position of the backup to build on
   * @return the report
   * @throws InvalidUseException if one of the files exists, if the changes {@linkplain
   *     BackupOptions#since since the position} are unknown, if this is a snapshot, or if there is
   *     no log and this thread has a transaction
   * @throws TransactionAbortedException without a log, if transactions do not end within a minute
   */
  public BackupReport backup(Path directory, BackupOptions how) {
    Objects.requireNonNull(directory, "directory");
    Objects.requireNonNull(how, "how");
    requireOpen();
    String name = BackupRun.fileName(store);
    Backup copy = Backup.to(directory, name, how.bytesPerSecond(), how.point(), store.fileName());
    return BackupReport.of(store, schema, copy);
  }

  /**
   * Backs up the database to a stream, as {@link #backup(OutputStream, BackupOptions)} with the
   * defaults.
   *
   * @param out the stream
   * @return the report
   */
  public BackupReport backup(OutputStream out) {
    return backup(out, BackupOptions.defaults());
  }

  /**
   * Backs up the database to a stream, as a tar archive of the files that {@link #backup(Path,
   * BackupOptions)} creates; {@link Restore} accepts it. The stream is flushed and stays open. If
   * the backup fails, the stream has received an incomplete archive.
   *
   * @param out the stream
   * @param how the speed, and the position of the backup to build on
   * @return the report
   * @throws InvalidUseException as {@link #backup(Path, BackupOptions)}, like all other exceptions;
   *     also if the file's name is too long for an archive
   */
  public BackupReport backup(OutputStream out, BackupOptions how) {
    Objects.requireNonNull(out, "out");
    Objects.requireNonNull(how, "how");
    requireOpen();
    String name = BackupRun.fileName(store);
    Backup copy = Backup.to(out, name, how.bytesPerSecond(), how.point(), store.fileName());
    return BackupReport.of(store, schema, copy);
  }

  /**
   * Registers an action to run once, in the closing thread, before the database closes anything.
   *
   * @param action the action; exceptions that it throws are logged
   */
  public void onClose(Runnable action) {
    Objects.requireNonNull(action, "action");
    listeners.add(action);
  }

  /**
   * Closes the database: admits no more transactions, waits up to {@link
   * TransactionOptions#closeTimeout} for active ones, aborts those that remain, writes everything
   * and marks the file clean. A second call waits for the first and does nothing. Throws if not
   * everything could be written: with a log, the next opening then recovers the database; without
   * one, the database can't be opened again.
   *
   * @throws InvalidUseException in the body of a transaction of this database
   */
  @Override
  public void close() {
    if (source.isInBody()) {
      throw new InvalidUseException("A database can't be closed inside the body of a transaction.");
    }
    closeOnce();
  }

  private void closeOnce() {
    closing.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      boolean[] quiet = new boolean[2]; // not marked clean if an earlier step fails
      Store.closeAll(9, step -> closeStep(step, quiet));
    } finally {
      closing.unlock();
      Leaks.endIfUnused();
    }
  }

  private void closeStep(int step, boolean[] quiet) {
    switch (step) {
      case 0 -> listeners.callAll();
      case 1 -> onClose.run();
      case 2 -> snapshots.close();
      case 3 -> schema.expirations().cancel();
      case 4 -> quiet[0] = store.quiesce(options.transactions().closeTimeout());
      case 5 -> {
        schema.end();
        quiet[1] = true;
      }
      case 6 -> firstCount.end();
      case 7 -> endFollowing();
      default -> schema.closing(alone -> store.close(quiet[0] && quiet[1] && alone));
    }
  }

  @Override
  public String toString() {
    return "Database[" + store.name() + (store.isOpen() ? "]" : ", closed]");
  }
}
