package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.buffer.PoolSpace;
import io.fovea.error.InvalidUseException;
import io.fovea.index.HintUse;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexHints;
import io.fovea.index.ObjectHistory;
import io.fovea.index.ObjectPlan;
import io.fovea.index.ObjectRewriter;
import io.fovea.index.RowHistory;
import io.fovea.index.TableCore;
import io.fovea.memory.Waits;
import io.fovea.object.ObjectEntries;
import io.fovea.recovery.RecoveredRowCounts;
import io.fovea.recovery.Recovery;
import io.fovea.recovery.TablesLog;
import io.fovea.schema.EntryHints;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.Layout;
import io.fovea.schema.NameText;
import io.fovea.schema.Shape;
import io.fovea.schema.TableSpec;
import io.fovea.store.SchemaHooks;
import io.fovea.store.Store;
import io.fovea.txn.Tx;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The tables of a database.
 *
 * <p>A schema change is complete when its method returns; only {@link CatalogTransaction} makes
 * schema changes part of a transaction. Changes of the catalog exclude one another ({@link
 * SchemaChanges#locked}), as do changes of one table ({@link TableCore#changing}, which is taken
 * first). Transactions run concurrently: the next statement on a dropped table is refused, and its
 * pages stay until no transaction can use them ({@link DeferredDrops}); an index is created and
 * dropped in stages ({@link IndexChanges}).
 */
public final class Schema {
  /** The catalog's operations for recovery. */
  public static final Recovery.Catalog CATALOG =
      new Recovery.Catalog() {
        @Override
        public void trees(BTree catalog, Recovery.TreeVisitor visitor) {
          Schema.trees(catalog, visitor);
        }

        @Override
        public long save(
            BTree catalog, LogSession session, long number, RecoveredRowCounts counts) {
          return StoredCounts.save(catalog, session, number, counts);
        }
      };

  /** The maximum number of retries of a read of all tables while their names change. */
  private static final int RETRIES_MAX = 10_000;

  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final BTree catalog;
  private final HintUse hintUse;
  private final Map<String, TableCore> tables = new ConcurrentSkipListMap<>();
  private final SchemaChanges changes;
  private final IndexChanges indexChanges;
  private final Renames renames;
  private final Evolutions evolutions;
  private final DeferredDrops drops;
  private final Loads loads;
  private final Expirations expirations;
  private final ObjectVersions objectVersions;
  private final Compaction compaction;
  private final Sequences sequences;

  private volatile boolean changing;
  private volatile long publishedLsn;

  /** Odd while names change; written under the schema lock. */
  private volatile long publications;

  /**
   * Opens the tables of a store.
   *
   * @param hintUse how hints in entries are used
   * @param entryHints the hints of new indexes whose specifications do not choose any
   * @param timing the clock and sweep interval for expiry
   */
  public Schema(
      CatalogCallbacks catalogCallbacks,
      Store store,
      HintUse hintUse,
      EntryHints entryHints,
      Expirations.Timing timing) {
    this.catalogCallbacks = catalogCallbacks;
    this.store = store;
    this.catalog = store.catalog();
    this.hintUse = hintUse;
    OrphanPages orphanPages = new OrphanPages(store);
    this.changes = new SchemaChanges(catalogCallbacks, store, orphanPages, hintUse, entryHints);
    this.renames = new Renames(store, changes);
    this.drops = changes.drops;
    this.expirations = new Expirations(catalogCallbacks, store, changes, this::expiring, timing);
    this.evolutions = new Evolutions(catalogCallbacks, store, changes, expirations, tables);
    this.objectVersions = new ObjectVersions(catalogCallbacks, store, changes);
    this.loads = new Loads(catalogCallbacks, store, changes, expirations);
    this.indexChanges = new IndexChanges(catalogCallbacks, store, changes, loads);
    this.compaction = new Compaction(store, this, changes, drops);
    this.sequences = new Sequences(store, changes);
    // Repairs make pages dirty, and a read-only store cannot write them.
    hintUse.repairs = !store.isReadOnly();
    RecoveredRowCounts counts = StoredCounts.of(store);
    CatalogEntry.forEach(catalog, e -> tables.put(e.name(), open(e, counts)));
    DeferredDrops.forEach(catalog, (id, root, from, to) -> drops.addUnfinished(id, root));
    store.attach(
        new SchemaHooks() {
          @Override
          public void freeUnfreedPages() {
            orphanPages.free(trees());
          }

          @Override
          public TablesLog.Tables tables() {
            return Schema.this::listTables;
          }

          @Override
          public List<BTree> counted() {
            return Schema.this.counted();
          }

          @Override
          public long saveCounts() {
            return saveAtClose();
          }

          @Override
          public void onMarked() {
            drops.run();
          }

          @Override
          public void join() {
            Schema.this.join();
          }
        });
  }

  /** Continues interrupted drops and starts background work. */
  public void begin() {
    if (store.isMarked() && !store.isReadOnly()) {
      // In an unmarked file the first change does this: a file that is only read stays unchanged.
      drops.run();
    }
    expirations.begin();
  }

  /** Stops background work without waiting. */
  public void cancel() {
    sequences.close();
    expirations.cancel();
    drops.cancel();
  }

  /** Stops background work, and waits for it to end. */
  public void end() {
    Store.closeAll(
        5,
        step -> {
          switch (step) {
            case 0 -> sequences.close();
            case 1 -> loads.end();
            case 2 -> expirations.cancel();
            case 3 -> drops.cancel();
            default -> join();
          }
        });
  }

  private void join() {
    Store.closeAll(
        3,
        step -> {
          switch (step) {
            case 0 -> expirations.join();
            case 1 -> drops.join();
            default -> compaction.end();
          }
        });
  }

  /** Returns the sequences. */
  public Sequences sequences() {
    return sequences;
  }

  /** Returns the compaction. */
  public Compaction compaction() {
    return compaction;
  }

  /** Runs an action that opens a snapshot, while the schema does not change. */
  public void whileFrozen(Runnable opening) {
    changes.whileFrozen("open a snapshot", opening);
  }

  /**
   * Runs the rest of a close under the schema lock.
   *
   * @param rest receives whether the lock was obtained: false if an operation does not end in time
   */
  public void closing(Consumer<Boolean> rest) {
    changes.closing(rest);
  }

  /**
   * Runs an action while nothing changes: neither the schema nor any record changes, and no pages
   * are freed or truncated. Waits until no load is running and no transaction is active, and admits
   * none during the action.
   *
   * <p>The schema lock is taken last: an active transaction may need it, or may be waiting for log
   * space that the holder of the lock keeps from being freed.
   *
   * @throws InvalidUseException immediately, if the thread is in a transaction or a load
   */
  public void whileQuiescent(String what, Runnable work) {
    store.requireOpen();
    store.requireNoTransaction(what);
    PoolSpace space = store.pool().checkpoint().space();
    Runnable withSchema = () -> changes.whileFrozen(what, () -> drops.paused(what, work));
    Runnable alone = () -> store.runAlone(what, withSchema);
    loads.whileIdle(what, () -> space.whileListStable(what, store::checkWaiting, alone));
  }

  /** Loads records into a table. */
  public <X extends Exception> LoadResult load(TableCore core, LoadSettings how, LoadFeed<X> feed)
      throws X {
    return loads.run(core, how, feed);
  }

  /** Returns the tables in order of their names. Thread-safe. */
  public Collection<TableCore> tables() {
    return tables.values();
  }

  /** Visits the dropped trees that still have pages. Thread-safe. */
  public void forEachDropped(DeferredDrops.Visitor visitor) {
    drops.forEach(visitor);
  }

  /**
   * Returns all trees whose records are counted, in any stage, including those being created or
   * dropped. Thread-safe.
   */
  private List<BTree> counted() {
    List<BTree> all =
        drops.trees(); // first: a new tree is added to the tables before it is removed here
    all.addAll(live());
    return all;
  }

  /** Returns the trees of tables and of indexes in any stage. Thread-safe. */
  private List<BTree> live() {
    return readConsistently(
        () -> {
          List<BTree> all = new ArrayList<>();
          for (TableCore table : tables.values()) {
            all.add(table.tree);
            for (IndexCore index : table.indexes()) {
              all.add(index.tree);
            }
          }
          return all;
        });
  }

  /** Reads the tables while their names do not change. Thread-safe. */
  private <T> T readConsistently(Supplier<T> read) {
    for (int attempt = 0; ; attempt++) {
      long before = publications;
      T seen = read.get();
      // If an error ended the publishing thread, the number stays odd, but the engine has stopped.
      if ((before & 1) == 0 && publications == before || attempt == RETRIES_MAX) {
        return seen;
      }
      Waits.spin(attempt);
    }
  }

  /** Lists the trees of tables, under the schema lock; see {@link io.fovea.recovery.TablesLog}. */
  private boolean listTables(boolean wait, Consumer<Map<Integer, String>> use) {
    return changes.whileFrozen(
        "list the tables",
        wait,
        () -> {
          Map<Integer, String> names = new HashMap<>();
          for (TableCore table : tables.values()) {
            names.put(table.tree.treeId(), table.name);
          }
          use.accept(names);
        });
  }

  /**
   * Saves the counts in the catalog, while nothing changes.
   *
   * @return their number for the superblock; 0 if they could not be written
   */
  long saveCounts() {
    return StoredCounts.save(store, live());
  }

  /** Saves the counts and the unused values of sequences, which are already closed. */
  private long saveAtClose() {
    sequences.save();
    return saveCounts();
  }

  /** Returns all trees, including the catalog and those being dropped. Thread-safe. */
  private List<BTree> trees() {
    List<BTree> all = live();
    all.add(catalog);
    all.addAll(drops.trees());
    return all;
  }

  /** Returns a table, or null if there is none. Thread-safe. */
  public @Nullable TableCore core(String name) {
    return tables.get(name);
  }

  /** Returns how hints in index entries are used. */
  public HintUse hintUse() {
    return hintUse;
  }

  /** Returns the number of hint repairs that are disabled, over all indexes. */
  public long repairsDisabled() {
    long off = 0;
    for (TableCore table : tables.values()) {
      for (IndexCore index : table.indexes()) {
        off += index.hints.switchedOff();
      }
    }
    return off;
  }

  /** Returns the native scratch memory of all trees, in bytes. */
  public long scratchBytes() {
    return trees().stream().mapToLong(BTree::scratchBytes).sum();
  }

  private List<TableCore> expiring() {
    return readConsistently(
        () -> tables.values().stream().filter(c -> c.expiry() != null).toList());
  }

  /** Visits the trees in a catalog, for recovery. */
  public static void trees(BTree catalog, Recovery.TreeVisitor visitor) {
    CatalogEntry.forEach(
        catalog,
        e -> {
          visitor.tree(e.treeId(), e.rootPid());
          for (CatalogEntry.IndexEntry i : e.indexes()) {
            visitor.tree(i.treeId(), i.rootPid());
          }
        });
    DeferredDrops.forEach(catalog, visitor::deferred);
    StoredCounts.forEach(catalog, visitor);
  }

  private TableCore open(CatalogEntry e, RecoveredRowCounts counts) {
    List<IndexCore> indexes = new ArrayList<>();
    for (CatalogEntry.IndexEntry i : e.indexes()) {
      IndexHints hints = new IndexHints(i.hints(), hintUse);
      // Values are primary keys with hints, which are never long values.
      BTree tree =
          tree(i.treeId(), i.rootPid(), (long) catalog.maxKeySize() + hints.bytes(), counts);
      ObjectEntries objects = i.objects();
      indexes.add(
          objects != null
              ? new IndexCore(
                  i.name(), i.unique(), new ObjectPlan(objects), e.key().maxBytes(), tree, hints)
              : new IndexCore(
                  i.name(),
                  i.unique(),
                  i.fields(),
                  i.extractedKey(),
                  SchemaChanges.byTime(e.extras().expiry(), i.name(), i.extractedKey()),
                  e.key(),
                  e.layout(),
                  tree,
                  hints));
    }
    TableCore core =
        new TableCore(
            e.name(),
            e.key(),
            e.layout(),
            e.history(),
            tree(
                e.treeId(),
                e.rootPid(),
                e.layout() == null ? Long.MAX_VALUE : e.history().lengthMax(),
                counts),
            indexes.toArray(IndexCore[]::new));
    core.objects(e.extras().objects());
    return expirations.expire(core, e.extras().expiry());
  }

  private BTree tree(int id, long rootPid, long valueBytesMax, RecoveredRowCounts known) {
    BTree tree = BTree.open(store.pool(), id, rootPid).declareMaxValueSize(valueBytesMax);
    RecoveredRowCounts.Counts counts = known.get(id);
    if (counts != null) {
      tree.counts().base(counts.records(), counts.bytes());
    }
    return tree;
  }

  /** Returns the names of the tables, in order. */
  public List<String> names() {
    store.requireOpen();
    return readConsistently(() -> List.copyOf(tables.keySet()));
  }

  // ------------------------------------------------------------------------------- in transactions

  /** Returns a new view of the catalog for a transaction. */
  public CatalogTransaction begin(Tx tx) {
    CatalogTransaction mine = new CatalogTransaction(this, store, changes, tx);
    tx.setCatalogPart(mine);
    return mine;
  }

  /**
   * Frees small trees after a transaction that created or dropped tables, and starts the expiry of
   * new tables.
   */
  public void freeSome() {
    drops.run();
    expirations.begin();
  }

  /**
   * Returns whether a commit is changing the catalog. The flag is set before the quiescent point of
   * the commit, and cleared once the tables in memory match the catalog.
   */
  boolean isChanging() {
    return changing;
  }

  void changing(boolean is) {
    changing = is;
  }

  /** Returns the LSN up to which the log must be durable before a lookup's result is reported. */
  long publishedLsn() {
    return publishedLsn;
  }

  /**
   * Publishes names atomically. Requires the schema lock.
   *
   * @param names each with its table, or null if the name is no longer used
   * @param lsn the end of the log record
   */
  void publish(Map<String, @Nullable TableCore> names, long lsn) {
    publishedLsn = Math.max(publishedLsn, lsn);
    publications = publications + 1;
    names.forEach(
        (name, core) -> {
          if (core == null) {
            tables.remove(name);
          } else {
            core.name = name;
            tables.put(name, core);
          }
        });
    publications = publications + 1;
  }

  /** Adapts an existing table to a specification within a transaction. */
  void adaptIn(Tx tx, TableCore core, TableSpec spec) {
    if (!spec.isBytes() && core.history().version() < spec.version()) {
      evolutions.evolve(core, spec); // refused in a transaction
    }
    SpecCheck.check(store, core, spec);
    objectVersions.adapt(core, spec); // likewise; before the indexes, which may use new components
    indexChanges.dropLeftByTime(core, spec); // likewise
    if (core.readable().stream().anyMatch(i -> i.isExtracted() && i.maker == null)) {
      changes.lockedIn(tx, "open table " + core.displayName(), () -> adoptExtractors(core, spec));
    }
    for (IndexSpec s : spec.indexes()) {
      if (core.index(s.name()) == null) {
        indexChanges.build(core, spec, s); // refused in a transaction
      }
    }
    expirations.adapt(core, spec); // likewise, if there is something to do
  }

  /** Opens a table, creating it or its missing indexes. */
  public TableCore table(TableSpec spec) {
    while (true) {
      // Take no lock if there is nothing to do: a transaction may open tables while the holder of
      // the lock waits for it to end.
      TableCore table = tables.get(spec.name());
      if (table != null && SpecCheck.isOpenedAs(store, table, spec)) {
        store.requireServing();
        return withKeyLocations(table, spec);
      }
      TableCore core =
          changes.locked(
              "open table " + NameText.of(spec.name()),
              () -> {
                TableCore known = tables.get(spec.name());
                return known == null ? create(spec) : known;
              });
      adapt(core, spec);
      if (!core.isRefused() && core.history().version() >= spec.version()) {
        return withKeyLocations(core, spec);
      }
    }
  }

  private TableCore withKeyLocations(TableCore core, TableSpec spec) {
    if (spec.cachesLocations() || hintUse.cacheAllKeyLocations) {
      attachKeyLocations(core.tree);
    }
    for (IndexSpec s : spec.indexes()) {
      IndexCore index = core.index(s.name());
      if (index != null && (s.cachesLocations() || hintUse.cacheAllKeyLocations)) {
        attachKeyLocations(index.tree);
      }
    }
    return core;
  }

  private void attachKeyLocations(BTree tree) {
    if (tree.keyLocations() == null) {
      tree.setKeyLocations(store.keyLocations());
    }
  }

  // ------------------------------------------------------------------------------------- creation

  private TableCore create(TableSpec spec) {
    if (store.isReadOnly()) {
      throw new InvalidUseException(
          "There is no table "
              + NameText.of(spec.name())
              + " in "
              + store.name()
              + ", which was opened read-only.");
    }
    SpecCheck.checkSizes(catalog, spec);
    TableCore[] made = new TableCore[1];
    changes.makeDurably(
        (change, trees) -> {
          TableCore core = make(spec, change, trees);
          SchemaChanges.save(core, core.readable(), change);
          made[0] = core;
        },
        () -> tables.put(spec.name(), made[0]));
    expirations.begin();
    return made[0];
  }

  TableCore make(TableSpec spec, CatalogChange change, List<BTree> trees) {
    BTree tree = changes.newTree(trees, change, false);
    List<IndexCore> indexes = new ArrayList<>();
    ObjectHistory objects = ObjectHistory.first(spec.objects());
    for (IndexSpec i : spec.indexes()) {
      indexes.add(changes.newIndex(spec, objects, i, trees, change));
    }
    TableCore core =
        new TableCore(
            spec.name(),
            spec.key(),
            spec.isBytes() ? null : spec.layout(),
            RowHistory.started(
                spec.version(), spec.isBytes() ? Layout.define().build() : spec.layout()),
            tree,
            indexes.toArray(IndexCore[]::new));
    core.objects(objects);
    return expirations.expire(core, spec.expiry());
  }

  private void adapt(TableCore core, TableSpec spec) {
    if (core.isDropped()) {
      return;
    }
    if (core.isRefused()) {
      evolutions.await(core);
      return;
    }
    if (!spec.isBytes() && core.history().version() < spec.version()) {
      evolutions.evolve(core, spec);
      return;
    }
    SpecCheck.check(store, core, spec);
    objectVersions.adapt(core, spec);
    indexChanges.dropLeftByTime(core, spec);
    if (core.readable().stream().anyMatch(i -> i.isExtracted() && i.maker == null)) {
      changes.locked("open table " + core.displayName(), () -> adoptExtractors(core, spec));
    }
    for (IndexSpec s : spec.indexes()) {
      if (core.index(s.name()) == null) {
        indexChanges.build(core, spec, s);
      }
    }
    expirations.adapt(core, spec);
    expirations.begin();
  }

  /** Sets the extractors of indexes, which are unknown after the database is opened. */
  private boolean adoptExtractors(TableCore core, TableSpec spec) {
    for (IndexCore i : core.readable()) {
      IndexSpec s = SpecCheck.spec(spec, i.name);
      if (s != null && SpecCheck.lacksMaker(store, i, s)) {
        core.replace(i, changes.index(spec, s, i.tree, i.hints));
      }
    }
    return true;
  }

  // -------------------------------------------------------------------------------------- dropping

  /** Drops a table; returns false if there is none. */
  public boolean dropTable(String name) {
    return changeTable(name, core -> dropTable(core, name));
  }

  private boolean dropTable(TableCore core, String name) {
    String what = "drop table " + NameText.of(name);
    store.requireNoTransaction(what);
    core.setDropPending(true);
    try {
      core.changing.lock(what, store::checkWaiting);
      try {
        if (core.isDropped()) {
          return false;
        }
        changes.locked(what, () -> drop(core));
      } finally {
        core.changing.unlock();
      }
    } finally {
      core.setDropPending(false);
    }
    drops.run();
    return true;
  }

  static List<BTree> trees(TableCore core) {
    List<BTree> trees = new ArrayList<>();
    core.readable().forEach(i -> trees.add(i.tree));
    trees.add(core.tree);
    return trees;
  }

  private boolean drop(TableCore core) {
    List<BTree> trees = trees(core);
    changes.dropping(
        trees,
        change -> change.delete(CatalogKey.of(core.name)).unnameTable(core.tree),
        () -> {
          core.drop();
          // Transactions that have used the table precede the drop, and therefore also precede
          // transactions that see the drop.
          store.engine().dropping(core.bit);
          trees.forEach(t -> drops.add(t, null));
          tables.remove(core.name);
        });
    return true;
  }

  // --------------------------------------------------------------------------------------
  // migrating

  /**
   * Migrates the records of a table to a new table: see {@link Migration}.
   *
   * @param spec the new table
   */
  public Migration.Result migrate(TableCore core, TableSpec spec, Migration.Feed feed) {
    String what = "migrate table " + core.displayName() + " to table " + NameText.of(spec.name());
    store.requireOpen();
    store.requireNoTransaction(what);
    store.willWrite();
    SpecCheck.checkSizes(catalog, spec);
    core.requireUnchanging(what);
    core.changing.lock(what, store::checkWaiting);
    try {
      core.requireUsable();
      return new Migration(catalogCallbacks, store, changes, expirations, hintUse, core, spec, what)
          .run(tables, this::make, this::publish, feed);
    } finally {
      core.changing.unlock();
    }
  }

  // -------------------------------------------------------------------------------------- renaming

  /** Renames a table; returns false if there is none. */
  public boolean renameTable(String from, String to) {
    return changeTable(from, core -> renames.table(tables, core, from, to, this::publish));
  }

  /** Renames an index; returns false if the table has no index of that name. */
  public boolean renameIndex(String table, String from, String to) {
    return changeTable(table, core -> renames.index(core, from, to));
  }

  /** Returns the counters of loads and index builds. */
  public LoadCounters loadCounters() {
    return loads.counters;
  }

  /** Returns the number of loads and bulk builds in progress. */
  public int loadsRunning() {
    return loads.running();
  }

  /** Returns the expiry of rows. */
  public Expirations expirations() {
    return expirations;
  }

  /** Removes the expiry of a table; returns false if its rows do not expire. */
  public boolean dropExpiry(String table) {
    return changeTable(table, expirations::drop);
  }

  /** Refuses older classes of a table's objects; returns false if none could open the table. */
  public boolean finishEvolution(String table) {
    return changeTable(table, objectVersions::finish);
  }

  /** Refuses older classes of a table's objects, and rewrites objects of older versions. */
  public void finishEvolution(
      TableCore core,
      Shape.Composite newest,
      ObjectRewriter.Converter converter,
      ObjectRewrite.Listener listener) {
    objectVersions.rewrite(core, newest, converter, listener);
  }

  /** Drops an index; returns false if the table has no index of that name. */
  public boolean dropIndex(String table, String name) {
    return changeTable(table, core -> indexChanges.drop(core, name));
  }

  /**
   * Applies a change to a table, retrying if another one has its name by then, because it has
   * evolved or was migrated; returns false if there is no such table.
   */
  private boolean changeTable(String name, Predicate<TableCore> change) {
    while (true) {
      TableCore core = tables.get(name);
      store.requireOpen();
      if (core == null || change.test(core)) {
        return core != null;
      }
      TableCore now = tables.get(name);
      if (now == null || now == core) {
        return false;
      }
    }
  }
}
