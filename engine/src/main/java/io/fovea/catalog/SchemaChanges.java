package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.RootMove;
import io.fovea.btree.TreeDrop;
import io.fovea.error.AbortCause;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.HintUse;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexHints;
import io.fovea.index.ObjectHistory;
import io.fovea.index.ObjectPlan;
import io.fovea.index.TableCore;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Expiry;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import io.fovea.txn.Tx;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How the catalog changes: trees are made and published, or taken out and freed.
 *
 * <p>Changes of the catalog exclude one another by a lock, which is held for one record at a time
 * ({@link #locked}). Everything here but {@link #locked} and {@link #whileNothingChanges} is under
 * that lock.
 *
 * <p><b>With a log</b> a change is a record of its own ({@link CatalogChange}). New trees exist
 * from that record on, dropped ones until then. A session holds back the redo point from before the
 * first page of a new tree until that record, so that recovery always knows what was begun; a
 * dropped tree stays in the catalog, as one that is to be freed, until it has no page any more.
 */
final class SchemaChanges {
  /** Pages of trees that the catalog does not know any more. */
  final DeferredDrops drops;

  private final Host host;
  private final Store store;
  private final HintUse hintUse;
  private final EntryHints entryHints;

  /** How long a transaction waits for the lock before it looks whether it may. */
  private static final long LOOK_NANOS = 2_000_000;

  /** Whether who has the lock waits for transactions to end. */
  private volatile boolean still;

  /** Held while the schema changes, and while the database closes. */
  private final ReentrantLock lock = new ReentrantLock();

  /**
   * Changes of the catalog of a store.
   *
   * @param hintUse how hints in entries are used
   * @param entryHints what entries of new indexes remember, where their specification does not say
   */
  SchemaChanges(
      Host host, Store store, Leftovers leftovers, HintUse hintUse, EntryHints entryHints) {
    this.host = host;
    this.store = store;
    this.hintUse = hintUse;
    this.entryHints = entryHints;
    this.drops = new DeferredDrops(store, leftovers, this::forget);
  }

  /** Does something while the schema does not change. */
  void whileNothingChanges(Runnable what) {
    lock.lock();
    try {
      what.run();
    } finally {
      lock.unlock();
    }
  }

  /**
   * The same; or not, where something does change now.
   *
   * @param wait whether to wait for it
   * @return whether it was done
   */
  boolean whileNothingChanges(boolean wait, Runnable what) {
    if (wait) {
      lock.lock();
    } else if (!lock.tryLock()) {
      return false;
    }
    try {
      what.run();
    } finally {
      lock.unlock();
    }
    return true;
  }

  /**
   * Takes the lock for a transaction, and does something in a store that serves. Whoever has the
   * lock waits for no transaction, except for {@link #whileStill}: before that the transaction
   * gives way.
   *
   * @throws io.fovea.error.TransactionAbortedException if somebody waits for transactions to end
   */
  <T> T lockedIn(Tx tx, String what, Supplier<T> work) {
    lockIn(tx, what);
    try {
      return work.get();
    } finally {
      unlock();
    }
  }

  /** Takes the lock for a transaction; {@link #unlock} follows. */
  void lockIn(Tx tx, String what) {
    boolean locked = false;
    while (!locked) {
      try {
        locked = lock.tryLock(LOOK_NANOS, TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new OperationInterruptedException(what);
      }
      if (!locked) {
        store.engine().checkWaiting();
        if (still) {
          throw tx.abort(AbortCause.CATALOG, "the database waits until no transaction is active");
        }
      }
    }
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
   * Takes a lock for a thread that may be in the body of a transaction, and that waits for nobody
   * who waits for transactions to end.
   *
   * @param which this one's; null for that of the schema
   * @throws TransactionAbortedException if it is in a transaction, and somebody waits for its end
   */
  void lockGivingWay(@Nullable ReentrantLock which, String what) {
    ReentrantLock l = which == null ? lock : which;
    boolean locked = l.tryLock();
    while (!locked) {
      try {
        locked = l.tryLock(LOOK_NANOS, TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new OperationInterruptedException(what);
      }
      if (!locked && store.mine() > 0) {
        store.engine().checkWaiting();
        if (still) {
          throw new TransactionAbortedException(
              AbortCause.CATALOG, "The database waits until no transaction is active.");
        }
      }
    }
  }

  /**
   * Takes the lock of the schema as {@link #lockGivingWay}, and does something in a store that
   * serves.
   */
  <T> T lockedGivingWay(String what, Supplier<T> work) {
    lockGivingWay(null, what);
    try {
      store.requireServing();
      return work.get();
    } finally {
      lock.unlock();
    }
  }

  /** Does something if nobody has the lock of the schema; returns whether it was done. */
  boolean tryLocked(BooleanSupplier work) {
    if (!lock.tryLock()) {
      return false;
    }
    try {
      store.requireServing();
      return work.getAsBoolean();
    } finally {
      lock.unlock();
    }
  }

  /** As {@link #locked}, for what waits with the lock until no transaction is active. */
  void whileStill(String what, Runnable work) {
    locked(
        what,
        () -> {
          still = true;
          try {
            work.run();
          } finally {
            still = false;
          }
          return true;
        });
  }

  /** Takes the lock, and does something in a store that is open. */
  <T> T locked(String what, Supplier<T> work) {
    IndexBuild.lock(lock, what);
    try {
      store.requireOpen();
      return work.get();
    } finally {
      lock.unlock();
    }
  }

  // ------------------------------------------------------------------------------- making trees

  /**
   * Makes trees and publishes them with records of the catalog. If that fails, they are dropped
   * again; if the machine dies meanwhile, recovery does so, for the redo point stays before all of
   * it.
   *
   * @param work makes trees, which it adds to the list, and says what becomes of the catalog
   * @param then what follows in memory once the catalog has changed
   */
  void making(BiConsumer<CatalogChange, List<BTree>> work, Runnable then) {
    store.awaitDurable(make(work, then));
  }

  /** The same, and does not wait for the log. */
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
      // Halfway it holds back the redo point for good. Looks at fields: a call may fail.
      if (change.happened ? change.whole : dropAll(made)) {
        hold.end();
      }
    }
    return end;
  }

  /** Frees the pages of trees that nobody can use; false where recovery has to. */
  private boolean dropAll(List<BTree> trees) {
    for (BTree tree : trees) {
      drop(tree);
    }
    return store.engine().poison() == null;
  }

  /**
   * Makes an index with its tree.
   *
   * @param objects the versions of the table's objects; null in a table of another kind
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
      return new IndexCore(spec.name(), spec.isUnique(), plan, table.key().bytesMax(), tree, hints);
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
        drop(tree);
      }
    }
    change.publishes(tree);
    return tree;
  }

  /** Frees the pages of a tree that nobody can use. What can't be freed now is tried again. */
  private void drop(BTree tree) {
    LogSession session = store.session();
    try {
      session.begin(0);
      TreeDrop.free(tree, session);
    } catch (FoveaException e) {
      drops.add(tree, null);
    } catch (Throwable t) {
      store.engine().poison(t); // recovery frees them
      throw t;
    } finally {
      session.end();
    }
  }

  /** An index as it is specified, over a tree that is there. */
  IndexCore index(TableSpec table, IndexSpec spec, BTree tree, IndexHints hints) {
    if (spec.extractedKey() != null && spec.isDescribed()) {
      throw new InvalidUseException(
          "The specification of index "
              + NameText.of(spec.name())
              + " of table "
              + NameText.of(table.name())
              + " has no extractor: it was made by describe. Where the table may be changed, open it"
              + " with the specification of the program that made it.");
    }
    return new IndexCore(
        spec.name(),
        spec.isUnique(),
        spec.fields(),
        spec.extractedKey(),
        host.maker(table, spec),
        table.key(),
        table.isBytes() ? null : table.layout(),
        tree,
        hints);
  }

  /** Puts a table into the catalog, with these indexes. */
  static void save(TableCore core, List<IndexCore> indexes, CatalogChange change) {
    save(core, core.name, indexes, change);
  }

  /** Puts a table into the catalog under a name. */
  static void save(TableCore core, String name, List<IndexCore> indexes, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries =
        indexes.stream().map(CatalogEntry.IndexEntry::of).toList();
    change.put(CatalogKey.of(name), entry(core, name, entries).encode()).isTable(core.tree, name);
  }

  /** Puts a table into the catalog, one of whose indexes has another name. */
  static void renamed(TableCore core, IndexCore index, String name, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries =
        core.readable().stream()
            .map(i -> CatalogEntry.IndexEntry.of(i, i == index ? name : i.name))
            .toList();
    change.put(CatalogKey.of(core.name), entry(core, core.name, entries).encode());
  }

  /**
   * Puts a table into the catalog with other trees.
   *
   * @param trees the table's, then those of the indexes that can be read, in their order
   */
  static void exchanged(TableCore core, List<BTree> trees, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries = new ArrayList<>();
    for (IndexCore i : core.readable()) {
      BTree tree = trees.get(entries.size() + 1);
      entries.add(CatalogEntry.IndexEntry.of(i).in(tree));
    }
    change
        .put(CatalogKey.of(core.name), entry(core, entries).in(trees.get(0)).encode())
        .isGone(core.tree)
        .isLoaded(trees.get(0), core.name);
  }

  /** Puts a table into the catalog, the root of one of whose trees moves with that. */
  static void moved(TableCore core, BTree tree, RootMove move, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries =
        Arrays.stream(core.indexes())
            .filter(
                i -> i.stage.isComplete()) // one that is about to be dropped is there until then
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
        .moves(move);
  }

  /** What the catalog keeps of a table. */
  static CatalogEntry entry(TableCore core, List<CatalogEntry.IndexEntry> indexes) {
    return entry(core, core.name, indexes);
  }

  /** Puts a table into the catalog whose rows expire in another way, or no longer. */
  static void expiring(TableCore core, @Nullable Expiry expiry, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries =
        core.readable().stream().map(CatalogEntry.IndexEntry::of).toList();
    CatalogEntry.Extras extras = CatalogEntry.Extras.of(core).with(expiry);
    change.put(CatalogKey.of(core.name), entry(core, core.name, entries, extras).encode());
  }

  /** Puts a table into the catalog whose objects have other versions. */
  static void objects(
      TableCore core,
      ObjectHistory versions,
      List<CatalogEntry.IndexEntry> indexes,
      CatalogChange change) {
    CatalogEntry.Extras extras = CatalogEntry.Extras.of(core).with(versions);
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
   * Takes trees out of the catalog, which knows them from then on as those whose pages are to be
   * freed.
   *
   * @param then what follows in memory once the catalog has changed
   */
  void dropping(List<BTree> trees, Consumer<CatalogChange> work, Runnable then) {
    store.willWrite();
    CatalogChange change = new CatalogChange(store);
    work.accept(change);
    for (BTree tree : trees) {
      change.drops(tree).put(DeferredDrops.key(tree.treeId()), DeferredDrops.value(tree));
    }
    store.awaitDurable(change.run(then));
  }

  /** The pages of a tree are free: the catalog need not know of it any more. */
  private void forget(byte[] key) {
    locked("free pages", () -> new CatalogChange(store).delete(key).run());
  }
}
