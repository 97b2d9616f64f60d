package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.buffer.BufferPool;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.UncleanShutdownException;
import io.fovea.io.BlockDevice;
import io.fovea.io.DeviceOptions;
import io.fovea.io.Devices;
import io.fovea.io.FileLock;
import io.fovea.io.FileStorage;
import io.fovea.io.IoKind;
import io.fovea.io.OverlayStorage;
import io.fovea.io.Storage;
import io.fovea.memory.Mem;
import io.fovea.memory.Waits;
import io.fovea.recovery.Backup;
import io.fovea.recovery.Checkpointer;
import io.fovea.recovery.RecoveryReport;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.txn.TimestampPages;
import io.fovea.txn.TxConfig;
import io.fovea.txn.TxEngine;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import io.fovea.wal.LogStats;
import io.fovea.wal.Watermark;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What is behind a database: the file and its lock, the pool, the transactions. Knows in which
 * order they open and close.
 *
 * <pre>
 *   open    options, memory ─► lock ─► device ─► superblock ─► pool ─► log, recovery ({@link Journal})
 *           ─► transactions ─► catalog
 *   close   no more begins ─► grace ─► operations refused, those under way awaited
 *           ─► pages written and synced ─► superblock: clean ─► pool, device, lock
 * </pre>
 *
 * <p>No page is written to a file before it was found to be a database of this page size, and
 * before it says that it is in use. Without a log a file that was not closed is refused; with one
 * it is recovered, whatever durability it is opened with.
 */
final class Store {
  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final AtomicBoolean FLAG_SHOWN = new AtomicBoolean();

  /** From one look at the transactions that still run to the next. */
  private static final long QUIESCE_NANOS = 200_000;

  /** How long a store may take to become visible, generously; see {@link Slot}. */
  private static final long SETTLE_NANOS = 2_000_000;

  /** How long an operation that is under way may keep a close waiting. */
  private static final long OPERATION_NANOS = 60_000_000_000L;

  private final String name;
  private final Options options;
  private final @Nullable FileLock lock;
  private final BlockDevice device;

  /** Null in memory, where nothing survives. */
  private final @Nullable SuperblockFile superblocks;

  /** Null where there is no log. */
  private final @Nullable Journal journal;

  private final BufferPool pool;
  private final TxEngine engine;

  /** Null where timestamps are in memory. */
  private final @Nullable TimestampFile timestamps;

  private final BTree catalog;
  private final Slot[] slots;

  /** The first id that no tree ever had. */
  private final AtomicInteger treeIds;

  /** Whether the file says that it is not clean. */
  private volatile boolean marked;

  private volatile boolean open = true;

  /** Frees pages that could not be freed when they were let go. */
  private volatile Runnable leftovers = () -> {};

  private volatile Runnable onMarked = () -> {};
  private volatile Runnable join = () -> {};

  private Store(
      String name,
      Options options,
      @Nullable FileLock lock,
      BlockDevice device,
      @Nullable SuperblockFile superblocks,
      @Nullable Journal journal,
      boolean marked,
      BufferPool pool,
      TxEngine engine,
      @Nullable TimestampFile timestamps,
      BTree catalog,
      AtomicInteger treeIds) {
    this.name = name;
    this.options = options;
    this.lock = lock;
    this.device = device;
    this.superblocks = superblocks;
    this.journal = journal;
    this.marked = marked;
    this.pool = pool;
    this.engine = engine;
    this.timestamps = timestamps;
    this.catalog = catalog;
    this.treeIds = treeIds;
    pool.onStop(engine::halt);
    pool.whileWaiting(engine::checkWaiting);
    if (timestamps != null) {
      timestamps.onStop(engine::halt);
    }
    this.slots = new Slot[2 * options.maxTransactions()];
    for (int i = 0; i < slots.length; i++) {
      slots[i] = new Slot(i, slots.length, engine.memory());
    }
  }

  // --------------------------------------------------------------------------------------- opening

  /** Opens a file, or a new store in memory where the path is null. */
  static Store open(@Nullable Path path, Options options) {
    checkOptions(options, path != null);
    return guarded(
        opened -> path == null ? openMemory(options, opened) : openFile(path, options, opened));
  }

