package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexStage;
import io.fovea.index.RecordExpiry;
import io.fovea.index.TableCore;
import io.fovea.schema.Expiry;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Builds and drops indexes of tables in use, in stages ({@link IndexStage}).
 *
 * <pre>
 *   build   deferred tree for the journal ─► JOURNALING, the index's tree is built
 *           ({@link IndexFill}) ─► BUILDING, settled ─► in the catalog, READABLE
 *   build, if {@link Loads} has no file left
 *           deferred tree ─► DELETE_ONLY ─► BUILDING, filled
 *           ({@link IndexBuild}) ─► in the catalog, READABLE
 *   drop    DROPPING ─► out of the catalog, its tree deferred ─► DELETE_ONLY
 * </pre>
 *
 * <p>{@link TableCore#changing} excludes concurrent changes of one table and is taken before the
 * schema lock. The calling thread must not have a transaction.
 */
final class IndexChanges {
  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final SchemaChanges changes;
  private final Loads loads;

  IndexChanges(CatalogCallbacks catalogCallbacks, Store store, SchemaChanges changes, Loads loads) {
    this.catalogCallbacks = catalogCallbacks;
    this.store = store;
    this.changes = changes;
    this.loads = loads;
  }

  /** Builds an index; returns early if the table is dropped. */
  void build(TableCore core, TableSpec spec, IndexSpec indexSpec) {
    String what =
        "build index " + NameText.of(indexSpec.name()) + " of table " + core.displayName();
    store.requireNoTransaction(what);
    core.changing.lock(what, store::checkWaiting);
    try {
      if (core.isDropped()) {
        return;
      }
      SpecCheck.check(store, core, spec);
      if (core.index(indexSpec.name()) == null) {
        build(core, spec, indexSpec, what);
      }
    } finally {
      core.changing.unlock();
    }
  }

  private void build(TableCore core, TableSpec spec, IndexSpec indexSpec, String what) {
    IndexBuild build = new IndexBuild(catalogCallbacks, store, core, what);
    loads.with(
        (session, file) ->
            new IndexFill(
                catalogCallbacks, store, changes, core, build, session, file, loads.counters, what),
        fill -> {
          try {
            return build(core, spec, indexSpec, what, build, fill);
          } finally {
            fill.cancel();
          }
        },
        () -> build(core, spec, indexSpec, what, build, null)); // slower, but needs no file
  }

  private boolean build(
      TableCore core,
      TableSpec spec,
      IndexSpec indexSpec,
      String what,
      IndexBuild build,
      @Nullable IndexFill fill) {
    IndexStage first = fill == null ? IndexStage.DELETE_ONLY : IndexStage.JOURNALING;
    Building b = begin(core, spec, indexSpec, first, what);
    boolean done = false;
    try {
      if (fill == null) {
        fill(core, b, build);
      } else {
        fill(core, b, build, fill);
      }
      // Under every protocol, including multi-version ones, readers of the index begin after it is
      // complete.
      build.awaitOthers();
      IndexCore readable = b.now.at(IndexStage.READABLE);
      long end = changes.locked(what, () -> publish(core, b.now, readable));
      done = true;
      store.awaitDurable(end);
    } finally {
      BTree journal = b.journal;
      if (journal != null) {
        changes.drops.add(journal, null);
      }
      if (!done) {
        retire(core, b.now);
      }
      changes.drops.run();
    }
    return true;
  }

  /** The current stage of an index being built, and a tree to free after the build. */
  private static final class Building {
    IndexCore now;
    @Nullable BTree journal;

    Building(IndexCore first) {
      now = first;
    }
  }

  /** Creates and registers the first tree, deferred in the catalog. */
  private Building begin(
      TableCore core, TableSpec spec, IndexSpec indexSpec, IndexStage first, String what) {
    return changes.locked(
        what,
        () -> {
          IndexCore[] made = new IndexCore[1];
          changes.makeDurably(
              (change, trees) -> {
                IndexCore index = changes.newIndex(spec, core.objects(), indexSpec, trees, change);
                made[0] = index.at(first);
                change.put(DeferredDrops.key(index.tree.treeId()), DeferredDrops.value(index.tree));
              },
              () -> core.add(made[0]));
          return new Building(made[0]);
        });
  }

  /** Builds by transactions. */
  private static void fill(TableCore core, Building b, IndexBuild build) {
    build.awaitOthers();
    IndexCore building = b.now.at(IndexStage.BUILDING);
    core.replace(b.now, building);
    b.now = building;
    build.awaitOthers();
    build.fill(building);
  }

  /** Builds the tree from sorted entries, then settles concurrent changes. */
  private void fill(TableCore core, Building b, IndexBuild build, IndexFill fill) {
    IndexCore journaling = b.now;
    build.awaitOthers();
    fill.read(journaling);
    IndexCore building = journaling.at(IndexStage.BUILDING, fill.build(journaling, loads));
    fill.adopt(
        () -> {
          core.replace(journaling, building);
          b.now = building;
          b.journal = journaling.tree;
        });
    build.awaitOthers();
    fill.settle(building, journaling.tree);
  }

  private long publish(TableCore core, IndexCore stage, IndexCore readable) {
    List<IndexCore> all = new ArrayList<>(core.readable());
    all.add(readable);
    CatalogChange change = new CatalogChange(store);
    SchemaChanges.save(core, all, change);
    return change
        .delete(DeferredDrops.key(readable.tree.treeId()))
        .run(() -> core.replace(stage, readable));
  }

  /** Hides an index from statements, then frees its deferred tree. */
  private void retire(TableCore core, IndexCore stage) {
    core.replace(stage, stage.at(IndexStage.DELETE_ONLY));
    changes.drops.add(stage.tree, () -> core.remove(stage.tree));
  }

  /**
   * Drops a leftover index by time of a table of byte strings whose expiry was never set. The bytes
   * that the index uses are unknown, or differ from the specification.
   */
  void dropLeftByTime(TableCore core, TableSpec spec) {
    if (!store.isReadOnly() && isLeftByTime(core, spec)) {
      drop(core, Expiry.INDEX, () -> isLeftByTime(core, spec));
    }
  }

  private static boolean isLeftByTime(TableCore core, TableSpec spec) {
    IndexCore index = core.index(Expiry.INDEX);
    return core.expiry() == null
        && index != null
        && spec.expiry() instanceof Expiry.OfBytes by
        && !RecordExpiry.isBy(index, by);
  }

  /** Drops an index; returns false if there is none. */
  boolean drop(TableCore core, String name) {
    return drop(core, name, () -> true);
  }

  private boolean drop(TableCore core, String name, BooleanSupplier still) {
    String what = "drop index " + NameText.of(name) + " of table " + core.displayName();
    if (core.index(name) == null && !core.changing.isLocked()) {
      return false;
    }
    store.requireNoTransaction(what);
    store.willWrite();
    core.changing.lock(what, store::checkWaiting);
    try {
      IndexCore index = core.index(name);
      if (index == null || core.isDropped() || !still.getAsBoolean()) {
        return false;
      }
      Expirations.requireNotNeeded(core, index);
      IndexCore dropping = index.at(IndexStage.DROPPING);
      core.replace(index, dropping);
      boolean done = false;
      try {
        new IndexBuild(catalogCallbacks, store, core, what).awaitOthers();
        changes.locked(what, () -> drop(core, dropping));
        done = true;
      } finally {
        if (!done) {
          core.replace(dropping, index);
        }
      }
    } finally {
      core.changing.unlock();
    }
    changes.drops.run();
    return true;
  }

  private boolean drop(TableCore core, IndexCore dropping) {
    changes.dropping(
        List.of(dropping.tree),
        change -> SchemaChanges.save(core, core.readable(), change),
        () -> retire(core, dropping));
    return true;
  }
}
