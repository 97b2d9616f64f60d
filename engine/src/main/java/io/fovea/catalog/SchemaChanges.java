package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.RootMove;
import io.fovea.btree.TreeDrop;
import io.fovea.error.AbortCause;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.EntryMaker;
import io.fovea.index.HintUse;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexHints;
import io.fovea.index.ObjectHistory;
import io.fovea.index.ObjectPlan;
import io.fovea.index.TableCore;
import io.fovea.index.TimeEntry;
import io.fovea.memory.OperationLock;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Expiry;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import io.fovea.txn.Tx;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Changes the catalog: creates and publishes trees, or removes them.
 *
 * <p>A lock ({@link #locked}), held for one catalog record at a time, excludes other changes. All
 * methods require the lock except those that take it.
 *
 * <p><b>With a log</b> a change is one record ({@link CatalogChange}). A new tree exists once that
 * record is appended, and a dropped tree until then. A session holds back the redo point from
 * before the first page of a new tree is allocated until that record is appended, so recovery
 * always sees the allocations. A dropped tree stays in the catalog, deferred, until all its pages
 * are free.
 */
final class SchemaChanges {
  final DeferredDrops drops;

  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final HintUse hintUse;
  private final EntryHints entryHints;

  /** How long a transaction waits for the lock before it aborts. */
  private static final long LOCK_TIMEOUT_NANOS = 1_000_000_000;

  /** How long a close waits for an operation to end. */
  static final long CLOSING_NANOS = 60_000_000_000L;

  /** The schema lock. Its holder waits neither for a transaction nor for log space. */
  private final OperationLock lock = new OperationLock("the lock of the schema");

  SchemaChanges(
      CatalogCallbacks catalogCallbacks,
      Store store,
      OrphanPages orphanPages,
      HintUse hintUse,
      EntryHints entryHints) {
    this.catalogCallbacks = catalogCallbacks;
    this.store = store;
    this.hintUse = hintUse;
    this.entryHints = entryHints;
    this.drops = new DeferredDrops(store, orphanPages, this::deleteRecord);
  }

  void whileFrozen(String what, Runnable work) {
    lock.lock(what, store::checkWaiting);
    try {
      work.run();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Runs an action under the lock.
   *
   * @param wait whether to wait for the lock
   * @return whether the action ran
   */
  boolean whileFrozen(String what, boolean wait, Runnable work) {
    if (!wait && !lock.tryLock(what)) {
      return false;
    }
    if (wait) {
      lock.lock(what, store::checkWaiting);
    }
    try {
      work.run();
    } finally {
      lock.unlock();
    }
    return true;
  }

  /**
   * Runs the rest of a close under the lock.
   *
   * @param rest receives whether the lock was obtained: false if an operation does not end within a
   *     minute
   */
  void closing(Consumer<Boolean> rest) {
    boolean owned = lock.lockFirmly("close the database", CLOSING_NANOS);
    try {
      rest.accept(owned);
    } finally {
      if (owned) {
        lock.unlock();
      }
    }
  }

  /**
   * Runs an action under the lock, for a transaction.
   *
   * @throws TransactionAbortedException if the lock is held too long
   */
  <T> T lockedIn(Tx tx, String what, Supplier<T> work) {
    lockIn(tx, what);
    try {
      return work.get();
    } finally {
      unlock();
    }
  }

  /** Takes the lock for a transaction; {@link #unlock} must follow. */
  void lockIn(Tx tx, String what) {
    lockWithTimeout(lock, what, waitsFor -> tx.abort(AbortCause.CATALOG, waitsFor));
    boolean open = false;
    try {
      store.requireServing();
      open = true;
    } finally {
      if (!open) {
        unlock();
      }
    }
  }

  void unlock() {
    lock.unlock();
  }

  /**
   * Takes a lock on a thread that may have a transaction. The holder may be the commit of a
   * pessimistic transaction that waits for items of that transaction. So a transaction waits for a
   * limited time, and is then aborted and retried.
   *
   * @param which the lock; null for the schema lock
   * @throws TransactionAbortedException if the thread has a transaction and the lock is held too
   *     long
   */
  void lockWithTimeout(@Nullable OperationLock which, String what) {
    lockWithTimeout(
        which == null ? lock : which,
        what,
        waitsFor -> new TransactionAbortedException(AbortCause.CATALOG, waitsFor));
  }

  private void lockWithTimeout(
      OperationLock which, String what, Function<String, RuntimeException> abort) {
    long began = System.nanoTime();
    which.lock(
        what,
        waitsFor -> {
          store.requireServing();
          if (store.transactionsOfCurrentThread() > 0) {
            store.engine().checkWaiting(waitsFor);
            if (System.nanoTime() - began > LOCK_TIMEOUT_NANOS) {
              throw abort.apply("It could not " + what + ": it yielded to " + waitsFor.get());
            }
          }
        });
  }

  /**
   * Runs an action under the lock, taken as in {@link #lockWithTimeout}, while the store is
   * serving.
   */
  <T> T lockedWithTimeout(String what, Supplier<T> work) {
    lockWithTimeout(null, what);
    try {
      store.requireServing();
      return work.get();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Runs an action if the lock is free. Returns the result of the action, or false if the lock is
   * taken.
   */
  boolean tryLocked(String what, BooleanSupplier work) {
    if (!lock.tryLock(what)) {
      return false;
    }
    try {
      store.requireServing();
      return work.getAsBoolean();
    } finally {
      lock.unlock();
    }
  }

  /** Runs an action under the lock, while the store is open. */
  <T> T locked(String what, Supplier<T> work) {
    lockWithTimeout(null, what);
    try {
      store.requireOpen();
      return work.get();
    } finally {
      lock.unlock();
    }
  }

  // ------------------------------------------------------------------------------- making trees

  /**
   * Creates trees and publishes them. After a failure the trees are dropped; after a crash recovery
   * drops them, because the redo point is held back.
   *
   * @param work creates trees, adds them to the list and fills in the change
   * @param then the update in memory
   */
  void makeDurably(BiConsumer<CatalogChange, List<BTree>> work, Runnable then) {
    store.awaitDurable(make(work, then));
  }

  /** Like {@link #makeDurably}, without waiting for the log. */
  long make(BiConsumer<CatalogChange, List<BTree>> work, Runnable then) {
    store.willWrite();
    List<BTree> made = new ArrayList<>();
    CatalogChange change = new CatalogChange(store);
    LogSession hold = store.hold();
    hold.begin(0);
    long end;
    try {
      work.accept(change, made);
      end = change.run(then);
    } finally {
      // An incomplete change holds back the redo point permanently. This reads only fields, because
      // a call may fail.
      if (change.logged ? change.complete : dropAll(made)) {
        hold.end();
      }
    }
    return end;
  }

  /**
   * Frees the pages of unpublished trees.
   *
   * @return whether the redo point may advance; false if pages must still be freed, later or by
   *     recovery
   */
  private boolean dropAll(List<BTree> trees) {
    List<BTree> rest = new ArrayList<>();
    for (BTree tree : trees) {
      if (!drop(tree)) {
        rest.add(tree);
      }
    }
    if (store.engine().poison() != null) {
      return false;
    }
    if (rest.isEmpty()) {
      return true;
    }
    drops.addUnknown(rest, store.transferHold());
    return false;
  }

  /**
   * Creates an index with its tree.
   *
   * @param saveObjects the table's object versions; null for a table without objects
   */
  IndexCore newIndex(
      TableSpec table,
      @Nullable ObjectHistory objects,
      IndexSpec spec,
      List<BTree> made,
      CatalogChange change) {
    EntryHints chosen = spec.hints();
    IndexHints hints = new IndexHints(chosen == null ? entryHints : chosen, hintUse);
    if (objects != null) {
      ObjectPlan plan = ObjectVersions.plan(objects, table, spec);
      BTree tree = newTree(made, change, hints.kind.frames());
      return new IndexCore(spec.name(), spec.isUnique(), plan, table.key().maxBytes(), tree, hints);
    }
    return index(table, spec, newTree(made, change, hints.kind.frames()), hints);
  }

  BTree newTree(List<BTree> made, CatalogChange change, boolean endInFrames) {
    LogSession session = store.session();
    BTree tree;
    session.begin(0);
    try {
      tree = BTree.create(store.pool(), store.nextTreeId(), endInFrames, session);
    } finally {
      session.end();
    }
    boolean known = false;
    try {
      made.add(tree);
      known = true;
    } finally {
      if (!known) {
        store
            .engine()
            .poison(new IllegalStateException("A new tree could not be recorded in memory."));
      }
    }
    change.publishTree(tree);
    return tree;
  }

  /** Frees an unpublished tree; returns false if that is not possible now. */
  private boolean drop(BTree tree) {
    LogSession session = store.session();
    try {
      session.begin(0);
      session.beginUndo();
      TreeDrop.free(tree, session);
      return true;
    } catch (FoveaException e) {
      return false;
    } catch (Throwable t) {
      store.engine().poison(t); // recovery frees them
      throw t;
    } finally {
      session.end();
    }
  }

  IndexCore index(TableSpec table, IndexSpec spec, BTree tree, IndexHints hints) {
    EntryMaker byTime = byTime(table.expiry(), spec.name(), spec.extractedKey());
    if (byTime == null && spec.extractedKey() != null && spec.isDescribed()) {
      throw new InvalidUseException(
          "The specification of index "
              + NameText.of(spec.name())
              + " of table "
              + NameText.of(table.name())
              + " has no extractor: its specification is from describe. To change the table, open"
              + " it with the specification of the program that created it.");
    }
    return new IndexCore(
        spec.name(),
        spec.isUnique(),
        spec.fields(),
        spec.extractedKey(),
        byTime != null ? byTime : catalogCallbacks.maker(table, spec),
        table.key(),
        table.isBytes() ? null : table.layout(),
        tree,
        hints);
  }

  /**
   * Returns the entry maker of the index by which expired byte strings are found; null for any
   * other index.
   */
  static @Nullable EntryMaker byTime(
      @Nullable Expiry expiry, String name, @Nullable KeySpec extractedKey) {
    return expiry instanceof Expiry.OfBytes by
            && name.equals(Expiry.INDEX)
            && Expiry.OfBytes.KEY.equals(extractedKey)
        ? new TimeEntry(by)
        : null;
  }

  static void save(TableCore core, List<IndexCore> indexes, CatalogChange change) {
    save(core, core.name, indexes, change);
  }

  /** Saves a table under a new name. */
  static void save(TableCore core, String name, List<IndexCore> indexes, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries =
        indexes.stream().map(CatalogEntry.IndexEntry::of).toList();
    change.put(CatalogKey.of(name), entry(core, name, entries).encode()).nameTable(core.tree, name);
  }

  /** Saves a new table that has records. */
  static void saveLoaded(TableCore core, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries =
        core.readable().stream().map(CatalogEntry.IndexEntry::of).toList();
    change
        .put(CatalogKey.of(core.name), entry(core, entries).encode())
        .nameLoadedTable(core.tree, core.name);
  }

  static void saveName(TableCore core, IndexCore index, String name, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries =
        core.readable().stream()
            .map(i -> CatalogEntry.IndexEntry.of(i, i == index ? name : i.name))
            .toList();
    change.put(CatalogKey.of(core.name), entry(core, core.name, entries).encode());
  }

  /**
   * Saves a table with new trees.
   *
   * @param trees the table's tree, followed by those of its readable indexes in order
   */
  static void saveTrees(TableCore core, List<BTree> trees, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries = new ArrayList<>();
    for (IndexCore i : core.readable()) {
      BTree tree = trees.get(entries.size() + 1);
      entries.add(CatalogEntry.IndexEntry.of(i).in(tree));
    }
    change
        .put(CatalogKey.of(core.name), entry(core, entries).in(trees.get(0)).encode())
        .unnameTable(core.tree)
        .nameLoadedTable(trees.get(0), core.name);
  }

  static void saveMove(TableCore core, BTree tree, RootMove move, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries =
        Arrays.stream(core.indexes())
            .filter(i -> i.stage.isComplete()) // includes any index that is about to be dropped
            .map(
                i -> {
                  CatalogEntry.IndexEntry e = CatalogEntry.IndexEntry.of(i);
                  return i.tree == tree ? e.in(tree.treeId(), move.to()) : e;
                })
            .toList();
    CatalogEntry entry = entry(core, entries);
    change
        .put(
            CatalogKey.of(core.name),
            (core.tree == tree ? entry.in(tree.treeId(), move.to()) : entry).encode())
        .moveRoot(move);
  }

  static CatalogEntry entry(TableCore core, List<CatalogEntry.IndexEntry> indexes) {
    return entry(core, core.name, indexes);
  }

  /** Saves a table with a different expiry, or with none. */
  static void saveExpiry(
      TableCore core, @Nullable Expiry expiry, List<IndexCore> indexes, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries =
        indexes.stream().map(CatalogEntry.IndexEntry::of).toList();
    CatalogEntry.Extras extras = CatalogEntry.Extras.of(core).with(expiry);
    change.put(CatalogKey.of(core.name), entry(core, core.name, entries, extras).encode());
  }

  static void saveObjects(
      TableCore core,
      ObjectHistory versions,
      @Nullable Expiry expiry,
      List<CatalogEntry.IndexEntry> indexes,
      CatalogChange change) {
    CatalogEntry.Extras extras = CatalogEntry.Extras.of(core).with(versions, expiry);
    change.put(CatalogKey.of(core.name), entry(core, core.name, indexes, extras).encode());
  }

  private static CatalogEntry entry(
      TableCore core, String name, List<CatalogEntry.IndexEntry> indexes) {
    return entry(core, name, indexes, CatalogEntry.Extras.of(core));
  }

  private static CatalogEntry entry(
      TableCore core,
      String name,
      List<CatalogEntry.IndexEntry> indexes,
      CatalogEntry.Extras extras) {
    return new CatalogEntry(
        name, core.tree.treeId(), core.tree.rootPid(), core.key, core.layout, indexes, extras);
  }

  // ------------------------------------------------------------------------------ dropping trees

  /**
   * Removes trees from the catalog and defers their pages.
   *
   * @param then the update in memory
   */
  void dropping(List<BTree> trees, Consumer<CatalogChange> work, Runnable then) {
    store.willWrite();
    CatalogChange change = new CatalogChange(store);
    work.accept(change);
    for (BTree tree : trees) {
      change.dropTree(tree).put(DeferredDrops.key(tree.treeId()), DeferredDrops.value(tree));
    }
    store.awaitDurable(change.run(then));
  }

  private void deleteRecord(byte[] key) {
    locked("free pages", () -> new CatalogChange(store).delete(key).run());
  }
}
