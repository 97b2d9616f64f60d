package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.buffer.BufferPool;
import io.fovea.config.Durability;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.StorageException;
import io.fovea.error.UncleanShutdownException;
import io.fovea.io.BlockDevice;
import io.fovea.io.FileLock;
import io.fovea.io.FileStorage;
import io.fovea.io.MemoryDevice;
import io.fovea.io.OverlayStorage;
import io.fovea.io.Storage;
import io.fovea.memory.Mem;
import io.fovea.memory.Threads;
import io.fovea.recovery.RecoveredRowCounts;
import io.fovea.recovery.Recovery;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.txn.TimestampPages;
import io.fovea.txn.TxConfig;
import io.fovea.txn.TxEngine;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import io.fovea.wal.Watermark;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Opens a store.
 *
 * <pre>
 *   options, memory ─► lock ─► device ─► superblock ─► pool ─► log, recovery ({@link Journal})
 *   ─► transactions ─► catalog
 * </pre>
 *
 * <p>No page is written before the file is known to be a database of this page size and is marked
 * as in use. A file that was not closed is refused if it has no log, and otherwise recovered,
 * whatever durability it is opened with.
 *
 * <p>After a failure everything that was opened is closed in reverse order.
 */
public final class Opening {
  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final AtomicBoolean FLAG_LOGGED = new AtomicBoolean();

  private final StoreConfig config;
  private final Recovery.Catalog trees;

  /** Whether another process may change the files meanwhile, so that they may be inconsistent. */
  private final boolean foreign;

  /** Resources to close, in this order, if the opening fails. */
  private final Deque<AutoCloseable> opened;

  /** The files and devices of a database, before there is a pool. */
  private record OpenFiles(
      String name,
      UUID id,
      @Nullable Storage storage,
      @Nullable FileLock lock,
      BlockDevice device,
      @Nullable SuperblockFile superblocks) {}

  private Opening(
      StoreConfig config, Recovery.Catalog trees, boolean foreign, Deque<AutoCloseable> opened) {
    this.config = config;
    this.foreign = foreign;
    this.trees = trees;
    this.opened = opened;
  }

  /**
   * Opens a file, or a new store in memory.
   *
   * @param path the path of the data file; null in memory
   * @param trees finds the trees in the catalog, for recovery
   */
  public static Store open(@Nullable Path path, StoreConfig config, Recovery.Catalog trees) {
    check(config, path != null);
    return guarded(
        config, trees, false, opening -> path == null ? opening.memory() : opening.file(path));
  }

  /** Opens files that the caller protects from concurrent openings. */
  public static Store on(Storage storage, StoreConfig config, Recovery.Catalog trees) {
    check(config, true);
    return guarded(
        config,
        trees,
        false,
        opening -> opening.storage(storage, null, DatabaseCreation.of(storage)));
  }

  /**
   * Opens a read-only in-memory copy of files that another process may have open. Pages are read on
   * demand and may be inconsistent: the caller must check whether a checkpoint occurred, and treat
   * damage as the result of reading during a write.
   *
   * @param storage the storage of the copy, which the caller closes
   */
  public static Store openForeign(
      OverlayStorage storage, StoreConfig config, Recovery.Catalog trees) {
    check(config, true);
    return guarded(config, trees, true, opening -> opening.toRead(storage, null));
  }

  /**
   * Opens a snapshot's pages for reading only.
   *
   * @param device the device with the pages; closed with the store, and on failure
   * @param superblock the superblock at the time of the snapshot
   * @param counts the counts of trees at the time of the snapshot
   */
  static Store snapshot(
      BlockDevice device,
      Superblock superblock,
      StoreConfig config,
      Recovery.Catalog trees,
      RecoveredRowCounts counts) {
    return guarded(
        config,
        trees,
        false,
        opening -> {
          opening.opened.push(device);
          OpenFiles files = new OpenFiles(config.name(), superblock.id(), null, null, device, null);
          Store store = opening.withoutLog(files, superblock, false, counts);
          store.refuseWrites();
          return store;
        });
  }