  /** Opens files that somebody else keeps to one opener, on devices of whatever kind. */
  static Store open(Storage storage, Options options, Switches switches) {
    checkOptions(options, true);
    return guarded(
        opened -> openStorage(storage, null, Making.of(storage), options, switches, opened));
  }

  private static Store guarded(Function<Deque<AutoCloseable>, Store> opening) {
    Deque<AutoCloseable> opened = new ArrayDeque<>();
    boolean done = false;
    try {
      Store store = opening.apply(opened);
      done = true;
      return store;
    } finally {
      while (!done && !opened.isEmpty()) {
        try {
          opened.pop().close();
        } catch (Exception e) {
          LOG.log(Level.DEBUG, "while giving up opening", e);
        }
      }
    }
  }

  /** Before any file is touched. */
  private static void checkOptions(Options options, boolean files) {
    EngineConfig.checkMemory(options, Machine.memoryBytes(), Runtime.getRuntime().maxMemory());
    EngineConfig.dataPool(options, Switches.NONE);
    if (files && options.durability() != Durability.NONE) {
      LogOptions.check(options);
    }
    String flag = Machine.missingFlag();
    if (!flag.isEmpty() && FLAG_SHOWN.compareAndSet(false, true)) {
      LOG.log(
          Level.WARNING,
          (Mem.isRaw()
                  ? "Native access is not enabled, which newer JDKs warn of and later ones refuse."
                  : "Native access is denied, which costs speed: databases are read and written"
                      + " through the page cache, by threads of their own, without io_uring and"
                      + " direct I/O; their memory has no huge pages, and each access is checked.")
              + " Start java with "
              + flag
              + ".");
    }
  }

  private static Store openMemory(Options options, Deque<AutoCloseable> opened) {
    BlockDevice device =
        Devices.open(Path.of("memory"), DeviceOptions.defaults().kind(IoKind.MEMORY));
    opened.push(device);
    String name = options.name().isEmpty() ? "memory" : options.name();
    return withoutLog(
        name,
        null,
        options,
        Switches.NONE,
        null,
        device,
        null,
        Superblock.ofNew(options.pageSize()),
        true,
        opened);
  }

  private static Store openFile(Path path, Options options, Deque<AutoCloseable> opened) {
    if (options.readOnly()) {
      return openToRead(path, options, opened);
    }
    if (Files.isDirectory(path)) {
      throw new IncompatibleFormatException(path + " is a directory. A database is one file.");
    }
    if (!options.create() && !Files.exists(path)) {
      throw new IncompatibleFormatException(
          "There is no file " + path + ", and the options say not to create one.");
    }
    boolean there = Files.exists(path);
    boolean cutShort = FileLock.isNoted(path);
    FileLock lock = FileLock.acquire(path);
    opened.push(lock);
    DeviceOptions devices =
        DeviceOptions.defaults()
            .kind(
                switch (options.io()) {
                  case AUTO -> IoKind.AUTO;
                  case URING -> IoKind.URING;
                  case POSIX -> IoKind.POSIX;
                })
            .direct(options.directIo());
    FileStorage storage = new FileStorage(path, devices);
    Making making = new Making(storage, there, cutShort || storage.exists(Storage.LOG));
    return openStorage(storage, lock, making, options, Switches.NONE, opened);
  }

  /** Opens a copy in memory: recovery, and what the pool writes, may do there as they like. */
  private static Store openToRead(Path path, Options options, Deque<AutoCloseable> opened) {
    if (!Files.isRegularFile(path)) {
      throw new IncompatibleFormatException(
          Files.isDirectory(path)
              ? path + " is a directory. A database is one file."
              : "There is no file " + path + ", and one that is to be read only is not created.");
    }
    FileLock lock = FileLock.acquireShared(path);
    opened.push(lock);
    OverlayStorage storage = new OverlayStorage(path);
    lock.covers(storage);
    Superblock found;
    try (BlockDevice data = storage.open(Storage.DATA)) {
      found = new SuperblockFile(data, path.toString()).read();
    }
    if (found == null) {
      throw new IncompatibleFormatException(
          path + " is no Fovea database yet: it is empty, or its making was cut short.");
    }
    Options how =
        options
            .pageSize(found.pageSize())
            .create(false)
            .durability(found.clean() ? Durability.NONE : Durability.ASYNC);
    Store store = openStorage(storage, lock, Making.of(storage), how, Switches.NONE, opened);
    store.engine.whyReadOnly(readOnlyRefusal(store.name));
    return store;
  }

