package io.fovea;

import io.fovea.btree.TreeCounts;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexMaintenance;
import io.fovea.index.RecordBuffer;
import io.fovea.index.RowFields;
import io.fovea.index.TableCore;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * A table of rows, ordered by key.
 *
 * <p>A table is a handle, valid in every thread while the database is open. Every operation runs in
 * a transaction of the calling thread. In addition to the exceptions it lists, every operation may
 * throw:
 *
 * <ul>
 *   <li>{@link TransactionAbortedException} when the transaction can't continue. In the body of
 *       {@link Database#run} and similar methods, let it propagate; the body is then repeated.
 *   <li>{@link InvalidUseException} when the transaction has ended, belongs to another thread or to
 *       another database, when the key or the row belongs to another table, or when the table was
 *       dropped.
 *   <li>{@link DatabaseClosedException} when the database was closed.
 *   <li>{@link NullPointerException} for null.
 * </ul>
 *
 * <p>Reading, inserting, updating and deleting records of a table without an extracted index
 * allocates nothing.
 *
 * @since 0.1.0
 */
public final class RowTable extends RowRangeOperations {
  // Long because every API method carries its contract here; the packages index and txn implement
  // them.

  private final Database database;
  private final TableCore core;
  private final TableSpec spec;

  /** The fields of the layout, shared by all rows; never written. */
  private final RowFields fields;

  RowTable(Database database, TableCore core, TableSpec spec) {
    this.database = database;
    this.core = core;
    this.spec = spec;
    this.fields = new RowFields(spec.isBytes() ? Layout.define().build() : spec.layout());
  }

  TableCore core() {
    return core;
  }

  Database database() {
    return database;
  }

  /** Returns a row in scratch memory of a cursor. */
  Row row(MemorySegment memory) {
    return new Row(spec.layout(), fields, core.recordBytes(), core, memory, 0);
  }

  // ---------------------------------------------------------------------------------- description

  /**
   * Returns the name of the table.
   *
   * @return the name, unique in the database
   */
  public String name() {
    return core.name;
  }

  /**
   * Returns the specification with which the table was opened.
   *
   * @return the specification
   */
  public TableSpec spec() {
    return spec;
  }

  /**
   * Creates a reusable key of this table.
   *
   * @return a new key without parts
   */
  public Key key() {
    database.requireServing();
    return new Key(spec.key(), core);
  }

  /**
   * Creates a reusable row of this table.
   *
   * @return a new row whose fields are zero or empty
   * @throws InvalidUseException if this is a table of byte strings
   */
  public Row row() {
    database.requireServing();
    requireRows();
    return new Row(spec.layout(), fields, core.recordBytes(), core, core.key.maxBytes());
  }

  /**
   * Creates a reusable batch of this table.
   *
   * @param capacity the maximum number of keys, from 1 to 16,777,216
   * @return a new batch without keys
   * @throws InvalidUseException if this is a table of byte strings
   * @throws IllegalArgumentException if the capacity is out of range
   */
  public Batch batch(int capacity) {
    database.requireServing();
    requireRows();
    return new Batch(this, capacity);
  }

  private void requireRows() {
    if (spec.isBytes()) {
      throw new InvalidUseException(
          "Table " + core.displayName() + " holds byte strings: use bytes() instead of rows.");
    }
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Reads a record.
   *
   * @param tx the transaction
   * @param key the complete key of the record
   * @param out receives the record; void if there is none
   * @return whether the record exists
   * @throws KeyTooLargeException if the key exceeds the maximum length for the table
   */
  public boolean get(Transaction tx, Key key, Row out) {
    return read(tx, key, out, core.recordBytes());
  }

  /**
   * Reads some fields of a record.
   *
   * @param tx the transaction
   * @param key the complete key of the record
   * @param out receives the fields (other fields can't be used); void if there is no record
   * @param fields the fields to read, of this table's layout
   * @return whether the record exists
   * @throws KeyTooLargeException if the key exceeds the maximum length for the table
   */
  public boolean get(Transaction tx, Key key, Row out, Projection fields) {
    return read(tx, key, out, bytes(fields));
  }

  private int bytes(Projection fields) {
    if (spec.isBytes() || !fields.layout().equals(spec.layout())) { // usually the same list
      throw new InvalidUseException(
          "The projection is one of "
              + fields.layout()
              + ", not of table "
              + core.displayName()
              + ".");
    }
    return fields.bytes();
  }

  /**
   * Reads a record that will be changed. Transactions that read the same record with this method
   * wait until this one has ended, so that changes of a hot record queue up instead of aborting
   * each other. They wait for at most one second and then continue: correctness depends on the
   * check at commit, not on the wait. {@link #get} and {@link #put} never wait. In a read-only
   * transaction, this method is the same as {@link #get}.
   *
   * <p>Transactions that read several records this way should all do so in the same order.
   *
   * @param tx the transaction
   * @param key the complete key of the record
   * @param out receives the record; void if there is none
   * @return whether the record exists
   * @throws KeyTooLargeException if the key exceeds the maximum length for the table
   */
  public boolean getForUpdate(Transaction tx, Key key, Row out) {
    lockForUpdate(tx, key);
    return read(tx, key, out, core.recordBytes());
  }

  /** Takes the update lock of a key, before {@link #get}, as {@link #getForUpdate} does. */
  void lockForUpdate(Transaction tx, Key key) {
    Tx t = tx.enter(database, core);
    try {
      require(key);
      t.lockForUpdate(core.tree, key.segment(), key.base(), key.length());
    } finally {
      tx.exit();
    }
  }

  private boolean read(Transaction tx, Key key, Row out, int bytes) {
    Tx t = tx.enter(database, core);
    try {
      require(key);
      require(out);
      out.invalidate();
      int n =
          t.getAlone(
              core.tree, key.segment(), key.base(), key.length(), out.segment(), out.base(), bytes);
      return n >= 0 && out.read(tx, t, core, key.segment(), key.base(), key.length(), n, bytes);
    } finally {
      tx.exit();
    }
  }

  /**
   * Returns whether a record exists.
   *
   * @param tx the transaction
   * @param key the complete key of the record
   * @return true if it exists
   * @throws KeyTooLargeException if the key exceeds the maximum length for the table
   */
  public boolean exists(Transaction tx, Key key) {
    Tx t = tx.enter(database, core);
    try {
      require(key);
      MemorySegment k = key.segment();
      int n = t.getAlone(core.tree, k, key.base(), key.length(), k, key.base(), 0);
      return n >= 0
          && core.shows(tx.statementContext(), t, key.segment(), key.base(), key.length(), n);
    } finally {
      tx.exit();
    }
  }

  /**
   * Reads several records at once, overlapping their cache misses and I/O.
   *
   * @param tx the transaction
   * @param batch holds the keys and receives the rows
   * @return the number of records found
   */
  public int getAll(Transaction tx, Batch batch) {
    return getAll(tx, batch, core.recordBytes());
  }

  /**
   * Reads some fields of several records at once.
   *
   * @param tx the transaction
   * @param batch holds the keys and receives the rows
   * @param fields the fields to read, of this table's layout
   * @return the number of records found
   */
  public int getAll(Transaction tx, Batch batch, Projection fields) {
    return getAll(tx, batch, bytes(fields));
  }

  private int getAll(Transaction tx, Batch batch, int bytes) {
    batch.requireOf(core);
    Tx t = tx.enter(database, core);
    try {
      return batch.read(tx, t, bytes);
    } finally {
      tx.exit();
    }
  }

  // -------------------------------------------------------------------------------------- writing

  /**
   * Inserts a record.
   *
   * @param tx the transaction
   * @param key the complete key
   * @param row the fields
   * @throws DuplicateKeyException if a record with that key exists, or one with the same values in
   *     a unique index. Nothing is changed, and the transaction can continue.
   * @throws KeyTooLargeException if the key, or that of an index entry, is too long for a page
   */
  public void insert(Transaction tx, Key key, Row row) {
    Tx t = tx.enter(database, core);
    try {
      require(key);
      requireWhole(row);
      core.requireChangeable();
      IndexCore[] indexes = core.indexes();
      if (core.maintains(indexes)) {
        IndexMaintenance.insert(
            tx.statementContext(),
            t,
            core,
            indexes,
            key.segment(),
            key.base(),
            key.length(),
            row.segment(),
            row.base(),
            row.size());
        return;
      }
      core.insert(
          t, key.segment(), key.base(), key.length(), row.segment(), row.base(), row.size());
    } finally {
      tx.exit();
    }
  }

  /**
   * Inserts or replaces a record.
   *
   * @param tx the transaction
   * @param key the complete key
   * @param row the fields
   * @throws DuplicateKeyException if another record has the same values in a unique index. Nothing
   *     is changed, and the transaction can continue.
   * @throws KeyTooLargeException if the key, or that of an index entry, is too long for a page
   */
  public void put(Transaction tx, Key key, Row row) {
    Tx t = tx.enter(database, core);
    try {
      require(key);
      requireWhole(row);
      core.requireChangeable();
      IndexCore[] indexes = core.indexes();
      if (core.maintains(indexes)) {
        IndexMaintenance.put(
            tx.statementContext(),
            t,
            core,
            indexes,
            key.segment(),
            key.base(),
            key.length(),
            row.segment(),
            row.base(),
            row.size());
        return;
      }
      t.put(
          core.tree,
          key.segment(),
          key.base(),
          key.length(),
          row.segment(),
          row.base(),
          row.size());
    } finally {
      tx.exit();
    }
  }

  /**
   * Writes the fields of a row that were changed since it was read. Does nothing if there are none.
   *
   * @param tx the transaction in which the row was read
   * @param row a row that was read from this table by key, in a batch or by a cursor
   * @throws InvalidUseException if it was not read in this transaction, or its record was deleted
   *     since
   * @throws DuplicateKeyException if another record has the same values in a unique index. Nothing
   *     is changed, and the transaction can continue.
   * @throws KeyTooLargeException if the key of an index entry is too long for a page
   */
  public void update(Transaction tx, Row row) {
    Tx t = tx.enter(database, core);
    try {
      require(row);
      core.requireChangeable();
      row.requireReadIn(tx);
      RecordBuffer record = row.buffer();
      if (!record.changed()) {
        return;
      }
      boolean plain = record.isPlain() || core.patches(record);
      IndexCore[] indexes = core.indexes();
      for (IndexCore index : indexes) {
        plain &= !index.dependsOn(record);
      }
      if (plain) {
        t.requireWritable();
        try {
          IndexMaintenance.patch(t, core, record);
        } catch (InvalidUseException e) {
          throw e; // nothing was written
        } catch (Throwable e) {
          tx.statementContext().markRollbackOnly(e);
          throw e;
        }
      } else {
        IndexMaintenance.update(tx.statementContext(), t, core, indexes, record);
      }
      record.unchanged();
    } finally {
      tx.exit();
    }
  }

  /**
   * Deletes a record.
   *
   * @param tx the transaction
   * @param key the complete key of the record
   * @return whether the record existed
   * @throws KeyTooLargeException if the key exceeds the maximum length for the table
   */
  public boolean delete(Transaction tx, Key key) {
    Tx t = tx.enter(database, core);
    try {
      require(key);
      core.requireChangeable();
      IndexCore[] indexes = core.indexes();
      return core.deleteReadsRecord(indexes)
          ? IndexMaintenance.delete(
              tx.statementContext(), t, core, indexes, key.segment(), key.base(), key.length())
          : t.delete(core.tree, key.segment(), key.base(), key.length());
    } finally {
      tx.exit();
    }
  }

  /**
   * Deletes all records of a range and their index entries in one pass, which is faster than
   * scanning and deleting each of them. Phantoms are excluded: an insert into the range by another
   * transaction is serialized before or after this one. Afterwards this transaction sees an empty
   * range, and may insert into it.
   *
   * <p>A large range of a table without indexes is removed as a whole, which aborts the
   * transactions that use the table. Otherwise each record counts against {@link
   * TransactionOptions#maxBytes}, and {@link #deleteRange(Transaction, Range, long)} can work in
   * steps. To empty a table, drop it and create it again.
   *
   * @param tx the transaction
   * @param range the keys to delete
   * @return the number of records deleted
   * @throws InvalidUseException if a key of the range belongs to another table, or the transaction
   *     is read-only
   */
  public long deleteRange(Transaction tx, Range range) {
    return deleteRange(tx, range, Long.MAX_VALUE);
  }

  /**
   * Deletes at most a given number of records of a range, in key order, as {@link
   * #deleteRange(Transaction, Range)} does. To delete a large range, repeat this in separate
   * transactions until it deletes fewer than {@code max}.
   *
   * @param tx the transaction
   * @param range the keys to delete
   * @param max the maximum number of records to delete
   * @return the number of records deleted
   * @throws IllegalArgumentException if {@code max} is negative
   * @throws InvalidUseException if a key of the range belongs to another table, or the transaction
   *     is read-only
   */
  public long deleteRange(Transaction tx, Range range, long max) {
    Objects.requireNonNull(range, "range");
    requireRows();
    RowCursor.checkMost(max);
    Tx t = tx.enter(database, core);
    try {
      core.requireUsable();
      core.requireChangeable();
      t.requireWritable();
      return RowCursor.delete(tx, t, core, range, max);
    } finally {
      tx.exit();
    }
  }

  // -------------------------------------------------------------------------------------- loading

  /**
   * Loads records with {@link LoadOptions#defaults}: see {@link #load(LoadOptions, LoadSource)}.
   *
   * @param <X> the exception of the source
   * @param source supplies the records, in any order
   * @return a report of the load
   * @throws X if the source throws it
   */
  public <X extends Exception> LoadReport load(LoadSource<? super RowLoad, X> source) throws X {
    return load(LoadOptions.defaults(), source);
  }

  /**
   * Loads many records, all of them or none. {@link LoadOptions} describes the cost and the effect
   * on concurrent transactions.
   *
   * @param <X> the exception of the source
   * @param options the options
   * @param source supplies the records, in this thread, outside of any transaction
   * @return a report of the load
   * @throws X if the source throws it; then nothing is loaded, as with any other exception
   * @throws DuplicateKeyException if the options forbid a duplicate key, or two records have the
   *     same values in a unique index
   * @throws InvalidUseException if this thread has a transaction, the table is being dropped, or
   *     this is a table of byte strings
   * @throws TransactionAbortedException if the transactions that are active at the start don't end
   *     within a minute
   */
  public <X extends Exception> LoadReport load(
      LoadOptions options, LoadSource<? super RowLoad, X> source) throws X {
    Objects.requireNonNull(source, "source");
    requireRows();
    return LoadReport.of(
        database
            .schema()
            .load(core, options.settings(), sink -> source.run(new RowLoad(this, sink))));
  }

  // ---------------------------------------------------------------------------------- other views

  /**
   * Opens a scan.
   *
   * @param tx the transaction
   * @param range the keys to scan
   * @param order the direction
   * @return a cursor before the first record; closed with the transaction at the latest
   */
  @Override
  public RowCursor scan(Transaction tx, Range range, ScanOrder order) {
    Objects.requireNonNull(range, "range");
    Objects.requireNonNull(order, "order");
    requireRows();
    Tx t = tx.enter(database, core);
    try {
      core.requireUsable();
      return RowCursor.open(tx, t, this, null, range, order);
    } finally {
      tx.exit();
    }
  }

  /**
   * Estimates the number and size of the records in a range from the shape of the table's tree, in
   * microseconds if its pages are in memory. The result is exact if the range lies within one or
   * two pages, and usually within a few percent for large ranges. It includes what other
   * transactions have committed, but no writes of this transaction. The estimate is not part of the
   * read set, so it causes no conflicts.
   *
   * <p>Use it for progress displays and to choose between access paths; for an exact number, count
   * in a scan. Source of the method: D. E. Knuth, Estimating the Efficiency of Backtrack Programs,
   * Mathematics of Computation 29, 1975.
   *
   * @param tx the transaction
   * @param range the keys
   * @return the estimate, the same for the same range of the same table
   * @throws InvalidUseException if this is a table of byte strings, or a key of the range belongs
   *     to another table
   */
  public Estimate estimate(Transaction tx, Range range) {
    Objects.requireNonNull(range, "range");
    requireRows();
    tx.enter(database, core);
    try {
      core.requireUsable();
      return RowCursor.estimate(tx.statementContext(), core, null, range);
    } finally {
      tx.exit();
    }
  }

  /**
   * Returns the number of committed records at one point during the call, in about a microsecond.
   * The number includes all commits before the call, and expired rows that the sweep has not
   * removed yet. The count is available right after a crash.
   *
   * <p>No transaction is needed. Within a transaction the result is the same: it excludes the
   * writes of the transaction, and is not part of its read set. For a count that is consistent with
   * other reads, use the table in a {@linkplain Database#snapshot snapshot}.
   *
   * <p>A file does not store the count if an earlier version wrote it, or after a crash that
   * happened while its disk was full. The first call then counts the records, which takes as long
   * as a scan and blocks no other thread; the next checkpoint or close stores the result.
   *
   * @return the number of records
   * @throws InvalidUseException if the table was dropped, or if the records have to be counted
   *     first and the calling thread has a transaction
   * @throws OperationInterruptedException if the thread is interrupted while it counts
   * @throws DatabaseClosedException if the database was closed
   */
  public long count() {
    return counts().records();
  }

  /**
   * Returns the total length of the keys and values of all records as stored, without free space in
   * pages and without indexes. Otherwise the same as {@link #count}.
   *
   * @return the length in bytes
   */
  public long dataBytes() {
    return counts().bytes();
  }

  private TreeCounts counts() {
    core.requireUsable();
    return database.counts(core.tree);
  }

  /**
   * Returns a secondary index.
   *
   * @param name the name of the index
   * @return the index
   * @throws IllegalArgumentException if the table was opened without an index of that name
   */
  public RowIndex index(String name) {
    Objects.requireNonNull(name, "name");
    database.requireServing();
    IndexCore found = core.index(name);
    if (found == null) {
      throw new IllegalArgumentException(
          "Table " + core.displayName() + " has no index \"" + name + "\".");
    }
    for (IndexSpec i : spec.indexes()) {
      if (i.name().equals(name)) {
        return new RowIndex(this, found, i);
      }
    }
    throw new IllegalArgumentException(
        "Table " + core.displayName() + " was opened without its index \"" + name + "\".");
  }

  /**
   * Returns a view of the table as Java objects. It is more convenient than rows, and slower, since
   * it allocates.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the records
   * @param keys converts objects to keys and back
   * @param values converts objects to rows and back
   * @return the view, safe for use by any thread
   * @throws InvalidUseException if this is a table of byte strings
   */
  public <K, V> Table<K, V> as(KeyCodec<K> keys, Codec<V> values) {
    requireRows();
    return new CodedRows<>(
        this, Objects.requireNonNull(keys, "keys"), Objects.requireNonNull(values, "values"));
  }

  /**
   * Returns a view of a table of byte strings.
   *
   * @return the view, safe for use by any thread
   * @throws InvalidUseException if this is a table of rows
   */
  public Table<byte[], byte[]> bytes() {
    return byteTable();
  }

  /**
   * Returns a view of a table of byte strings as Java objects.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param keys converts objects to keys and back
   * @param values converts objects to values and back
   * @return the view, safe for use by any thread
   * @throws InvalidUseException if this is a table of rows
   */
  public <K, V> Table<K, V> as(ByteCodec<K> keys, ByteCodec<V> values) {
    return new CodedTable<>(
        byteTable(),
        Objects.requireNonNull(keys, "keys"),
        Objects.requireNonNull(values, "values"));
  }

  ByteTable byteTable() {
    if (!spec.isBytes()) {
      throw new InvalidUseException(
          "Table " + core.displayName() + " holds rows, not byte strings.");
    }
    return new ByteTable(this);
  }

  // -------------------------------------------------------------------------------------- checks

  void require(Key key) {
    if (core.isDropped()) {
      core.requireUsable();
    }
    String unfit = key.unfit(core);
    if (unfit != null) {
      throw new InvalidUseException(unfit);
    }
    if (key.length() > core.keyBytesMax) {
      throw core.keyTooLong(key.length());
    }
  }

  private void require(Row row) {
    if (row.owner() != core) {
      throw new InvalidUseException(
          "The row belongs to another table: it is one of " + row.layout() + ".");
    }
    if (core.isDropped()) {
      core.requireUsable();
    }
  }

  void requireWhole(Row row) {
    require(row);
    row.requireWhole();
  }

  @Override
  public String toString() {
    return spec.toString();
  }
}
