package io.fovea.catalog;

import io.fovea.error.IncompatibleSchemaException;
import io.fovea.index.IndexCore;
import io.fovea.index.ObjectHistory;
import io.fovea.index.ObjectPlan;
import io.fovea.index.RecordExpiry;
import io.fovea.index.TableCore;
import io.fovea.object.ObjectEntries;
import io.fovea.object.Shapes;
import io.fovea.schema.Expiry;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.ObjectShapes;
import io.fovea.schema.Shape;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Evolves tables of objects whose class has changed.
 *
 * <p>Each object stores its version number, and the catalog stores the shape of each version. So
 * adding a version writes one catalog record and rewrites no object. The record is durable, and the
 * shape is in memory, before the first handle of the version exists, so a reader of an object
 * always finds its shape. Older handles keep working and refuse newer objects.
 *
 * <p>The same record lists the components of the new version that are in indexes. Index entries do
 * not change; a class that would change them is refused.
 *
 * <pre>
 *   extension field OBJECTS   key: string · number of versions (1) · each: string
 *   string                    length (4) · UTF-8
 * </pre>
 */
final class ObjectVersions {
  private final Store store;
  private final SchemaChanges changes;

  ObjectVersions(Store store, SchemaChanges changes) {
    this.store = store;
    this.changes = changes;
  }

  /** Returns whether the table can be opened unchanged. */
  static boolean matches(Store store, TableCore core, ObjectShapes shapes) {
    ObjectHistory known = core.objects();
    return known == null
        || known.shapes().equals(shapes)
        || store.isReadOnly() && difference(known, shapes) == null;
  }

  /**
   * Adds a version to a table if its objects have changed.
   *
   * @throws IncompatibleSchemaException if the table's objects cannot be read as the specified
   *     class
   */
  void adapt(TableCore core, TableSpec spec) {
    ObjectHistory before = core.objects();
    ObjectShapes shapes = spec.objects();
    if (before == null || shapes == null) {
      return;
    }
    require(store, core, before, shapes);
    if (matches(store, core, shapes)) {
      return;
    }
    String what = "open table " + core.displayName() + " with other objects";
    store.requireNoTransaction(what);
    core.changing.lock(what, store::checkWaiting);
    try {
      changes.locked(what, () -> add(core, spec, shapes));
    } finally {
      core.changing.unlock();
    }
  }

  private boolean add(TableCore core, TableSpec spec, ObjectShapes shapes) {
    ObjectHistory known = core.objects();
    if (known == null || core.isRefused() || matches(store, core, shapes)) {
      return false;
    }
    SpecCheck.check(store, core, spec);
    ObjectHistory next = known.next(shapes.value());
    // No index is being built: a build would hold the table lock.
    RecordExpiry expiry = core.expiry();
    ObjectEntries byTime = null;
    Map<ObjectPlan, ObjectEntries> more = new LinkedHashMap<>();
    List<CatalogEntry.IndexEntry> indexes = new ArrayList<>();
    for (IndexCore i : core.readable()) {
      List<String> paths = SpecCheck.named(store, core, spec, i).components();
      ObjectEntries by = ObjectEntries.of(next.versions(), shapes.value(), paths);
      more.put(Objects.requireNonNull(i.objects), by);
      byTime = expiry != null && expiry.isByTime(i) ? by : byTime;
      indexes.add(CatalogEntry.IndexEntry.of(i).with(by));
    }
    CatalogChange change = new CatalogChange(store);
    ObjectEntries time = byTime;
    Expiry expires = expiry == null || time == null ? null : expiry.by(time);
    SchemaChanges.saveObjects(core, next, expires, indexes, change);
    store.willWrite();
    long end =
        change.run(
            () -> {
              // Before any thread can write an object of the version.
              more.forEach(ObjectPlan::extend);
              if (expiry != null && time != null) {
                expiry.extend(time);
              }
              core.objects(next);
            });
    store.awaitDurable(end);
    return true;
  }

  static ObjectPlan plan(ObjectHistory versions, TableSpec spec, IndexSpec index) {
    ObjectShapes here = Objects.requireNonNull(spec.objects());
    return new ObjectPlan(ObjectEntries.of(versions.versions(), here.value(), index.components()));
  }

