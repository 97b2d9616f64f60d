package io.fovea;

import io.fovea.btree.RangeEstimate;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.index.ByteReads;
import io.fovea.index.ByteStage;
import io.fovea.index.ObjectMaintenance;
import io.fovea.index.Slot;
import io.fovea.index.TableCore;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A table of byte strings: keys up to the length that the table was made for, values from empty to
 * larger than a page.
 *
 * <p>Keys are ordered byte by byte, unsigned, a prefix before what it is a prefix of. They have at
 * least one byte. Arguments are copied before a method returns; heap and native segments are equal.
 *
 * <p>It may have secondary indexes ({@link #index}), by keys that an extractor of the program
 * computes. A statement that changes a record of such a table reads the old one, and throws what
 * the extractor throws.
 *
 * <p>A handle, good in every thread for as long as the database is open. Operations throw the
 * exceptions of those of a {@link RowTable}.
 *
 * @since 0.1.0
 */
public final class ByteTable extends OrderedEntries<byte[], byte[]> {
  // The file has more than 600 lines because each method of the API has its contract here.

  private static final Walk.Coding<byte[], byte[]> PLAIN = new Plain();

  private final RowTable table;
  private final Database database;
  private final TableCore core;
  private final ByteStage stage;

  ByteTable(RowTable table) {
    this.table = table;
    this.database = table.database();
    this.core = table.core();
    this.stage = new ByteStage(core);
  }

  /**
   * The table that this is a view of.
   *
   * @return the table
   */
  public RowTable table() {
    return table;
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Reads a value.
   *
   * @param tx the transaction
   * @param key its key
   * @return a new array, or null if there is no such key
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  @Override
  public byte @Nullable [] get(Transaction tx, byte[] key) {
    Tx t = tx.enter(database, core);
    try {
      Slot slot = tx.slot();
      MemorySegment k = stage.key(slot, key);
      int n = ByteReads.value(t, slot, core.tree, k, 0, key.length);
      if (n < 0) {
        return null;
      }
      return ByteReads.taken(slot, n);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Reads a value into memory of the caller's.
   *
   * @param tx the transaction
   * @param key its key
   * @param out where as much of the value goes as fits
   * @return the length of the whole value, or -1 if there is no such key
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public long get(Transaction tx, MemorySegment key, MemorySegment out) {
    Objects.requireNonNull(out, "out");
    Tx t = tx.enter(database, core);
    try {
      Slot slot = tx.slot();
      MemorySegment k = stage.key(slot, key);
      int n = ByteReads.value(t, slot, core.tree, k, 0, (int) key.byteSize());
      if (n >= 0) {
        MemorySegment.copy(slot.valueStage(n), 0, out, 0, Math.min(n, out.byteSize()));
      }
      return n;
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Reads a value that will be changed: others that do so wait for this transaction, as {@link
   * RowTable#getForUpdate} says.
   *
   * @param tx the transaction
   * @param key its key
   * @return a new array, or null if there is no such key
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public byte @Nullable [] getForUpdate(Transaction tx, byte[] key) {
    lockForUpdate(tx, MemorySegment.ofArray(key));
    return get(tx, key);
  }

  /** Before {@link #get}: as {@link #getForUpdate}. */
  void lockForUpdate(Transaction tx, MemorySegment key) {
    Tx t = tx.enter(database, core);
    try {
      MemorySegment k = stage.key(tx.slot(), key);
      t.lockForUpdate(core.tree, k, 0, (int) key.byteSize());
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Reads several values at once, which overlaps their cache misses and their I/O.
   *
   * @param tx the transaction
   * @param keys their keys, in any order; a key may be there twice
   * @return new arrays in the order of the keys, null where there is no such key
   * @throws KeyTooLargeException if no key of the length of one of them can be in the table
   */
  public List<byte @Nullable []> getAll(Transaction tx, Collection<byte[]> keys) {
    byte[][] all = keys.toArray(byte[][]::new);
    byte[] @Nullable [] values = new byte[all.length][];
    for (int from = 0; from < all.length; from += ByteReads.KEYS_MAX) {
      int to = Math.min(all.length, from + ByteReads.KEYS_MAX);
      Tx t = tx.enter(database, core);
      try {
        for (int i = from; i < to; i++) {
          stage.requireKey(Objects.requireNonNull(all[i], "key").length);
        }
        ByteReads.readAll(t, tx.slot(), core.tree, all, values, from, to);
      } catch (TransactionAbortedException e) {
        throw tx.doom(e);
      } finally {
        tx.exit();
      }
    }
    return Arrays.asList(values);
  }

  /**
   * Whether there is a key.
   *
   * @param tx the transaction
   * @param key the key
   * @return true if there is
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public boolean exists(Transaction tx, byte[] key) {
    Tx t = tx.enter(database, core);
    try {
      MemorySegment k = stage.key(tx.slot(), key);
      return t.getAlone(core.tree, k, 0, key.length, k, 0, 0) >= 0;
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  // -------------------------------------------------------------------------------------- writing

  /**
   * Adds a record.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   * @throws DuplicateKeyException if the key is there already, or a unique index has another record
   *     with the same entry; nothing is changed then
   * @throws KeyTooLargeException if the key is longer than the table allows, or its entry too long
   *     for an index
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public void insert(Transaction tx, byte[] key, byte[] value) {
    Objects.requireNonNull(value, "value");
    insert(
        tx,
        MemorySegment.ofArray(Objects.requireNonNull(key, "key")),
        MemorySegment.ofArray(value));
  }

  /**
   * Adds a record.
   *
   * @param tx the transaction
   * @param key its key
   * @param value its value
   * @throws DuplicateKeyException if the key is there already, or a unique index has another record
   *     with the same entry; nothing is changed then
   * @throws KeyTooLargeException if the key is longer than the table allows, or its entry too long
   *     for an index
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public void insert(Transaction tx, MemorySegment key, MemorySegment value) {
    Tx t = tx.enter(database, core);
    try {
      if (isIndexed()) {
        write(tx, t, key, value, true);
        return;
      }
      MemorySegment k = stage.key(tx.slot(), key);
      MemorySegment v = stage.value(tx.slot(), value);
      core.requireChangeable();
      core.insert(t, k, 0, (int) key.byteSize(), v, 0, (int) value.byteSize());
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Sets the value of a key, whether it is there or not.
   *
   * @param tx the transaction
   * @param key the key
   * @param value its value
   * @throws DuplicateKeyException if a unique index has another record with the same entry; nothing
   *     is changed then
   * @throws KeyTooLargeException if the key is longer than the table allows, or its entry too long
   *     for an index
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public void put(Transaction tx, byte[] key, byte[] value) {
    Objects.requireNonNull(value, "value");
    put(
        tx,
        MemorySegment.ofArray(Objects.requireNonNull(key, "key")),
        MemorySegment.ofArray(value));
  }

  /**
   * Sets the value of a key, whether it is there or not.
   *
   * @param tx the transaction
   * @param key the key
   * @param value its value
   * @throws DuplicateKeyException if a unique index has another record with the same entry; nothing
   *     is changed then
   * @throws KeyTooLargeException if the key is longer than the table allows, or its entry too long
   *     for an index
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public void put(Transaction tx, MemorySegment key, MemorySegment value) {
    Tx t = tx.enter(database, core);
    try {
      if (isIndexed()) {
        write(tx, t, key, value, false);
        return;
      }
      MemorySegment k = stage.key(tx.slot(), key);
      MemorySegment v = stage.value(tx.slot(), value);
      core.requireChangeable();
      t.put(core.tree, k, 0, (int) key.byteSize(), v, 0, (int) value.byteSize());
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  private boolean isIndexed() {
    return core.indexes().length > 0;
  }

  /** Writes an object or a byte string, and the entries of indexes. */
  private void write(Transaction tx, Tx t, MemorySegment key, MemorySegment value, boolean insert) {
    Slot slot = tx.slot();
    stage.requireKey(Objects.requireNonNull(key, "key").byteSize());
    MemorySegment v = stage.value(slot, value);
    int length = (int) value.byteSize();
    core.requireChangeable();
    if (insert) {
      ObjectMaintenance.insert(slot, t, core, core.indexes(), key, v, length);
    } else {
      ObjectMaintenance.put(slot, t, core, core.indexes(), key, v, length);
    }
  }

  /**
   * Sets the value of a key that is there.
   *
   * @param tx the transaction
   * @param key the key
   * @param value its new value
   * @return false if there is no such key; then nothing is changed
   * @throws DuplicateKeyException as {@link #put(Transaction, byte[], byte[])}
   * @throws KeyTooLargeException if the key is longer than the table allows
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public boolean update(Transaction tx, byte[] key, byte[] value) {
    Objects.requireNonNull(value, "value");
    if (!exists(tx, key)) {
      return false;
    }
    put(tx, key, value);
    return true;
  }

  /**
   * Removes a record.
   *
   * @param tx the transaction
   * @param key its key
   * @return whether there was one
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public boolean delete(Transaction tx, byte[] key) {
    return delete(tx, MemorySegment.ofArray(Objects.requireNonNull(key, "key")));
  }

  /**
   * Removes a record.
   *
   * @param tx the transaction
   * @param key its key
   * @return whether there was one
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public boolean delete(Transaction tx, MemorySegment key) {
    Tx t = tx.enter(database, core);
    try {
      if (isIndexed()) {
        stage.requireKey(Objects.requireNonNull(key, "key").byteSize());
        core.requireChangeable();
        return ObjectMaintenance.delete(tx.slot(), t, core, core.indexes(), key);
      }
      MemorySegment k = stage.key(tx.slot(), key);
      core.requireChangeable();
      return t.delete(core.tree, k, 0, (int) key.byteSize());
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Removes all records of an interval in one pass: as {@link RowTable#deleteRange(Transaction,
   * Range)}.
   *
   * @param tx the transaction
   * @param from the smallest key of the interval, null for no bound
   * @param to the key below which the interval ends, itself excluded; null for no bound
   * @return how many records there were
   * @throws KeyTooLargeException if a bound is longer than a key of the table can be
   */
  public long deleteRange(Transaction tx, byte @Nullable [] from, byte @Nullable [] to) {
    return deleteRange(tx, from, true, to, false, false, Long.MAX_VALUE);
  }

  /**
   * Removes records of an interval, up to some number of them, the first ones: as {@link
   * RowTable#deleteRange(Transaction, Range, long)}.
   *
   * @param tx the transaction
   * @param from the smallest key of the interval, null for no bound
   * @param to the key below which the interval ends, itself excluded; null for no bound
   * @param most how many records it removes at most
   * @return how many it has removed
   * @throws IllegalArgumentException if {@code most} is negative
   * @throws KeyTooLargeException if a bound is longer than a key of the table can be
   */
  public long deleteRange(Transaction tx, byte @Nullable [] from, byte @Nullable [] to, long most) {
    return deleteRange(tx, from, true, to, false, false, most);
  }

  /**
   * Removes all records whose keys begin with a prefix: as {@link RowTable#deleteRange(Transaction,
   * Range)}.
   *
   * @param tx the transaction
   * @param prefix what they begin with
   * @return how many records there were
   * @throws KeyTooLargeException if the prefix is longer than a key of the table can be
   */
  public long deletePrefix(Transaction tx, byte[] prefix) {
    Objects.requireNonNull(prefix, "prefix");
    return deleteRange(tx, prefix, true, prefix, false, true, Long.MAX_VALUE);
  }

  /** With a say at both ends; of a prefix {@code to} is the prefix. */
  long deleteRange(
      Transaction tx,
      byte @Nullable [] from,
      boolean fromInclusive,
      byte @Nullable [] to,
      boolean toInclusive,
      boolean prefix,
      long most) {
    RowCursor.checkMost(most);
    Tx t = tx.enter(database, core);
    try {
      core.requireThere();
      core.requireChangeable();
      t.requireWritable();
      TxScan scan = open(tx, t, from, fromInclusive, to, toInclusive, prefix, ScanOrder.ASCENDING);
      return RowCursor.delete(tx, t, core, scan, most);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  // -------------------------------------------------------------------------------------- loading

  /**
   * Loads records by {@link LoadOptions#defaults}: as {@link RowTable#load(LoadOptions,
   * LoadSource)}.
   *
   * @param <X> what the source throws
   * @param source gives the records, in any order
   * @return what was done
   * @throws X if the source does
   */
  public <X extends Exception> LoadReport load(LoadSource<? super ByteLoad, X> source) throws X {
    return load(LoadOptions.defaults(), source);
  }

  /**
   * Loads many records at once, all of them or none: as {@link RowTable#load(LoadOptions,
   * LoadSource)}.
   *
   * @param <X> what the source throws
   * @param options how
   * @param source gives the records
   * @return what was done
   * @throws X if the source does; then nothing was loaded
   */
  public <X extends Exception> LoadReport load(
      LoadOptions options, LoadSource<? super ByteLoad, X> source) throws X {
    Objects.requireNonNull(source, "source");
    return LoadReport.of(
        database
            .schema()
            .load(
                core,
                options.how(),
                sink -> {
                  try (ByteLoad into = new ByteLoad(core, sink)) {
                    source.run(into);
                  }
                }));
  }

  // -------------------------------------------------------------------------------------- scanning

  /**
   * Opens a scan of an interval.
   *
   * @param tx the transaction
   * @param from the smallest key of the interval, null for no bound
   * @param to the key below which the interval ends, itself excluded; null for no bound
   * @param order in which direction
   * @return a cursor before the first record, to be closed
   * @throws KeyTooLargeException if a bound is longer than a key of the table can be
   */
  public ByteCursor scan(
      Transaction tx, byte @Nullable [] from, byte @Nullable [] to, ScanOrder order) {
    Objects.requireNonNull(order, "order");
    return scan(tx, from, true, to, false, false, order);
  }

  /**
   * Opens a scan of all keys that begin with a prefix.
   *
   * @param tx the transaction
   * @param prefix what they begin with
   * @param order in which direction
   * @return a cursor before the first record, to be closed
   * @throws KeyTooLargeException if the prefix is longer than a key of the table can be
   */
  public ByteCursor scanPrefix(Transaction tx, byte[] prefix, ScanOrder order) {
    Objects.requireNonNull(prefix, "prefix");
    Objects.requireNonNull(order, "order");
    return scan(tx, prefix, true, prefix, false, true, order);
  }

  /**
   * A secondary index, which {@link io.fovea.schema.IndexSpec#bytes} has declared.
   *
   * @param name its name
   * @return the index; any thread
   * @throws IllegalArgumentException if the table was opened without an index of that name
   * @throws InvalidUseException if this is a table of objects: {@link Table#index} is for these
   */
  public ByteIndex index(String name) {
    if (core.objects() != null) {
      throw new InvalidUseException(
          "Table " + core.shown() + " holds objects: ask Table.index for its indexes.");
    }
    return new ByteIndex(table.index(name));
  }

  /**
   * Opens a scan of a table in the order of an index. It is for who does not have what the table
   * was made with: {@link Index} is for who has the class of the objects, {@link ByteIndex} for who
   * knows the keys of an index of byte strings.
   *
   * @param tx the transaction
   * @param index the index's name
   * @param order in which direction
   * @return a cursor before the first record, with its key and its value; to be closed
   * @throws IllegalArgumentException if the table was opened without an index of that name
   */
  public ByteCursor scanIndex(Transaction tx, String index, ScanOrder order) {
    Objects.requireNonNull(order, "order");
    return Index.open(tx, table, table.index(index).core(), null, null, order);
  }

  /** With a say at both ends; of a prefix {@code to} is the prefix. */
  ByteCursor scan(
      Transaction tx,
      byte @Nullable [] from,
      boolean fromInclusive,
      byte @Nullable [] to,
      boolean toInclusive,
      boolean prefix,
      ScanOrder order) {
    Tx t = tx.enter(database, core);
    try {
      core.requireThere();
      return new ByteCursor(
          tx, table, open(tx, t, from, fromInclusive, to, toInclusive, prefix, order));
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  @Override
  Walk<byte[], byte[]> walk(Transaction tx, Table.Interval<byte[]> i, ScanOrder order) {
    return walk(tx, i, order, PLAIN);
  }

  /** A walk with keys and values of any coding. */
  <K, V> Walk<K, V> walk(
      Transaction tx, Table.Interval<K> i, ScanOrder order, Walk.Coding<K, V> coding) {
    K lo = i.lo();
    K hi = i.hi();
    return new Walk.OfBytes<>(
        scan(
            tx,
            lo == null ? null : coding.encode(lo),
            i.loInclusive(),
            hi == null ? null : coding.encode(hi),
            i.hiInclusive(),
            false,
            order),
        coding);
  }

  @Override
  TableCore tableCore() {
    return core;
  }

  /** Byte strings as they are. */
  private record Plain() implements Walk.Coding<byte[], byte[]> {
    @Override
    public byte[] encode(byte[] key) {
      return key;
    }

    @Override
    public byte[] key(byte[] bytes) {
      return bytes;
    }

    @Override
    public byte[] value(byte[] key, byte[] bytes) {
      return bytes;
    }
  }

  /** Opens the scan of an interval; null where nothing can be in it. */
  private @Nullable TxScan open(
      Transaction tx,
      Tx t,
      byte @Nullable [] from,
      boolean fromInclusive,
      byte @Nullable [] to,
      boolean toInclusive,
      boolean prefix,
      ScanOrder order) {
    int loLen = from == null ? 0 : from.length;
    int hiLen = stage.interval(tx.slot(), from, to, prefix);
    if (hiLen == ByteStage.EMPTY) {
      return null;
    }
    MemorySegment s = tx.slot().keyStage(0);
    return t.scan(
        core.tree,
        s,
        0,
        loLen == 0 ? -1 : loLen,
        fromInclusive,
        s,
        loLen,
        hiLen,
        toInclusive,
        order == ScanOrder.DESCENDING);
  }

  /**
   * Estimates how many records an interval has, and how large they are: as {@link
   * RowTable#estimate}.
   *
   * @param tx the transaction
   * @param from the smallest key of the interval, null for no bound
   * @param to the key below which the interval ends, itself excluded; null for no bound
   * @return the estimate
   * @throws KeyTooLargeException if a bound is longer than a key of the table can be
   */
  public Estimate estimate(Transaction tx, byte @Nullable [] from, byte @Nullable [] to) {
    return estimate(tx, from, to, false);
  }

  /**
   * Estimates how many records have keys that begin with a prefix, and how large they are: as
   * {@link RowTable#estimate}.
   *
   * @param tx the transaction
   * @param prefix what they begin with
   * @return the estimate
   * @throws KeyTooLargeException if the prefix is longer than a key of the table can be
   */
  public Estimate estimatePrefix(Transaction tx, byte[] prefix) {
    Objects.requireNonNull(prefix, "prefix");
    return estimate(tx, prefix, prefix, true);
  }

  private Estimate estimate(
      Transaction tx, byte @Nullable [] from, byte @Nullable [] to, boolean prefix) {
    tx.enter(database, core);
    try {
      core.requireThere();
      int loLen = from == null ? 0 : from.length;
      int hiLen = stage.interval(tx.slot(), from, to, prefix);
      if (hiLen == ByteStage.EMPTY) {
        return new Estimate(0, 0);
      }
      MemorySegment s = tx.slot().keyStage(0);
      RangeEstimate e =
          RangeEstimate.of(core.tree, s, 0, loLen == 0 ? -1 : loLen, true, s, loLen, hiLen, false);
      return new Estimate(e.entries(), e.bytes());
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * A view of the table as Java objects.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param keys turns objects into keys and back
   * @param values turns objects into values and back
   * @return the view; any thread
   */
  public <K, V> Table<K, V> as(ByteCodec<K> keys, ByteCodec<V> values) {
    return new Table<>(
        this, Objects.requireNonNull(keys, "keys"), Objects.requireNonNull(values, "values"));
  }
}