  private static String readOnlyRefusal(String name) {
    return "Database " + name + " was opened for reading only: open it without Options.readOnly.";
  }

  private static Store openStorage(
      Storage storage,
      @Nullable FileLock lock,
      Making making,
      Options options,
      Switches switches,
      Deque<AutoCloseable> opened) {
    String path = storage.name();
    opened.push(making);
    BlockDevice device = storage.open(Storage.DATA);
    opened.push(device);
    SuperblockFile superblocks = new SuperblockFile(device, path);
    Superblock found = making.read(superblocks, device);
    String name =
        options.name().isEmpty() ? String.valueOf(Path.of(path).getFileName()) : options.name();
    boolean fresh = found == null;
    boolean logged = options.durability() != Durability.NONE;
    if (found == null) {
      found = Superblock.ofNew(options.pageSize());
    }
    if (found.pageSize() != options.pageSize()) {
      throw new IncompatibleFormatException(
          path
              + " has pages of "
              + found.pageSize()
              + " bytes, the options ask for "
              + options.pageSize()
              + ". A file keeps its page size: use Options.pageSize("
              + found.pageSize()
              + ").");
    }
    if (!fresh && found.state() == Superblock.IN_USE) {
      throw new UncleanShutdownException(path);
    }
    if (!logged && found.state() == Superblock.LOGGED) {
      recoverOnly(name, storage, options, switches, device, superblocks, found);
      found = superblocks.current();
    }
    return logged
        ? withLog(name, storage, options, switches, lock, device, superblocks, found, fresh, opened)
        : withoutLog(
            name, storage, options, switches, lock, device, superblocks, found, fresh, opened);
  }

  /** Null where timestamps are in memory. */
  private static @Nullable TimestampFile timestampFile(
      @Nullable Storage storage, Options options, Switches switches, Deque<AutoCloseable> opened) {
    if (storage != null) {
      TimestampFile.removeOld(storage);
    }
    if (!TimestampFile.wanted(options)) {
      return null;
    }
    TimestampFile file =
        TimestampFile.open(storage, options, EngineConfig.timestampPool(options, switches));
    opened.push(file);
    return file;
  }

  private static TxEngine engine(
      Options options, Switches switches, @Nullable Journal journal, @Nullable TimestampFile file) {
    TxConfig config = switches.settings().apply(EngineConfig.transactions(options));
    TimestampPages pages = file == null ? null : file.pages();
    if (journal == null) {
      return new TxEngine(
          config, options.pageSize(), null, () -> {}, pages, switches.transactions());
    }
    TxConfig.Durability durability = TxConfig.Durability.valueOf(options.durability().name());
    return new TxEngine(
        config.with(durability, options.logBufferBytes()),
        options.pageSize(),
        journal.log(),
        journal.checkpointer()::awaitRoom,
        pages,
        switches.transactions());
  }

  private static Store withoutLog(
      String name,
      @Nullable Storage storage,
      Options options,
      Switches switches,
      @Nullable FileLock lock,
      BlockDevice device,
      @Nullable SuperblockFile superblocks,
      Superblock superblock,
      boolean fresh,
      Deque<AutoCloseable> opened) {
    BufferPool pool =
        new BufferPool(device, EngineConfig.dataPool(options, switches), superblock.allocator());
    opened.push(pool::abandon);
    if (fresh && superblocks != null) {
      // From here on the file says that it is not clean. Not before: options that are refused leave
      // nothing behind that could not be opened.
      superblocks.write(superblock);
    }
    long root = superblock.catalogRootPid();
    BTree catalog =
        fresh
            ? BTree.createAt(pool, Superblock.CATALOG_TREE_ID, root, LogSession.NONE)
            : BTree.open(pool, Superblock.CATALOG_TREE_ID, root);
    TimestampFile timestamps = timestampFile(storage, options, switches, opened);
    Store store =
        new Store(
            name,
            options,
            lock,
            device,
            superblocks,
            null,
            fresh,
            pool,
            engine(options, switches, null, timestamps),
            timestamps,
            catalog,
            new AtomicInteger(superblock.nextTreeId()));
    store.sayOpened();
    return store;
  }

