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
 * A database: one file, or one in memory.
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
 * <p>Transactions are serializable: the result of all that committed is one that they could have
 * had one after the other. {@link #run}, {@link #call} and {@link #read} take the body of a
 * transaction, commit it, and repeat it after a conflict with another. So a body may run more than
 * once, and must have no effect outside of the transaction that a second run would spoil. An
 * exception of a body rolls back and is thrown on, provided that the body's reads belong to one
 * state of the database. If they do not, the exception may have no cause in the data, and the body
 * is repeated instead.
 *
 * <p>Any thread, platform or virtual, may use it. Closing it ends everything that belongs to it:
 * later use throws {@link DatabaseClosedException}.
 *
 * @since 0.1.0
 */
public final class Database extends Catalog implements AutoCloseable {
  // It has more than 600 lines because the API is documented here: what it does is in Store,
  // Schema, TransactionRunner.Source, Verification.

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
    this.snapshots = new SnapshotOpening(store, options.snapshots().toStore());
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
      schema.begin(); // last: its threads end by a close alone
      begun = true;
    } finally {
      if (!begun) {
        schema.cancel();
        onClose.run();
      }
    }
  }

  /**
   * Opens a database by {@link Options#defaults}, and makes one where there is none: as {@link
   * #open(Path, Options)}.
   *
   * @param file the file
   * @return the database, to be closed
   */
  public static Database open(Path file) {
    return open(file, Options.defaults());
  }

  /**
   * Opens a file, and creates it where it does not exist. One that was not closed, with a log, is
   * recovered first: everything that was acknowledged is there, and nothing that was half done. For
   * long recoveries the log {@code io.fovea} says how far they are.
   *
   * <p>With a log ({@link Options#durability}) there are two more files beside it, with its name
   * and {@code .log} and {@code .dwb}. They belong to it: they are copied, moved and deleted
   * together.
   *
   * <p>{@link Options#readOnly} opens it for reading only, beside others that do.
   *
   * @param file the file
   * @param options how
   * @return the database, to be closed
   * @throws DatabaseLockedException if it is open already, here or in another process
   * @throws IncompatibleFormatException if the file is no database (one that is empty is none), has
   *     another page size or a newer format, or does not exist and is not to be created
   * @throws UncleanShutdownException if it was open without a log last, and was not closed
   * @throws CorruptionException if it is damaged, or was not closed and its log is not there or
   *     belongs to another database
   * @throws PoolTooSmallException if the buffer is smaller than the engine can work with
   * @throws InvalidUseException if buffer and heap together exceed the memory of the machine or of
   *     the container, or the options ask for what this version does not have
   * @throws StorageException if the operating system refuses
   */
  public static Database open(Path file, Options options) {
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(options, "options");
    Store store = Opening.open(file, options.toStore(), Schema.CATALOG);
    return made(options.readOnly() ? options.asOpened(store) : options, store);
  }

  /**
   * Makes a database in memory by {@link Options#defaults}: as {@link #inMemory(Options)}.
   *
   * @return the database, to be closed
   */
  public static Database inMemory() {
    return inMemory(Options.defaults());
  }

  /**
   * Makes a database in memory. Pages that do not fit into the buffer are kept outside of it, in
   * memory as well. Nothing is left when the database is closed.
   *
   * @param options how; those about files have no effect
   * @return the database, to be closed
   * @throws PoolTooSmallException if the buffer is smaller than the engine can work with
   * @throws InvalidUseException as {@link #open(Path, Options)}
   */
  public static Database inMemory(Options options) {
    Objects.requireNonNull(options, "options");
    return made(options, Opening.open(null, options.toStore(), Schema.CATALOG));
  }

  /**
   * Opens, for reading only, a copy in memory of files that another process may have open.
   *
   * @param storage the copy; see {@link Opening#beside} for what that is worth
   */
  static Database beside(OverlayStorage storage, Options options) {
    Store store = Opening.beside(storage, options.toStore(), Schema.CATALOG);
    return made(options.asOpened(store), store);
  }

  /**
   * For tests: a database on devices of their making.
   *
   * @param storage its files
   * @param options how; what says which device has no effect
   */
  static Database open(Storage storage, Options options) {
    return made(options, Opening.on(storage, options.toStore(), Schema.CATALOG));
  }

  /**
   * For tests: ends all threads and gives the files free, without writing what is not written and
   * without marking anything clean. The files are as a killed process leaves them.
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

  static Database made(Options options, Store store) {
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

  /** The counts of a tree, which are known from then on. */
  TreeCounts counts(BTree tree) {
    store.requireServing();
    return firstCount.known(tree, source.isInBody());
  }

  /** For what a body needs: it may go on while {@link #close} waits for its transaction. */
  void requireServing() {
    store.requireServing();
  }

  DatabaseClosedException closedException() {
    return store.closedException();
  }

  /**
   * Its name in log lines and meters.
   *
   * @return the name from the options, or that of the file
   */
  public String name() {
    return store.name();
  }

  /**
   * Its identity: 128 bits, new with each database that is made or restored.
   *
   * @return the id, kept by its file; a snapshot has its database's
   */
  public UUID id() {
    return store.id();
  }

  /**
   * The options that the database was opened with.
   *
   * @return the options
   */
  public Options options() {
    return options;
  }

  /**
   * Whether it is open.
   *
   * @return false from the beginning of {@link #close} on
   */
  public boolean isOpen() {
    return store.isOpen();
  }

  /**
   * Counters since the opening, and sizes.
   *
   * @return counters and sizes of this moment
   * @throws DatabaseClosedException if the database was closed
   */
  public DatabaseStats stats() {
    requireOpen();
    return DatabaseStats.of(options, store, schema, source.retries());
  }

  /**
   * Opens a snapshot: the database as it is now, to be read for as long as it is open, by any
   * number of threads. It has all that was committed before, and nothing that is committed later.
   * Who reads it is aborted by nobody and aborts nobody, and may read any number of records: for
   * exports, long reports, copies.
   *
   * <pre>{@code
   * try (Database then = db.snapshot()) {
   *   Table accounts = then.table(ACCOUNTS);
   *   long sum = then.read(tx -> sum(accounts, tx));
   * }
   * }</pre>
   *
   * <p>It is a database of its own that is read only: tables and rows of one do not fit the other.
   * Its transactions have no limit on time. It has a buffer of its own, and while it is open, pages
   * are copied before they change: {@link SnapshotOptions} says how much that may take. It is
   * closed with this database at the latest.
   *
   * <p>Opening takes some milliseconds, and others may wait for one of them. A transaction that is
   * active then and has read what was changed since is aborted once, with a cause that is
   * retryable. With {@link Durability#SYNC} this returns when all that the snapshot has is durable.
   *
   * @return the snapshot, to be closed
   * @throws TransactionAbortedException if a commit that waits for the disk does not end within a
   *     minute: it has a part of its changes
   * @throws InvalidUseException inside the body of a transaction of this database
   * @throws PoolTooSmallException if {@link SnapshotOptions#bufferBytes} is too small for the pages
   * @throws OperationInterruptedException if the thread is interrupted while it waits
   * @throws DurabilityLostException if what it has can't be made durable any more
   * @throws DatabaseClosedException if the database was closed
   */
  public Database snapshot() {
    if (source.isInBody()) {
      throw new InvalidUseException(
          "A snapshot can't be opened inside the body of a transaction: it would not have what that"
              + " changes.");
    }
    return snapshots.open(
        schema::whileNothingChanges,
        Schema.CATALOG,
        frozen -> made(options.ofSnapshot(frozen), frozen),
        Database::closeOnce);
  }

  /**
   * Follows committed changes from a position on: in the order in which they are in the log, each
   * commit as a whole and once, over closes and crashes.
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
   * <p>The database has been opened with {@link LogOptions#changeRetentionBytes}. {@link Changes}
   * says in which order they come, and what is not among them.
   *
   * @param from where to begin: {@link #changesPosition}, of this database or of a snapshot, or the
   *     position of the last batch that was taken, however long ago
   * @return the changes, to be closed
   * @throws ChangesLostException if some of them are not there any more, or the position is another
   *     database's
   * @throws InvalidUseException if this is a snapshot, has no log, or was opened for reading only
   *     or without {@link LogOptions#changeRetentionBytes}
   * @throws DatabaseClosedException if the database was closed
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
   * Where the changes go on that are not in here: of a snapshot those that were committed since it
   * was opened, else those that are committed from now on. With a snapshot and its position whoever
   * follows changes begins, and begins anew.
   *
   * <p>All that lies before it is durable when this returns: so with {@link Durability#ASYNC} it
   * may wait for the log. A commit that is under way may lie before the position of this database,
   * and not be seen yet by who reads this database next: who needs both reads a snapshot.
   *
   * @return the position, good for this database, while its changes are kept
   * @throws InvalidUseException if the database has no log, or was opened for reading only or
   *     without {@link LogOptions#changeRetentionBytes}; in a transaction of this thread; of a
   *     snapshot also if it was opened while the log was full
   * @throws StorageException if the log can't be written
   * @throws StorageFullException if the log is full
   * @throws DurabilityLostException if what lies before can't be made durable any more
   * @throws DatabaseClosedException if the database was closed
   */
  public ChangePosition changesPosition() {
    requireOpen();
    return new ChangePosition(store.changePoint());
  }

  private void endFollowing() {
    following.forEach(Changes::end);
  }

  /**
   * Where the pages in the buffer pool lie. Unlike {@link #stats} it reads the header of every
   * frame, some milliseconds for a gigabyte of buffer: for measurements, not for metrics that are
   * polled.
   *
   * @return counts of this moment; what is moved meanwhile may be counted twice or not at all
   * @throws DatabaseClosedException if the database was closed
   */
  public DatabaseStats.Placement placement() {
    requireOpen();
    Placement p = store.pool().placement();
    return new DatabaseStats.Placement(
        p.pages(), p.pagesInPreferredFrame(), p.promotions(), p.demotions());
  }

  /**
   * Makes a checkpoint, and waits for it: what was committed before is then in the data file, and
   * would not have to be recovered after a crash. Checkpoints come by themselves as well ({@link
   * LogOptions#maxBytes}, {@link LogOptions#checkpointInterval}), so this is for moments that the
   * application knows better. Transactions go on meanwhile. Without a log it does nothing.
   *
   * @throws StorageException if the operating system refuses; the next one tries again
   * @throws DurabilityLostException if nothing can become durable any more
   * @throws DatabaseClosedException if the database was closed
   */
  public void checkpoint() {
    requireOpen();
    store.checkpoint();
  }

  /**
   * Makes the file shorter while everything goes on: pages of tables and indexes are moved to free
   * pages nearer to its front, and its end is cut off. {@link CompactOptions} says when that is of
   * use, what stays where it is, and how it ends early.
   *
   * @param how how fast, and who is told
   * @return what it came to
   * @throws InvalidUseException where that says that it can't be done
   * @throws OperationInterruptedException if the thread is interrupted meanwhile
   * @throws CorruptionException if a page is damaged
   * @throws StorageException if something can't be read or written
   * @throws StorageFullException if there is no space for what is moved, where that goes into pages
   *     whose space was given back. What was moved stays moved; {@link CompactOptions#movePages
   *     movePages(false)} needs none
   * @throws DurabilityLostException if nothing can become durable any more
   * @throws DatabaseClosedException if the database was closed, before or meanwhile
   */
  public CompactReport compact(CompactOptions how) {
    return CompactReport.of(schema.compaction(), Objects.requireNonNull(how, "how"));
  }

  /**
   * Checks the whole database: every tree in order and reachable, every page used once or free,
   * every index entry with its record. Waits until no transaction is active, and lets none begin
   * meanwhile. In a snapshot all that can be reached is checked, and no free page.
   *
   * <p>Before that it waits until no table is loaded, which may take as long as the source does,
   * and until no tree of an index is being written: seconds, and longer beside a backup. Loads, and
   * indexes that are built, wait meanwhile; transactions don't. What can't wait is checked in a
   * snapshot, or with {@link FileReport#verify} in a backup.
   *
   * @return what was found; damage is a part of it, not an exception
   * @throws InvalidUseException in a transaction of this thread
   * @throws TransactionAbortedException if transactions don't end within a minute
   * @throws OperationInterruptedException if the thread is interrupted meanwhile
   * @throws DatabaseClosedException if the database was closed
   */
  public VerifyReport verify() {
    return VerifyReport.of(Verification.run(store, schema));
  }

  /**
   * Copies the database into a directory: {@link #backup(Path, BackupOptions)} by default.
   *
   * @param directory where to; made where it does not exist
   * @return what was copied
   */
  public BackupReport backup(Path directory) {
    return backup(directory, BackupOptions.defaults());
  }

  /**
   * Copies the database into a directory, while it is used: a file of the same name, its log, and a
   * manifest. {@link Restore} makes a database of it: what the database was at some moment between
   * the beginning and the end of the backup. All that was acknowledged before the beginning is in
   * it. Every page and every record of the log is verified. No existing file is overwritten; of a
   * backup that fails nothing is left.
   *
   * <p>Transactions go on meanwhile. The log grows by what they write, since a backup needs it from
   * its beginning on. A database without a log (in memory, or with {@link Durability#NONE}) is
   * copied while no transaction is active, and none begins until it is done; so is no table created
   * or dropped. An interrupt ends such a copy with {@link OperationInterruptedException}.
   *
   * @param directory where to; made where it does not exist
   * @param how how fast, and since when
   * @return what was copied
   * @throws InvalidUseException if the directory has a file of that name, or one that would belong
   *     to it, if nothing tells what was changed {@linkplain BackupOptions#since since then}, in a
   *     snapshot, and without a log in a transaction of this thread
   * @throws TransactionAbortedException without a log, if transactions don't end within a minute
   * @throws CorruptionException if a page or the log is damaged
   * @throws StorageException if something can't be read or written
   * @throws DurabilityLostException if durability is or gets lost
   * @throws DatabaseClosedException if the database was closed, before or meanwhile
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
   * Copies the database into a stream: {@link #backup(OutputStream, BackupOptions)} by default.
   *
   * @param out where to
   * @return what was copied
   */
  public BackupReport backup(OutputStream out) {
    return backup(out, BackupOptions.defaults());
  }

  /**
   * Copies the database into a stream, as a tar archive of the files that {@link #backup(Path,
   * BackupOptions)} makes: {@link Restore} takes it. The stream is flushed and stays open. Of a
   * backup that fails the stream has a part, without an end.
   *
   * @param out where to
   * @param how how fast, and since when
   * @return what was copied
   * @throws InvalidUseException as {@link #backup(Path, BackupOptions)}, and if the file has a name
   *     that is too long for an archive; so with all other exceptions
   * @throws StorageException if something can't be read, or the stream can't be written
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
   * Asks to be told when the database closes: once, before anything is closed, by the thread that
   * closes it.
   *
   * @param action what to do; what it throws is logged
   * @throws DatabaseClosedException if the database is closed or being closed
   */
  public void onClose(Runnable action) {
    Objects.requireNonNull(action, "action");
    listeners.add(action);
  }

  /**
   * Closes the database: lets no more transactions begin, waits a while for those that are active
   * ({@link TransactionOptions#closeTimeout}), aborts the others, writes everything and marks the
   * file clean. A second call waits for the first and does nothing.
   *
   * @throws InvalidUseException inside the body of a transaction of this database
   * @throws DurabilityLostException if not everything could be written. With a log the file is
   *     recovered when it is opened again; without one it can't be opened again
   * @throws StorageException likewise, when the operating system refuses
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
      boolean[] quiet = new boolean[2]; // not marked clean if something fails on the way there
      Store.closeAll(9, step -> closeStep(step, quiet));
    } finally {
      closing.unlock();
      Leaks.endIfUnused();
    }
  }

  private void closeStep(int step, boolean[] quiet) {
    switch (step) {
      case 0 -> listeners.tell();
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
