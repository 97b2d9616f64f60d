package io.fovea.cli;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Sequence;
import io.fovea.schema.Expiry;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.NameText;
import io.fovea.schema.ObjectShapes;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Opens a file for reading, and describes its tables. */
final class TableFile {
  private TableFile() {}

  /** Opens a file read-only. If it was not closed, it is recovered in memory. */
  static Database open(Path file) {
    Options options = Opening.options(Opening.header(file));
    return Database.open(file, options.readOnly(true));
  }

  /** The kind of a table's records. */
  static String kind(TableSpec spec) {
    return !spec.isBytes() ? "rows" : spec.objects() == null ? "bytes" : "objects";
  }

  /** Returns a table with the same keys and the same rows, objects or bytes. */
  static TableSpec withoutIndexes(TableSpec spec) {
    ObjectShapes objects = spec.objects();
    if (objects != null) {
      return TableSpec.objects(spec.name(), spec.key().maxBytes(), objects);
    }
    if (!spec.isBytes()) {
      return TableSpec.of(spec.name(), spec.key(), spec.layout());
    }
    TableSpec bytes = TableSpec.bytes(spec.name(), spec.key().maxBytes());
    return spec.expiry() instanceof Expiry.OfBytes by // which refuses values that are too short
        ? bytes.expireAfter(by.offset(), by.after())
        : bytes;
  }

  /** Whether an index of a table is by a key that its application computes. */
  static boolean isComputed(TableSpec table, IndexSpec index) {
    boolean byTime = table.expiry() instanceof Expiry.OfBytes && index.name().equals(Expiry.INDEX);
    return index.extractedKey() != null && !byTime;
  }

  /** The existing tables, for a message about a missing one. */
  static String others(Database db) {
    List<String> names = db.tables();
    return names.isEmpty()
        ? "it has no tables"
        : "it has " + String.join(", ", names.stream().map(NameText::of).toList());
  }

  /** A table in the form of {@code schema --json}. */
  static Map<String, @Nullable Object> map(TableSpec spec) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    m.put("table", spec.name());
    m.put("kind", kind(spec));
    m.put("version", spec.version());
    m.put("key", fields(spec.key().parts(), false));
    if (!spec.isBytes()) {
      m.put("row", fields(spec.layout().fields(), false));
    }
    if (spec.objects() != null) {
      m.put("objects", spec.objects().toString());
    }
    List<Map<String, @Nullable Object>> indexes = new ArrayList<>();
    for (IndexSpec i : spec.indexes()) {
      Map<String, @Nullable Object> index = new LinkedHashMap<>();
      index.put("index", i.name());
      index.put("unique", i.isUnique());
      index.put("computed", isComputed(spec, i));
      if (i.components().isEmpty()) {
        index.put("key", fields(parts(i), i.extractedKey() == null));
      } else {
        index.put("components", i.components());
      }
      index.put("hints", i.hints());
      indexes.add(index);
    }
    m.put("indexes", indexes);
    if (spec.expiry() != null) {
      Map<String, @Nullable Object> expires = new LinkedHashMap<>();
      switch (spec.expiry()) {
        case Expiry.OfRows by -> expires.put("field", by.field().name());
        case Expiry.OfObjects by -> expires.put("component", by.component());
        case Expiry.OfBytes by -> expires.put("offset", by.offset());
      }
      expires.put("after", spec.expiry().after());
      m.put("expires", expires);
    }
    return m;
  }

  /** A sequence in the form of {@code schema --json}. */
  static Map<String, @Nullable Object> map(Sequence s) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    m.put("sequence", s.name());
    m.put("first", s.spec().first());
    m.put("last", s.spec().last());
    m.put("step", s.spec().step());
    m.put("cached", s.spec().cached());
    m.put("left", s.remaining());
    if (s.remaining() > 0) {
      m.put("next", s.peek());
    }
    return m;
  }

  /** A sequence in the form of {@code schema}. */
  static String line(Sequence s) {
    return s.spec() + (s.remaining() > 0 ? ", next " + s.peek() : ", exhausted");
  }

  private static List<Field> parts(IndexSpec index) {
    return index.extractedKey() == null ? index.fields() : index.extractedKey().parts();
  }

  /**
   * Fields.
   *
   * @param ofTable whether they are fields of a table, which are marked if they belong to the key
   */
  private static List<Map<String, @Nullable Object>> fields(List<Field> fields, boolean ofTable) {
    List<Map<String, @Nullable Object>> list = new ArrayList<>();
    for (Field f : fields) {
      Map<String, @Nullable Object> m = new LinkedHashMap<>();
      m.put("name", f.name());
      m.put("type", f.type());
      m.put("bytes", f.width());
      if (f.type() == FieldType.DECIMAL) {
        m.put("precision", f.precision());
        m.put("scale", f.scale());
      }
      if (f.variable()) {
        m.put("variable", true);
      }
      if (ofTable && f.key()) {
        m.put("ofKey", true);
      }
      if (f.nullable()) {
        m.put("nullable", true);
      }
      list.add(m);
    }
    return list;
  }

  /** A table in the form of {@code schema}: one line per element. */
  static List<String> lines(TableSpec spec) {
    List<String> lines = new ArrayList<>();
    lines.add(
        "table "
            + NameText.of(spec.name())
            + " of "
            + kind(spec)
            + (spec.version() == 1 ? "" : ", version " + spec.version()));
    lines.add("  key    " + text(spec.key().parts()));
    if (!spec.isBytes()) {
      lines.add("  row    " + text(spec.layout().fields()));
    }
    if (spec.objects() != null) {
      lines.add("  is     " + spec.objects());
    }
    for (IndexSpec i : spec.indexes()) {
      lines.add(
          "  "
              + (i.isUnique() ? "unique " : "index  ")
              + NameText.of(i.name())
              + " by "
              + (isComputed(spec, i) ? "a computed key of " : "")
              + (i.components().isEmpty() ? text(parts(i)) : String.join(", ", i.components())));
    }
    if (spec.expiry() != null) {
      lines.add("  " + spec.expiry());
    }
    return lines;
  }

  private static String text(List<Field> fields) {
    return String.join(", ", fields.stream().map(Field::toString).toList());
  }
}
