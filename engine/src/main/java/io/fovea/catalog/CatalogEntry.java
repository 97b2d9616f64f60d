package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeWalk;
import io.fovea.error.CorruptionException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.index.IndexCore;
import io.fovea.index.ObjectHistory;
import io.fovea.index.RecordExpiry;
import io.fovea.index.RowHistory;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.object.ObjectEntries;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Expiry;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The catalog entry of a table.
 *
 * <pre>
 *   record of the catalog tree:  key {@link CatalogKey}   value, all numbers big-endian:
 *
 *   version (1 byte) · tree id (4) · root page (8) · key · has layout (1) · [fields]
 *   · number of indexes (2) · each: name · flags (1: 1 unique, 2 extracted, 4 times the number of
 *     {@link EntryHints}) · tree id (4) · root page (8) · extracted: key; otherwise: number of fields (2),
 *     each: 1 if of the key (1), ordinal (2)
 *   · version 3 and later: {@link ExtensionFields}, of {@link Extras}, and of a name too long for the key
 *
 *   version  5 if there is, or was, a field of variable length; else 4 if there is a nullable field or
 *            one of a type after BYTES; else 3 if there are extension fields; else 2 if an index has
 *            hints; else 1
 *   key      raw (1) · fields
 *   fields   number (2) · each: name · type (1) · size (4), see {@link FieldCodec}
 *   name     length (2) · UTF-8 as in {@link DataOutputStream#writeUTF}
 *   extension field EXPIRY   of rows: ordinal of the field (2) · milliseconds after it (8)
 *   extension field TIME     of objects: milliseconds (8) · path of the component, in UTF-8;
 *                            of byte strings: milliseconds (8) · offset of the time (4)
 *   an index of a table of objects has no fields: {@link ObjectIndexCodec}; one of byte strings is
 *   extracted
 * </pre>
 *
 * @param name the table's name
 * @param treeId the id of its tree
 * @param rootPid the root of its tree
 * @param key the parts of its key
 * @param layout the fields of its rows, null for a table of byte strings
 * @param indexes its indexes in the order of their creation
 * @param extras properties that few tables have
 */
public record CatalogEntry(
    String name,
    int treeId,
    long rootPid,
    KeySpec key,
    @Nullable Layout layout,
    List<IndexEntry> indexes,
    Extras extras) {
  private static final int VERSION = 5;

  /** The newest version without variable-length fields. */
  private static final int VERSION_WITHOUT_VARIABLE = 4;

  /** The newest version whose fields are only non-nullable integers, strings and byte strings. */
  private static final int VERSION_WITHOUT_TYPES = 3;

  /** The newest version without extension fields. */
  private static final int VERSION_WITHOUT_SECTIONS = 2;

  /** The newest version without hints. */
  private static final int VERSION_WITHOUT_HINTS = 1;

  private static final int UNIQUE = 1;
  private static final int EXTRACTED = 2;
  private static final int HINTS_SHIFT = 2;

  /**
   * Optional properties. Each is a separate extension field, absent if the table lacks the
   * property. A new property needs a component here, a number in {@link ExtensionFields}, and an
   * entry in the file format document.
   *
   * @param history the versions of its rows; null if there has been only one
   * @param expiry how records expire; null if they do not
   * @param objects the versions of its objects; null if it holds none
   */
  public record Extras(
      @Nullable RowHistory history, @Nullable Expiry expiry, @Nullable ObjectHistory objects) {
    private static final int EXPIRY_BYTES = 10;

    public static final Extras NONE = new Extras(null, null, null);

    static Extras of(TableCore core) {
      RecordExpiry by = core.expiry();
      return new Extras(
          core.history().isFirst() ? null : core.history(),
          by == null ? null : by.spec(),
          core.objects());
    }

    Extras with(@Nullable Expiry other) {
      return new Extras(history, other, objects);
    }

    /**
     * Returns a copy with other object versions, in which the time component may have a new name.
     */
    Extras with(ObjectHistory others, @Nullable Expiry other) {
      return new Extras(history, other, others);
    }

    void write(ExtensionFields to) {
      if (history != null) {
        to.put(ExtensionFields.ROWS, RowHistoryCodec.encode(history));
      }
      if (objects != null) {
        to.put(ExtensionFields.OBJECTS, ObjectVersions.encode(objects));
        if (!objects.isPlain()) {
          to.put(ExtensionFields.OLDER_CLASSES, ObjectVersions.encodeOlderClasses(objects));
        }
        if (!objects.vacant().isEmpty()) {
          to.put(ExtensionFields.VACANT, ObjectVersions.encodeVacant(objects));
        }
      }
      switch (expiry) {
        case null -> {}
        case Expiry.OfRows by ->
            to.put(
                ExtensionFields.EXPIRY,
                ByteBuffer.allocate(EXPIRY_BYTES)
                    .putShort((short) by.field().ordinal())
                    .putLong(by.after().toMillis())
                    .array());
        case Expiry.OfObjects by ->
            to.put(ExtensionFields.TIME, time(by, by.component().getBytes(StandardCharsets.UTF_8)));
        case Expiry.OfBytes by ->
            to.put(
                ExtensionFields.TIME,
                time(by, ByteBuffer.allocate(Integer.BYTES).putInt(by.offset()).array()));
      }
    }

    /** Returns whether the sweep finds expired objects or byte strings by this index. */
    boolean isByTime(IndexEntry index) {
      return expiry instanceof Expiry.OfObjects by
          ? index.objects != null && index.objects.paths().getFirst().equals(by.component())
          : SchemaChanges.byTime(expiry, index.name, index.extractedKey) != null;
    }

    private static byte[] time(Expiry by, byte[] of) {
      return ByteBuffer.allocate(Long.BYTES + of.length)
          .putLong(by.after().toMillis())
          .put(of)
          .array();
    }

    static Extras read(ExtensionFields from, @Nullable Layout layout) throws IOException {
      byte[] objects = from.get(ExtensionFields.OBJECTS);
      byte[] older = from.get(ExtensionFields.OLDER_CLASSES);
      byte[] vacant = from.get(ExtensionFields.VACANT);
      byte[] rows = from.get(ExtensionFields.ROWS);
      byte[] expiry = from.get(ExtensionFields.EXPIRY);
      byte[] time = from.get(ExtensionFields.TIME);
      if ((older != null || vacant != null) && objects == null) {
        throw new IOException("older versions of objects in a table without");
      }
      if (objects != null && (layout != null || rows != null)) {
        throw new IOException("objects in a table of rows");
      }
      if (layout == null ? rows != null || expiry != null : time != null) {
        throw new IOException("versions or expiry of records of another form");
      }
      if (rows == null && expiry == null && objects == null && time == null) {
        return NONE;
      }
      return new Extras(
          rows == null || layout == null ? null : RowHistoryCodec.decode(rows, layout),
          time != null
              ? expiry(time, objects != null)
              : expiry == null || layout == null ? null : expiry(expiry, layout),
          objects == null ? null : ObjectVersions.decode(objects, older, vacant));
    }

    private static Expiry expiry(byte[] bytes, Layout layout) throws IOException {
      if (bytes.length != EXPIRY_BYTES) {
        throw new IOException("the expiry of rows has " + bytes.length + " bytes");
      }
      ByteBuffer in = ByteBuffer.wrap(bytes);
      Field field = layout.fields().get(Short.toUnsignedInt(in.getShort()));
      return new Expiry.OfRows(field, Duration.ofMillis(in.getLong()));
    }

    private static Expiry expiry(byte[] bytes, boolean objects) throws IOException {
      int of = bytes.length - Long.BYTES;
      if (of < 1 || !objects && of != Integer.BYTES) {
        throw new IOException("the expiry of records has " + bytes.length + " bytes");
      }
      ByteBuffer in = ByteBuffer.wrap(bytes);
      Duration after = Duration.ofMillis(in.getLong());
      return objects
          ? new Expiry.OfObjects(new String(bytes, Long.BYTES, of, StandardCharsets.UTF_8), after)
          : new Expiry.OfBytes(in.getInt(), after);
    }
  }

  /**
   * The catalog entry of an index.
   *
   * @param name the index's name
   * @param unique whether it is unique
   * @param treeId the id of its tree
   * @param rootPid the root of its tree
   * @param extractedKey the key of an extracted index, else null
   * @param fields the fields of an index that is not extracted
   * @param hints the hints in its entries
   * @param objects how entries are built from components of objects; null for other indexes
   */
  public record IndexEntry(
      String name,
      boolean unique,
      int treeId,
      long rootPid,
      @Nullable KeySpec extractedKey,
      List<Field> fields,
      EntryHints hints,
      @Nullable ObjectEntries objects) {

    /** Creates the entry of an index of a table of rows. */
    public IndexEntry(
        String name,
        boolean unique,
        int treeId,
        long rootPid,
        @Nullable KeySpec extractedKey,
        List<Field> fields,
        EntryHints hints) {
      this(name, unique, treeId, rootPid, extractedKey, fields, hints, null);
    }

    IndexEntry with(ObjectEntries by) {
      return new IndexEntry(name, unique, treeId, rootPid, extractedKey, fields, hints, by);
    }

    IndexEntry in(BTree tree) {
      return in(tree.treeId(), tree.rootPid());
    }

    /** Returns this index in another tree, or with another root. */
    IndexEntry in(int tree, long root) {
      return new IndexEntry(name, unique, tree, root, extractedKey, fields, hints, objects);
    }

    static IndexEntry of(IndexCore i) {
      return of(i, i.name);
    }

    static IndexEntry of(IndexCore i, String name) {
      return new IndexEntry(
          name,
          i.unique,
          i.tree.treeId(),
          i.tree.rootPid(),
          i.isExtracted() ? i.key : null,
          i.fields,
          i.hints.kind,
          i.objects == null ? null : i.objects.entries());
    }

    /** Returns this index with the current names of its fields. */
    IndexEntry by(List<Field> others) {
      return new IndexEntry(name, unique, treeId, rootPid, extractedKey, others, hints, objects);
    }

    /** Describes the first difference from a specification, or returns null. */
    public @Nullable String difference(IndexSpec spec) {
      if (spec.isUnique() != unique) {
        return unique ? "it is unique in the file" : "it is not unique in the file";
      }
      KeySpec extracted = spec.extractedKey();
      if ((extracted == null) != (extractedKey == null)) {
        return extractedKey == null
            ? "it is by fields in the file, and extracted here"
            : "it is extracted in the file, and by fields here";
      }
      if (extracted != null && !extracted.equals(extractedKey)) {
        return "its key in the file is " + extractedKey + ", here it is " + extracted;
      }
      if (!fields.equals(spec.fields())) {
        return "its fields in the file are " + fields + ", here they are " + spec.fields();
      }
      return null;
    }
  }

  /** Visits all tables in the catalog. */
  public static void forEach(BTree catalog, Consumer<CatalogEntry> visitor) {
    TreeWalk.forEach(
        catalog,
        (k, kOff, kLen, v, vOff, vLen) -> {
          if (kLen > 0 && Mem.getByte(k, kOff) == CatalogKey.TABLE) {
            byte[] key = Mem.bytes(k, kOff, kLen);
            visitor.accept(decode(key, Mem.bytes(v, vOff, vLen)));
          }
        });
  }

  RowHistory history() {
    RowHistory known = extras.history();
    return known != null
        ? known
        : RowHistory.started(1, layout == null ? Layout.define().build() : layout);
  }

  CatalogEntry in(BTree tree) {
    return in(tree.treeId(), tree.rootPid());
  }

  /** Returns this table in another tree, or with another root. */
  CatalogEntry in(int tree, long root) {
    return new CatalogEntry(name, tree, root, key, layout, indexes, extras);
  }

  /** Returns the key of the catalog record. */
  public byte[] catalogKey() {
    return CatalogKey.of(name);
  }

  /** Returns the value of the catalog record. */
  public byte[] encode() {
    ExtensionFields extensionFields = new ExtensionFields();
    CatalogKey.write(name, extensionFields);
    extras.write(extensionFields);
    if (extras.objects != null && !indexes.isEmpty()) {
      extensionFields.put(ExtensionFields.COMPONENTS, ObjectIndexCodec.encode(indexes));
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      boolean hinted = false;
      for (IndexEntry i : indexes) {
        hinted |= i.hints != EntryHints.NONE;
      }
      out.writeByte(
          layout != null && history().isPacked(layout)
              ? VERSION
              : !isPlain()
                  ? VERSION_WITHOUT_VARIABLE
                  : !extensionFields.isEmpty()
                      ? VERSION_WITHOUT_TYPES
                      : hinted ? VERSION_WITHOUT_SECTIONS : VERSION_WITHOUT_HINTS);
      out.writeInt(treeId);
      out.writeLong(rootPid);
      writeKey(out, key);
      out.writeBoolean(layout != null);
      if (layout != null) {
        writeFields(out, layout.fields());
      }
      out.writeShort(indexes.size());
      for (IndexEntry i : indexes) {
        out.writeUTF(i.name);
        out.writeByte(
            (i.unique ? UNIQUE : 0)
                | (i.extractedKey != null ? EXTRACTED : 0)
                | i.hints.ordinal() << HINTS_SHIFT);
        out.writeInt(i.treeId);
        out.writeLong(i.rootPid);
        if (i.extractedKey != null) {
          writeKey(out, i.extractedKey);
        } else {
          out.writeShort(i.fields.size());
          for (Field f : i.fields) {
            out.writeBoolean(f.key());
            out.writeShort(f.ordinal());
          }
        }
      }
      extensionFields.write(out);
    } catch (IOException e) {
      throw new IllegalStateException("Writing to memory failed.", e);
    }
    return bytes.toByteArray();
  }

  /** Returns whether version 3 of the entry can hold all current and former fields. */
  private boolean isPlain() {
    boolean plain = arePlain(key.parts()) && (layout == null || arePlain(layout.fields()));
    for (IndexEntry i : indexes) {
      plain &= i.extractedKey == null || arePlain(i.extractedKey.parts());
    }
    RowHistory history = extras.history();
    if (history != null) {
      for (RowHistory.Shape shape : history.old()) {
        for (RowHistory.Part part : shape.fields()) {
          plain &= FieldCodec.isPlain(part.type(), part.nullable());
        }
      }
    }
    return plain;
  }

  private static boolean arePlain(List<Field> fields) {
    for (Field f : fields) {
      if (!FieldCodec.isPlain(f.type(), f.nullable())) {
        return false;
      }
    }
    return true;
  }

  private static void writeKey(DataOutputStream out, KeySpec key) throws IOException {
    out.writeBoolean(key.isRaw());
    writeFields(out, key.parts());
  }

  private static void writeFields(DataOutputStream out, List<Field> fields) throws IOException {
    out.writeShort(fields.size());
    for (Field f : fields) {
      out.writeUTF(f.name());
      FieldCodec.write(out, f);
    }
  }

  /**
   * Decodes an entry.
   *
   * @throws IncompatibleFormatException if a newer version wrote it
   * @throws CorruptionException if the bytes are invalid
   */
  public static CatalogEntry decode(byte[] key, byte[] value) {
    String known = CatalogKey.describe(key);
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(value))) {
      int version = in.readUnsignedByte();
      if (version < VERSION_WITHOUT_HINTS || version > VERSION) {
        throw new IncompatibleFormatException(
            "The catalog entry of table "
                + known
                + " has version "
                + version
                + "; this version of Fovea reads version "
                + VERSION
                + ". Use a newer version of Fovea.");
      }
      int treeId = in.readInt();
      long rootPid = in.readLong();
      KeySpec parts = readKey(in);
      if (parts.hasNullable()) {
        throw new IOException("a table key that can be null");
      }
      Layout layout = in.readBoolean() ? readLayout(in) : null;
      int n = in.readUnsignedShort();
      List<IndexEntry> indexes = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        indexes.add(readIndex(in, parts, layout));
      }
      ExtensionFields extensionFields =
          version < VERSION_WITHOUT_TYPES ? new ExtensionFields() : ExtensionFields.read(in, known);
      if (in.read() >= 0) {
        throw new IOException("bytes after the end");
      }
      String name = CatalogKey.read(key, extensionFields);
      Extras extras = Extras.read(extensionFields, layout);
      if (layout == null
          && extras.objects == null
          && indexes.stream().anyMatch(i -> i.extractedKey == null)) {
        throw new IOException("an index by fields of a table of byte strings");
      }
      List<IndexEntry> all =
          ObjectIndexCodec.decode(
              extensionFields.get(ExtensionFields.COMPONENTS), indexes, extras.objects);
      if (layout == null && extras.expiry != null && all.stream().noneMatch(extras::isByTime)) {
        throw new IOException("records that expire without an index by time");
      }
      return new CatalogEntry(name, treeId, rootPid, parts, layout, all, extras);
    } catch (IOException | IllegalArgumentException | IndexOutOfBoundsException e) {
      CorruptionException c =
          new CorruptionException("the catalog entry of table " + known, -1, -1, VERSION, -1);
      c.initCause(e);
      throw c;
    }
  }

  private static IndexEntry readIndex(DataInputStream in, KeySpec key, @Nullable Layout layout)
      throws IOException {
    String name = in.readUTF();
    int flags = in.readUnsignedByte();
    boolean unique = (flags & UNIQUE) != 0;
    EntryHints hints = hints(flags >>> HINTS_SHIFT);
    int treeId = in.readInt();
    long rootPid = in.readLong();
    if ((flags & EXTRACTED) != 0) {
      return new IndexEntry(name, unique, treeId, rootPid, readKey(in), List.of(), hints);
    }
    int n = in.readUnsignedShort();
    List<Field> fields = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      boolean ofKey = in.readBoolean();
      int ordinal = in.readUnsignedShort();
      if (!ofKey && layout == null) {
        throw new IOException("an index on fields of a table without");
      }
      fields.add((ofKey || layout == null ? key.parts() : layout.fields()).get(ordinal));
    }
    return new IndexEntry(name, unique, treeId, rootPid, null, List.copyOf(fields), hints);
  }

  private static EntryHints hints(int code) throws IOException {
    EntryHints[] all = EntryHints.values();
    if (code >= all.length) {
      throw new IOException("no hints of an index have the code " + code);
    }
    return all[code];
  }

  private static KeySpec readKey(DataInputStream in) throws IOException {
    boolean raw = in.readBoolean();
    int n = in.readUnsignedShort();
    if (raw) {
      in.readUTF();
      in.readUnsignedByte();
      return KeySpec.ofBytes(in.readInt());
    }
    KeySpec.Definition b = KeySpec.define();
    for (int i = 0; i < n; i++) {
      String name = in.readUTF();
      b.add(name, FieldCodec.read(in, name));
    }
    return b.build();
  }

  private static Layout readLayout(DataInputStream in) throws IOException {
    int n = in.readUnsignedShort();
    Layout.Definition b = Layout.define();
    for (int i = 0; i < n; i++) {
      String name = in.readUTF();
      b.add(name, FieldCodec.read(in, name));
    }
    return b.build();
  }

  /** Describes the first difference from a specification other than in indexes, or returns null. */
  public @Nullable String difference(TableSpec spec) {
    if (spec.isBytes() != (layout == null)) {
      return layout == null
          ? "it holds byte strings in the file, and rows here"
          : "it holds rows in the file, and byte strings here";
    }
    if ((spec.objects() == null) != (extras.objects == null)) {
      return extras.objects == null
          ? "it holds byte strings in the file, and objects here"
          : "it holds objects in the file, and byte strings here";
    }
    if (!spec.key().equals(key)) {
      return "its key in the file is " + key + ", here it is " + spec.key();
    }
    if (layout != null && !layout.equals(spec.layout())) {
      return "its layout in the file is "
          + layout
          + ", here it is "
          + spec.layout()
          + ", both of version "
          + spec.version()
          + ": "
          + fields(layout, spec.layout())
          + ". A changed layout is another version, with steps to it";
    }
    if (extras.expiry instanceof Expiry.OfBytes file
        && spec.expiry() instanceof Expiry.OfBytes here
        && file.offset() != here.offset()) {
      return "its byte strings expire by the time at byte "
          + file.offset()
          + " in the file, and at byte "
          + here.offset()
          + " here. Remove the expiry first, with Database.dropExpiry";
    }
    return extras.expiry != null && spec.expiry() == null ? unspecified(extras.expiry) : null;
  }

  /** Describes an expiry that is missing from a specification. */
  static String unspecified(Expiry expiry) {
    return "its "
        + expiry
        + ", but the specification has no expiry. Add one with expireAfter, "
        + "or remove it from the table with Database.dropExpiry";
  }

  private static String fields(Layout file, Layout here) {
    int n = Math.min(file.fields().size(), here.fields().size());
    for (int i = 0; i < n; i++) {
      if (!file.fields().get(i).equals(here.fields().get(i))) {
        return "field " + file.fields().get(i) + " in the file, " + here.fields().get(i) + " here";
      }
    }
    return file.fields().size() > n
        ? "field " + file.fields().get(n) + ", which is only in the file"
        : "field " + here.fields().get(n) + ", which is only here";
  }
}