  /** Returns the exception for a thread that the system refuses to start. */
  public static StorageException refused(String name, Threads.Refused e) {
    return new StorageException(
        "start of thread " + e.thread(),
        name,
        -1,
        0,
        "the system has no memory for another thread, or limits their "
            + "number (see the process limit)",
        e);
  }

  private static Store guarded(
      StoreConfig config,
      Recovery.Catalog trees,
      boolean foreign,
      Function<Opening, Store> opening) {
    Deque<AutoCloseable> opened = new ArrayDeque<>();
    boolean done = false;
    try {
      Store store = opening.apply(new Opening(config, trees, foreign, opened));
      done = true;
      return store;
    } catch (Threads.Refused e) {
      throw refused(config.name(), e);
    } finally {
      while (!done && !opened.isEmpty()) {
        try {
          opened.pop().close();
        } catch (Throwable e) { // close the remaining resources too, the lock last
          Threads.logSafely(
              LOG, Level.DEBUG, "Cleanup after a failed opening of ", config.name(), "", e);
        }
      }
    }
  }

  /** Checks the options before any file is touched. */
  private static void check(StoreConfig config, boolean files) {
    config.checkMemory(HostResources.memoryBytes(), Runtime.getRuntime().maxMemory());
    config.dataPool();
    if (files && config.logged()) {
      LogSizes.check(config.log(), config.pageSize());
    }
    String flag = HostResources.missingFlag();
    if (!flag.isEmpty() && FLAG_LOGGED.compareAndSet(false, true)) {
      LOG.log(
          Level.WARNING,
          (Mem.isRaw()
                  ? "Native access is not enabled: newer JDKs warn about it, and "
                      + "later ones will deny it."
                  : "Native access is denied, which costs speed: databases are read and written"
                      + " through the page cache, by separate threads, without io_uring and"
                      + " direct I/O; their memory has no huge pages, and each access is checked.")
              + " Start java with "
              + flag
              + ".");
    }
  }

  // --------------------------------------------------------------------------------------- files

  private Store memory() {
    BlockDevice device = new MemoryDevice();
    opened.push(device);
    String name = config.name().isEmpty() ? "memory" : config.name();
    Superblock fresh = Superblock.ofNew(config.pageSize());
    return withoutLog(new OpenFiles(name, fresh.id(), null, null, device, null), fresh, true, null);
  }

  private Store file(Path path) {
    if (config.readOnly()) {
      return fileToRead(path);
    }
    if (Files.isDirectory(path)) {
      throw new IncompatibleFormatException(path + " is a directory. A database is one file.");
    }
    if (!config.create() && !Files.exists(path)) {
      throw new IncompatibleFormatException(
          "There is no file " + path + ", and the options say not to create one.");
    }
    boolean exists = Files.exists(path);
    boolean cutShort = FileLock.isNoted(path);
    FileLock lock = FileLock.acquire(path);
    opened.push(lock);
    FileStorage storage = new FileStorage(path, config.devices());
    // Another opening may have created the file before this one took the lock.
    exists |= storage.size(Storage.DATA) > 0;
    storage.requireOneName();
    DatabaseCreation databaseCreation =
        new DatabaseCreation(storage, exists, cutShort || storage.exists(Storage.LOG));
    return storage(storage, lock, databaseCreation);
  }

  /** Opens an in-memory copy, which recovery and write-back may change. */
  private Store fileToRead(Path path) {
    if (!Files.isRegularFile(path)) {
      throw new IncompatibleFormatException(
          Files.isDirectory(path)
              ? path + " is a directory. A database is one file."
              : "There is no file " + path + ", and a read-only database is not created.");
    }
    FileLock lock = FileLock.acquireShared(path);
    opened.push(lock);
    OverlayStorage storage = new OverlayStorage(path);
    lock.covers(storage);
    return toRead(storage, lock);
  }

  private Store toRead(OverlayStorage storage, @Nullable FileLock lock) {
    Superblock found;
    try (BlockDevice data = storage.open(Storage.DATA)) {
      SuperblockFile superblocks = new SuperblockFile(data, storage.name());
      found = superblocks.require(superblocks.read());
    }
    StoreConfig how = config.forInspection(config.name(), found.pageSize(), found.isClean());
    Store store =
        new Opening(how, trees, foreign, opened)
            .storage(storage, lock, DatabaseCreation.of(storage));
    store.refuseWrites();
    return store;
  }

