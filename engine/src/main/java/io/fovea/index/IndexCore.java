package io.fovea.index;

import io.fovea.btree.BTree;
import io.fovea.encoding.Tuple;
import io.fovea.error.KeyTooLargeException;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.NameText;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A secondary index of an open database.
 *
 * <pre>
 *   named fields    entry = fields [+ the rest of the primary key]     EntryPlan, bytes to bytes
 *   extractor       entry = computed key [+ the primary key]           EntryMaker, user code,
 *                                                                      of rows and of byte strings
 *   components      entry = parts [+ the primary key]                  ObjectPlan, bytes to bytes
 *   value of an entry = primary key + hint; a unique index omits the parts in []
 * </pre>
 *
 * <p>A unique index on fields has no entry for a record in which one of them is null.
 *
 * <p>Safe for use by any thread.
 */
public final class IndexCore {
  /** Changes when the index is renamed; statements do not read it. */
  public volatile String name;

  public final boolean unique;

  /** Replaced by a load of the table, at a quiescent point. */
  public volatile BTree tree;

  /** The indexed fields; empty for an extracted index. */
  public final List<Field> fields;

  /** The parts that a search specifies. */
  public final KeySpec key;

  /** All parts of an entry's key, except the primary key of a byte string, which has no parts. */
  public final KeySpec entry;

  /** The extractor; null if its table was opened without its specification. */
  public final @Nullable EntryMaker maker;

  /** The format of the record locations that entries store. */
  public final IndexHints hints;

  public final IndexStage stage;

  /**
   * Whether statements check for an existing entry before they add one: true for a unique index.
   */
  final boolean checksBeforeAdd;

  /** Whether each entry belongs to a record: true for a complete unique index. */
  final boolean exact;

  /** Whether its tree holds a {@link UniqueBuildJournal} instead of entries. */
  final boolean journaled;

  /** Whether its tree holds the keys of all records that were written, see {@link #tracker}. */
  final boolean tracks;

  /** Null if the table does not hold objects. */
  public final @Nullable ObjectPlan objects;

  private final int entryBytesMax;

  private final @Nullable EntryPlan plan;

  /** The fields that an entry depends on, one bit each; null if unknown. */
  private final long @Nullable [] dependsOn;

  /**
   * Creates an index of rows or byte strings, with the key and layout that the extractor declares.
   */
  public IndexCore(
      String name,
      boolean unique,
      List<Field> fields,
      @Nullable KeySpec extractedKey,
      @Nullable EntryMaker maker,
      KeySpec tableKey,
      @Nullable Layout tableLayout,
      BTree tree,
      IndexHints hints) {
    this.name = name;
    this.stage = IndexStage.READABLE;
    this.hints = hints;
    this.unique = unique;
    this.checksBeforeAdd = unique;
    this.exact = unique;
    this.journaled = false;
    this.tracks = false;
    this.fields = fields;
    this.tree = tree;
    this.maker = maker;
    this.objects = null;
    if (extractedKey == null) {
      List<Field> sources = new ArrayList<>(fields);
      if (!unique) {
        for (Field part : tableKey.parts()) {
          if (!fields.contains(part)) {
            sources.add(part);
          }
        }
      }
      this.key = named(fields);
      this.entry = named(sources);
      this.plan = plan(sources, tableKey, unique);
      Layout layout = Objects.requireNonNull(tableLayout, "tableLayout");
      long[] bits = new long[(layout.fields().size() + 63) >>> 6];
      for (Field f : fields) {
        if (!f.key()) {
          bits[f.ordinal() >>> 6] |= 1L << f.ordinal();
        }
      }
      this.dependsOn = bits;
      this.entryBytesMax = entry.maxBytes();
    } else if (tableLayout == null) {
      // The primary key that follows is raw and has no part with an end mark.
      this.key = extractedKey;
      this.entry = extractedKey;
      this.entryBytesMax = extractedKey.maxBytes() + (unique ? 0 : tableKey.maxBytes());
      this.plan = null;
      this.dependsOn = null;
    } else {
      List<Field> all = new ArrayList<>(extractedKey.parts());
      if (!unique) {
        all.addAll(tableKey.parts());
      }
      this.key = extractedKey;
      this.entry = unique ? extractedKey : named(all);
      this.entryBytesMax = entry.maxBytes();
      this.plan = null;
      this.dependsOn = null;
    }
  }

  public IndexCore(
      String name,
      boolean unique,
      ObjectPlan objects,
      int keyBytesMax,
      BTree tree,
      IndexHints hints) {
    this.name = name;
    this.stage = IndexStage.READABLE;
    this.hints = hints;
    this.unique = unique;
    this.checksBeforeAdd = unique;
    this.exact = unique;
    this.journaled = false;
    this.tracks = false;
    this.fields = List.of();
    this.tree = tree;
    this.maker = null;
    this.objects = objects;
    this.key = KeySpec.ofBytes(objects.maxBytes(keyBytesMax, tree.maxKeySize()));
    this.entry = key;
    this.entryBytesMax = key.maxBytes();
    this.plan = null;
    this.dependsOn = null;
  }

  private IndexCore(IndexCore of, IndexStage stage, BTree tree) {
    this(of, stage, tree, of.tracks);
  }

