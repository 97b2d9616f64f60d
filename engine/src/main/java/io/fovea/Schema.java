package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.memory.Mem;
import io.fovea.recovery.Recovery;
import io.fovea.wal.LogSession;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The tables of a database, and the catalog that keeps them.
 *
 * <p>Changes of the schema are no transactions: they are done when they return. Those of the
 * catalog exclude one another by {@link #lock}, which is held for one record at a time; those of
 * one table by {@link TableCore#changing}, which is taken before. Transactions go on beside all of
 * them: a table that is dropped is refused to who uses it next, and its pages stay until nobody can
 * be at them ({@link DeferredDrops}); an index comes and goes by stages ({@link IndexStage}, {@link
 * IndexBuild}).
 *
 * <p><b>With a log</b> a change is a record of its own ({@link CatalogChange}). New trees exist
 * from that record on, dropped ones until then. A session holds back the redo point from before the
 * first page of a new tree until that record, so that recovery always knows what was begun; a
 * dropped tree stays in the catalog, as one that is to be freed, until it has no page any more.
 */
final class Schema {
  private static final char TABLE = 't';

  private final Database database;
  private final Store store;
  private final BTree catalog;
  private final HintUse hintUse;
  private final EntryHints entryHints;
  private final Map<String, TableCore> tables = new ConcurrentSkipListMap<>();
  private final DeferredDrops drops;

  /** Held while the schema changes, and while the database closes. */
  final ReentrantLock lock = new ReentrantLock();

  Schema(Database database, Store store, BTree catalog, Hints hints) {
    this.database = database;
    this.store = store;
    this.catalog = catalog;
    Leftovers leftovers = new Leftovers(store);
    this.drops = new DeferredDrops(store, leftovers, this::forget);
    this.hintUse = new HintUse(store, hints);
    // What is put right makes pages dirty, and these would stay in memory.
    hintUse.repairs = !store.options().readOnly();
    this.entryHints = EntryHints.of(hints);
    Trees.forEach(
        catalog,
        (k, kOff, kLen, v, vOff, vLen) -> {
          if (kLen > 0 && Mem.getByte(k, kOff) == TABLE) {
            String name = new String(Trees.bytes(k, kOff + 1, kLen - 1), StandardCharsets.UTF_8);
            tables.put(name, open(CatalogEntry.decode(name, Trees.bytes(v, vOff, vLen))));
          }
        });
    DeferredDrops.forEach(catalog, drops::addRest);
    store.leftovers(() -> leftovers.free(trees()));
    store.background(drops::run, drops::join);
  }

  /** Goes on with drops that a close or a crash has cut short. */
  void begin() {
    if (store.isMarked() && !store.options().readOnly()) {
      drops.run(); // else with the first change: a file that is only read stays as it is
    }
  }

  /** Ends what goes on in the background, and does not wait for it. */
  void cancel() {
    drops.cancel();
  }

  /** Ends what goes on in the background. */
  void end() {
    drops.cancel();
    drops.join();
  }

  /** Does something while no pages of dropped trees are freed. */
  void whileNothingIsFreed(Runnable what) {
    drops.paused(what);
  }

  /** All trees, the catalog and those that are being dropped included. Any thread. */
  private List<BTree> trees() {
    List<BTree> all = new ArrayList<>();
    all.add(catalog);
    for (TableCore table : tables.values()) {
      all.add(table.tree);
      for (IndexCore index : table.indexes()) {
        all.add(index.tree);
      }
    }
    all.addAll(drops.trees());
    return all;
  }

  /** A table; for tests. */
  @Nullable TableCore core(String name) {
    return tables.get(name);
  }

  /** Makes hints wrong; for tests. */
  void poison(HintPoison poison) {
    hintUse.poison = poison;
  }

  /** Lets wrong hints be put right, or not; for benchmarks. */
  void repairHints(boolean repairs) {
    hintUse.repairs = repairs;
  }

  /** How many kinds of hints of how many indexes are not repaired now. */
  long repairsOff() {
    long off = 0;
    for (TableCore table : tables.values()) {
      for (IndexCore index : table.indexes()) {
        off += index.hints.switchedOff();
      }
    }
    return off;
  }

  /** The native memory that all trees keep for changes of their structure. */
  long scratchBytes() {
    return trees().stream().mapToLong(BTree::scratchBytes).sum();
  }

  /** The trees that a catalog knows, for recovery. */
  static void trees(BTree catalog, Recovery.TreeVisitor visitor) {
    Trees.forEach(
        catalog,
        (k, kOff, kLen, v, vOff, vLen) -> {
          if (kLen > 0 && Mem.getByte(k, kOff) == TABLE) {
            String name = new String(Trees.bytes(k, kOff + 1, kLen - 1), StandardCharsets.UTF_8);
            CatalogEntry e = CatalogEntry.decode(name, Trees.bytes(v, vOff, vLen));
            visitor.tree(e.treeId(), e.rootPid());
            for (CatalogEntry.IndexEntry i : e.indexes()) {
              visitor.tree(i.treeId(), i.rootPid());
            }
          }
        });
    DeferredDrops.forEach(catalog, visitor::deferred);
  }

  private TableCore open(CatalogEntry e) {
    IndexCore[] indexes = new IndexCore[0];
    for (CatalogEntry.IndexEntry i : e.indexes()) {
      IndexHints hints = new IndexHints(i.hints(), hintUse);
      indexes =
          Trees.append(
              indexes,
              new IndexCore(
                  i.name(),
                  i.unique(),
                  i.fields(),
                  i.extractedKey(),
                  null,
                  e.key(),
                  layoutOf(e),
                  // Values are primary keys with hints, which are short.
                  tree(i.treeId(), i.rootPid(), (long) catalog.maxKeySize() + hints.bytes()),
                  hints));
    }
    return new TableCore(
        database,
        e.name(),
        e.key(),
        e.layout(),
        tree(e.treeId(), e.rootPid(), e.layout() == null ? Long.MAX_VALUE : e.layout().size()),
        indexes);
  }

  private BTree tree(int id, long rootPid, long valueBytesMax) {
    return BTree.open(store.pool(), id, rootPid).valuesUpTo(valueBytesMax);
  }

  private static Layout layoutOf(CatalogEntry e) {
    Layout l = e.layout();
    return l == null ? Layout.builder().build() : l;
  }

  private <T> T locked(String what, Supplier<T> work) {
    IndexBuild.lock(lock, what);
    try {
      database.requireOpen();
      return work.get();
    } finally {
      lock.unlock();
    }
  }

  List<String> names() {
    database.requireOpen();
    return List.copyOf(tables.keySet());
  }

  VerifyReport verify() {
    return locked(
        "verify " + store.name(),
        () -> {
          VerifyReport[] report = new VerifyReport[1];
          database.alone(
              "verify",
              () ->
                  drops.paused(() -> report[0] = Verification.run(store, tables.values(), drops)));
          return report[0];
        });
  }

  Table table(TableSpec spec) {
    while (true) {
      // Without a lock where nothing is to be done, so that a transaction may open its tables while
      // somebody waits, with a lock, for its end.
      TableCore there = tables.get(spec.name());
      if (there != null && isOpenedAs(there, spec)) {
        database.requireOpen();
        return new Table(there, spec);
      }
      TableCore core =
          locked(
              "open table " + spec.name(),
              () -> {
                TableCore known = tables.get(spec.name());
                if (known == null) {
                  known = create(spec);
                  tables.put(spec.name(), known);
                }
                return known;
              });
      adapt(core, spec);
      if (!core.isDropped()) {
        return new Table(core, spec);
      }
    }
  }

  // ------------------------------------------------------------------------------------- creation

  private TableCore create(TableSpec spec) {
    if (store.options().readOnly()) {
      throw new InvalidUseException(
          "There is no table "
              + spec.name()
              + " in "
              + store.name()
              + ", which was opened for reading only.");
    }
    checkSizes(spec);
    TableCore[] made = new TableCore[1];
    making(
        (change, trees) -> {
          BTree tree = newTree(trees, change, false);
          IndexCore[] indexes = new IndexCore[0];
          for (IndexSpec i : spec.indexes()) {
            indexes = Trees.append(indexes, newIndex(spec, i, trees, change));
          }
          TableCore core =
              new TableCore(
                  database,
                  spec.name(),
                  spec.key(),
                  spec.isBytes() ? null : spec.layout(),
                  tree,
                  indexes);
          save(core, List.of(indexes), change);
          made[0] = core;
        });
    return made[0];
  }

  /**
   * Makes trees and publishes them with records of the catalog. If that fails, they are dropped
   * again; if the machine dies meanwhile, recovery does so, for the redo point stays before all of
   * it.
   *
   * @param work makes trees, which it adds to the list, and says what becomes of the catalog
   */
  private void making(BiConsumer<CatalogChange, List<BTree>> work) {
    store.willWrite();
    LogSession hold = store.hold();
    hold.begin(0);
    List<BTree> made = new ArrayList<>();
    CatalogChange change = new CatalogChange(store);
    long end;
    try {
      work.accept(change, made);
      end = change.run();
    } finally {
      if (!change.happened()) {
        made.forEach(this::drop);
      }
      if (store.engine().poison() == null) {
        hold.end();
      }
    }
    store.awaitDurable(end);
  }

  private IndexCore newIndex(
      TableSpec table, IndexSpec spec, List<BTree> made, CatalogChange change) {
    EntryHints chosen = spec.hints();
    IndexHints hints = new IndexHints(chosen == null ? entryHints : chosen, hintUse);
    return index(table, spec, newTree(made, change, hints.kind.frames()), hints);
  }

  private BTree newTree(List<BTree> made, CatalogChange change, boolean endInFrames) {
    LogSession session = store.session();
    session.begin(0);
    try {
      BTree tree = BTree.create(store.pool(), store.nextTreeId(), endInFrames, session);
      made.add(tree);
      change.publishes(tree);
      return tree;
    } finally {
      session.end();
    }
  }

  /** Frees the pages of a tree that nobody can use. What can't be freed now is tried again. */
  private void drop(BTree tree) {
    LogSession session = store.session();
    try {
      session.begin(0);
      tree.drop(session);
    } catch (FoveaException e) {
      drops.add(tree, null);
    } finally {
      session.end();
    }
  }

  private static IndexCore index(TableSpec table, IndexSpec spec, BTree tree, IndexHints hints) {
    return new IndexCore(
        spec.name(),
        spec.isUnique(),
        spec.fields(),
        spec.extractedKey(),
        spec.extractor(),
        table.key(),
        table.layout(),
        tree,
        hints);
  }

  private void checkSizes(TableSpec spec) {
    int keyMax = catalog.maxKeySize();
    for (Field f : spec.key().parts()) {
      if (!f.type().fixed() && f.width() > keyMax) {
        throw new KeyTooLargeException(
            "part " + f.name() + " of the key of table " + spec.name(), f.width(), keyMax);
      }
    }
    if (!spec.isBytes() && spec.layout().size() > catalog.maxValueSize()) {
      throw new ValueTooLargeException(
          "table " + spec.name() + ", whose rows are that large",
          spec.layout().size(),
          catalog.maxValueSize());
    }
  }

  /** Puts a table into the catalog, with these indexes. */
  private static void save(TableCore core, List<IndexCore> indexes, CatalogChange change) {
    List<CatalogEntry.IndexEntry> entries = indexes.stream().map(IndexCore::asEntry).toList();
    change.put(catalogKey(core.name), entry(core, entries).encode());
  }

  private static CatalogEntry entry(TableCore core, List<CatalogEntry.IndexEntry> indexes) {
    return new CatalogEntry(
        core.name, core.tree.treeId(), core.tree.rootPid(), core.key, core.layout, indexes);
  }

  private static byte[] catalogKey(String name) {
    return (TABLE + name).getBytes(StandardCharsets.UTF_8);
  }

  // ------------------------------------------------------------------------------- opening again

  private void check(TableCore core, TableSpec spec) {
    CatalogEntry known = entry(core, List.of());
    String difference = known.difference(spec);
    if (difference != null) {
      throw mismatch(core, difference + ". Open it with the specification that it was made with.");
    }
    for (IndexCore i : core.readable()) {
      IndexSpec s = spec(spec, i.name);
      if (s == null) {
        throw mismatch(
            core,
            "it has an index \""
                + i.name
                + "\" that the specification does not name, and which changes would miss. Name it,"
                + " or drop it with dropIndex.");
      }
      difference = i.asEntry().difference(s);
      if (difference != null) {
        throw mismatch(
            core, "index \"" + i.name + "\": " + difference + ". Give a changed index a new name.");
      }
    }
  }

  private boolean isOpenedAs(TableCore core, TableSpec spec) {
    List<IndexCore> all = core.readable();
    if (core.isDropped() || all.size() != spec.indexes().size()) {
      return false;
    }
    check(core, spec);
    for (IndexCore i : all) {
      if (i.isExtracted() && i.extractor == null) {
        return false;
      }
    }
    return true;
  }

  private void adapt(TableCore core, TableSpec spec) {
    check(core, spec);
    adoptExtractors(core, spec);
    for (IndexSpec s : spec.indexes()) {
      if (core.index(s.name()) == null) {
        build(core, spec, s);
      }
    }
  }

  private static @Nullable IndexSpec spec(TableSpec table, String index) {
    for (IndexSpec s : table.indexes()) {
      if (s.name().equals(index)) {
        return s;
      }
    }
    return null;
  }

  private IncompatibleFormatException mismatch(TableCore core, String what) {
    return new IncompatibleFormatException(
        "Table " + core.name + " of " + store.name() + " is another one than specified: " + what);
  }

  /** After a database was opened, extracted indexes wait for their extractors. */
  private static void adoptExtractors(TableCore core, TableSpec spec) {
    for (IndexCore i : core.readable()) {
      IndexSpec s = spec(spec, i.name);
      if (s != null && i.isExtracted() && i.extractor == null) {
        core.replace(i, index(spec, s, i.tree, i.hints));
      }
    }
  }

  // --------------------------------------------------------------------------- building an index

  /** Builds an index beside transactions; returns at once where the table is dropped meanwhile. */
  private void build(TableCore core, TableSpec spec, IndexSpec indexSpec) {
    String what = "build index " + indexSpec.name() + " of table " + core.name;
    database.requireNoTransaction(what);
    IndexBuild.lock(core.changing, what);
    try {
      if (core.isDropped()) {
        return;
      }
      check(core, spec);
      if (core.index(indexSpec.name()) == null) {
        build(core, spec, indexSpec, what);
      }
    } finally {
      core.changing.unlock();
    }
  }

  private void build(TableCore core, TableSpec spec, IndexSpec indexSpec, String what) {
    // From its first page on the tree is in the catalog as one that is to be freed.
    IndexCore[] made = new IndexCore[1];
    locked(
        what,
        () -> {
          making(
              (change, trees) -> {
                made[0] = newIndex(spec, indexSpec, trees, change);
                change.put(
                    DeferredDrops.key(made[0].tree.treeId()), DeferredDrops.value(made[0].tree));
              });
          return true;
        });
    IndexCore readable = made[0];
    IndexCore stage = readable.at(IndexStage.DELETE_ONLY);
    boolean done = false;
    core.add(stage);
    try {
      IndexBuild build = new IndexBuild(database, core, what);
      build.awaitOthers();
      IndexCore building = readable.at(IndexStage.BUILDING);
      core.replace(stage, building);
      stage = building;
      build.awaitOthers();
      build.fill(stage);
      // Who reads the index has begun when it was complete, under protocols that read the past too.
      build.awaitOthers();
      IndexCore complete = stage;
      long end = locked(what, () -> publish(core, complete, readable));
      done = true;
      store.awaitDurable(end);
    } finally {
      if (!done) {
        retire(core, stage);
        drops.run();
      }
    }
  }

  private long publish(TableCore core, IndexCore stage, IndexCore readable) {
    List<IndexCore> all = new ArrayList<>(core.readable());
    all.add(readable);
    CatalogChange change = new CatalogChange(store);
    save(core, all, change);
    long end = change.delete(DeferredDrops.key(readable.tree.treeId())).run();
    core.replace(stage, readable);
    return end;
  }

  /** Takes an index from statements, which has its record among those to be freed, and frees it. */
  private void retire(TableCore core, IndexCore stage) {
    core.replace(stage, stage.at(IndexStage.DELETE_ONLY));
    drops.add(stage.tree, () -> core.remove(stage.tree));
  }

  // -------------------------------------------------------------------------------------- dropping

  boolean dropTable(String name) {
    String what = "drop table " + name;
    TableCore core = tables.get(name);
    database.requireOpen();
    if (core == null) {
      return false;
    }
    database.requireNoTransaction(what);
    core.leaving(true);
    try {
      IndexBuild.lock(core.changing, what);
      try {
        if (core.isDropped()) {
          return false;
        }
        locked(what, () -> drop(core));
      } finally {
        core.changing.unlock();
      }
    } finally {
      core.leaving(false);
    }
    drops.run();
    return true;
  }

  private boolean drop(TableCore core) {
    List<BTree> trees = new ArrayList<>();
    core.readable().forEach(i -> trees.add(i.tree));
    trees.add(core.tree);
    dropping(
        trees,
        change -> change.delete(catalogKey(core.name)),
        () -> {
          core.drop();
          trees.forEach(t -> drops.add(t, null));
          tables.remove(core.name);
        });
    return true;
  }

  boolean dropIndex(String table, String name) {
    String what = "drop index " + name + " of table " + table;
    TableCore core = tables.get(table);
    database.requireOpen();
    if (core == null || core.index(name) == null && !core.changing.isLocked()) {
      return false;
    }
    database.requireNoTransaction(what);
    store.willWrite();
    IndexBuild.lock(core.changing, what);
    try {
      IndexCore index = core.index(name);
      if (index == null || core.isDropped()) {
        return false;
      }
      IndexCore leaving = index.at(IndexStage.LEAVING);
      core.replace(index, leaving);
      boolean done = false;
      try {
        new IndexBuild(database, core, what).awaitOthers();
        locked(what, () -> drop(core, leaving));
        done = true;
      } finally {
        if (!done) {
          core.replace(leaving, index);
        }
      }
    } finally {
      core.changing.unlock();
    }
    drops.run();
    return true;
  }

  private boolean drop(TableCore core, IndexCore leaving) {
    dropping(
        List.of(leaving.tree),
        change -> save(core, core.readable(), change),
        () -> retire(core, leaving));
    return true;
  }

  /**
   * Takes trees out of the catalog, which knows them from then on as those whose pages are to be
   * freed.
   *
   * @param then what follows in memory once the catalog has changed
   */
  private void dropping(List<BTree> trees, Consumer<CatalogChange> work, Runnable then) {
    store.willWrite();
    CatalogChange change = new CatalogChange(store);
    work.accept(change);
    for (BTree tree : trees) {
      change.drops(tree).put(DeferredDrops.key(tree.treeId()), DeferredDrops.value(tree));
    }
    long end = change.run();
    then.run();
    store.awaitDurable(end);
  }

  /** The pages of a tree are free: the catalog need not know of it any more. */
  private void forget(byte[] key) {
    locked("free pages", () -> new CatalogChange(store).delete(key).run());
  }
}