  private Store storage(
      Storage storage, @Nullable FileLock lock, DatabaseCreation databaseCreation) {
    String path = storage.name();
    opened.push(databaseCreation);
    BlockDevice device = storage.open(Storage.DATA);
    opened.push(device);
    SuperblockFile superblocks = new SuperblockFile(device, path);
    Superblock found = databaseCreation.read(superblocks, device);
    String name =
        config.name().isEmpty() ? String.valueOf(Path.of(path).getFileName()) : config.name();
    boolean fresh = found == null;
    if (found == null) {
      found = Superblock.ofNew(config.pageSize());
    }
    if (found.pageSize() != config.pageSize()) {
      throw new IncompatibleFormatException(
          path
              + " has pages of "
              + found.pageSize()
              + " bytes, but the options specify "
              + config.pageSize()
              + ". A file keeps its page size: use DeviceOptions.pageSize("
              + found.pageSize()
              + ").");
    }
    if (!fresh && found.state() == Superblock.IN_USE) {
      throw new UncleanShutdownException(path);
    }
    if (!config.readOnly()) {
      Companions.requireNoDatabase(storage);
    }
    if (!fresh && !foreign) {
      Companions.requireOwn(storage, found, !config.readOnly());
    }
    if (fresh) {
      // The log was left by a database that no longer needs it, or by an interrupted creation.
      storage.delete(Storage.LOG);
      storage.delete(Storage.DOUBLE_WRITE);
    }
    OpenFiles files = new OpenFiles(name, found.id(), storage, lock, device, superblocks);
    if (config.logged()) {
      return withLog(files, storage, superblocks, found, fresh);
    }
    RecoveredRowCounts counts = null;
    if (found.state() == Superblock.LOGGED) {
      counts = recoverOnly(files, storage, superblocks, found);
      found = superblocks.current();
    }
    if (!fresh && !config.readOnly()) {
      Companions.closeLog(storage, found);
    }
    return withoutLog(files, found, fresh, counts);
  }

  // ------------------------------------------------------------------------------------ the parts

  private Store withoutLog(
      OpenFiles files, Superblock superblock, boolean fresh, @Nullable RecoveredRowCounts counts) {
    BufferPool pool = new BufferPool(files.device, config.dataPool(), superblock.allocator());
    opened.push(pool::abandon);
    if (fresh && files.superblocks != null) {
      // This write marks the file as not clean. It must not come earlier, because refused options
      // must not leave a file that cannot be opened.
      files.superblocks.write(superblock);
    }
    long root = superblock.catalogRootPid();
    BTree catalog =
        fresh
            ? BTree.createAt(pool, Superblock.CATALOG_TREE_ID, root, LogSession.NONE)
            : BTree.open(pool, Superblock.CATALOG_TREE_ID, root);
    pool.preload();
    TimestampFile timestamps = timestampFile(files.storage);
    TxEngine engine = engine(null, timestamps);
    AtomicInteger treeIds = new AtomicInteger(superblock.nextTreeId());
    return store(files, null, pool, engine, timestamps, catalog, treeIds, counts, fresh);
  }

  private Store withLog(
      OpenFiles files,
      Storage storage,
      SuperblockFile superblocks,
      Superblock superblock,
      boolean fresh) {
    Journal journal = journal(files, storage, superblocks, superblock);
    opened.push(journal::closeFiles);
    BufferPool pool = journal.pool(files.device, superblock.allocator());
    opened.push(pool::abandon);
    opened.push(journal::stop);
    if (fresh) {
      superblocks.write(
          superblock.logged(
              Log.FIRST_LSN,
              superblock.allocator(),
              Log.FIRST_LSN,
              superblock.nextTreeId(),
              Watermark.NONE));
    }
    AtomicInteger treeIds = new AtomicInteger(superblock.nextTreeId());
    boolean marked = fresh || superblock.state() == Superblock.LOGGED;
    BTree catalog = journal.open(pool, fresh, treeIds, trees);
    pool.preload();
    TimestampFile timestamps = timestampFile(storage);
    TxEngine engine = engine(journal, timestamps);
    opened.push(engine::close);
    RecoveredRowCounts counts = journal.recoveredRowCounts();
    return store(files, journal, pool, engine, timestamps, catalog, treeIds, counts, marked);
  }