  private IndexCore(IndexCore of, IndexStage stage, BTree tree, boolean tracks) {
    this.name = of.name;
    this.stage = stage;
    this.tracks = tracks;
    this.hints = of.hints;
    this.unique = of.unique;
    this.journaled = unique && stage == IndexStage.JOURNALING;
    this.checksBeforeAdd = unique && !journaled;
    this.exact = unique && stage.isComplete();
    this.fields = of.fields;
    this.tree = tree;
    this.maker = of.maker;
    this.objects = of.objects;
    this.entryBytesMax = of.entryBytesMax;
    this.key = of.key;
    this.entry = of.entry;
    this.plan = of.plan;
    this.dependsOn = of.dependsOn;
  }

  /**
   * Returns an index in which transactions note the key of each record that they add, change or
   * delete. No query uses it, and the catalog does not list it.
   */
  public static IndexCore tracker(KeySpec tableKey, BTree tree, IndexHints hints) {
    EntryMaker none = (sc, pk, pkOff, pkLen, record, recordOff, recordLen, out, outOff) -> 0;
    IndexCore keys =
        new IndexCore("", false, List.of(), KeySpec.ofBytes(1), none, tableKey, null, tree, hints);
    return new IndexCore(keys, IndexStage.JOURNALING, tree, true);
  }

  public IndexCore at(IndexStage other) {
    return at(other, tree);
  }

  public IndexCore at(IndexStage other, BTree in) {
    return new IndexCore(this, other, in);
  }

  private static KeySpec named(List<Field> fields) {
    KeySpec.Definition b = KeySpec.define();
    for (int i = 0; i < fields.size(); i++) {
      Field f = fields.get(i);
      String name = f.name();
      for (int k = 0; k < i; k++) {
        // A field of the row and a part of the key may have the same name.
        name = fields.get(k).name().equals(f.name()) ? f.name() + "#" + i : name;
      }
      b.add(name, f);
    }
    return b.build();
  }

  private static EntryPlan plan(List<Field> sources, KeySpec tableKey, boolean unique) {
    int n = sources.size();
    int[] types = new int[n];
    int[] widths = new int[n];
    boolean[] fromKey = new boolean[n];
    int[] offsets = new int[n];
    int[] parts = new int[n];
    for (int i = 0; i < n; i++) {
      Field f = sources.get(i);
      types[i] = Tuple.form(f);
      widths[i] = f.width();
      fromKey[i] = f.key();
      offsets[i] = f.offset();
      parts[i] = f.key() ? f.ordinal() : -1;
    }
    int[] keyTypes = tableKey.parts().stream().mapToInt(Tuple::form).toArray();
    return new EntryPlan(types, widths, fromKey, offsets, parts, keyTypes, unique);
  }

  public boolean isExtracted() {
    return plan == null && objects == null;
  }

  public int entryBytesMax() {
    return entryBytesMax;
  }

  /** Returns whether the changes to a record can change its entry. */
  public boolean dependsOn(RecordBuffer record) {
    return dependsOn == null || record.changed(dependsOn);
  }

  /**
   * Builds the key of a record's entry.
   *
   * @param record in memory form: a row of the newest layout, an object or a byte string
   * @param out receives up to {@link #entryBytesMax} bytes
   * @return its length, or -1 if the record has no entry
   * @throws KeyTooLargeException if the key exceeds the maximum length of an entry
   * @throws IllegalArgumentException if the bytes are not an object; extractors may throw anything
   * @throws IndexOutOfBoundsException likewise
   */
  public int build(
      StatementContext context,
      MemorySegment pk,
      long pkOff,
      int pkLen,
      MemorySegment record,
      long recordOff,
      int recordLen,
      MemorySegment out,
      long outOff) {
    int len;
    if (plan != null) {
      len = plan.build(pk, (int) pkOff, pkLen, record, recordOff, out, (int) outOff);
    } else if (objects != null) {
      return objects.build(
          context, this, pk, pkOff, pkLen, record, recordOff, recordLen, out, outOff);
    } else {
      len = make(context, pk, pkOff, pkLen, record, recordOff, recordLen, out, outOff);
    }
    if (len > tree.maxKeySize()) {
      throw keyTooLong(len);
    }
    return len;
  }

  private int make(
      StatementContext context,
      MemorySegment pk,
      long pkOff,
      int pkLen,
      MemorySegment record,
      long recordOff,
      int recordLen,
      MemorySegment out,
      long outOff) {
    int len =
        Objects.requireNonNull(maker, "maker")
            .make(context, pk, pkOff, pkLen, record, recordOff, recordLen, out, outOff);
    if (len < 0) {
      return -1;
    }
    if (!unique) {
      Mem.copy(pk, pkOff, out, outOff + len, pkLen);
      len += pkLen;
    }
    return len;
  }

  /**
   * Returns the length of the primary key in the value of an entry.
   *
   * @throws io.fovea.error.CorruptionException if the value is not a primary key and a hint
   */
  public int keyLength(TableCore table, long page, int valueLength) {
    int length = hints.keyLength(valueLength);
    if (length < 0 || length > table.keyBytesMax) {
      throw table.damaged(
          "length of a primary key in index " + displayName() + " of table " + table.displayName(),
          page,
          table.keyBytesMax,
          length);
    }
    return length;
  }

  public String displayName() {
    return NameText.of(name);
  }

  public KeyTooLargeException keyTooLong(long bytes) {
    return new KeyTooLargeException("index " + displayName(), bytes, tree.maxKeySize());
  }
}
