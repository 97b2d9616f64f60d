package io.fovea;

import io.fovea.btree.RangeEstimate;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.index.ByteReads;
import io.fovea.index.IndexCore;
import io.fovea.index.RecordExpiry;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.schema.IndexSpec;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A secondary index of a {@link Table}: its records in the order of a key computed from them.
 * Records with equal keys are in the order of their primary keys.
 *
 * <p>An index of objects, by some of their components:
 *
 * <pre>{@code
 * static final ObjectSpec<Long, Account> ACCOUNTS =
 *     ObjectSpec.of("accounts", Long.class, Account.class).index("byOwner", "owner");
 *
 * Table<Long, Account> accounts = db.table(ACCOUNTS);
 * Index<String, Long, Account> byOwner = accounts.index("byOwner", String.class);
 * db.read(tx -> byOwner.stream(tx, "Ada", ScanOrder.ASCENDING).map(Map.Entry::getValue).toList());
 * }</pre>
 *
 * <p>An index of byte strings, by a key that an extractor of the program computes; {@link #key}
 * creates such keys:
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
 * Index<Key, byte[], byte[]> bySize = db.table(FILES).bytes().index("by_size", Key.class);
 * db.read(tx -> bySize.last(tx)); // name and content of the largest
 * }</pre>
 *
 * <p>A key with only the first parts is a prefix, and stands for all entries that begin with it. A
 * component of a key may be null if the record's component may be; null sorts before all values.
 *
 * <p>An index is a handle, valid in every thread while the database is open. Operations throw the
 * same exceptions as those of {@link RowTable}, the exceptions of the records' accessors and
 * constructors, and {@link InvalidUseException} if a {@link Key} belongs to another index or to a
 * table.
 *
 * @param <I> the class of the index's keys
 * @param <K> the class of the table's keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public final class Index<I, K, V> {
  private final RowIndex index;
  private final TableCore table;
  private final IndexCore core;
  private final IndexKeys<I> keys;
  private final Supplier<Coding<K, V>> coding;

  /**
   * Creates a handle.
   *
   * @param coding supplies the decoder of keys and values for one thread
   */
  Index(RowIndex index, IndexKeys<I> keys, Supplier<Coding<K, V>> coding) {
    this.index = index;
    this.table = index.table().core();
    this.core = index.core();
    this.keys = keys;
    this.coding = coding;
  }

  /**
   * Returns the name of the index.
   *
   * @return the name, unique in its table
   */
  public String name() {
    return core.name;
  }

  /**
   * Returns the specification with which the index was opened.
   *
   * @return the specification
   */
  public IndexSpec spec() {
    return index.spec();
  }

  /**
   * Creates a reusable key of an index of byte strings, with the parts that its extractor computes.
   *
   * @return a new key without parts
   * @throws InvalidUseException if this is an index of objects, whose keys are objects
   */
  public Key key() {
    return index.key();
  }

  /**
   * Returns whether a key without nulls belongs to at most one record.
   *
   * @return true for a unique index
   */
  public boolean isUnique() {
    return core.unique;
  }

  /**
   * Returns the number of entries, as {@link RowTable#count} does: one for each object, or for each
   * byte string for which the extractor computes a key.
   *
   * @return the number of entries
   * @throws InvalidUseException if the index or its table was dropped, or if the entries have to be
   *     counted first and the calling thread has a transaction
   */
  public long count() {
    return index.count();
  }

  /**
   * Returns the total length of the entries as stored, as {@link RowTable#dataBytes} does.
   *
   * @return bytes
   */
  public long dataBytes() {
    return index.dataBytes();
  }

  // ------------------------------------------------------------------------------------- reading

  /**
   * Reads the record of an entry. In a unique index, a complete key without nulls has at most one
   * entry; otherwise, the first entry that begins with the key is used.
   *
   * @param tx the transaction
   * @param key a key of this index
   * @return the record's key and value, or null if there is none
   * @throws KeyTooLargeException if the key exceeds the maximum length for the index
   */
  public Map.@Nullable Entry<K, V> get(Transaction tx, I key) {
    IndexKeys.Encoded k = keys.encode(key);
    if (!k.exact()) {
      return nearest(tx, at(k), ScanOrder.ASCENDING);
    }
    byte[][] found = find(tx, k.bytes());
    return found == null ? null : entry(coding.get(), found[0], found[1]);
  }

  private static <K, V> Map.Entry<K, V> entry(Coding<K, V> by, byte[] key, byte[] value) {
    K k = by.key(key);
    return Map.entry(k, by.value(k, value));
  }

  /** Returns the primary key and the value of an entry of a unique index. */
  private byte @Nullable [][] find(Transaction tx, byte[] key) {
    Tx t = tx.enter(index.table().database(), table);
    try {
      requireUsable(table, core);
      StatementContext context = tx.statementContext();
      MemorySegment pk = context.keyStage(table.keyBytesMax + core.hints.bytes());
      int length = find(t, context, key, pk);
      int entry = t.lastRead();
      if (length < 0 || RecordExpiry.isHidden(context, t, table, pk, 0, length)) {
        return null;
      }
      byte[] found = Mem.bytes(pk, 0, length);
      return new byte[][] {found, EntryReads.value(context, t, table, core, pk, length, entry)};
    } finally {
      tx.exit();
    }
  }

  /** Reads an entry of a unique index; returns the length of its primary key, or -1 for none. */
  private int find(Tx t, StatementContext context, byte[] key, MemorySegment pk) {
    requireLength(core, key.length);
    MemorySegment wanted = context.entries(key.length);
    Mem.putBytes(wanted, 0, key, 0, key.length);
    int capacity = table.keyBytesMax + core.hints.bytes();
    int n = t.get(core.tree, wanted, 0, key.length, pk, 0, capacity);
    return n < 0 ? -1 : core.keyLength(table, t.page(), n);
  }

  private static void requireLength(IndexCore core, int length) {
    if (length > core.tree.maxKeySize()) {
      throw core.keyTooLong(length);
    }
  }

  static void requireUsable(TableCore table, IndexCore core) {
    table.requireUsable();
    if (table.index(core.name) != core) {
      throw new InvalidUseException(
          "Index "
              + core.displayName()
              + " of table "
              + table.displayName()
              + " was dropped: open the table, and get the index from it.");
    }
  }

  /**
   * Reads the records of several entries. Their values are read together, with overlapping cache
   * misses and I/O.
   *
   * @param tx the transaction
   * @param wanted keys of this index, in any order, each interpreted as by {@link #get}
   * @return keys and values in the order of {@code wanted}, with null for a missing record
   * @throws KeyTooLargeException if a key exceeds the maximum length for the index
   */
  public List<Map.@Nullable Entry<K, V>> getAll(Transaction tx, Collection<? extends I> wanted) {
    List<IndexKeys.Encoded> all = new ArrayList<>(wanted.size());
    for (I key : wanted) {
      all.add(keys.encode(key));
    }
    byte[] @Nullable [] primary = new byte[all.size()][];
    byte[] @Nullable [] values = new byte[all.size()][];
    for (int from = 0; from < all.size(); from += ByteReads.KEYS_MAX) {
      int to = Math.min(all.size(), from + ByteReads.KEYS_MAX);
      Tx t = tx.enter(index.table().database(), table);
      try {
        requireUsable(table, core);
        readAll(tx, t, tx.statementContext(), all, primary, values, from, to);
      } finally {
        tx.exit();
      }
    }
    List<Map.@Nullable Entry<K, V>> found = new ArrayList<>(all.size());
    Coding<K, V> by = coding.get();
    for (int i = 0; i < all.size(); i++) {
      byte[] key = primary[i];
      byte[] value = values[i];
      found.add(key == null || value == null ? null : entry(by, key, value));
    }
    return Collections.unmodifiableList(found);
  }

  private void readAll(
      Transaction tx,
      Tx t,
      StatementContext context,
      List<IndexKeys.Encoded> all,
      byte[] @Nullable [] primary,
      byte[] @Nullable [] values,
      int from,
      int to) {
    byte[][] entries = new byte[to - from][];
    int[] positions = new int[to - from];
    int n = 0;
    for (int i = from; i < to; i++) {
      byte[] pk = primaryKey(tx, t, context, all.get(i));
      if (pk != null) {
        primary[i] = pk;
        entries[n] = pk;
        positions[n++] = i;
      }
    }
    if (n == 0) {
      return;
    }
    byte[] @Nullable [] read = new byte[n][];
    ByteReads.readAll(t, context, table, entries, read, 0, n);
    for (int i = 0; i < n; i++) {
      byte[] value = read[i];
      if (value == null) {
        t.requireReadsValid();
        throw table.damaged(
            "record that an entry of index " + core.displayName() + " names, its size",
            t.page(),
            1,
            -1);
      }
      values[positions[i]] = value;
    }
  }

  /** Returns the primary key of the first entry that begins with a key; null for none. */
  private byte @Nullable [] primaryKey(
      Transaction tx, Tx t, StatementContext context, IndexKeys.Encoded key) {
    if (key.exact()) {
      MemorySegment pk = context.keyStage(table.keyBytesMax + core.hints.bytes());
      int length = find(t, context, key.bytes(), pk);
      return length < 0 || RecordExpiry.isHidden(context, t, table, pk, 0, length)
          ? null
          : Mem.bytes(pk, 0, length);
    }
    TxScan scan = open(t, context, core, at(key), ScanOrder.ASCENDING);
    if (scan == null) {
      return null;
    }
    try {
      VisibleRecords visible = VisibleRecords.of(tx, table, core);
      boolean found = scan.next();
      return (visible == null ? found : visible.completeMove(scan, found, false))
          ? Mem.bytes(
              scan.valueSegment(), scan.valueOffset(), EntryReads.keyLength(table, core, scan))
          : null;
    } finally {
      scan.close();
    }
  }

  // ------------------------------------------------------------------------------------ intervals

  /** Returns the interval of the entries that begin with a key. */
  private static Table.Interval<byte[]> at(IndexKeys.Encoded key) {
    return new Table.Interval<>(
        key.bytes(), true, key.exact() ? key.bytes() : key.after(), key.exact());
  }

  /** Returns the interval of the entries after those that begin with a key; null if it is empty. */
  private static Table.@Nullable Interval<byte[]> after(IndexKeys.Encoded key) {
    byte[] from = key.exact() ? key.bytes() : key.after();
    return from == null ? null : new Table.Interval<>(from, !key.exact(), null, true);
  }

  /** Returns the interval of the entries up to and including those that begin with a key. */
  private static Table.Interval<byte[]> upTo(IndexKeys.Encoded key) {
    return new Table.Interval<>(null, true, key.exact() ? key.bytes() : key.after(), key.exact());
  }

  private Table.Interval<byte[]> between(@Nullable I from, @Nullable I to) {
    return new Table.Interval<>(
        from == null ? null : keys.encode(from).bytes(),
        true,
        to == null ? null : keys.encode(to).bytes(),
        false);
  }

  /**
   * Opens a scan of an interval of entries, or returns null if it is empty. Called within an
   * operation.
   */
  private static @Nullable TxScan open(
      Tx t,
      StatementContext context,
      IndexCore core,
      Table.Interval<byte[]> interval,
      ScanOrder order) {
    byte[] lo = interval.lo();
    byte[] hi = interval.hi();
    if (isEmpty(interval)) {
      return null;
    }
    MemorySegment s = stage(context, core, lo, hi);
    TxScan scan =
        t.scan(
            core.tree,
            s,
            0,
            length(lo),
            interval.loInclusive(),
            s,
            lo == null ? 0 : lo.length,
            length(hi),
            interval.hiInclusive(),
            order == ScanOrder.DESCENDING);
    scan.readItemsOnly();
    return scan;
  }

  /** Returns whether the upper bound is the empty key, below which there is nothing. */
  private static boolean isEmpty(Table.Interval<byte[]> interval) {
    byte[] hi = interval.hi();
    return hi != null && hi.length == 0 && !interval.hiInclusive();
  }

  /** Returns the length of a bound, or -1 if there is none. */
  private static int length(byte @Nullable [] end) {
    return end == null || end.length == 0 ? -1 : end.length;
  }

  /** Copies the bounds of an interval into memory, one after the other. */
  private static MemorySegment stage(
      StatementContext context, IndexCore core, byte @Nullable [] lo, byte @Nullable [] hi) {
    int loLen = lo == null ? 0 : lo.length;
    int hiLen = hi == null ? 0 : hi.length;
    requireLength(core, loLen);
    requireLength(core, hiLen);
    MemorySegment s = context.entries((long) loLen + hiLen + 8);
    if (lo != null) {
      Mem.putBytes(s, 0, lo, 0, loLen);
    }
    if (hi != null) {
      Mem.putBytes(s, loLen, hi, 0, hiLen);
    }
    return s;
  }

  private EntryScan<K, V> open(Transaction tx, Table.Interval<byte[]> interval, ScanOrder order) {
    return open(tx, index, interval, order, coding.get());
  }

  /** Opens a scan of an interval of entries. */
  static <K, V> EntryScan<K, V> open(
      Transaction tx,
      RowIndex of,
      Table.Interval<byte[]> interval,
      ScanOrder order,
      Coding<K, V> coding) {
    Objects.requireNonNull(order, "order");
    IndexCore core = of.core();
    TableCore table = of.table().core();
    Tx t = tx.enter(of.table().database(), table);
    try {
      requireUsable(table, core);
      TxScan scan = open(t, tx.statementContext(), core, interval, order);
      return new EntryScan<>(tx, of.table(), core, scan, coding);
    } finally {
      tx.exit();
    }
  }

  // -------------------------------------------------------------------------------------- nearest

  /**
   * Reads the first record.
   *
   * @param tx the transaction
   * @return its key and value, or null if there is none
   */
  public Map.@Nullable Entry<K, V> first(Transaction tx) {
    return nearest(tx, between(null, null), ScanOrder.ASCENDING);
  }

  /**
   * Reads the last record.
   *
   * @param tx the transaction
   * @return its key and value, or null if there is none
   */
  public Map.@Nullable Entry<K, V> last(Transaction tx) {
    return nearest(tx, between(null, null), ScanOrder.DESCENDING);
  }

  /**
   * Reads the last record of the largest key at or below a key.
   *
   * @param tx the transaction
   * @param key a key of this index, or a prefix
   * @return its key and value, or null if there is none
   */
  public Map.@Nullable Entry<K, V> floor(Transaction tx, I key) {
    return nearest(tx, upTo(keys.encode(key)), ScanOrder.DESCENDING);
  }

  /**
   * Reads the first record of the smallest key at or above a key.
   *
   * @param tx the transaction
   * @param key a key of this index, or a prefix
   * @return its key and value, or null if there is none
   */
  public Map.@Nullable Entry<K, V> ceiling(Transaction tx, I key) {
    return nearest(tx, between(Objects.requireNonNull(key, "key"), null), ScanOrder.ASCENDING);
  }

  /**
   * Reads the last record of the largest key below a key.
   *
   * @param tx the transaction
   * @param key a key of this index, or a prefix
   * @return its key and value, or null if there is none
   */
  public Map.@Nullable Entry<K, V> lower(Transaction tx, I key) {
    return nearest(tx, between(null, Objects.requireNonNull(key, "key")), ScanOrder.DESCENDING);
  }

  /**
   * Reads the first record of the smallest key above a key.
   *
   * @param tx the transaction
   * @param key a key of this index, or a prefix
   * @return its key and value, or null if there is none
   */
  public Map.@Nullable Entry<K, V> higher(Transaction tx, I key) {
    Table.Interval<byte[]> rest = after(keys.encode(key));
    return rest == null ? null : nearest(tx, rest, ScanOrder.ASCENDING);
  }

  private Map.@Nullable Entry<K, V> nearest(
      Transaction tx, Table.Interval<byte[]> interval, ScanOrder order) {
    try (Cursor<K, V> c = open(tx, interval, order)) {
      return c.next() ? Map.entry(c.key(), c.value()) : null;
    }
  }

  // ------------------------------------------------------------------------------------- scanning

  /**
   * Opens a scan of an interval.
   *
   * @param tx the transaction
   * @param from the smallest key of the index, null for no bound
   * @param to the exclusive upper bound, null for none
   * @param order the direction
   * @return a cursor before the first record; close it, or the end of the transaction does
   * @throws KeyTooLargeException if a bound exceeds the maximum length of a key of the index
   */
  public IndexCursor<I, K, V> scan(
      Transaction tx, @Nullable I from, @Nullable I to, ScanOrder order) {
    return new IndexCursor<>(open(tx, between(from, to), order), core, keys, order);
  }

  /**
   * Opens a scan of all records whose entries have a key or begin with it.
   *
   * @param tx the transaction
   * @param key the key
   * @param order the direction
   * @return a cursor before the first record; close it, or the end of the transaction does
   * @throws KeyTooLargeException if the key exceeds the maximum length for the index
   */
  public IndexCursor<I, K, V> scan(Transaction tx, I key, ScanOrder order) {
    return new IndexCursor<>(open(tx, at(keys.encode(key)), order), core, keys, order);
  }

  /**
   * Opens a scan of an index of byte strings, with any bounds.
   *
   * @param tx the transaction
   * @param range the entries to scan, by keys of this index
   * @param order the direction
   * @return a cursor before the first record; close it, or the end of the transaction does
   * @throws InvalidUseException if this is an index of objects, or a key of the range belongs to
   *     another index
   * @throws KeyTooLargeException if a bound exceeds the maximum length of a key of the index
   */
  public IndexCursor<I, K, V> scan(Transaction tx, Range range, ScanOrder order) {
    Objects.requireNonNull(range, "range");
    Objects.requireNonNull(order, "order");
    if (core.objects != null) {
      throw new InvalidUseException(
          "Index "
              + core.displayName()
              + " is an index of objects, and a Range needs keys with parts: use"
              + " scan(tx, from, to, order).");
    }
    Tx t = tx.enter(index.table().database(), table);
    try {
      requireUsable(table, core);
      int stride = (core.entryBytesMax() + 7) & ~7;
      MemorySegment ends = tx.statementContext().entries(2L * stride);
      TxScan scan = range.open(t, core.tree, core, core.unique, order, ends, stride);
      return new IndexCursor<>(
          new EntryScan<>(tx, index.table(), core, scan, coding.get()), core, keys, order);
    } finally {
      tx.exit();
    }
  }

  /**
   * Visits the records of an interval in ascending order.
   *
   * @param tx the transaction
   * @param from the smallest key of the index, null for no bound
   * @param to the exclusive upper bound, null for none
   * @param visitor receives the key and value of a record; it may change and delete that record
   */
  public void forEach(
      Transaction tx, @Nullable I from, @Nullable I to, BiConsumer<? super K, ? super V> visitor) {
    visit(tx, between(from, to), visitor);
  }

  /**
   * Visits all records whose entries have a key or begin with it, in ascending order.
   *
   * @param tx the transaction
   * @param key the key
   * @param visitor receives the key and value of a record; it may change and delete that record
   */
  public void forEach(Transaction tx, I key, BiConsumer<? super K, ? super V> visitor) {
    visit(tx, at(keys.encode(key)), visitor);
  }

  private void visit(
      Transaction tx, Table.Interval<byte[]> interval, BiConsumer<? super K, ? super V> visitor) {
    Objects.requireNonNull(visitor, "visitor");
    try (Cursor<K, V> c = open(tx, interval, ScanOrder.ASCENDING)) {
      while (c.next()) {
        visitor.accept(c.key(), c.value());
      }
    }
  }

  /**
   * Returns the records of an interval as a stream, as {@link Table#stream} does.
   *
   * @param tx the transaction
   * @param from the smallest key of the index, null for no bound
   * @param to the exclusive upper bound, null for none
   * @param order the direction
   * @return a new stream of keys of the table and values
   */
  public Stream<Map.Entry<K, V>> stream(
      Transaction tx, @Nullable I from, @Nullable I to, ScanOrder order) {
    return stream(tx, between(from, to), order);
  }

  /**
   * Returns a stream of all records whose entries have a key or begin with it, as {@link
   * Table#stream} does.
   *
   * @param tx the transaction
   * @param key the key
   * @param order the direction
   * @return a new stream of keys of the table and values
   */
  public Stream<Map.Entry<K, V>> stream(Transaction tx, I key, ScanOrder order) {
    return stream(tx, at(keys.encode(key)), order);
  }

  private Stream<Map.Entry<K, V>> stream(
      Transaction tx, Table.Interval<byte[]> interval, ScanOrder order) {
    Cursor<K, V> c = open(tx, interval, order);
    return RowRangeOperations.streamOf(c::next, () -> Map.entry(c.key(), c.value()), c::close);
  }

  /**
   * Reads an interval page by page, as {@link Table#page} does. A token contains the position of
   * the page's last record in the index, including its key.
   *
   * @param tx the transaction; each page may be read in a different one
   * @param from the smallest key of the index, null for no bound; {@code from} and {@code to} limit
   *     the records that can be read, whatever the token contains
   * @param to the exclusive upper bound, null for none
   * @param order the direction
   * @param after {@link Page#next} of the previous page; null for the first page
   * @param limit the maximum number of records in the page
   * @return the page
   * @throws IllegalArgumentException if the limit is not positive
   * @throws InvalidUseException if the token is damaged, or comes from another index or the other
   *     order
   */
  public Page<Map.Entry<K, V>> page(
      Transaction tx,
      @Nullable I from,
      @Nullable I to,
      ScanOrder order,
      @Nullable String after,
      int limit) {
    return page(tx, between(from, to), order, after, limit);
  }

  /**
   * Reads, page by page, all records whose entries have a key or begin with it, as {@link
   * #page(Transaction, Object, Object, ScanOrder, String, int)} does.
   *
   * @param tx the transaction; each page may be read in a different one
   * @param key the key; it limits the records that can be read, whatever the token contains
   * @param order the direction
   * @param after {@link Page#next} of the previous page; null for the first page
   * @param limit the maximum number of records in the page
   * @return the page
   * @throws IllegalArgumentException if the limit is not positive
   * @throws InvalidUseException if the token is damaged, or comes from another index or the other
   *     order
   */
  public Page<Map.Entry<K, V>> page(
      Transaction tx, I key, ScanOrder order, @Nullable String after, int limit) {
    return page(tx, at(keys.encode(key)), order, after, limit);
  }

  private Page<Map.Entry<K, V>> page(
      Transaction tx,
      Table.Interval<byte[]> interval,
      ScanOrder order,
      @Nullable String after,
      int limit) {
    Page.Token.checkLimit(limit);
    try (Cursor<K, V> c = open(tx, interval, order)) {
      return Page.read(c, table, core, order, after, limit);
    }
  }

  /**
   * Estimates the number and size of the entries in an interval, as {@link RowTable#estimate} does.
   *
   * @param tx the transaction
   * @param from the smallest key of the index, null for no bound
   * @param to the exclusive upper bound, null for none
   * @return the estimate
   * @throws KeyTooLargeException if a bound exceeds the maximum length of a key of the index
   */
  public Estimate estimate(Transaction tx, @Nullable I from, @Nullable I to) {
    return estimate(tx, between(from, to));
  }

  /**
   * Estimates the number and size of the entries that begin with a key, as {@link
   * RowTable#estimate} does.
   *
   * @param tx the transaction
   * @param key the key
   * @return the estimate
   * @throws KeyTooLargeException if the key exceeds the maximum length for the index
   */
  public Estimate estimate(Transaction tx, I key) {
    return estimate(tx, at(keys.encode(key)));
  }

  private Estimate estimate(Transaction tx, Table.Interval<byte[]> interval) {
    tx.enter(index.table().database(), table);
    try {
      requireUsable(table, core);
      if (isEmpty(interval)) {
        return new Estimate(0, 0);
      }
      byte[] lo = interval.lo();
      byte[] hi = interval.hi();
      MemorySegment s = stage(tx.statementContext(), core, lo, hi);
      RangeEstimate e =
          RangeEstimate.of(
              core.tree,
              s,
              0,
              length(lo),
              interval.loInclusive(),
              s,
              lo == null ? 0 : lo.length,
              length(hi),
              interval.hiInclusive());
      return new Estimate(e.entries(), e.bytes());
    } finally {
      tx.exit();
    }
  }

  @Override
  public String toString() {
    return index.toString();
  }
}
