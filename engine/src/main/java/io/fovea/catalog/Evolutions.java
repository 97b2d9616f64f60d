package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Evolves a table to a newer version while transactions run. An evolution writes one catalog record
 * and changes no page of the table.
 *
 * <pre>
 *   plan ─► old handles refused ─► transactions that may have used one end
 *        ─► catalog: layout, row versions; indexes that cannot stay become deferred
 *        ─► another {@link TableCore} over the same tree; missing indexes are built
 * </pre>
 *
 * <p><b>No statement meets an unknown layout.</b> A statement of the old version is refused unless
 * its transaction was active when {@link TableCore#evolve} returned; the evolution waits for those
 * transactions ({@link io.fovea.txn.GracePeriod}). Their rows have the old version or an earlier
 * one, and are written or aborted before the first handle of the new version exists. After that
 * only rows of the new version are written.
 *
 * <p>Until its index by time is rebuilt, rows that expire are hidden but not swept. After a failure
 * before the catalog record, old handles work again. Evolutions exclude index changes, renames and
 * drops of the table by {@link TableCore#changing}.
 */
final class Evolutions {
  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final SchemaChanges changes;
  private final Expirations expirations;
  private final Map<String, TableCore> tables;

  Evolutions(
      CatalogCallbacks catalogCallbacks,
      Store store,
      SchemaChanges changes,
      Expirations expirations,
      Map<String, TableCore> tables) {
    this.catalogCallbacks = catalogCallbacks;
    this.store = store;
    this.changes = changes;
    this.expirations = expirations;
    this.tables = tables;
  }

  void await(TableCore core) {
    String what = "open table " + core.displayName() + " while it evolves";
    store.requireNoTransaction(what);
    core.changing.lock(what, store::checkWaiting);
    core.changing.unlock();
  }

  /**
   * Evolves a table, unless another thread has changed it. Afterwards the table has only the
   * indexes that can stay.
   */
  void evolve(TableCore core, TableSpec spec) {
    String what =
        "evolve table "
            + core.displayName()
            + " from version "
            + core.history().version()
            + " to "
            + spec.version();
    if (store.isReadOnly()) {
      throw SpecCheck.mismatch(
          store,
          core,
          "it has version "
              + core.history().version()
              + " in the file, which was opened read-only, and "
              + spec.version()
              + " here. Open it for writing once, or with the specification of that version.");
    }
    new Evolution(store, core, spec);
    SpecCheck.checkSizes(store.catalog(), spec);
    store.requireNoTransaction(what);
    store.willWrite();
    core.changing.lock(what, store::checkWaiting);
    try {
      if (core.isDropped()) {
        return;
      }
      TableCore next = next(core, new Evolution(store, core, spec), spec);
      boolean done = false;
      core.evolve("version " + spec.version());
      try {
        new IndexBuild(catalogCallbacks, store, core, what).awaitOthers();
        changes.locked(what, () -> publish(core, next));
        done = true;
      } finally {
        if (!done && !core.isDropped()) {
          core.cancelEvolution();
        }
      }
    } finally {
      core.changing.unlock();
    }
    changes.drops.run();
  }

  private TableCore next(TableCore core, Evolution plan, TableSpec spec) {
    List<IndexCore> stay = new ArrayList<>();
    for (IndexCore i : core.readable()) {
      IndexSpec s = plan.index(i);
      if (s != null) {
        stay.add(changes.index(spec, s, i.tree, i.hints));
      }
    }
    SpecCheck.checkBytes(store.catalog(), spec, plan.history().length());
    TableCore next =
        new TableCore(
            core.name,
            core.key,
            spec.layout(),
            plan.history(),
            core.tree,
            stay.toArray(IndexCore[]::new));
    return expirations.expire(next, spec.expiry());
  }

  private boolean publish(TableCore core, TableCore next) {
    List<BTree> gone = new ArrayList<>();
    for (IndexCore i : core.readable()) {
      if (next.index(i.name) == null) {
        gone.add(i.tree);
      }
    }
    changes.dropping(
        gone,
        change -> SchemaChanges.save(next, next.readable(), change),
        () -> {
          gone.forEach(t -> changes.drops.add(t, null));
          core.evolved();
          tables.put(next.name, next);
        });
    return true;
  }
}
