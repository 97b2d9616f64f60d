package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Whether a table is what a specification says, and whether its sizes are possible. */
final class SpecCheck {
  private SpecCheck() {}

  /**
   * Looks whether a table can be opened with a specification.
   *
   * @throws IncompatibleFormatException if the table is another one than specified
   */
  static void check(Store store, TableCore core, TableSpec spec) {
    CatalogEntry known = SchemaChanges.entry(core, List.of());
    String difference = known.difference(spec);
    if (difference != null) {
      throw mismatch(
          store, core, difference + ". Open it with the specification that it was made with.");
    }
    for (IndexCore i : core.readable()) {
      IndexSpec s = spec(spec, i.name);
      if (s == null) {
        throw mismatch(
            store,
            core,
            "it has an index \""
                + i.name
                + "\" that the specification does not name, and which changes would miss. Name it,"
                + " or drop it with dropIndex.");
      }
      difference = CatalogEntry.IndexEntry.of(i).difference(s);
      if (difference != null) {
        throw mismatch(
            store,
            core,
            "index \"" + i.name + "\": " + difference + ". Give a changed index a new name.");
      }
    }
  }

  /**
   * Whether nothing is to be done to open a table.
   *
   * @throws IncompatibleFormatException if the table is another one than specified
   */
  static boolean isOpenedAs(Store store, TableCore core, TableSpec spec) {
    List<IndexCore> all = core.readable();
    if (core.isDropped() || all.size() != spec.indexes().size()) {
      return false;
    }
    check(store, core, spec);
    for (IndexCore i : all) {
      if (i.isExtracted() && i.maker == null) {
        return false;
      }
    }
    return true;
  }

  /** The index of a name; null where the specification names none. */
  static @Nullable IndexSpec spec(TableSpec table, String index) {
    for (IndexSpec s : table.indexes()) {
      if (s.name().equals(index)) {
        return s;
      }
    }
    return null;
  }

  private static IncompatibleFormatException mismatch(Store store, TableCore core, String what) {
    return new IncompatibleFormatException(
        "Table "
            + core.shown()
            + " of "
            + store.name()
            + " is another one than specified: "
            + what);
  }

  /**
   * Looks whether keys and rows of a specification fit into a node of a tree.
   *
   * @throws KeyTooLargeException if a key does not
   * @throws ValueTooLargeException if a row of a fixed layout does not
   */
  static void checkSizes(BTree catalog, TableSpec spec) {
    int keyMax = catalog.maxKeySize();
    for (Field f : spec.key().parts()) {
      if (!f.type().isFixed() && f.width() > keyMax) {
        throw new KeyTooLargeException(
            "part " + f.name() + " of the key of table " + spec.name(), f.width(), keyMax);
      }
    }
    if (!spec.isBytes() && spec.layout().size() > catalog.maxValueSize()) {
      throw new ValueTooLargeException(
          "table " + spec.name() + ", whose rows are that large",
          spec.layout().size(),
          catalog.maxValueSize());
    }
  }
}
