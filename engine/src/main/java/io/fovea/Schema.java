package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.memory.Mem;
import io.fovea.recovery.Recovery;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The tables of a database, and the catalog that keeps them.
 *
 * <p>Changes of the schema are no transactions: they are done when they return. They exclude one
 * another by {@link #lock}; building and dropping an index also run alone, without any transaction
 * beside them. A table is dropped beside all of them: who uses it next is told, and its pages stay
 * until nobody can be at them ({@link DeferredDrops}).
 *
 * <p><b>With a log</b> a change is a record of its own ({@link CatalogChange}). New trees exist
 * from that record on, dropped ones until then. A session holds back the redo point from before the
 * first page of a new tree until that record, so that recovery always knows what was begun; a
 * dropped tree stays in the catalog, as one that is to be freed, until it has no page any more.
 *
 * <p><b>Why a built index needs no timestamps.</b> Its items begin at 0, below those of the records
 * that the entries were made from. That can't mislead anybody: every transaction that came before
 * the build had ended when it began, every one that sees the index begins after it, so all
 * conflicts between the two lead from before to after.
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

  private <T> T locked(Supplier<T> work) {
    lock.lock();
    try {
      database.requireOpen();
      return work.get();
    } finally {
      lock.unlock();
    }
  }

  List<String> names() {
    return locked(() -> List.copyOf(tables.keySet()));
  }

  VerifyReport verify() {
    return locked(
        () -> {
          VerifyReport[] report = new VerifyReport[1];
          database.alone(
              "verify",
              () ->
                  drops.paused(
                      () ->
                          report[0] = Verification.run(store, tables.values(), drops)));
          return report[0];
        });
  }

  Table table(TableSpec spec) {
    // Without the lock where nothing is to be done, so that a transaction may open its tables while
    // somebody waits, with the lock, for its end.
    TableCore there = tables.get(spec.name());
    if (there != null && isOpenedAs(there, spec)) {
      database.requireOpen();
      return new Table(there, spec);
    }
    return locked(
        () -> {
          TableCore core = tables.get(spec.name());
          if (core == null) {
            core = create(spec);
            tables.put(spec.name(), core);
          } else {
            adapt(core, spec);
          }
          return new Table(core, spec);
        });
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
    List<BTree> made = new ArrayList<>();
    return making(
        made,
        change -> {
          BTree tree = newTree(made, change, false);
          IndexCore[] indexes = new IndexCore[0];
          for (IndexSpec i : spec.indexes()) {
            indexes = Trees.append(indexes, newIndex(spec, i, made, change));
          }
          return new TableCore(
              database,
              spec.name(),
              spec.key(),
              spec.isBytes() ? null : spec.layout(),
              tree,
              indexes);
        });
  }

  /**
   * Makes trees and publishes them with a table's entry. If that fails, they are dropped again; if
   * the machine dies meanwhile, recovery does so, for the redo point stays before all of it.
   */
  private TableCore making(List<BTree> made, Function<CatalogChange, TableCore> work) {
    store.willWrite();
    LogSession hold = store.hold();
    hold.begin(0);
    CatalogChange change = new CatalogChange(store);
    long end;
    TableCore core;
    try {
      core = work.apply(change);
      end = save(core, change);
    } finally {
      if (!change.happened()) {
        made.forEach(this::drop);
      }
      if (store.engine().poison() == null) {
        hold.end();
      }
    }
    store.awaitDurable(end);
    return core;
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

  private long save(TableCore core, CatalogChange change) {
    List<CatalogEntry.IndexEntry> indexes = new ArrayList<>();
    for (IndexCore i : core.indexes()) {
      indexes.add(i.asEntry());
    }
    return change.put(catalogKey(core.name), entry(core, indexes).encode()).run();
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
    for (IndexCore i : core.indexes()) {
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
    IndexCore[] all = core.indexes();
    if (core.isDropped() || all.length != spec.indexes().size()) {
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
    IndexCore[] all = core.indexes().clone();
    boolean changed = false;
    for (int i = 0; i < all.length; i++) {
      IndexSpec s = spec(spec, all[i].name);
      if (s != null && all[i].isExtracted() && all[i].extractor == null) {
        all[i] = index(spec, s, all[i].tree, all[i].hints);
        changed = true;
      }
    }
    if (changed) {
      core.indexes(all);
    }
  }

  private void build(TableCore core, TableSpec spec, IndexSpec indexSpec) {
    database.alone(
        "build index " + indexSpec.name(),
        () -> {
          IndexCore[] before = core.indexes();
          List<BTree> made = new ArrayList<>();
          boolean done = false;
          try {
            making(
                made,
                change -> {
                  IndexCore index = newIndex(spec, indexSpec, made, change);
                  fill(core, index);
                  core.indexes(Trees.append(before, index));
                  return core;
                });
            done = true;
          } finally {
            if (!done) {
              core.indexes(before);
            }
          }
        });
  }

  private void fill(TableCore core, IndexCore index) {
    Slot slot = new Slot();
    MemorySegment entry = Arena.ofAuto().allocate(Math.max(8, index.entryBytesMax()), 8);
    IndexFill fill =
        new IndexFill(
            index.tree,
            store.session(),
            store.logRecordMax(),
            (k, off, len) -> Maintenance.duplicate(core, index, k, off, len, true));
    Position place = new Position();
    Trees.forEach(
        core.tree,
        place,
        (k, kOff, kLen, v, vOff, vLen) -> {
          if (vLen != core.recordBytes()) {
            throw Table.wrongSize(core, place.pid, vLen);
          }
          int len = index.build(slot, k, kOff, kLen, v, vOff, entry, 0);
          if (len < 0) {
            return;
          }
          if (len > index.tree.maxKeySize()) {
            throw index.keyTooLong(len);
          }
          MemorySegment value = index.hints.staged(slot, k, kOff, kLen);
          index.hints.write(core, value, kLen, place);
          fill.add(entry, 0, len, value, 0, kLen + index.hints.bytes());
        });
    fill.flush();
  }

  // -------------------------------------------------------------------------------------- dropping

  boolean dropTable(String name) {
    boolean there =
        locked(
            () -> {
              TableCore core = tables.get(name);
              if (core == null) {
                return false;
              }
              database.requireNoTransaction("drop table " + name);
              List<BTree> trees = new ArrayList<>();
              for (IndexCore i : core.indexes()) {
                trees.add(i.tree);
              }
              trees.add(core.tree);
              dropping(
                  trees,
                  change -> change.delete(catalogKey(name)),
                  () -> {
                    core.drop();
                    trees.forEach(t -> drops.add(t, null));
                    tables.remove(name);
                  });
              return true;
            });
    drops.run();
    return there;
  }

  boolean dropIndex(String table, String name) {
    boolean there =
        locked(
            () -> {
              TableCore core = tables.get(table);
              IndexCore index = core == null ? null : core.index(name);
              if (core == null || index == null) {
                return false;
              }
              database.alone("drop index " + name, () -> drop(core, index));
              return true;
            });
    drops.run();
    return there;
  }

  private void drop(TableCore core, IndexCore index) {
    List<IndexCore> rest = new ArrayList<>(List.of(core.indexes()));
    rest.remove(index);
    List<CatalogEntry.IndexEntry> entries = new ArrayList<>();
    rest.forEach(i -> entries.add(i.asEntry()));
    dropping(
        List.of(index.tree),
        change -> change.put(catalogKey(core.name), entry(core, entries).encode()),
        () -> {
          drops.add(index.tree, null);
          core.indexes(rest.toArray(IndexCore[]::new));
        });
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
    locked(() -> new CatalogChange(store).delete(key).run());
  }
}
