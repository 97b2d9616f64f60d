package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.ByteReads;
import io.fovea.index.EntryMaker;
import io.fovea.index.IndexCore;
import io.fovea.index.Slot;
import io.fovea.index.SlotLocal;
import io.fovea.index.TableCore;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A secondary index of a table of byte strings: its records in the order of a key that is computed
 * from key and value, and within it in that of their keys.
 *
 * <pre>{@code
 * static final TableSpec FILES =
 *     TableSpec.bytes("files", 200)
 *         .with(
 *             IndexSpec.bytes(
 *                 "by_size",
 *                 KeySpec.of(FieldType.INT32),
 *                 false,
 *                 (name, content, entry) -> {
 *                   entry.int32(content.length);
 *                   return true;
 *                 }));
 *
 * ByteIndex bySize = db.table(FILES).bytes().index("by_size");
 * db.read(tx -> bySize.last(tx)); // name and content of the largest
 * }</pre>
 *
 * <p>Keys of the index are those of its specification, made by {@link #key}. One with fewer parts
 * is a prefix: all entries that begin with it lie at it. Records are given as the primary key and
 * the value, in new arrays.
 *
 * <p>A handle, good in every thread for as long as the database is open. Operations throw the
 * exceptions of those of a {@link RowTable}.
 *
 * @since 0.1.0
 */
public final class ByteIndex {
  private final RowIndex index;
  private final RowTable of;
  private final TableCore table;
  private final IndexCore core;

  ByteIndex(RowIndex index) {
    this.index = index;
    this.of = index.table();
    this.table = of.core();
    this.core = index.core();
  }

  /**
   * The index's name.
   *
   * @return the name, unique in its table
   */
  public String name() {
    return core.name;
  }

  /**
   * The specification that the index was opened with.
   *
   * @return the specification
   */
  public IndexSpec spec() {
    return index.spec();
  }

  /**
   * Whether a key belongs to one record at most.
   *
   * @return true for a unique index
   */
  public boolean isUnique() {
    return core.unique;
  }

  /**
   * How many entries the index has, which are those of the records for which the extractor makes
   * one. As {@link RowTable#count}.
   *
   * @return the number of entries
   * @throws InvalidUseException if the index or its table was dropped; inside the body of a
   *     transaction, if they have to be counted first
   */
  public long count() {
    return index.count();
  }

  /**
   * How many bytes its entries have, as they are stored: as {@link RowTable#dataBytes}.
   *
   * @return bytes
   */
  public long dataBytes() {
    return index.dataBytes();
  }

  /**
   * Makes a key of this index: the parts that its extractor computes. To be set and used again and
   * again.
   *
   * @return a new key without parts
   */
  public Key key() {
    of.database().requireServing();
    return new Key(core.key, core);
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Reads the record of an entry: of a complete key in a unique index the only one, otherwise the
   * first that begins with the key.
   *
   * @param tx the transaction
   * @param key a key of this index, or a prefix
   * @return its primary key and its value, or null if there is none
   * @throws KeyTooLargeException if no key of that length can be in the index
   * @throws InvalidUseException if the key is another index's, or a table's
   */
  public Map.@Nullable Entry<byte[], byte[]> get(Transaction tx, Key key) {
    Tx t = tx.enter(of.database(), table);
    try {
      requireKey(key);
      if (core.unique && key.isComplete()) {
        Slot slot = tx.slot();
        MemorySegment pk = slot.keyStage(table.keyBytesMax + core.hints.bytes());
        int length = find(t, key, pk);
        if (length < 0) {
          return null;
        }
        byte[] found = ByteCursor.copy(pk, 0, length);
        return Map.entry(found, Index.Reads.value(slot, t, table, core, pk, length, t.lastRead()));
      }
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
    return nearest(tx, Range.prefix(key), ScanOrder.ASCENDING);
  }

  /** The primary key of a complete key of a unique index; returns its length, or -1 for none. */
  private int find(Tx t, Key key, MemorySegment pk) {
    int room = table.keyBytesMax + core.hints.bytes();
    int n = t.get(core.tree, key.segment(), key.base(), key.length(), pk, 0, room);
    return n < 0 ? -1 : Index.Reads.keyLength(table, core, t.page(), n);
  }

  /**
   * Reads the records of several entries, whose values are read at once, which overlaps their cache
   * misses and their I/O.
   *
   * @param tx the transaction
   * @param keys keys of this index, in any order; of each, what {@link #get} gives
   * @return primary keys and values in the order of the keys, null where there is no such record
   * @throws KeyTooLargeException if no key of the length of one of them can be in the index
   * @throws InvalidUseException if one of them is another index's, or a table's
   */
  public List<Map.@Nullable Entry<byte[], byte[]>> getAll(
      Transaction tx, Collection<? extends Key> keys) {
    Key[] all = keys.toArray(Key[]::new);
    Map.@Nullable Entry<byte[], byte[]>[] found = entries(all.length);
    for (int from = 0; from < all.length; from += ByteReads.KEYS_MAX) {
      int to = Math.min(all.length, from + ByteReads.KEYS_MAX);
      Tx t = tx.enter(of.database(), table);
      try {
        getAll(tx, t, all, found, from, to);
      } catch (TransactionAbortedException e) {
        throw tx.doom(e);
      } finally {
        tx.exit();
      }
    }
    return Arrays.asList(found);
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // nothing else goes into it
  private static Map.@Nullable Entry<byte[], byte[]>[] entries(int n) {
    return (Map.@Nullable Entry<byte[], byte[]>[]) new Map.Entry[n];
  }

  private void getAll(
      Transaction tx,
      Tx t,
      Key[] keys,
      Map.@Nullable Entry<byte[], byte[]>[] found,
      int from,
      int to) {
    byte[][] primary = new byte[to - from][];
    int[] places = new int[to - from];
    int n = 0;
    for (int i = from; i < to; i++) {
      requireKey(keys[i]);
      byte[] pk = primaryKey(tx, t, keys[i]);
      if (pk != null) {
        primary[n] = pk;
        places[n++] = i;
      }
    }
    if (n == 0) {
      return;
    }
    byte[] @Nullable [] values = new byte[n][];
    ByteReads.readAll(t, tx.slot(), table.tree, primary, values, 0, n);
    for (int i = 0; i < n; i++) {
      byte[] value = values[i];
      if (value == null) {
        t.requireReadsValid();
        throw table.damaged(
            "record that an entry of index " + core.shown() + " names, its size", t.page(), 1, -1);
      }
      found[places[i]] = Map.entry(primary[i], value);
    }
  }

  /** The primary key of the first entry that begins with a key; null for none. */
  private byte @Nullable [] primaryKey(Transaction tx, Tx t, Key key) {
    Slot slot = tx.slot();
    if (core.unique && key.isComplete()) {
      MemorySegment pk = slot.keyStage(table.keyBytesMax + core.hints.bytes());
      int length = find(t, key, pk);
      return length < 0 ? null : ByteCursor.copy(pk, 0, length);
    }
    TxScan scan = open(t, slot, Range.prefix(key), ScanOrder.ASCENDING);
    if (scan == null) {
      return null;
    }
    try {
      return scan.next()
          ? ByteCursor.copy(
              scan.valueSegment(), scan.valueOffset(), Index.Reads.keyLength(table, core, scan))
          : null;
    } finally {
      scan.close();
    }
  }

  private void requireKey(Key key) {
    Index.requireThere(table, core);
    Range.requireOwner(Objects.requireNonNull(key, "key"), core);
    if (key.length() > core.tree.maxKeySize()) {
      throw core.keyTooLong(key.length());
    }
  }

  // -------------------------------------------------------------------------------------- nearest

  /**
   * Reads the first record.
   *
   * @param tx the transaction
   * @return its primary key and its value, or null if there is none
   */
  public Map.@Nullable Entry<byte[], byte[]> first(Transaction tx) {
    return nearest(tx, Range.all(), ScanOrder.ASCENDING);
  }

  /**
   * Reads the last record.
   *
   * @param tx the transaction
   * @return its primary key and its value, or null if there is none
   */
  public Map.@Nullable Entry<byte[], byte[]> last(Transaction tx) {
    return nearest(tx, Range.all(), ScanOrder.DESCENDING);
  }

  /**
   * Reads the last record of the largest key that is not above a key.
   *
   * @param tx the transaction
   * @param key a key of this index, or a prefix
   * @return its primary key and its value, or null if there is none
   */
  public Map.@Nullable Entry<byte[], byte[]> floor(Transaction tx, Key key) {
    return nearest(tx, Range.atMost(key), ScanOrder.DESCENDING);
  }

  /**
   * Reads the first record of the smallest key that is not below a key.
   *
   * @param tx the transaction
   * @param key a key of this index, or a prefix
   * @return its primary key and its value, or null if there is none
   */
  public Map.@Nullable Entry<byte[], byte[]> ceiling(Transaction tx, Key key) {
    return nearest(tx, Range.atLeast(key), ScanOrder.ASCENDING);
  }

  /**
   * Reads the last record of the largest key below a key.
   *
   * @param tx the transaction
   * @param key a key of this index, or a prefix
   * @return its primary key and its value, or null if there is none
   */
  public Map.@Nullable Entry<byte[], byte[]> lower(Transaction tx, Key key) {
    return nearest(tx, Range.lessThan(key), ScanOrder.DESCENDING);
  }

  /**
   * Reads the first record of the smallest key above a key.
   *
   * @param tx the transaction
   * @param key a key of this index, or a prefix
   * @return its primary key and its value, or null if there is none
   */
  public Map.@Nullable Entry<byte[], byte[]> higher(Transaction tx, Key key) {
    return nearest(tx, Range.greaterThan(key), ScanOrder.ASCENDING);
  }

  private Map.@Nullable Entry<byte[], byte[]> nearest(
      Transaction tx, Range range, ScanOrder order) {
    try (ByteCursor c = open(tx, range, order)) {
      return c.next() ? Map.entry(c.key(), c.value()) : null;
    }
  }

  // ------------------------------------------------------------------------------------- scanning

  /** The room for the key of an entry. */
  static int stride(IndexCore core) {
    return (core.entryBytesMax() + 7) & ~7;
  }

  /** Opens a scan, within an operation; null for one of nothing. */
  private @Nullable TxScan open(Tx t, Slot slot, Range range, ScanOrder order) {
    int stride = stride(core);
    return range.open(t, core.tree, core, core.unique, order, slot.entries(2L * stride), stride);
  }

  private ByteCursor open(Transaction tx, Range range, ScanOrder order) {
    Objects.requireNonNull(range, "range");
    Objects.requireNonNull(order, "order");
    Tx t = tx.enter(of.database(), table);
    try {
      Index.requireThere(table, core);
      return new ByteCursor(tx, of, core, open(t, tx.slot(), range, order));
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Opens a scan in the order of the index.
   *
   * @param tx the transaction
   * @param range which entries, by keys of this index
   * @param order in which direction
   * @return a cursor before the first entry; to be closed, and closed with the transaction at last
   * @throws InvalidUseException if a key of the range is another index's, or a table's
   * @throws KeyTooLargeException if no key of that length can be in the index
   */
  public ByteIndexCursor scan(Transaction tx, Range range, ScanOrder order) {
    return new ByteIndexCursor(open(tx, range, order), core);
  }

  /**
   * Visits the records of a range in ascending order.
   *
   * @param tx the transaction
   * @param range which entries, by keys of this index
   * @param visitor gets a record's primary key and its value; it may change and delete that record
   * @throws InvalidUseException if a key of the range is another index's, or a table's
   */
  public void forEach(
      Transaction tx, Range range, BiConsumer<? super byte[], ? super byte[]> visitor) {
    Objects.requireNonNull(visitor, "visitor");
    try (ByteCursor c = open(tx, range, ScanOrder.ASCENDING)) {
      while (c.next()) {
        visitor.accept(c.key(), c.value());
      }
    }
  }

  /**
   * The records of a range as a stream: as {@link OrderedEntries#stream}.
   *
   * @param tx the transaction
   * @param range which entries, by keys of this index
   * @param order in which direction
   * @return a new stream of primary keys and values
   * @throws InvalidUseException if a key of the range is another index's, or a table's
   */
  public Stream<Map.Entry<byte[], byte[]>> stream(Transaction tx, Range range, ScanOrder order) {
    ByteCursor c = open(tx, range, order);
    return OrderedRows.streamOf(c::next, () -> Map.entry(c.key(), c.value()), c::close);
  }

  /**
   * Reads a range page by page: as {@link OrderedEntries#page}. A token holds the last record's
   * place in the index, its primary key included.
   *
   * @param tx the transaction; each page may be read in one of its own
   * @param range which entries, by keys of this index; decides what can be read, whatever the token
   *     says
   * @param order in which direction
   * @param after {@link Page#next} of the page before; null for the first page
   * @param limit how many records the page has at most
   * @return the page
   * @throws IllegalArgumentException if the limit is not positive
   * @throws InvalidUseException if the token is damaged, or was made by another index or in the
   *     other order; if a key of the range is another index's, or a table's
   */
  public Page<Map.Entry<byte[], byte[]>> page(
      Transaction tx, Range range, ScanOrder order, @Nullable String after, int limit) {
    Page.Token.checkLimit(limit);
    try (ByteCursor c = open(tx, range, order)) {
      return Page.read(
          limit,
          after == null ? c.next() : c.seekBehind(Page.Token.key(table, core, order, after)),
          () -> Map.entry(c.key(), c.value()),
          () -> Page.Token.of(table, core, order, c.position()),
          c::next);
    }
  }

  /**
   * Estimates how many entries are in a range, and how large they are: as {@link
   * RowTable#estimate}.
   *
   * @param tx the transaction
   * @param range which entries, by keys of this index
   * @return the estimate
   * @throws InvalidUseException if a key of the range is another index's, or a table's
   */
  public Estimate estimate(Transaction tx, Range range) {
    Objects.requireNonNull(range, "range");
    tx.enter(of.database(), table);
    try {
      Index.requireThere(table, core);
      int stride = stride(core);
      return range.estimate(core.tree, core, core.unique, tx.slot().entries(2L * stride), stride);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  @Override
  public String toString() {
    return index.toString();
  }

  /**
   * Has a user's extractor make entries, with a key for each slot. The extractor gets arrays of its
   * own: it may keep them, and what it reads can't change under it.
   */
  static final class Extracted implements EntryMaker {
    private final String index;
    private final IndexSpec.ByteExtractor extractor;
    private final KeySpec key;
    private final SlotLocal<Key> entries = new SlotLocal<>();

    /**
     * Entries of an index.
     *
     * @param key what the extractor makes
     */
    Extracted(String index, IndexSpec.ByteExtractor extractor, KeySpec key) {
      this.index = index;
      this.extractor = extractor;
      this.key = key;
    }

    @Override
    public int make(
        Slot slot,
        MemorySegment pk,
        long pkOff,
        int pkLen,
        MemorySegment record,
        long recordOff,
        int recordLen,
        MemorySegment out,
        long outOff) {
      Key entry = entries.get(slot);
      if (entry == null) {
        entry = new Key(key, this);
        entries.set(slot, entry);
      }
      entry.clear();
      byte[] k = ByteCursor.copy(pk, pkOff, pkLen);
      byte[] v = ByteCursor.copy(record, recordOff, recordLen);
      return extractor.extract(k, v, entry)
          ? RowIndex.Extracted.take(index, entry, out, outOff)
          : -1;
    }
  }
}
