package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.error.KeyTooLargeException;
import io.fovea.index.EntryPlan;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A secondary index as the database knows it.
 *
 * <pre>
 *   named fields    entry = fields [+ the rest of the primary key]     EntryPlan, bytes to bytes
 *   extractor       entry = computed key [+ the primary key]           Key and Row objects
 *   value of an entry = primary key + hint; what is in [] is missing in a unique index
 * </pre>
 *
 * <p>Any thread.
 */
final class IndexCore {
  final String name;
  final boolean unique;
  final BTree tree;

  /** Where the fields are from; empty for an extracted index. */
  final List<Field> fields;

  /** The parts that a user names in a search. */
  final KeySpec key;

  /** All parts of an entry's key. */
  final KeySpec entry;

  /** Of an extracted index whose table was opened without its specification, null. */
  final IndexSpec.@Nullable Extractor extractor;

  /** What its entries remember of the places of records. */
  final IndexHints hints;

  /** Of an extracted index. */
  private final SlotLocal<Extraction> extractions = new SlotLocal<>();

  /** What statements do with it. */
  final IndexStage stage;

  private final KeySpec tableKey;
  private final Layout tableLayout;
  private final @Nullable EntryPlan plan;

  /** The fields that an entry depends on, one bit each; null where that can't be known. */
  private final long @Nullable [] dependsOn;

  /**
   * Makes one.
   *
   * @param tableKey the key of the table, as the extractor's author wrote it
   * @param tableLayout the layout of the table, likewise
   */
  IndexCore(
      String name,
      boolean unique,
      List<Field> fields,
      @Nullable KeySpec extractedKey,
      IndexSpec.@Nullable Extractor extractor,
      KeySpec tableKey,
      Layout tableLayout,
      BTree tree,
      IndexHints hints) {
    this.name = name;
    this.stage = IndexStage.READABLE;
    this.hints = hints;
    this.unique = unique;
    this.fields = fields;
    this.tree = tree;
    this.extractor = extractor;
    this.tableKey = tableKey;
    this.tableLayout = tableLayout;
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
      this.plan = plan(sources, tableKey, fields.size());
      long[] bits = new long[(tableLayout.array().length + 63) >>> 6];
      for (Field f : fields) {
        if (!f.key()) {
          bits[f.ordinal() >>> 6] |= 1L << f.ordinal();
        }
      }
      this.dependsOn = bits;
    } else {
      List<Field> all = new ArrayList<>(extractedKey.parts());
      if (!unique) {
        all.addAll(tableKey.parts());
      }
      this.key = extractedKey;
      this.entry = unique ? extractedKey : named(all);
      this.plan = null;
      this.dependsOn = null;
    }
  }

  private IndexCore(IndexCore of, IndexStage stage) {
    this.name = of.name;
    this.stage = stage;
    this.hints = of.hints;
    this.unique = of.unique;
    this.fields = of.fields;
    this.tree = of.tree;
    this.extractor = of.extractor;
    this.tableKey = of.tableKey;
    this.tableLayout = of.tableLayout;
    this.key = of.key;
    this.entry = of.entry;
    this.plan = of.plan;
    this.dependsOn = of.dependsOn;
  }

  /** The same index at another stage. */
  IndexCore at(IndexStage other) {
    return new IndexCore(this, other);
  }

  private static KeySpec named(List<Field> fields) {
    KeySpec.Builder b = KeySpec.builder();
    for (int i = 0; i < fields.size(); i++) {
      Field f = fields.get(i);
      String name = f.name();
      for (int k = 0; k < i; k++) {
        // A field of the row and a part of the key may have the same name.
        name = fields.get(k).name().equals(f.name()) ? f.name() + "#" + i : name;
      }
      b.add(name, f.type(), f.width());
    }
    return b.build();
  }

  private static EntryPlan plan(List<Field> sources, KeySpec tableKey, int declared) {
    int n = sources.size();
    int[] types = new int[n];
    int[] widths = new int[n];
    boolean[] fromKey = new boolean[n];
    int[] offsets = new int[n];
    int[] parts = new int[n];
    for (int i = 0; i < n; i++) {
      Field f = sources.get(i);
      types[i] = f.type().code();
      widths[i] = f.width();
      fromKey[i] = f.key();
      offsets[i] = f.offset();
      parts[i] = f.key() ? f.ordinal() : -1;
    }
    int[] keyTypes = tableKey.parts().stream().mapToInt(f -> f.type().code()).toArray();
    return new EntryPlan(types, widths, fromKey, offsets, parts, keyTypes, declared);
  }

  boolean isExtracted() {
    return plan == null;
  }

  /** What the catalog keeps of it. */
  CatalogEntry.IndexEntry asEntry() {
    return new CatalogEntry.IndexEntry(
        name,
        unique,
        tree.treeId(),
        tree.rootPid(),
        isExtracted() ? key : null,
        fields,
        hints.kind);
  }

  /** The most bytes of an entry's key. */
  int entryBytesMax() {
    return entry.encodedSizeMax();
  }

  /** Whether a change of these fields can change the entry. */
  boolean dependsOn(Row changed) {
    if (dependsOn == null) {
      return true;
    }
    for (int f = changed.nextChanged(0); f >= 0; f = changed.nextChanged(f + 1)) {
      if ((dependsOn[f >>> 6] & 1L << f) != 0) {
        return true;
      }
    }
    return false;
  }

  /**
   * Makes the key of a record's entry.
   *
   * @return its length, or -1 if the record has no entry
   */
  int build(
      Slot slot,
      MemorySegment pk,
      long pkOff,
      int pkLen,
      MemorySegment record,
      long recordOff,
      MemorySegment out,
      long outOff) {
    if (plan != null) {
      return plan.build(pk, (int) pkOff, pkLen, record, recordOff, out, (int) outOff);
    }
    Objects.requireNonNull(extractor, "extractor");
    Extraction e = extractions.get(slot);
    if (e == null) {
      e = new Extraction(tableKey, tableLayout, key);
      extractions.set(slot, e);
    }
    e.primaryKey.load(pk, pkOff, pkLen);
    Mem.copy(record, recordOff, e.row.segment(), e.row.base(), e.row.size());
    e.row.filled();
    e.entry.clear();
    if (!extractor.extract(e.primaryKey, e.row, e.entry)) {
      return -1;
    }
    if (!e.entry.isComplete()) {
      throw new io.fovea.error.InvalidUseException(
          "The extractor of index " + name + " did not set all parts of the key: " + e.entry);
    }
    int len = e.entry.length();
    Mem.copy(e.entry.segment(), e.entry.base(), out, outOff, len);
    if (!unique) {
      Mem.copy(pk, pkOff, out, outOff + len, pkLen);
      len += pkLen;
    }
    return len;
  }

  /** What an extractor is called with, one set per slot. */
  private static final class Extraction {
    final Key primaryKey;
    final Row row;
    final Key entry;

    Extraction(KeySpec tableKey, Layout layout, KeySpec key) {
      primaryKey = new Key(tableKey, this);
      row = new Row(layout, this, 0);
      entry = new Key(key, this);
    }
  }

  KeyTooLargeException keyTooLong(long bytes) {
    return new KeyTooLargeException("index " + name, bytes, tree.maxKeySize());
  }
}