  /** Recovers and closes a file that is to be opened without a log; returns its counts. */
  private @Nullable RecoveredRowCounts recoverOnly(
      OpenFiles files, Storage storage, SuperblockFile superblocks, Superblock superblock) {
    LogSizes.check(config.log(), config.pageSize());
    Journal journal = journal(files, storage, superblocks, superblock);
    try {
      BufferPool pool = journal.pool(files.device, superblock.allocator());
      try {
        AtomicInteger treeIds = new AtomicInteger(superblock.nextTreeId());
        BTree catalog = journal.open(pool, false, treeIds, trees);
        RecoveredRowCounts counts = journal.recoveredRowCounts();
        long number = superblock.counted();
        journal.finish(
            pool,
            treeIds.get(),
            () -> counts == null ? 0 : trees.save(catalog, journal.session(), number, counts));
        return counts;
      } finally {
        journal.stop();
        pool.abandon();
      }
    } finally {
      journal.closeFiles();
    }
  }

  private Journal journal(
      OpenFiles files, Storage storage, SuperblockFile superblocks, Superblock superblock) {
    return Journal.prepare(
        files.name, foreign, storage, config, superblocks, superblock, files.device);
  }

  /** Opens the file of timestamps; returns null if timestamps are in memory. */
  private @Nullable TimestampFile timestampFile(@Nullable Storage storage) {
    if (storage != null) {
      removeOld(storage, Storage.TIMESTAMPS);
      removeOld(storage, Storage.SNAPSHOTS);
      for (int i = 0; i < Storage.LOADS; i++) {
        removeOld(storage, Storage.LOAD + i);
      }
    }
    if (!TimestampFile.isNeeded(config)) {
      return null;
    }
    TimestampFile file = TimestampFile.open(storage, config, config.timestampPool());
    opened.push(file);
    return file;
  }

  /** Deletes a temporary file left by a crash. */
  private static void removeOld(Storage storage, String suffix) {
    if (storage.exists(suffix)) {
      storage.delete(suffix);
    }
  }

  private TxEngine engine(@Nullable Journal journal, @Nullable TimestampFile file) {
    TxConfig transactions = config.transactions();
    TimestampPages pages = file == null ? null : file.pages();
    if (journal == null) {
      return new TxEngine(transactions, config.pageSize(), null, check -> {}, pages);
    }
    TxEngine engine =
        new TxEngine(
            transactions,
            config.pageSize(),
            journal.log(),
            journal.checkpointer()::awaitLogSpace,
            pages);
    engine.addWakeAction(journal.checkpointer()::wakeWaiters);
    return engine;
  }

  private Store store(
      OpenFiles files,
      @Nullable Journal journal,
      BufferPool pool,
      TxEngine engine,
      @Nullable TimestampFile timestamps,
      BTree catalog,
      AtomicInteger treeIds,
      @Nullable RecoveredRowCounts counts,
      boolean marked) {
    StoreComponents storeComponents =
        new StoreComponents(
            files.name,
            files.id,
            config,
            files.storage,
            files.lock,
            files.device,
            files.superblocks,
            journal,
            pool,
            engine,
            timestamps,
            new KeyLocations(files.name, config),
            catalog,
            treeIds,
            counts);
    Store store = new Store(storeComponents, marked);
    LOG.log(
        Level.DEBUG,
        () ->
            "Opened "
                + files.name
                + ": "
                + files.device.kind()
                + ", pages of "
                + config.pageSize()
                + " bytes, buffer "
                + StoreConfig.mib(config.pool().bufferBytes())
                + " ("
                + pool.capacity()
                + " frames), translation "
                + config.pool().translation()
                + ", replacement "
                + config.pool().replacement()
                + ", durability "
                + (journal == null ? Durability.NONE : config.transactions().durability()));
    return store;
  }
}
