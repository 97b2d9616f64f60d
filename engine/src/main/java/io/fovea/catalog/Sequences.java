package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.NameText;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/**
 * The sequences of a database. Each is a catalog record ({@link SequenceRecord}) and a core that
 * threads share ({@link SequenceCore}).
 *
 * <p>Reserving a block of values changes only that record, outside transactions, so it conflicts
 * with no transaction and is never rolled back. A close saves the next values, so no values are
 * skipped.
 *
 * <p>Thread-safe; changes are under the schema lock.
 */
public final class Sequences {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private final Store store;
  private final SchemaChanges changes;
  private final Map<String, SequenceCore> all = new ConcurrentSkipListMap<>();

  Sequences(Store store, SchemaChanges changes) {
    this.store = store;
    this.changes = changes;
    BTree catalog = store.catalog();
    SequenceRecord.forEach(
        catalog,
        r -> all.put(r.spec().name(), new SequenceCore(store, changes, r.spec(), r.reserved())));
  }

  /** Returns a sequence, or null if there is none. */
  public @Nullable SequenceCore core(String name) {
    return all.get(name);
  }

  /** Returns the names of the sequences, in order. */
  public List<String> names() {
    store.requireServing();
    return List.copyOf(all.keySet());
  }

  /**
   * Opens a sequence, creating it if there is none.
   *
   * @param adopts whether an existing sequence must match the specification
   */
  public SequenceCore open(SequenceSpec spec, boolean adopts) {
    store.requireServing();
    SequenceCore existing = all.get(spec.name());
    if (existing == null) {
      String what = "create sequence " + NameText.of(spec.name());
      existing = changes.lockedWithTimeout(what, () -> create(spec));
    }
    if (adopts) {
      adopt(existing, spec);
    }
    return existing;
  }

  private SequenceCore create(SequenceSpec spec) {
    SequenceCore known = all.get(spec.name());
    if (known != null) {
      return known;
    }
    if (store.isReadOnly()) {
      throw new InvalidUseException(
          "There is no sequence "
              + NameText.of(spec.name())
              + " in "
              + store.name()
              + ", which was opened read-only.");
    }
    store.willWrite();
    store.engine().checkUsable(false);
    SequenceCore made = new SequenceCore(store, changes, spec, 0);
    CatalogChange change = new CatalogChange(store);
    change.put(SequenceRecord.key(spec), SequenceRecord.encode(spec, 0));
    store.awaitDurable(change.run(() -> all.put(spec.name(), made)));
    return made;
  }

  /** Creates a sequence for a transaction. */
  SequenceCore fresh(SequenceSpec spec) {
    return new SequenceCore(store, changes, spec, -1);
  }

  /**
   * Sets the cache size of an existing sequence.
   *
   * @throws IncompatibleSchemaException if its values differ from the specification
   */
  void adopt(SequenceCore core, SequenceSpec spec) {
    SequenceSpec is = core.spec();
    // The core of a sequence renamed by an active transaction has the old name until the commit.
    if (!is.named(spec.name()).cached(spec.cached()).equals(spec)) {
      throw new IncompatibleSchemaException(
          "Sequence "
              + NameText.of(spec.name())
              + " of "
              + store.name()
              + " runs from "
              + is.first()
              + " to "
              + is.last()
              + " by "
              + is.step()
              + " in the file, and from "
              + spec.first()
              + " to "
              + spec.last()
              + " by "
              + spec.step()
              + " here. Open it by its name alone, or change it with "
              + "Database.alterSequence.");
    }
    core.cached(spec.cached());
  }

  /** Drops a sequence durably; returns false if there is none. */
  public boolean drop(String name) {
    store.requireServing();
    if (!all.containsKey(name)) {
      return false;
    }
    return changes.lockedWithTimeout("drop sequence " + NameText.of(name), () -> dropLocked(name));
  }

