package io.fovea.inspection;

import io.fovea.catalog.CatalogCallbacks;
import io.fovea.catalog.CatalogEntry;
import io.fovea.catalog.Expirations;
import io.fovea.catalog.Schema;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.index.HintUse;
import io.fovea.io.BlockDevice;
import io.fovea.io.FileLock;
import io.fovea.io.OverlayStorage;
import io.fovea.io.Storage;
import io.fovea.recovery.PageScan;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.schema.EntryHints;
import io.fovea.store.Opening;
import io.fovea.store.Store;
import io.fovea.store.StoreConfig;
import io.fovea.wal.LogReader;
import io.fovea.wal.RecordType;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Inspects the files of a database that no process has open, without changing them.
 *
 * <pre>
 *   files ──► as they are: every page on its own, every record of the log, the double-write area
 *     │
 *     └─► overlay in memory ──► opened, and recovered if necessary ──► verified as a whole
 *                           ──► closed ──► its pages totaled
 * </pre>
 *
 * <p>In a file that needs recovery, the pages on disk may be of different ages. But each of them
 * must be whole, or have a whole copy in the double-write area, and none may be newer than the log.
 * Only the recovered copy can be checked for consistency between pages.
 *
 * <p>Used by one thread.
 */
public final class Inspection implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final int PROBLEMS_MAX = 200;

  /** The names of a tree. */
  private record Name(String table, String index, int treeId, long rootPid) {}

  private final Path file;
  private final StoreConfig config;
  private final OverlayStorage storage;
  private final @Nullable FileLock lock;

  /** The problems in the order found, without duplicates. */
  private final Set<String> problems = new LinkedHashSet<>();

  private long problemCount;
  private final List<Name> names = new ArrayList<>();
  private long records;
  private long logEnd;
  private long logRecords;
  private long logCommits;

  private Inspection(Path file, StoreConfig config) {
    this.file = file;
    this.config = config;
    if (Files.isDirectory(file)) {
      throw new IncompatibleFormatException(file + " is a directory. A database is one file.");
    }
    if (!Files.exists(file)) {
      throw new IncompatibleFormatException("There is no file " + file + ".");
    }
    this.lock = lock(file);
    this.storage = new OverlayStorage(file);
  }

  /** Locks the file if possible. Other processes may read it at the same time. */
  private static @Nullable FileLock lock(Path file) {
    try {
      return FileLock.acquireShared(file);
    } catch (DatabaseLockedException e) {
      throw e;
    } catch (FoveaException e) {
      LOG.log(Level.INFO, () -> file + " is inspected without a lock: " + e.getMessage());
      return null;
    }
  }

  /**
   * Inspects a file.
   *
   * @param whole whether to check everything or only compute page totals
   */
  public static FileFindings run(Path file, StoreConfig config, boolean whole) {
    try (Inspection i = new Inspection(file, config)) {
      return i.report(whole);
    }
  }

  @Override
  public void close() {
    storage.close();
    if (lock != null) {
      lock.close();
    }
  }

  private void problem(String text) {
    problemCount++;
    if (problems.size() < PROBLEMS_MAX) {
      problems.add(text);
    }
  }

  // ------------------------------------------------------------------------------------- steps

  private FileFindings report(boolean whole) {
    long dataBytes = size(Storage.DATA);
    long logBytes = size(Storage.LOG);
    long doubleWriteBytes = size(Storage.DOUBLE_WRITE);
    Superblock found;
    try (BlockDevice data = storage.open(Storage.DATA)) {
      SuperblockFile superblocks = new SuperblockFile(data, file.toString());
      found = superblocks.require(superblocks.read());
      if (found.state() == Superblock.LOGGED) {
        log(found);
        if (whole) {
          raw(data, found);
        }
      } else {
        logEnd = found.endLsn();
      }
    }
    boolean opened = recovered(found, whole);
    try (BlockDevice data = storage.open(Storage.DATA)) {
      Superblock now = opened ? new SuperblockFile(data, file.toString()).read() : found;
      long highWater = (now == null ? found : now).allocator().highWater();
      PageScan scan =
          new PageScan(
                  data,
                  found.pageSize(),
                  highWater,
                  // After a recovery, the log continues beyond this position.
                  found.isClean() && logEnd > 0 ? logEnd : Long.MAX_VALUE,
                  this::problem)
              .run();
      List<String> all = new ArrayList<>(problems);
      if (problemCount > PROBLEMS_MAX) {
        all.add("and more: " + problemCount + " in all");
      }
      return new FileFindings(
          found,
          highWater,
          dataBytes,
          logBytes,
          doubleWriteBytes,
          logEnd == Long.MAX_VALUE ? 0 : logEnd,
          logRecords,
          logCommits,
          trees(scan),
          scan.freePages(),
          scan.unwrittenPages(),
          records,
          all);
    }
  }

  private long size(String suffix) {
    if (!storage.exists(suffix)) {
      return 0;
    }
    try (BlockDevice device = storage.open(suffix)) {
      return device.size();
    }
  }

  private void log(Superblock superblock) {
    logEnd = Long.MAX_VALUE; // unknown: no page is compared with it
    if (!storage.exists(Storage.LOG)) {
      problem("the log is missing, and the file was not closed");
      return;
    }
    try (BlockDevice device = storage.open(Storage.LOG);
        LogReader reader =
            LogReader.open(device, superblock.id(), superblock.redoLsn(), superblock.durable())) {
      while (reader.next()) {
        logRecords++;
        logCommits += reader.type() == RecordType.COMMIT ? 1 : 0;
      }
      logEnd = reader.end();
    } catch (CorruptionException | StorageException e) {
      problem("the log: " + e.getMessage());
    }
  }

  /**
   * Checks a file that was not closed for pages on disk that are newer than the log. Damaged pages
   * are reported after recovery, which restores torn ones and rebuilds others from images.
   */
  private void raw(BlockDevice data, Superblock superblock) {
    long pages = data.size() / superblock.pageSize();
    new PageScan(data, superblock.pageSize(), pages, logEnd, text -> {}, this::problem).run();
  }

  /** Opens a copy, which recovers it, and inspects the copy as a whole. */
  private boolean recovered(Superblock superblock, boolean whole) {
    if (superblock.state() == Superblock.IN_USE) {
      problem(
          "the file was not closed, and was written without a log: it "
              + "can't be opened. Restore it from a backup");
      return false;
    }
    StoreConfig how =
        config.forInspection(
            "inspect " + file.getFileName(), superblock.pageSize(), superblock.isClean());
    try {
      use(
          Opening.on(storage, how, Schema.CATALOG),
          (store, schema) -> opened(store, schema, whole));
      return true;
    } catch (InvalidUseException | OperationInterruptedException e) {
      throw e;
    } catch (FoveaException e) {
      problem("opening it: " + e.getMessage());
      return false;
    }
  }

  private void opened(Store store, Schema schema, boolean whole) {
    names(store);
    if (whole) {
      Verification.Result result = Verification.run(store, schema);
      records = result.records();
      result.problems().forEach(this::problem);
    }
  }

  /** Uses an open copy without transactions, and closes it. */
  static void use(Store store, BiConsumer<Store, Schema> use) {
    Schema schema = null;
    boolean done = false;
    try {
      HintUse unused = new HintUse(store::isMarked, false, false, false);
      schema =
          new Schema(
              CatalogCallbacks.NONE, store, unused, EntryHints.NONE, Expirations.Timing.NONE);
      schema.begin();
      use.accept(store, schema);
      done = true;
    } finally {
      if (!done) {
        if (schema != null) {
          schema.cancel();
        }
        store.discard();
      }
    }
    boolean quiet = store.quiesce(Duration.ZERO);
    schema.end();
    schema.closing(alone -> store.close(quiet && alone));
  }

  private void names(Store store) {
    names.add(new Name("", "", Superblock.CATALOG_TREE_ID, store.catalog().rootPid()));
    CatalogEntry.forEach(
        store.catalog(),
        e -> {
          names.add(new Name(e.name(), "", e.treeId(), e.rootPid()));
          for (CatalogEntry.IndexEntry i : e.indexes()) {
            names.add(new Name(e.name(), i.name(), i.treeId(), i.rootPid()));
          }
        });
  }

  private List<FileFindings.Tree> trees(PageScan scan) {
    List<FileFindings.Tree> trees = new ArrayList<>();
    Set<Integer> named = new LinkedHashSet<>();
    for (Name n : names) {
      named.add(n.treeId);
      trees.add(tree(n, scan.trees().getOrDefault(n.treeId, new PageScan.Sum())));
    }
    scan.trees()
        .forEach(
            (id, sum) -> {
              if (!named.contains(id) && sum.pages() > 0) {
                trees.add(tree(new Name("?", "", id, 0), sum));
              }
            });
    return trees;
  }

  private static FileFindings.Tree tree(Name n, PageScan.Sum sum) {
    return new FileFindings.Tree(n.table, n.index, n.treeId, n.rootPid, sum);
  }
}