  private static Store withLog(
      String name,
      Storage storage,
      Options options,
      Switches switches,
      @Nullable FileLock lock,
      BlockDevice device,
      SuperblockFile superblocks,
      Superblock superblock,
      boolean fresh,
      Deque<AutoCloseable> opened) {
    if (fresh) {
      // What another database has left under these names, or a making that was cut short.
      storage.delete(Storage.LOG);
      storage.delete(Storage.DOUBLE_WRITE);
    }
    Journal journal =
        Journal.prepare(name, storage, options, switches, superblocks, superblock, device);
    opened.push(journal::closeFiles);
    BufferPool pool =
        new BufferPool(
            device,
            journal.configure(EngineConfig.dataPool(options, switches)),
            superblock.allocator());
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
    BTree catalog = journal.open(pool, fresh, treeIds);
    TimestampFile timestamps = timestampFile(storage, options, switches, opened);
    TxEngine engine = engine(options, switches, journal, timestamps);
    opened.push(engine::close);
    if (marked) {
      journal.begin();
    }
    Store store =
        new Store(
            name,
            options,
            lock,
            device,
            superblocks,
            journal,
            marked,
            pool,
            engine,
            timestamps,
            catalog,
            treeIds);
    store.sayOpened();
    return store;
  }

  /** Recovers a file that had a log and is to have none now, and closes it. */
  private static void recoverOnly(
      String name,
      Storage storage,
      Options options,
      Switches switches,
      BlockDevice device,
      SuperblockFile superblocks,
      Superblock superblock) {
    LogOptions.check(options);
    Journal journal =
        Journal.prepare(name, storage, options, switches, superblocks, superblock, device);
    try {
      BufferPool pool =
          new BufferPool(
              device,
              journal.configure(EngineConfig.dataPool(options, switches)),
              superblock.allocator());
      try {
        AtomicInteger treeIds = new AtomicInteger(superblock.nextTreeId());
        journal.open(pool, false, treeIds);
        journal.finish(pool, treeIds.get());
      } finally {
        journal.stop();
        pool.abandon();
      }
    } finally {
      journal.closeFiles();
    }
  }

  private void sayOpened() {
    LOG.log(
        Level.INFO,
        () ->
            "Opened "
                + name
                + ": "
                + device.kind()
                + ", pages of "
                + options.pageSize()
                + " bytes, buffer "
                + EngineConfig.mib(options.bufferBytes())
                + " ("
                + pool.frames()
                + " frames), translation "
                + options.translation()
                + ", replacement "
                + options.replacement()
                + ", durability "
                + (journal == null ? Durability.NONE : options.durability()));
  }

  // --------------------------------------------------------------------------------------- parts

  /** As it was opened: of a file that is read only, with the file's page size. */
  Options options() {
    return options;
  }

  String name() {
    return name;
  }

  BlockDevice device() {
    return device;
  }

  BufferPool pool() {
    return pool;
  }

  TxEngine engine() {
    return engine;
  }

  BTree catalog() {
    return catalog;
  }

  /** Who frees pages that could not be freed when they were let go; see {@link Leftovers}. */
  void leftovers(Runnable free) {
    leftovers = free;
    if (journal != null) {
      journal.leftovers(free);
    }
  }

  /**
   * Who frees pages in the background.
   *
   * @param marked follows when the file says that it is in use
   * @param join waits for the thread, which was told to end
   */
  void background(Runnable marked, Runnable join) {
    this.onMarked = marked;
    this.join = join;
  }

  /** The path of the data file; what it is called where there is none. */
  String fileName() {
    return superblocks == null ? name : superblocks.path();
  }

  /** What the superblock of a copy says that is complete without a log. */
  Superblock complete() {
    Superblock s =
        superblocks == null ? Superblock.ofNew(options.pageSize()) : superblocks.current();
    return s.with(true, treeIds.get(), pool.allocatorState());
  }

  /** Copies everything, beside everything else; there is a log. */
  Backup.Result backup(Backup backup) {
    Journal j = journal;
    SuperblockFile s = superblocks;
    if (j == null || s == null) {
      throw new IllegalStateException(name + " has no log.");
    }
    willWrite();
    return backup.hot(
        device,
        pool,
        j.log(),
        j.logFile(),
        () -> {
          j.checkpointer().checkpoint();
          return s.current();
        });
  }

