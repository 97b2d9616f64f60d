package io.fovea.catalog;

import io.fovea.error.IncompatibleSchemaException;
import io.fovea.index.IndexCore;
import io.fovea.index.RecordExpiry;
import io.fovea.index.RowHistory;
import io.fovea.index.RowHistory.Part;
import io.fovea.index.TableCore;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The plan of a table's evolution to a newer version. A plan changes nothing.
 *
 * <pre>
 *   fields in the file ── steps, by name ──► fields in the specification, or a refusal
 *   index by fields    stays; rebuilt if a field was widened or made nullable; refused if dropped
 *   expiry             by a field that stays, or by another; refused if dropped
 *   extracted index    stays if only names have changed; otherwise rebuilt, because the extractor
 *                      would read different rows
 * </pre>
 */
final class Evolution {
  private static final class Slot {
    final int id;

    /** The field in the file; null if it was added. */
    final @Nullable Field before;

    /**
     * The value for rows without the field, as {@link io.fovea.index.DefaultValue} encodes it for
     * {@code before}.
     */
    final byte[] value;

    /** Whether an added field has a default; a nullable field without a default is null. */
    final boolean given;

    boolean widened;

    Slot(int id, @Nullable Field before, byte[] value, boolean given) {
      this.id = id;
      this.before = before;
      this.value = value;
      this.given = given;
    }

    /** Returns the default encoded for the field that it becomes. */
    byte[] value(Field now) {
      boolean marked = before != null && before.nullable();
      if (!now.nullable() || marked) {
        return value;
      }
      return given ? ByteBuffer.allocate(1 + value.length).put((byte) 1).put(value).array() : value;
    }
  }

  private final Store store;
  private final TableCore core;
  private final TableSpec spec;
  private final RowHistory history;

  /** The new fields by their ordinals in the file; null if dropped. */
  private final @Nullable Field[] now;

  /**
   * Plans an evolution.
   *
   * @throws IncompatibleSchemaException if the steps do not lead from the table to the
   *     specification
   */
  Evolution(Store store, TableCore core, TableSpec spec) {
    this.store = store;
    this.core = core;
    this.spec = spec;
    Layout layout = core.layout;
    if (layout == null) {
      throw refused("it holds byte strings in the file, and rows here");
    }
    if (!spec.key().equals(core.key)) {
      throw refused(
          "its key in the file is "
              + core.key
              + ", here it is "
              + spec.key()
              + ". The key of a table is the same in all its versions");
    }
    this.now = new Field[layout.fields().size()];
    this.history = plan(layout);
    checkExpiry();
  }

  private void checkExpiry() {
    RecordExpiry by = core.expiry();
    Field field = by == null ? null : by.field();
    if (by == null || field == null) {
      return;
    }
    if (now[field.ordinal()] == null) {
      throw refused(
          "field "
              + field
              + " is dropped, but rows expire by it. Remove the expiry first, "
              + "with Database.dropExpiry");
    }
    if (spec.expiry() == null) {
      throw refused(CatalogEntry.unspecified(by.spec()));
    }
  }

  /** Returns whether a field can hold all values of an earlier form of it. */
  static boolean holds(Field f, Part before) {
    boolean holds =
        f.type() == before.type() && f.width() >= before.width()
            || f.type() == FieldType.INT64 && before.type() == FieldType.INT32;
    return holds
        && (f.nullable() || !before.nullable())
        && f.scale() >= before.scale()
        && f.precision() - f.scale() >= before.precision() - before.scale();
  }

  /** Returns whether both fields encode values in the same bytes. */
  private static boolean isAlike(Field a, Field b) {
    boolean sized = a.type() != FieldType.DECIMAL || a.width() == b.width();
    return a.type() == b.type() && a.nullable() == b.nullable() && a.scale() == b.scale() && sized;
  }

