package io.fovea.catalog;

import io.fovea.error.InvalidUseException;
import io.fovea.index.IndexCore;
import io.fovea.index.RecordExpiry;
import io.fovea.index.TableCore;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Renames tables and indexes by one catalog record.
 *
 * <p>Handles stay valid, because they hold the {@link TableCore}, whose name changes. So statements
 * need no check. {@link TableCore#changing} excludes drops and index builds of the table; the
 * schema lock excludes all other writes of its record.
 */
final class Renames {
  private final Store store;
  private final SchemaChanges changes;

  Renames(Store store, SchemaChanges changes) {
    this.store = store;
    this.changes = changes;
  }

  /** Renames a table; returns false if another thread has dropped or renamed it. */
  boolean table(
      Map<String, TableCore> tables,
      TableCore core,
      String from,
      String to,
      ObjLongConsumer<Map<String, @Nullable TableCore>> publish) {
    TableSpec.requireName(to);
    String what = "rename table " + NameText.of(from);
    store.requireNoTransaction(what);
    return alone(
        core,
        what,
        () -> {
          if (core.isDropped() || !core.name.equals(from)) {
            return false;
          }
          if (from.equals(to)) {
            return true;
          }
          if (tables.containsKey(to)) {
            throw taken(what, "table", to);
          }
          CatalogChange change = new CatalogChange(store).delete(CatalogKey.of(from));
          SchemaChanges.save(core, to, core.readable(), change);
          run(
              change,
              () -> {
                Map<String, @Nullable TableCore> names = new HashMap<>();
                names.put(from, null);
                names.put(to, core);
                publish.accept(names, 0);
              });
          return true;
        });
  }

  /** Renames an index; returns false if there is none. */
  boolean index(TableCore core, String from, String to) {
    TableSpec.requireName(to);
    String what = "rename index " + NameText.of(from) + " of table " + core.displayName();
    store.requireNoTransaction(what);
    return alone(
        core,
        what,
        () -> {
          IndexCore index = core.index(from);
          if (index == null || core.isDropped()) {
            return false;
          }
          if (from.equals(to)) {
            return true;
          }
          if (RecordExpiry.isExpiryIndex(index)) {
            throw new InvalidUseException(
                "Can't " + what + ": it belongs to the expiry of the table's byte strings.");
          }
          if (core.index(to) != null) {
            throw taken(what, "index", to);
          }
          CatalogChange change = new CatalogChange(store);
          SchemaChanges.saveName(core, index, to, change);
          run(change, () -> index.name = to);
          return true;
        });
  }

  private boolean alone(TableCore core, String what, BooleanSupplier work) {
    core.changing.lock(what, store::checkWaiting);
    try {
      return changes.locked(what, work::getAsBoolean);
    } finally {
      core.changing.unlock();
    }
  }

  private void run(CatalogChange change, Runnable then) {
    store.willWrite();
    store.awaitDurable(change.run(then));
  }

  static InvalidUseException taken(String what, String kind, String name) {
    return new InvalidUseException(
        "Can't "
            + what
            + ": "
            + kind
            + " "
            + NameText.of(name)
            + " already exists. Drop or rename it first.");
  }
}