  /**
   * Checks that an index has the specified entries.
   *
   * @throws IncompatibleSchemaException if they differ in some version of the objects
   */
  static void checkIndex(
      Store store, TableCore core, ObjectShapes here, IndexCore index, IndexSpec spec) {
    ObjectPlan plan = index.objects;
    ObjectHistory versions = core.objects();
    if (plan == null || versions == null) {
      return;
    }
    String difference;
    try {
      difference =
          spec.isDescribed()
              ? plan.entries().difference(spec.components())
              : plan.entries()
                  .difference(
                      ObjectEntries.of(versions.versions(), here.value(), spec.components()));
    } catch (IllegalArgumentException e) {
      String m = String.valueOf(e.getMessage());
      difference = m.endsWith(".") ? m.substring(0, m.length() - 1) : m;
    }
    if (difference != null) {
      throw SpecCheck.mismatch(
          store,
          core,
          "index \""
              + index.name
              + "\": "
              + difference
              + ". Drop it with dropIndex; it is rebuilt when the table is opened with it.");
    }
  }

  /**
   * Checks that a table's objects can be read as specified.
   *
   * @throws IncompatibleSchemaException if they cannot
   */
  static void require(Store store, TableCore core, ObjectHistory file, ObjectShapes shapes) {
    String difference = difference(file, shapes);
    if (difference != null) {
      throw SpecCheck.mismatch(store, core, difference + ".");
    }
  }

  /** Describes why a specification does not match, or returns null if it does. */
  private static @Nullable String difference(ObjectHistory file, ObjectShapes shapes) {
    if (!file.key().equals(shapes.key())) {
      return "its keys are "
          + file.key()
          + " in the file, and "
          + shapes.key()
          + " here. The key of a table cannot change";
    }
    int version = file.version(shapes.value());
    if (version == file.version()) {
      return null;
    }
    if (version > 0) {
      return "its objects have version "
          + file.version()
          + " in the file, and are as in version "
          + version
          + " here. A table can't return to an older version";
    }
    if (file.version() == ObjectHistory.VERSION_MAX) {
      return "its objects have had "
          + file.version()
          + " versions, which is the limit. Copy the table into a new one";
    }
    for (int v = file.version(); v > 0; v--) {
      String difference = Shapes.difference(file.shape(v), shapes.value());
      if (difference != null) {
        return "objects of version " + v + ": " + difference;
      }
    }
    return reusedName(file, shapes.value());
  }

  /**
   * Describes a new component that has the name of a removed one and would therefore show the
   * removed component's values; otherwise returns null.
   */
  private static @Nullable String reusedName(ObjectHistory file, Shape.Composite here) {
    for (Shape.Component c : here.components()) {
      if (Shape.Composite.find(c, file.shape(file.version())) >= 0) {
        continue;
      }
      for (int v = file.version() - 1; v > 0; v--) {
        if (Shape.Composite.find(c, file.shape(v)) >= 0) {
          return "component "
              + c.name()
              + " was dropped after version "
              + v
              + ", and objects of that version may exist. Give the new "
              + "component another name";
        }
      }
    }
    return null;
  }

  static byte[] encode(ObjectHistory history) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      write(out, history.key());
      out.writeByte(history.version());
      for (Shape s : history.versions()) {
        write(out, s);
      }
    } catch (IOException e) {
      throw new IllegalStateException("Writing to memory failed.", e);
    }
    return bytes.toByteArray();
  }

  private static void write(DataOutputStream out, Shape shape) throws IOException {
    byte[] text = shape.toString().getBytes(StandardCharsets.UTF_8);
    out.writeInt(text.length);
    out.write(text);
  }

  /**
   * Decodes the shapes of a table.
   *
   * @throws IOException if the bytes are invalid
   * @throws IllegalArgumentException likewise
   */
  static ObjectHistory decode(byte[] bytes) throws IOException {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
      Shape key = read(in);
      int n = in.readUnsignedByte();
      List<Shape.Composite> versions = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        if (!(read(in) instanceof Shape.Composite c)) {
          throw new IOException("objects that are no records");
        }
        versions.add(c);
      }
      if (in.read() >= 0) {
        throw new IOException("bytes after the shapes");
      }
      return new ObjectHistory(key, versions);
    }
  }

  private static Shape read(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0 || length > in.available()) {
      throw new IOException("a shape of " + length + " bytes");
    }
    return Shapes.parse(new String(in.readNBytes(length), StandardCharsets.UTF_8));
  }
}
