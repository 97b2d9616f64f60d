package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.IndexCore;
import io.fovea.index.Slot;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.object.EntryKey;
import io.fovea.object.ObjectWriter;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A secondary index of a table of Java records: its objects in the order of some of their
 * components, and within it in that of their keys.
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
 * <p>Where the class of the keys has the first components alone, each key is a prefix: all entries
 * that begin with it lie at it. A component of a key may be null where it is one of a record; null
 * comes before all values.
 *
 * <p>A handle, good in every thread for as long as the database is open. Operations throw the
 * exceptions of those of a {@link RowTable}, and what accessors and constructors of the records
 * throw.
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
  private final EntryKey keys;
  private final Supplier<OrderedEntries.Walk.Coding<K, V>> coding;

  /** Whether its keys have all components. */
  private final boolean complete;

  /**
   * A handle.
   *
   * @param coding makes what reads keys and objects, for one thread
   */
  Index(RowIndex index, EntryKey keys, Supplier<OrderedEntries.Walk.Coding<K, V>> coding) {
    this.index = index;
    this.table = index.table().core();
    this.core = index.core();
    this.keys = keys;
    this.coding = coding;
    this.complete = keys.parts() == Objects.requireNonNull(core.objects).entries().parts().size();
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
   * Whether values without null belong to one object at most.
   *
   * @return true for one that {@link ObjectSpec#unique} has declared
   */
  public boolean isUnique() {
    return core.unique;
  }

  /**
   * How many entries the index has: one for each object. As {@link RowTable#count}.
   *
   * @return the number of entries
   * @throws InvalidUseException if the index or its table was dropped; inside the body of a
   *     transaction, if they have to be counted first
   */
  public long count() {
    return index.count();
  }

  // -------------------------------------------------------------------------------------- reading

  private byte[] encoded(I key) {
    ObjectWriter out = new ObjectWriter();
    keys.write(out, Objects.requireNonNull(key, "key"));
    return out.toArray();
  }

  /**
   * Reads the object of an entry: of a complete key without null in a unique index the only one,
   * otherwise the first that begins with the key.
   *
   * @param tx the transaction
   * @param key a key of this index
   * @return the object's key and the object, or null if there is none
   * @throws KeyTooLargeException if no key of that length can be in the index
   */
  public Map.@Nullable Entry<K, V> get(Transaction tx, I key) {
    ObjectWriter out = new ObjectWriter();
    boolean whole = keys.write(out, Objects.requireNonNull(key, "key"));
    if (!core.unique || !complete || !whole) {
      try (OrderedEntries.Walk<K, V> w = walk(tx, out.toArray(), ScanOrder.ASCENDING)) {
        return w.next() ? Map.entry(w.key(), w.value()) : null;
      }
    }
    byte[][] found = find(tx, out);
    if (found == null) {
      return null;
    }
    OrderedEntries.Walk.Coding<K, V> by = coding.get();
    K pk = by.key(found[0]);
    return Map.entry(pk, by.value(pk, found[1]));
  }

  /** The primary key and the object of an entry of a unique index. */
  private byte @Nullable [][] find(Transaction tx, ObjectWriter key) {
    Tx t = tx.enter(index.table().database(), table);
    try {
      requireThere(table, core);
      int length = key.length();
      require(core, length);
      Slot slot = tx.slot();
      int room = table.keyBytesMax + core.hints.bytes();
      MemorySegment wanted = slot.entries(length);
      Mem.putBytes(wanted, 0, key.array(), 0, length);
      MemorySegment pk = slot.keyStage(room);
      int n = t.get(core.tree, wanted, 0, length, pk, 0, room);
      if (n < 0) {
        return null;
      }
      int pkLen = Reads.keyLength(table, core, t.page(), n);
      byte[] found = ByteCursor.copy(pk, 0, pkLen);
      return new byte[][] {found, Reads.value(slot, t, table, core, pk, pkLen, t.lastRead())};
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  private static void require(IndexCore core, int length) {
    if (length > core.tree.maxKeySize()) {
      throw core.keyTooLong(length);
    }
  }

  static void requireThere(TableCore table, IndexCore core) {
    table.requireThere();
    if (table.index(core.name) != core) {
      throw new InvalidUseException(
          "Index "
              + core.shown()
              + " of table "
              + table.shown()
              + " was dropped: open the table, and ask it for the index.");
    }
  }

  // ------------------------------------------------------------------------------------- scanning

  /** Opens a scan of what begins with a key. */
  private OrderedEntries.Walk<K, V> walk(Transaction tx, byte[] key, ScanOrder order) {
    return new OrderedEntries.Walk.OfBytes<>(
        open(tx, key, behind(key), Objects.requireNonNull(order, "order")), coding.get());
  }

  private OrderedEntries.Walk<K, V> walk(
      Transaction tx, @Nullable I from, @Nullable I to, ScanOrder order) {
    return new OrderedEntries.Walk.OfBytes<>(open(tx, from, to, order), coding.get());
  }

  private ByteCursor open(Transaction tx, @Nullable I from, @Nullable I to, ScanOrder order) {
    return open(
        tx,
        from == null ? null : encoded(from),
        to == null ? null : encoded(to),
        Objects.requireNonNull(order, "order"));
  }

  /** The first bytes behind all that begin with some; there are such, as 0xFF begins no entry. */
  static byte[] behind(byte[] key) {
    int n = key.length;
    while (key[n - 1] == (byte) 0xFF) {
      n--;
    }
    byte[] next = Arrays.copyOf(key, n);
    next[n - 1]++;
    return next;
  }

  private ByteCursor open(
      Transaction tx, byte @Nullable [] from, byte @Nullable [] to, ScanOrder order) {
    return open(tx, index.table(), core, from, to, order);
  }

  /** Opens a scan of entries between two keys, the second one excluded. */
  static ByteCursor open(
      Transaction tx,
      RowTable of,
      IndexCore core,
      byte @Nullable [] from,
      byte @Nullable [] to,
      ScanOrder order) {
    TableCore table = of.core();
    Tx t = tx.enter(of.database(), table);
    try {
      requireThere(table, core);
      int loLen = from == null ? 0 : from.length;
      int hiLen = to == null ? 0 : to.length;
      require(core, loLen);
      require(core, hiLen);
      MemorySegment s = tx.slot().entries((long) loLen + hiLen + 8);
      if (from != null) {
        Mem.putBytes(s, 0, from, 0, loLen);
      }
      if (to != null) {
        Mem.putBytes(s, loLen, to, 0, hiLen);
      }
      TxScan scan =
          t.scan(
              core.tree,
              s,
              0,
              from == null ? -1 : loLen,
              true,
              s,
              loLen,
              to == null ? -1 : hiLen,
              false,
              order == ScanOrder.DESCENDING);
      scan.readsItems();
      return new ByteCursor(tx, of, core, scan);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Opens a scan of an interval.
   *
   * @param tx the transaction
   * @param from the smallest key of the index, null for no bound
   * @param to the key of the index below which the scan ends, itself excluded; null for no bound
   * @param order in which direction
   * @return a cursor before the first object; to be closed, and closed with the transaction at last
   * @throws KeyTooLargeException if a bound is longer than a key of the index can be
   */
  public IndexCursor<I, K, V> scan(
      Transaction tx, @Nullable I from, @Nullable I to, ScanOrder order) {
    return new IndexCursor<>(open(tx, from, to, order), coding.get(), this::encoded, order);
  }

  /**
   * Opens a scan of all objects with a key, or whose entries begin with it.
   *
   * @param tx the transaction
   * @param key the key
   * @param order in which direction
   * @return a cursor before the first object; to be closed, and closed with the transaction at last
   * @throws KeyTooLargeException if no key of that length can be in the index
   */
  public IndexCursor<I, K, V> scan(Transaction tx, I key, ScanOrder order) {
    byte[] bytes = encoded(key);
    return new IndexCursor<>(
        open(tx, bytes, behind(bytes), Objects.requireNonNull(order, "order")),
        coding.get(),
        this::encoded,
        order);
  }

  /**
   * Visits the objects of an interval in ascending order.
   *
   * @param tx the transaction
   * @param from the smallest key of the index, null for no bound
   * @param to the key of the index below which the visit ends, itself excluded; null for no bound
   * @param visitor gets an object's key and the object; it may change and delete that object
   */
  public void forEach(
      Transaction tx, @Nullable I from, @Nullable I to, BiConsumer<? super K, ? super V> visitor) {
    visit(walk(tx, from, to, ScanOrder.ASCENDING), visitor);
  }

  /**
   * Visits all objects with a key, or whose entries begin with it, in ascending order.
   *
   * @param tx the transaction
   * @param key the key
   * @param visitor gets an object's key and the object; it may change and delete that object
   */
  public void forEach(Transaction tx, I key, BiConsumer<? super K, ? super V> visitor) {
    visit(walk(tx, encoded(key), ScanOrder.ASCENDING), visitor);
  }

  private void visit(OrderedEntries.Walk<K, V> opened, BiConsumer<? super K, ? super V> visitor) {
    try (OrderedEntries.Walk<K, V> w = opened) {
      Objects.requireNonNull(visitor, "visitor");
      while (w.next()) {
        visitor.accept(w.key(), w.value());
      }
    }
  }

  /**
   * The objects of an interval as a stream: as {@link OrderedEntries#stream}.
   *
   * @param tx the transaction
   * @param from the smallest key of the index, null for no bound
   * @param to the key of the index below which the stream ends, itself excluded; null for no bound
   * @param order in which direction
   * @return a new stream of keys of the table and objects
   */
  public Stream<Map.Entry<K, V>> stream(
      Transaction tx, @Nullable I from, @Nullable I to, ScanOrder order) {
    return streamOf(walk(tx, from, to, order));
  }

  /**
   * All objects with a key, or whose entries begin with it, as a stream: as {@link
   * OrderedEntries#stream}.
   *
   * @param tx the transaction
   * @param key the key
   * @param order in which direction
   * @return a new stream of keys of the table and objects
   */
  public Stream<Map.Entry<K, V>> stream(Transaction tx, I key, ScanOrder order) {
    return streamOf(walk(tx, encoded(key), order));
  }

  private Stream<Map.Entry<K, V>> streamOf(OrderedEntries.Walk<K, V> w) {
    return OrderedRows.streamOf(w::next, () -> Map.entry(w.key(), w.value()), w::close);
  }

  /**
   * Reads an interval page by page: as {@link OrderedEntries#page}. A token holds the last object's
   * place in the index, its key included.
   *
   * @param tx the transaction; each page may be read in one of its own
   * @param from the smallest key of the index, null for no bound; {@code from} and {@code to}
   *     decide what can be read, whatever the token says
   * @param to the key of the index below which the interval ends, itself excluded; null for no
   *     bound
   * @param order in which direction
   * @param after {@link Page#next} of the page before; null for the first page
   * @param limit how many objects the page has at most
   * @return the page
   * @throws IllegalArgumentException if the limit is not positive
   * @throws InvalidUseException if the token is damaged, or was made by another index or in the
   *     other order
   */
  public Page<Map.Entry<K, V>> page(
      Transaction tx,
      @Nullable I from,
      @Nullable I to,
      ScanOrder order,
      @Nullable String after,
      int limit) {
    Page.Token.checkLimit(limit);
    return page(walk(tx, from, to, order), order, after, limit);
  }

  /**
   * Reads all objects with a key, or whose entries begin with it, page by page: as {@link
   * #page(Transaction, Object, Object, ScanOrder, String, int)}.
   *
   * @param tx the transaction; each page may be read in one of its own
   * @param key the key; decides what can be read, whatever the token says
   * @param order in which direction
   * @param after {@link Page#next} of the page before; null for the first page
   * @param limit how many objects the page has at most
   * @return the page
   * @throws IllegalArgumentException if the limit is not positive
   * @throws InvalidUseException if the token is damaged, or was made by another index or in the
   *     other order
   */
  public Page<Map.Entry<K, V>> page(
      Transaction tx, I key, ScanOrder order, @Nullable String after, int limit) {
    Page.Token.checkLimit(limit);
    return page(walk(tx, encoded(key), order), order, after, limit);
  }

  private Page<Map.Entry<K, V>> page(
      OrderedEntries.Walk<K, V> opened, ScanOrder order, @Nullable String after, int limit) {
    try (OrderedEntries.Walk<K, V> w = opened) {
      return Page.read(
          limit,
          after == null ? w.next() : w.seekBehind(Page.Token.key(table, core, order, after)),
          () -> Map.entry(w.key(), w.value()),
          () -> Page.Token.of(table, core, order, w.position()),
          w::next);
    }
  }

  @Override
  public String toString() {
    return index.toString();
  }

  /** Reads objects by entries of an index, within an operation. */
  static final class Reads {
    private Reads() {}

    /** The length of the primary key in the entry that a scan stands on. */
    static int keyLength(TableCore table, IndexCore index, TxScan s) {
      return keyLength(table, index, s.page(), s.valueLength());
    }

    /**
     * The length of the primary key in an entry.
     *
     * @param valueLength of the entry
     */
    static int keyLength(TableCore table, IndexCore index, long page, int valueLength) {
      int length = index.hints.keyLength(valueLength);
      if (length < 0 || length > table.keyBytesMax) {
        throw RowIndex.wrongKey(table, index, page, length);
      }
      return length;
    }

    /** The object that the entry names on which a scan stands. */
    static byte[] value(Transaction tx, Tx t, TableCore table, IndexCore index, TxScan s) {
      int pkLen = keyLength(table, index, s);
      MemorySegment pk = tx.slot().keyStage(s.valueLength());
      Mem.copy(s.valueSegment(), s.valueOffset(), pk, 0, s.valueLength());
      return value(tx.slot(), t, table, index, pk, pkLen, s.handle());
    }

    /**
     * The object that an entry names.
     *
     * @param pk the value of the entry, from its beginning
     * @param entry the handle of the entry's read, or negative
     */
    static byte[] value(
        Slot slot, Tx t, TableCore table, IndexCore index, MemorySegment pk, int pkLen, int entry) {
      MemorySegment v = slot.valueStage(0);
      int room = (int) Math.min(v.byteSize(), Integer.MAX_VALUE);
      int n = index.hints.get(slot, t, table, index, pk, 0, pkLen, pk, pkLen, entry, v, 0, room);
      while (n > room) {
        v = slot.valueStage(n);
        room = (int) Math.min(v.byteSize(), Integer.MAX_VALUE);
        n = t.get(table.tree, pk, 0, pkLen, v, 0, room);
      }
      if (n < 0) {
        t.requireReadsValid();
        if (t.wrote(table.tree, pk, 0, pkLen)) {
          throw new InvalidUseException(
              "The transaction has deleted the record that the cursor stands on.");
        }
        throw table.damaged(
            "object that an entry of index " + index.shown() + " names, its size", t.page(), 1, n);
      }
      return ByteCursor.copy(v, 0, n);
    }
  }
}
