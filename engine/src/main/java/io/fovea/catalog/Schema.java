package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.buffer.PoolSpace;
import io.fovea.error.InvalidUseException;
import io.fovea.index.HintUse;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexHints;
import io.fovea.index.ObjectHistory;
import io.fovea.index.ObjectPlan;
import io.fovea.index.RowHistory;
import io.fovea.index.TableCore;
import io.fovea.memory.Waits;
import io.fovea.object.ObjectEntries;
import io.fovea.recovery.RecoveredRowCounts;
import io.fovea.recovery.Recovery;
import io.fovea.schema.EntryHints;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.Layout;
import io.fovea.schema.NameText;
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
 * The tables of a database: {@link #table} opens or makes one, {@link #dropTable} drops one.
 *
 * <p>Changes of the schema are no transactions, except for those of {@link CatalogTransaction}:
 * they are done when they return. Those of the catalog exclude one another ({@link
 * SchemaChanges#locked}); those of one table exclude one another by {@link TableCore#changing},
 * which is taken before. Transactions go on beside all of them: a table that is dropped is refused
 * to who uses it next, and its pages stay until nobody can be at them ({@link DeferredDrops}); an
 * index comes and goes by stages ({@link IndexChanges}).
 *
 * <p>The file has more than 600 lines because whatever there is to ask of tables as a whole begins
 * here; the work is in the classes that it names.
 */
public final class Schema {
  /** What recovery needs to know of catalogs. */
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

  /** How often the tables are looked at that change meanwhile. */
  private static final int LOOKS_MAX = 10_000;

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

  /** Odd while several names change; written under the lock of the schema. */
  private volatile long publications;

  /**
   * The tables of a store that was opened.
   *
   * @param hintUse how hints in entries are used
   * @param entryHints what entries of new indexes remember, where their specification does not say
   * @param timing of rows that expire
   */
  public Schema(
      CatalogCallbacks catalogCallbacks,
      Store store,
      HintUse hintUse,
      EntryHints entryHints,
      Expirations.Timing timing) {
    this.store = store;
    this.catalog = store.catalog();
    this.hintUse = hintUse;
    OrphanPages orphanPages = new OrphanPages(store);
    this.changes = new SchemaChanges(catalogCallbacks, store, orphanPages, hintUse, entryHints);
    this.renames = new Renames(store, changes);
    this.drops = changes.drops;
    this.expirations = new Expirations(catalogCallbacks, store, changes, this::expiring, timing);
    this.evolutions = new Evolutions(catalogCallbacks, store, changes, expirations, tables);
    this.objectVersions = new ObjectVersions(store, changes);
    this.loads = new Loads(catalogCallbacks, store, changes, expirations);
    this.indexChanges = new IndexChanges(catalogCallbacks, store, changes, loads);
    this.compaction = new Compaction(store, this, changes, drops);
    this.sequences = new Sequences(store, changes);
    // What is put right makes pages dirty, and these would stay in memory.
    hintUse.repairs = !store.isReadOnly();
    RecoveredRowCounts counts = StoredCounts.of(store);
    CatalogEntry.forEach(catalog, e -> tables.put(e.name(), open(e, counts)));
    DeferredDrops.forEach(catalog, (id, root, from, to) -> drops.addRest(id, root));
    store.attach(
        new SchemaHooks(
            () -> orphanPages.free(trees()),
            this::listTables,
            this::counted,
            this::saveAtClose,
            drops::run,
            this::join));
  }

  /** Goes on with drops that a close or a crash has cut short. */
  public void begin() {
    if (store.isMarked() && !store.isReadOnly()) {
      drops.run(); // else with the first change: a file that is only read stays as it is
    }
    expirations.begin();
  }

  /** Ends what goes on in the background, and does not wait for it. */
  public void cancel() {
    sequences.close();
    expirations.cancel();
    drops.cancel();
  }

  /** Ends what goes on in the background. */
  public void end() {
    Store.closeAll(sequences::close, loads::end, expirations::cancel, drops::cancel, this::join);
  }

  private void join() {
    Store.closeAll(expirations::join, drops::join, compaction::end);
  }

  /** The sequences. */
  public Sequences sequences() {
    return sequences;
  }

  /** Moves pages towards the front of the file. */
  public Compaction compaction() {
    return compaction;
  }

  /** Opens a snapshot while the schema does not change. */
  public void whileNothingChanges(Runnable opening) {
    changes.whileNothingChanges("open a snapshot", opening);
  }

  /**
   * Does the rest of a close: nothing changes the schema any more.
   *
   * @param rest is told whether that is so: not where an operation goes on that is to have ended
   */
  public void closing(Consumer<Boolean> rest) {
    changes.closing(rest);
  }

  /**
   * Does something while nothing at all changes: neither the schema nor records, and no pages are
   * freed, nor taken off the file. Waits until no table is being loaded and no transaction is
   * active, and lets none begin meanwhile.
   *
   * <p>The lock of the schema comes when no transaction is left: one that is active may want it,
   * and may wait for room in the log, which somebody holds up who wants it.
   *
   * @throws InvalidUseException at once, in a transaction of the thread or within a load
   */
  public void whileAllIsStill(String what, Runnable work) {
    store.requireOpen();
    store.requireNoTransaction(what);
    PoolSpace space = store.pool().checkpoint().space();
    Runnable withSchema = () -> changes.whileNothingChanges(what, () -> drops.paused(what, work));
    Runnable alone = () -> store.alone(what, withSchema);
    loads.none(what, () -> space.whileStill(what, store::checkWaiting, alone));
  }

  /**
   * Loads records into a table.
   *
   * @param feed gives the records
   * @return what became of them
   */
  public <X extends Exception> LoadResult load(TableCore core, LoadSettings how, LoadFeed<X> feed)
      throws X {
    return loads.run(core, how, feed);
  }

  /** The tables, in the order of their names. Any thread. */
  public Collection<TableCore> tables() {
    return tables.values();
  }

  /** Visits the trees that were dropped and have pages yet. Any thread. */
  public void forEachDropped(DeferredDrops.Visitor visitor) {
    drops.forEach(visitor);
  }

  /**
   * The trees whose records are counted, whatever their stage: those of tables and indexes, those
   * that a transaction makes, and those that are being dropped, which do no harm. Any thread.
   */
  private List<BTree> counted() {
    List<BTree> all = drops.trees(); // first: a tree becomes a table's before it leaves these
    all.addAll(live());
    return all;
  }

  /** The trees of tables and indexes, whatever their stage. Any thread. */
  private List<BTree> live() {
    return whileStill(
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

  /** Looks at the tables while their names don't change. Any thread. */
  private <T> T whileStill(Supplier<T> look) {
    for (int attempt = 0; ; attempt++) {
      long before = publications;
      T seen = look.get();
      // An error may have ended who was publishing: the engine has stopped then, too.
      if ((before & 1) == 0 && publications == before || attempt == LOOKS_MAX) {
        return seen;
      }
      Waits.spin(attempt);
    }
  }

  /** Which trees are tables, while that does not change; {@link io.fovea.recovery.TablesLog}. */
  private boolean listTables(boolean wait, Consumer<Map<Integer, String>> use) {
    return changes.whileNothingChanges(
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
   * Puts the counts of tables and indexes into the catalog, while no thread changes anything.
   *
   * @return their number, for the superblock; 0 if they could not be written
   */
  long saveCounts() {
    return StoredCounts.save(store, live());
  }

  /** Also returns the values that sequences have reserved and not used: they are closed already. */
  private long saveAtClose() {
    sequences.save();
    return saveCounts();
  }

  /** All trees, the catalog and those that are being dropped included. Any thread. */
  private List<BTree> trees() {
    List<BTree> all = live();
    all.add(catalog);
    all.addAll(drops.trees());
    return all;
  }

  /** A table; null if there is none of that name. Any thread. */
  public @Nullable TableCore core(String name) {
    return tables.get(name);
  }

  /** How the hints in entries of its indexes are used. */
  public HintUse hintUse() {
    return hintUse;
  }

  /** How many kinds of hints of how many indexes are not repaired now. */
  public long repairsDisabled() {
    long off = 0;
    for (TableCore table : tables.values()) {
      for (IndexCore index : table.indexes()) {
        off += index.hints.switchedOff();
      }
    }
    return off;
  }

  /** The native memory that all trees keep for changes of their structure. */
  public long scratchBytes() {
    return trees().stream().mapToLong(BTree::scratchBytes).sum();
  }

  /** The tables whose rows expire. */
  private List<TableCore> expiring() {
    return whileStill(() -> tables.values().stream().filter(c -> c.expiry() != null).toList());
  }

  /** The trees that a catalog knows, for recovery. */
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
      // Values are primary keys with hints, which are short.
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
    BTree tree = BTree.open(store.pool(), id, rootPid).valuesUpTo(valueBytesMax);
    RecoveredRowCounts.Counts counts = known.get(id);
    if (counts != null) {
      tree.counts().base(counts.records(), counts.bytes());
    }
    return tree;
  }

  /** The names of the tables, in order. */
  public List<String> names() {
    store.requireOpen();
    return whileStill(() -> List.copyOf(tables.keySet()));
  }

  // ------------------------------------------------------------------------------- in transactions

  /** What a transaction sees of the catalog, and changes; within its first operation on that. */
  public CatalogTransaction begin(Tx tx) {
    CatalogTransaction mine = new CatalogTransaction(this, store, changes, tx);
    tx.catalog(mine);
    return mine;
  }

  /**
   * A transaction has made or dropped tables: frees what is left, as far as that takes no time, and
   * sees to the rows of new tables that expire.
   */
  public void freeSome() {
    drops.run();
    expirations.begin();
  }

  /**
   * Whether a transaction that changes the catalog is between its decision and the end of its
   * changes. Stored before its moment, cleared when the tables in memory are as the catalog is.
   */
  boolean isChanging() {
    return changing;
  }

  void changing(boolean is) {
    changing = is;
  }

  /** Up to where the log must be durable before what the tables in memory say is told. */
  long publishedLsn() {
    return publishedLsn;
  }

  /**
   * Gives names to other tables, for everybody, at once. Under the lock of the schema.
   *
   * @param names each with its table; null for none
   * @param lsn where the record ends that says so
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

  /** Sees to it that a table that is there can be used as specified, within a transaction. */
  void adaptIn(Tx tx, TableCore core, TableSpec spec) {
    if (!spec.isBytes() && core.history().version() < spec.version()) {
      evolutions.evolve(core, spec); // not in a transaction, as that says
    }
    SpecCheck.check(store, core, spec);
    objectVersions.adapt(core, spec); // likewise; before indexes that are by its components
    indexChanges.dropLeftByTime(core, spec); // likewise
    if (core.readable().stream().anyMatch(i -> i.isExtracted() && i.maker == null)) {
      changes.lockedIn(tx, "open table " + core.shown(), () -> adoptExtractors(core, spec));
    }
    for (IndexSpec s : spec.indexes()) {
      if (core.index(s.name()) == null) {
        indexChanges.build(core, spec, s); // not in a transaction, as that says
      }
    }
    expirations.adapt(core, spec); // likewise, where something is to be done
  }

  /** Opens a table, making it or indexes of it where they are not there. */
  public TableCore table(TableSpec spec) {
    while (true) {
      // Without a lock where nothing is to be done, so that a transaction may open its tables while
      // somebody waits, with a lock, for its end.
      TableCore there = tables.get(spec.name());
      if (there != null && SpecCheck.isOpenedAs(store, there, spec)) {
        store.requireServing();
        return remembered(there, spec);
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
        return remembered(core, spec);
      }
    }
  }

  /** Has trees remembered of which a specification says so. */
  private TableCore remembered(TableCore core, TableSpec spec) {
    if (spec.cachesLocations() || hintUse.cacheAllKeyLocations) {
      remember(core.tree);
    }
    for (IndexSpec s : spec.indexes()) {
      IndexCore index = core.index(s.name());
      if (index != null && (s.cachesLocations() || hintUse.cacheAllKeyLocations)) {
        remember(index.tree);
      }
    }
    return core;
  }

  private void remember(BTree tree) {
    if (tree.places() == null) {
      tree.remember(store.places());
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
              + ", which was opened for reading only.");
    }
    SpecCheck.checkSizes(catalog, spec);
    TableCore[] made = new TableCore[1];
    changes.making(
        (change, trees) -> {
          TableCore core = make(spec, change, trees);
          SchemaChanges.save(core, core.readable(), change);
          made[0] = core;
        },
        () -> tables.put(spec.name(), made[0]));
    expirations.begin();
    return made[0];
  }

  /** Makes the trees of a new table. */
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

  // ------------------------------------------------------------------------------- opening again

  /** Makes a table what is specified, or another one in its place. */
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
      changes.locked("open table " + core.shown(), () -> adoptExtractors(core, spec));
    }
    for (IndexSpec s : spec.indexes()) {
      if (core.index(s.name()) == null) {
        indexChanges.build(core, spec, s);
      }
    }
    expirations.adapt(core, spec);
    expirations.begin();
  }

  /** After a database was opened, extracted indexes wait for their extractors. */
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

  /** Drops a table, if there is one of that name. */
  public boolean dropTable(String name) {
    return of(name, core -> dropTable(core, name));
  }

  private boolean dropTable(TableCore core, String name) {
    String what = "drop table " + NameText.of(name);
    store.requireNoTransaction(what);
    core.leaving(true);
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
      core.leaving(false);
    }
    drops.run();
    return true;
  }

  /** The trees of a table and of its indexes. */
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
        change -> change.delete(CatalogKey.of(core.name)).isGone(core.tree),
        () -> {
          core.drop();
          // Who has used it comes before the drop, and so before transactions that see it gone.
          store.engine().dropping(core.bit);
          trees.forEach(t -> drops.add(t, null));
          tables.remove(core.name);
        });
    return true;
  }

  // -------------------------------------------------------------------------------------- renaming

  /** Renames a table, if there is one of that name. */
  public boolean renameTable(String from, String to) {
    return of(from, core -> renames.table(tables, core, from, to, this::publish));
  }

  /** Renames an index, if the table has one of that name. */
  public boolean renameIndex(String table, String from, String to) {
    return of(table, core -> renames.index(core, from, to));
  }

  /** What loads and builds of indexes have done so far. */
  public LoadCounters loadCounters() {
    return loads.counters;
  }

  /** How many loads, and builds of indexes from below, are under way. */
  public int loadsRunning() {
    return loads.running();
  }

  /** The rows that expire. */
  public Expirations expirations() {
    return expirations;
  }

  /** Lets the rows of a table stay, if there is one of that name in which they expire. */
  public boolean dropExpiry(String table) {
    return of(table, expirations::drop);
  }

  /** Drops an index, if there is one of that name. */
  public boolean dropIndex(String table, String name) {
    return of(table, core -> indexChanges.drop(core, name));
  }

  /** Changes a table, if there is one of a name: the one that it has become if it evolves. */
  private boolean of(String name, Predicate<TableCore> change) {
    while (true) {
      TableCore core = tables.get(name);
      store.requireOpen();
      if (core == null || change.test(core)) {
        return core != null;
      }
      if (!core.isEvolved()) {
        return false;
      }
    }
  }
}
