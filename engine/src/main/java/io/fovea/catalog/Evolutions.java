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
 * How a table becomes one of a newer version, beside transactions: one record of the catalog, and
 * no page of the table.
 *
 * <pre>
 *   plan ─► handles of the old version are refused ─► transactions that may have used one have ended
 *        ─► catalog: layout, versions of rows; indexes that can't stay are among those to be freed
 *        ─► another {@link TableCore} over the same tree; indexes that are missing are built
 * </pre>
 *
 * <p><b>Why no statement meets what it does not know.</b> A statement of the old version ends
 * before the catalog changes: either it sees that it is refused, or its transaction was active when
 * {@link TableCore#evolve} returned, and is waited for ({@link io.fovea.txn.GracePeriod}). So each
 * row that an old handle has read was of an older version or of its own, and each that it has
 * written is there, or its transaction has been aborted, before the first handle of the new version
 * exists. From then on all rows that are written are of the new one, so a row that a transaction
 * has read as a new one never becomes an old one.
 *
 * <p><b>How rows expire</b> changes with the rest, in the same record. The index by time may be
 * missing then: rows are hidden without it, and swept when it was built.
 *
 * <p>If anything fails before the record of the catalog, old handles go on. A crash leaves the
 * table as it was, or as it is then: the record is one. Evolutions exclude changes of indexes,
 * renames and drops of the table by {@link TableCore#changing}.
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

  /** Waits until a table that is evolving is what it will be. */
  void await(TableCore core) {
    String what = "open table " + core.shown() + " while it evolves";
    store.requireNoTransaction(what);
    core.changing.lock(what, store::checkWaiting);
    core.changing.unlock();
  }

  /**
   * Makes a table one of a newer version, unless somebody else has changed it meanwhile. Its
   * indexes are those that could stay.
   */
  void evolve(TableCore core, TableSpec spec) {
    String what =
        "evolve table "
            + core.shown()
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
              + " in the file, which was opened for reading only, and "
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
          core.stay();
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
