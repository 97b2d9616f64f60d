package io.fovea.catalog;

import io.fovea.index.IndexCore;
import io.fovea.index.IndexStage;
import io.fovea.index.TableCore;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import java.util.ArrayList;
import java.util.List;

/**
 * How an index of a table that is in use comes and goes, beside transactions: by stages ({@link
 * IndexStage}).
 *
 * <pre>
 *   build   its tree is made, among those to be freed ─► DELETE_ONLY ─► BUILDING, filled
 *           ({@link IndexBuild}) ─► in the catalog, READABLE
 *   drop    LEAVING ─► out of the catalog, its tree among those to be freed ─► DELETE_ONLY
 * </pre>
 *
 * <p>Changes of one table exclude one another by {@link TableCore#changing}, which is taken before
 * the lock of {@link SchemaChanges}. Any thread that has no transaction.
 */
final class IndexChanges {
  private final Host host;
  private final Store store;
  private final SchemaChanges changes;

  IndexChanges(Host host, Store store, SchemaChanges changes) {
    this.host = host;
    this.store = store;
    this.changes = changes;
  }

  /** Builds an index beside transactions; returns at once where the table is dropped meanwhile. */
  void build(TableCore core, TableSpec spec, IndexSpec indexSpec) {
    String what = "build index " + NameText.of(indexSpec.name()) + " of table " + core.shown();
    store.requireNoTransaction(what);
    IndexBuild.lock(core.changing, what);
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
    // From its first page on the tree is in the catalog as one that is to be freed.
    IndexCore[] made = new IndexCore[2];
    changes.locked(
        what,
        () -> {
          changes.making(
              (change, trees) -> {
                made[0] = changes.newIndex(spec, core.objects(), indexSpec, trees, change);
                made[1] = made[0].at(IndexStage.DELETE_ONLY);
                change.put(
                    DeferredDrops.key(made[0].tree.treeId()), DeferredDrops.value(made[0].tree));
              },
              () -> core.add(made[1]));
          return true;
        });
    IndexCore readable = made[0];
    IndexCore stage = made[1];
    boolean done = false;
    try {
      IndexBuild build = new IndexBuild(host, store, core, what);
      build.awaitOthers();
      IndexCore building = readable.at(IndexStage.BUILDING);
      core.replace(stage, building);
      stage = building;
      build.awaitOthers();
      build.fill(stage);
      // Who reads the index has begun when it was complete, under protocols that read the past too.
      build.awaitOthers();
      IndexCore complete = stage;
      long end = changes.locked(what, () -> publish(core, complete, readable));
      done = true;
      store.awaitDurable(end);
    } finally {
      if (!done) {
        retire(core, stage);
        changes.drops.run();
      }
    }
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

  /** Takes an index from statements, which has its record among those to be freed, and frees it. */
  private void retire(TableCore core, IndexCore stage) {
    core.replace(stage, stage.at(IndexStage.DELETE_ONLY));
    changes.drops.add(stage.tree, () -> core.remove(stage.tree));
  }

  /** Drops an index, if the table has one of that name. */
  boolean drop(TableCore core, String name) {
    String what = "drop index " + NameText.of(name) + " of table " + core.shown();
    if (core.index(name) == null && !core.changing.isLocked()) {
      return false;
    }
    store.requireNoTransaction(what);
    store.willWrite();
    IndexBuild.lock(core.changing, what);
    try {
      IndexCore index = core.index(name);
      if (index == null || core.isDropped()) {
        return false;
      }
      Expirations.requireNotNeeded(core, index);
      IndexCore leaving = index.at(IndexStage.LEAVING);
      core.replace(index, leaving);
      boolean done = false;
      try {
        new IndexBuild(host, store, core, what).awaitOthers();
        changes.locked(what, () -> drop(core, leaving));
        done = true;
      } finally {
        if (!done) {
          core.replace(leaving, index);
        }
      }
    } finally {
      core.changing.unlock();
    }
    changes.drops.run();
    return true;
  }

  private boolean drop(TableCore core, IndexCore leaving) {
    changes.dropping(
        List.of(leaving.tree),
        change -> SchemaChanges.save(core, core.readable(), change),
        () -> retire(core, leaving));
    return true;
  }
}