  /** The size of the file, in bytes. */
  long bytes() {
    return device.size();
  }

  boolean isOpen() {
    return open;
  }

  /** Null where there is no log. */
  @Nullable Journal journal() {
    return journal;
  }

  /** The session of changes of the schema, for the holder of its lock. */
  LogSession session() {
    return journal == null ? LogSession.NONE : journal.session();
  }

  /** Another one, to hold back the redo point meanwhile. */
  LogSession hold() {
    // What failed halfway holds the redo point back for ever.
    engine().checkUsable(false);
    return journal == null ? LogSession.NONE : journal.hold();
  }

  /** A new session of the log, where there is one. */
  LogSession newSession() {
    return journal == null ? LogSession.NONE : journal.log().session();
  }

  /** The largest record that the log takes, in bytes. */
  int logRecordMax() {
    return journal == null ? Integer.MAX_VALUE : journal.log().recordMax();
  }

  /** Returns when the log is durable up to a position, if there is one. */
  void awaitDurable(long lsn) {
    if (journal != null) {
      journal.log().awaitDurable(lsn);
    }
  }

  /** An id that no tree has or had. */
  int nextTreeId() {
    return treeIds.getAndIncrement();
  }

  /** Whether the file says that it is in use, or there is none to say so. */
  boolean isMarked() {
    return marked || superblocks == null;
  }

  /** Before the first change of a page: takes the clean flag off the disk. */
  void willWrite() {
    if (options.readOnly()) {
      throw new InvalidUseException(readOnlyRefusal(name));
    }
    if (!marked && mark()) {
      onMarked.run();
    }
  }

  private synchronized boolean mark() {
    if (marked || !open || superblocks == null) {
      return false;
    }
    if (journal != null) {
      journal.mark(pool.allocatorState(), treeIds.get());
      journal.begin();
    } else {
      superblocks.write(superblocks.current().with(false, treeIds.get(), pool.allocatorState()));
    }
    marked = true;
    return true;
  }

  /** Makes a checkpoint, where there is a log and something was written. */
  void checkpoint() {
    if (journal != null && marked) {
      journal.checkpointer().checkpoint();
    }
  }

  DatabaseStats.Health health() {
    if (engine.poison() != null) {
      return DatabaseStats.Health.STOPPED;
    }
    try {
      if (journal != null) {
        journal.log().requireAlive();
      }
      return DatabaseStats.Health.OK;
    } catch (DurabilityLostException e) {
      return DatabaseStats.Health.DURABILITY_LOST;
    }
  }

  DatabaseStats.Log logStats(long waitNanos) {
    if (journal == null) {
      return new DatabaseStats.Log(false, 0, 0, 0, 0, 0, 0, 0, 0);
    }
    LogStats l = journal.log().stats();
    return new DatabaseStats.Log(
        true,
        l.records(),
        l.bytes(),
        l.bytesWritten(),
        l.groups(),
        l.syncs(),
        l.waits(),
        waitNanos,
        journal.checkpointer().stats().redoBytes());
  }

  DatabaseStats.Checkpoints checkpointStats() {
    if (journal == null) {
      return new DatabaseStats.Checkpoints(0, 0, 0, 0);
    }
    Checkpointer.Stats c = journal.checkpointer().stats();
    return new DatabaseStats.Checkpoints(c.checkpoints(), c.failures(), c.nanos(), c.roomWaits());
  }

  DatabaseStats.Recovery recoveryStats() {
    RecoveryReport r = journal == null ? RecoveryReport.NONE : journal.report();
    return new DatabaseStats.Recovery(
        r.logBytes(),
        r.records(),
        r.images(),
        r.operations(),
        r.pagesRestored(),
        r.pagesReclaimed(),
        r.treesDropped(),
        r.nanos());
  }

  long logMemoryBytes() {
    return journal == null ? 0 : journal.log().memoryBytes();
  }

  /** The memory that the pool of the records' pages may take. */
  long bufferBytesMax() {
    return EngineConfig.dataPool(options, Switches.NONE).bufferBytes();
  }