  private RowHistory plan(Layout layout) {
    RowHistory old = core.history();
    Map<String, Slot> slots = new LinkedHashMap<>();
    for (Field f : layout.fields()) {
      RowHistory.Origin origin = old.fields().get(f.ordinal());
      slots.put(f.name(), new Slot(origin.id(), f, origin.value(), true));
    }
    int nextId = old.nextId();
    for (int version = old.version() + 1; version <= spec.version(); version++) {
      List<Step> steps = spec.steps(version);
      if (steps == null) {
        throw refused(
            "it has version "
                + old.version()
                + " in the file, and the specification of version "
                + spec.version()
                + " has no steps to version "
                + version);
      }
      for (Step step : steps) {
        nextId += apply(step, version, slots, nextId);
      }
    }
    List<RowHistory.Origin> fields = new ArrayList<>();
    for (Field f : spec.layout().fields()) {
      fields.add(arrive(f, slots.remove(f.name())));
    }
    if (!slots.isEmpty()) {
      Map.Entry<String, Slot> left = slots.entrySet().iterator().next();
      throw refused(
          "field "
              + Objects.requireNonNullElse(left.getValue().before, left.getKey())
              + " of the file is not one of version "
              + spec.version()
              + ", and no step drops it");
    }
    return old.next(spec.version(), nextId, layout, spec.layout(), fields);
  }

  /** Applies a step; returns 1 if it adds a field. */
  private int apply(Step step, int version, Map<String, Slot> slots, int nextId) {
    boolean add = step.kind() == Step.Kind.ADD;
    Slot slot = slots.remove(step.field());
    if (add != (slot == null) || !add && slots.containsKey(step.to())) {
      throw refused(
          "the step \""
              + step
              + "\" to version "
              + version
              + (slot == null ? " finds no such field" : " finds a field of that name")
              + " among those of the file, which have become "
              + slots.keySet());
    }
    if (add || slot == null) {
      slots.put(step.to(), new Slot(nextId, null, step.value(), step.hasDefault()));
      return 1;
    }
    slot.widened |= step.kind() == Step.Kind.WIDEN;
    if (step.kind() != Step.Kind.DROP) {
      slots.put(step.to(), slot);
    }
    return 0;
  }

  private RowHistory.Origin arrive(Field f, @Nullable Slot slot) {
    if (slot == null) {
      throw refused(
          "field "
              + f
              + " of version "
              + spec.version()
              + " is not in the file, and no step adds it");
    }
    Field before = slot.before;
    if (before != null) {
      Part was = Part.of(slot.id, before);
      boolean same = was.equals(Part.of(slot.id, f));
      if (!same && !(slot.widened && holds(f, was))) {
        throw refused(
            "field "
                + before
                + " of the file is "
                + f
                + " in version "
                + spec.version()
                + (holds(f, was)
                    ? ", and no step widens it"
                    : ", which can't hold all of its values"));
      }
      now[before.ordinal()] = f;
    }
    return new RowHistory.Origin(slot.id, slot.value(f));
  }

  RowHistory history() {
    return history;
  }

  /**
   * Returns the specification of an index that stays, or null if the index must be rebuilt.
   *
   * @throws IncompatibleSchemaException if the specification has no index of that name, or a
   *     different one
   */
  @Nullable IndexSpec index(IndexCore index) {
    IndexSpec s = SpecCheck.named(store, core, spec, index);
    List<Field> fields = new ArrayList<>();
    boolean changed = false;
    for (Field f : index.fields) {
      Field n = f.key() ? f : now[f.ordinal()];
      if (n == null) {
        throw refused(
            "field "
                + f
                + " is dropped, but index "
                + index.displayName()
                + " uses it. Drop the index first, with Database.dropIndex");
      }
      changed |= !isAlike(n, f);
      fields.add(n);
    }
    if (index.isExtracted()) {
      changed = !history.old().equals(core.history().old());
    }
    SpecCheck.checkIndex(store, core, CatalogEntry.IndexEntry.of(index).by(fields), s);
    return changed ? null : s;
  }

  private IncompatibleSchemaException refused(String what) {
    return SpecCheck.mismatch(store, core, what + '.');
  }
}