  private boolean dropLocked(String name) {
    SequenceCore core = all.get(name);
    if (core == null) {
      return false;
    }
    store.willWrite();
    store.engine().checkUsable(false);
    CatalogChange change = new CatalogChange(store).delete(SequenceRecord.key(core.spec()));
    store.awaitDurable(
        change.run(
            () -> {
              core.drop();
              all.remove(name);
            }));
    return true;
  }

  /**
   * Renames a sequence durably; returns false if there is none. Handles stay valid, because they
   * hold the core.
   */
  public boolean rename(String from, String to) {
    TableSpec.requireName(to);
    store.requireServing();
    if (!all.containsKey(from)) {
      return false;
    }
    String what = "rename sequence " + NameText.of(from);
    return changes.lockedWithTimeout(what, () -> renameLocked(what, from, to));
  }

  private boolean renameLocked(String what, String from, String to) {
    SequenceCore core = all.get(from);
    if (core == null || from.equals(to)) {
      return core != null;
    }
    if (all.containsKey(to)) {
      throw Renames.taken(what, "sequence", to);
    }
    store.willWrite();
    store.engine().checkUsable(false);
    CatalogChange change =
        new CatalogChange(store)
            .delete(CatalogKey.of(CatalogKey.SEQUENCE, from))
            .put(CatalogKey.of(CatalogKey.SEQUENCE, to), core.named(to));
    store.awaitDurable(
        change.run(
            () -> {
              core.rename(to);
              all.remove(from);
              all.put(to, core);
            }));
    return true;
  }

  /** Alters a sequence durably; returns null if there is none. */
  public @Nullable SequenceCore alter(SequenceSpec spec) {
    store.requireServing();
    if (!all.containsKey(spec.name())) {
      return null;
    }
    String what = "alter sequence " + NameText.of(spec.name());
    return changes.<@Nullable SequenceCore>lockedWithTimeout(what, () -> alterLocked(spec));
  }

  private @Nullable SequenceCore alterLocked(SequenceSpec spec) {
    SequenceCore core = all.get(spec.name());
    if (core == null) {
      return null;
    }
    store.willWrite();
    store.engine().checkUsable(false);
    SequenceCore by = new SequenceCore(store, changes, spec, 0);
    CatalogChange change =
        new CatalogChange(store).put(SequenceRecord.key(spec), SequenceRecord.encode(spec, 0));
    store.awaitDurable(
        change.run(
            () -> {
              all.put(spec.name(), by);
              core.alter(by);
            }));
    return by;
  }

  /**
   * Publishes names with their sequences; null marks a name that is no longer used. Requires the
   * schema lock.
   *
   * @param made the new sequences
   * @param altered the altered sequences, which have successors
   */
  void publish(
      Map<String, @Nullable SequenceCore> names,
      Collection<SequenceCore> made,
      Collection<SequenceCore> altered,
      long lsn) {
    List<SequenceCore> gone = new ArrayList<>();
    names.forEach(
        (name, core) -> {
          SequenceCore before = core == null ? all.remove(name) : all.put(name, core);
          if (before != null && !names.containsValue(before) && !altered.contains(before)) {
            gone.add(before);
          }
          if (core != null && made.contains(core)) {
            core.publish(lsn);
          } else if (core != null) {
            core.rename(name);
          }
        });
    gone.forEach(SequenceCore::drop);
  }

  void close() {
    all.values().forEach(SequenceCore::close);
  }

  /** Saves the next values; under the schema lock, after {@link #close}. */
  void save() {
    CatalogChange change = new CatalogChange(store);
    for (SequenceCore core : all.values()) {
      byte[] rest = core.unusedRecord();
      if (rest != null) {
        change.put(SequenceRecord.key(core.spec()), rest);
      }
    }
    if (change.size() == 0) {
      return;
    }
    try {
      change.run();
    } catch (FoveaException e) {
      if (change.logged) {
        throw e; // only recovery can complete the change
      }
      LOG.log(
          Level.DEBUG,
          "Unused reserved values of sequences could not be saved and are skipped.",
          e);
    }
  }
}
