package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.index.IndexCore;
import io.fovea.index.ObjectHistory;
import io.fovea.index.TableCore;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.ObjectShapes;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Checks tables against specifications, and sizes against limits. */
final class SpecCheck {
  private SpecCheck() {}

  /**
   * Checks that a table can be opened with a specification.
   *
   * @throws IncompatibleSchemaException if it cannot
   */
  static void check(Store store, TableCore core, TableSpec spec) {
    int inFile = core.history().version();
    if (inFile > spec.version() && !spec.isBytes()) {
      throw mismatch(
          store,
          core,
          "it has version "
              + inFile
              + " in the file, and the specification is of version "
              + spec.version()
              + ". A table can't return to an older version: use the "
              + "specification of version "
              + inFile
              + ", or a newer one.");
    }
    CatalogEntry known = SchemaChanges.entry(core, List.of());
    String difference = known.difference(spec);
    if (difference != null) {
      throw mismatch(
          store, core, difference + ". Open it with the specification that it was created with.");
    }
    ObjectHistory versions = core.objects();
    ObjectShapes objects = spec.objects();
    if (versions != null && objects != null) {
      ObjectVersions.require(store, core, versions, objects);
    }
    for (IndexCore i : core.readable()) {
      if (spec(spec, i.name) == null && ObjectVersions.isOlder(core, objects)) {
        continue; // an index of the newer class, which needs no class to be kept up to date
      }
      IndexSpec s = named(store, core, spec, i);
      checkIndex(store, core, CatalogEntry.IndexEntry.of(i), s);
      if (objects != null) {
        ObjectVersions.checkIndex(store, core, objects, i, s);
      }
    }
    for (IndexSpec s : objects == null ? List.<IndexSpec>of() : spec.indexes()) {
      if (core.index(s.name()) == null) {
        ObjectVersions.checkNewIndex(store, core, objects, s);
      }
    }
  }

  /**
   * Returns the specification of an existing index.
   *
   * @throws IncompatibleSchemaException if there is none
   */
  static IndexSpec named(Store store, TableCore core, TableSpec spec, IndexCore i) {
    IndexSpec s = spec(spec, i.name);
    if (s == null) {
      throw mismatch(
          store,
          core,
          "it has an index \""
              + i.name
              + "\" that the specification lacks, so changes would not "
              + "maintain it. Add it to the specification, or drop it with "
              + "dropIndex.");
    }
    return s;
  }

  /**
   * Checks that an index is as specified.
   *
   * @throws IncompatibleSchemaException if it is not
   */
  static void checkIndex(Store store, TableCore core, CatalogEntry.IndexEntry i, IndexSpec spec) {
    String difference = i.difference(spec);
    if (difference != null) {
      throw mismatch(
          store,
          core,
          "index \"" + i.name() + "\": " + difference + ". Give a changed index a new name.");
    }
  }

  /**
   * Returns whether the table can be opened unchanged.
   *
   * @throws IncompatibleSchemaException if it cannot be opened with the specification
   */
  static boolean isOpenedAs(Store store, TableCore core, TableSpec spec) {
    List<IndexCore> all = core.readable();
    ObjectShapes objects = spec.objects();
    boolean older = ObjectVersions.isOlder(core, objects);
    if (older) { // without the indexes of the newer class
      all = all.stream().filter(i -> spec(spec, i.name) != null).toList();
    }
    boolean other = core.isRefused() || core.history().version() < spec.version();
    if (other || all.size() != spec.indexes().size()) {
      return false;
    }
    check(store, core, spec);
    if (!Expirations.hasExpiryOf(core, spec)
        || objects != null && !ObjectVersions.matches(store, core, objects)) {
      return false;
    }
    for (IndexCore i : all) {
      if (lacksMaker(store, i, named(store, core, spec, i))) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns whether an index lacks an extractor that it needs. A read-only store needs none for a
   * specification from {@link Description}.
   */
  static boolean lacksMaker(Store store, IndexCore i, IndexSpec spec) {
    return i.isExtracted() && i.maker == null && !(spec.isDescribed() && store.isReadOnly());
  }

  static @Nullable IndexSpec spec(TableSpec table, String index) {
    for (IndexSpec s : table.indexes()) {
      if (s.name().equals(index)) {
        return s;
      }
    }
    return null;
  }

  static IncompatibleSchemaException mismatch(Store store, TableCore core, String what) {
    return new IncompatibleSchemaException(
        "Table "
            + core.displayName()
            + " of "
            + store.name()
            + " differs from its specification: "
            + what);
  }

  /**
   * Checks that keys and rows fit into a node.
   *
   * @throws KeyTooLargeException if a key does not fit
   * @throws ValueTooLargeException if a row of a fixed layout does not fit
   */
  static void checkSizes(BTree catalog, TableSpec spec) {
    int keyMax = catalog.maxKeySize();
    for (Field f : spec.key().parts()) {
      if (!f.type().isFixed() && f.width() > keyMax) {
        throw new KeyTooLargeException(
            "part " + f.name() + " of the key of table " + spec.name(), f.width(), keyMax);
      }
    }
    if (!spec.isBytes()) {
      checkBytes(catalog, spec, spec.layout().size());
    }
  }

  static void checkBytes(BTree catalog, TableSpec spec, int bytes) {
    if (bytes > catalog.maxValueSize()) {
      throw new ValueTooLargeException(
          "table " + spec.name() + ", whose rows are that large", bytes, catalog.maxValueSize());
    }
  }
}
