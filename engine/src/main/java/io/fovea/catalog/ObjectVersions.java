package io.fovea.catalog;

import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.index.IndexCore;
import io.fovea.index.ObjectHistory;
import io.fovea.index.ObjectPlan;
import io.fovea.index.ObjectRewriter;
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
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Evolves tables of objects whose class has changed.
 *
 * <p>Each object stores its version number, and the catalog stores the shape of each version. So
 * adding a version writes one catalog record and rewrites no object. The record is durable, and the
 * shape is in memory, before the first handle of the version exists, so a reader of an object
 * always finds its shape.
 *
 * <p>A handle of an older class overwrites an object without reading it while no newer version is
 * known. So the first handle of a new version is returned only after the transactions that may not
 * know it have ended; until then {@link TableCore#isVersionSettling} makes others that open the
 * table wait too.
 *
 * <p>The same record lists the components of the new version that are in indexes. Index entries do
 * not change; a class that would change them is refused.
 *
 * <p>The class of an older version, down to the floor, may open the table again. That adds the
 * {@linkplain ObjectHistory merged versions} that it needs, in the same way.
 *
 * <pre>
 *   extension field OBJECTS   key: string · number of versions (1) · each: string
 *   string                    length (4) · UTF-8
 *
 *   extension field OLDER_CLASSES, absent if the floor is the last version
 *     floor (1) · each version: writer (1) · base (1) · string: the shape with earlier names,
 *     empty if there are none
 *
 *   extension field VACANT, absent if objects may have any version
 *     each version that no object has (1)
 * </pre>
 */
final class ObjectVersions {
  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final SchemaChanges changes;

  ObjectVersions(CatalogCallbacks catalogCallbacks, Store store, SchemaChanges changes) {
    this.catalogCallbacks = catalogCallbacks;
    this.store = store;
    this.changes = changes;
  }

  /** Returns whether the table can be opened unchanged. */
  static boolean matches(Store store, TableCore core, ObjectShapes shapes) {
    ObjectHistory known = core.objects();
    boolean settled = known == null || !known.shapes().equals(shapes) || !core.isVersionSettling();
    return settled && isKnown(store, core, shapes);
  }

  private static boolean isKnown(Store store, TableCore core, ObjectShapes shapes) {
    ObjectHistory known = core.objects();
    return known == null
        || known.shapes().equals(shapes)
        || store.isReadOnly() && difference(known, shapes) == null
        || isOlder(core, shapes)
            && known.withMerged(known.version(shapes.value())).equals(known)
            && difference(known, shapes) == null;
  }

  /** Returns whether the objects of a specification are those of an older version. */
  static boolean isOlder(TableCore core, @Nullable ObjectShapes shapes) {
    ObjectHistory known = core.objects();
    int version = known == null || shapes == null ? 0 : known.version(shapes.value());
    return version > 0 && version < Objects.requireNonNull(known).current();
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
    // A version added here would not be the one to which finishEvolution rewrites the objects.
    core.requireUnchanging(what);
    core.changing.lock(what, store::checkWaiting);
    try {
      changes.locked(what, () -> add(core, spec, shapes));
      if (core.isVersionSettling()) {
        new IndexBuild(catalogCallbacks, store, core, what).awaitOthers();
        core.versionSettling(false);
      }
    } finally {
      core.changing.unlock();
    }
  }

  private boolean add(TableCore core, TableSpec spec, ObjectShapes shapes) {
    ObjectHistory known = core.objects();
    if (known == null || core.isRefused() || isKnown(store, core, shapes)) {
      return false;
    }
    SpecCheck.check(store, core, spec);
    int own = known.version(shapes.value());
    ObjectHistory next = own > 0 ? known.withMerged(own) : known.next(shapes.value());
    // No index is being built: a build would hold the table lock.
    RecordExpiry expiry = core.expiry();
    ObjectEntries byTime = null;
    Map<ObjectPlan, ObjectEntries> more = new LinkedHashMap<>();
    List<CatalogEntry.IndexEntry> indexes = new ArrayList<>();
    for (IndexCore i : core.readable()) {
      ObjectPlan plan = Objects.requireNonNull(i.objects);
      ObjectEntries by =
          own > 0
              ? merged(plan.entries(), next)
              : next.entries(shapes.value(), SpecCheck.named(store, core, spec, i).components());
      more.put(plan, by);
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
              if (own == 0) {
                core.versionSettling(true);
              }
              core.objects(next);
            });
    store.awaitDurable(end);
    return true;
  }

  private static ObjectEntries merged(ObjectEntries entries, ObjectHistory next) {
    ObjectEntries all = entries;
    for (int v = entries.versions() + 1; v <= next.version(); v++) {
      ObjectHistory.Origin o = next.origins().get(v - 1);
      all = all.merged(next.shape(v), o.writer(), o.base(), next.unknown(o.writer(), o.base()));
    }
    return all;
  }

  /**
   * Refuses older classes from now on.
   *
   * @return whether any could open the table
   */
  boolean finish(TableCore core) {
    String what = what(core);
    store.requireNoTransaction(what);
    store.willWrite();
    core.changing.lock(what, store::checkWaiting);
    try {
      return save(core, what, ObjectHistory::finished);
    } finally {
      core.changing.unlock();
    }
  }

  /**
   * Refuses older classes from now on, and rewrites all objects of other versions than the newest.
   *
   * @param newest the shape of the newest class
   * @throws IncompatibleSchemaException if the table has a newer one
   */
  void rewrite(
      TableCore core,
      Shape.Composite newest,
      ObjectRewriter.Converter converter,
      ObjectRewrite.Listener listener) {
    String what = what(core);
    store.requireNoTransaction(what);
    store.willWrite();
    core.changing.lock(what, store::checkWaiting);
    try {
      ObjectHistory known = Objects.requireNonNull(core.objects());
      int current = known.current();
      if (known.version(newest) != current) {
        throw SpecCheck.mismatch(
            store,
            core,
            "its objects have version "
                + current
                + " in the file, which is that of a newer class. Finish the evolution with that"
                + " class.");
      }
      if (known.equals(known.rewritten())) {
        return;
      }
      save(core, what, ObjectHistory::finished);
      new ObjectRewrite(catalogCallbacks, store, core, what, current, converter).run(listener);
      save(
          core,
          what,
          now -> {
            if (now.current() != current) {
              throw new InvalidUseException(
                  "Can't "
                      + what
                      + ": it was opened with a newer class meanwhile. Call finishEvolution with"
                      + " that class.");
            }
            return now.rewritten();
          });
    } finally {
      core.changing.unlock();
    }
  }

  private static String what(TableCore core) {
    return "finish the evolution of table " + core.displayName();
  }

  /** Durably changes what the catalog says about versions; returns whether anything changed. */
  private boolean save(TableCore core, String what, UnaryOperator<ObjectHistory> to) {
    long[] end = {-1};
    changes.locked(
        what,
        () -> {
          ObjectHistory known = core.objects();
          ObjectHistory next = known == null || core.isRefused() ? known : to.apply(known);
          if (next == null || next.equals(known)) {
            return false;
          }
          CatalogChange change = new CatalogChange(store);
          RecordExpiry expiry = core.expiry();
          SchemaChanges.saveObjects(
              core,
              next,
              expiry == null ? null : expiry.spec(),
              core.readable().stream().map(CatalogEntry.IndexEntry::of).toList(),
              change);
          end[0] = change.run(() -> core.objects(next));
          return true;
        });
    if (end[0] >= 0) {
      store.awaitDurable(end[0]);
    }
    return end[0] >= 0;
  }

  static ObjectPlan plan(ObjectHistory versions, TableSpec spec, IndexSpec index) {
    ObjectShapes here = Objects.requireNonNull(spec.objects());
    return new ObjectPlan(versions.entries(here.value(), index.components()));
  }

  /**
   * Checks that a new index contains no component that is converted.
   *
   * @throws IncompatibleSchemaException if it does
   */
  static void checkNewIndex(Store store, TableCore core, ObjectShapes here, IndexSpec spec) {
    ObjectHistory versions = core.objects();
    if (versions == null || spec.isDescribed()) {
      return;
    }
    try {
      versions.entries(here.value(), spec.components());
    } catch (ObjectEntries.ConvertedException e) {
      throw SpecCheck.mismatch(
          store,
          core,
          "index \""
              + spec.name()
              + "\": "
              + e.getMessage()
              + ". Open the table without it and call finishEvolution with that specification;"
              + " afterwards it can be opened with the index.");
    } catch (IllegalArgumentException e) {
      // Reported when the index is made.
    }
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
              : plan.entries().difference(versions.entries(here.value(), spec.components()));
    } catch (ObjectEntries.ConvertedException e) {
      throw SpecCheck.mismatch(
          store,
          core,
          "index \""
              + index.name
              + "\": "
              + e.getMessage()
              + ". Drop it with dropIndex, open the table without it, and call finishEvolution with"
              + " that specification; afterwards it can be opened with the index.");
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
          + " here. The key of a table cannot change: copy the records into a new table";
    }
    int version = file.version(shapes.value());
    if (version == file.current()) {
      return null;
    }
    if (version > 0 && version < file.floor()) {
      return "its objects have version "
          + file.current()
          + " in the file, and are as in version "
          + version
          + " here. A table does not go back to a version before "
          + file.floor();
    }
    if (version == 0 ? file.version() == ObjectHistory.VERSION_MAX : !file.canMerge(version)) {
      return "its objects have had "
          + file.version()
          + " versions, which is the limit. Copy the table into a new one";
    }
    for (int v = file.version(); v > 0; v--) {
      if (file.isVacant(v)) {
        continue;
      }
      Shape.Composite seen = file.seenBy(shapes.value(), v);
      String difference = Shapes.difference(seen, shapes.value(), file.isNewer(v, shapes.value()));
      if (difference != null) {
        String newer = file.isNewer(v, shapes.value()) ? ", which is that of a newer class" : "";
        return "objects of version " + v + newer + ": " + difference;
      }
    }
    return version > 0 ? null : reusedName(file, shapes.value());
  }

  /**
   * Describes a new component that has the name of a removed one and would therefore show the
   * removed component's values; otherwise returns null.
   */
  private static @Nullable String reusedName(ObjectHistory file, Shape.Composite here) {
    for (Shape.Component c : here.components()) {
      if (Shape.Composite.find(c, file.shape(file.current())) >= 0) {
        continue;
      }
      for (int v = file.version(); v > 0; v--) {
        if (!file.isVacant(v) && Shape.Composite.find(c, file.shape(v)) >= 0) {
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

  /** Encodes what the shapes do not contain. */
  static byte[] encodeOlderClasses(ObjectHistory history) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(history.floor());
      for (int v = 1; v <= history.version(); v++) {
        ObjectHistory.Origin o = history.origins().get(v - 1);
        out.writeByte(o.writer());
        out.writeByte(o.base());
        String names = Shapes.withEarlierNames(history.shape(v));
        write(out, names.equals(history.shape(v).toString()) ? "" : names);
      }
    } catch (IOException e) {
      throw new IllegalStateException("Writing to memory failed.", e);
    }
    return bytes.toByteArray();
  }

  static byte[] encodeVacant(ObjectHistory history) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    history.vacant().stream().sorted().forEach(bytes::write);
    return bytes.toByteArray();
  }

  private static void write(DataOutputStream out, Shape shape) throws IOException {
    write(out, shape.toString());
  }

  private static void write(DataOutputStream out, String string) throws IOException {
    byte[] text = string.getBytes(StandardCharsets.UTF_8);
    out.writeInt(text.length);
    out.write(text);
  }

  /**
   * Decodes the shapes of a table.
   *
   * @throws IOException if the bytes are invalid
   * @throws IllegalArgumentException likewise
   */
  static ObjectHistory decode(
      byte[] bytes, byte @Nullable [] olderClasses, byte @Nullable [] vacant) throws IOException {
    ObjectHistory all = decode(bytes, olderClasses);
    if (vacant == null) {
      return all;
    }
    Set<Integer> none = new HashSet<>();
    for (byte version : vacant) {
      none.add(Byte.toUnsignedInt(version));
    }
    return new ObjectHistory(all.key(), all.versions(), all.origins(), all.floor(), none);
  }

  private static ObjectHistory decode(byte[] bytes, byte @Nullable [] olderClasses)
      throws IOException {
    ObjectHistory plain = decode(bytes);
    if (olderClasses == null) {
      return plain;
    }
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(olderClasses))) {
      int floor = in.readUnsignedByte();
      List<Shape.Composite> versions = new ArrayList<>();
      List<ObjectHistory.Origin> origins = new ArrayList<>();
      for (Shape.Composite shape : plain.versions()) {
        origins.add(new ObjectHistory.Origin(in.readUnsignedByte(), in.readUnsignedByte()));
        String names = text(in);
        versions.add(names.isEmpty() ? shape : (Shape.Composite) Shapes.parse(names));
        if (!versions.getLast().equals(shape)) {
          throw new IOException("other shapes of older classes");
        }
      }
      if (in.read() >= 0) {
        throw new IOException("bytes after older classes");
      }
      return new ObjectHistory(plain.key(), versions, origins, floor, Set.of());
    } catch (ClassCastException e) {
      throw new IOException("older classes that are no records", e);
    }
  }

  private static ObjectHistory decode(byte[] bytes) throws IOException {
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
    return Shapes.parse(text(in));
  }

  private static String text(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0 || length > in.available()) {
      throw new IOException("a shape of " + length + " bytes");
    }
    return new String(in.readNBytes(length), StandardCharsets.UTF_8);
  }
}