  /** The native memory of transactions, cursors and operations. */
  long transactionBytes() {
    return engine.memoryBytes();
  }

  long logFileBytes() {
    return journal == null ? 0 : journal.log().stats().fileBytes();
  }

  /** A free slot for the calling thread. */
  Slot claimSlot() {
    int n = slots.length;
    int i = (int) ((Thread.currentThread().threadId() * 0x9E3779B9L & 0x7FFF_FFFFL) % n);
    for (int k = 0; ; k++) {
      if (slots[i].claim()) {
        return slots[i];
      }
      if (++i == n) {
        i = 0;
      }
      if (k >= n) {
        Waits.giveWay(); // a context was given back before its slot: soon
      }
    }
  }

  /** How many transactions of the calling thread are active. */
  int mine() {
    int n = 0;
    for (Slot s : slots) {
      if (s.isMine()) {
        n++;
      }
    }
    return n;
  }

  // --------------------------------------------------------------------------------------- closing

  /** Begins nothing more, lets transactions end, then refuses their operations. */
  boolean quiesce(Duration grace) {
    open = false;
    engine.beginNoMore();
    int own = mine(); // they can't go on while their thread is here
    long deadline = System.nanoTime() + grace.toNanos();
    while (engine.active() > own && System.nanoTime() < deadline) {
      Waits.sleep(QUIESCE_NANOS);
    }
    engine.waitNoMore();
    for (Slot s : slots) {
      s.refuse();
    }
    engine.refuse(); // also those in the middle of an operation who wait for a page
    // Whoever claimed a context before the line above is counted here; whoever does later sees it.
    if (engine.active() == 0) {
      return true;
    }
    LOG.log(
        Level.INFO,
        () -> "Closing " + name + ": aborting " + engine.active() + " transactions that still run");
    long settle = System.nanoTime() + SETTLE_NANOS;
    while (System.nanoTime() < settle) {
      Thread.onSpinWait();
    }
    deadline = System.nanoTime() + OPERATION_NANOS;
    for (Slot s : slots) {
      while (s.busy()) {
        if (System.nanoTime() > deadline) {
          return false;
        }
        Waits.giveWay();
      }
    }
    return true;
  }

  /**
   * Writes everything and gives everything back. The pages are given back even if writing fails.
   *
   * @param quiet what {@link #quiesce} returned
   */
  void close(boolean quiet) {
    close(quiet, false);
  }

  private synchronized void close(boolean quiet, boolean discard) {
    try {
      if (!discard) {
        finish(quiet);
      }
    } finally {
      giveBack();
    }
  }

  private void giveBack() {
    if (journal != null) {
      journal.stop();
    }
    join.run();
    pool.abandon();
    engine.close();
    try {
      if (timestamps != null) {
        timestamps.close();
      }
      device.close();
      if (journal != null) {
        journal.closeFiles();
      }
    } finally {
      if (lock != null) {
        lock.close();
      }
    }
  }

  private void finish(boolean quiet) {
    if (superblocks == null || !marked) {
      if (journal != null) {
        journal.leave();
      }
      return;
    }
    Throwable poison = engine.poison();
    if (poison != null) {
      if (journal != null && engine.leftPagesWhole()) {
        journal.persist();
      }
      throw new DurabilityLostException(
          name + " is not marked clean, for a commit had failed halfway" + outlook(), poison);
    }
    if (!quiet) {
      throw new DurabilityLostException(
          name
              + " is not marked clean, for an operation of a transaction did not end within "
              + OPERATION_NANOS / 1_000_000_000
              + " s"
              + outlook(),
          null);
    }
    if (journal != null) {
      journal.finish(pool, treeIds.get());
    } else {
      leftovers.run();
      pool.flushAll();
      superblocks.write(superblocks.current().with(true, treeIds.get(), pool.allocatorState()));
    }
  }

  private String outlook() {
    return journal == null
        ? ": its file can't be opened again."
        : ": it is recovered from its log when it is opened again.";
  }

  /** Gives everything back without writing. */
  void discard() {
    open = false;
    engine.beginNoMore();
    engine.waitNoMore();
    close(false, true);
  }

  DatabaseClosedException closedException() {
    return new DatabaseClosedException("Database " + name + " is closed.");
  }
}
