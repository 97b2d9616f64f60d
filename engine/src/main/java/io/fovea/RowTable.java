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
 * A table: records in the order of their keys.
 *
 * <p>A handle, good in every thread for as long as the database is open. Every operation takes
 * place in a transaction of the calling thread, and every one may throw, besides what it says
 * itself:
 *
 * <ul>
 *   <li>{@link TransactionAbortedException} when the transaction can't go on; in the body of {@link
 *       Database#run} and its like, let it pass, and the body is done again;
 *   <li>{@link InvalidUseException} when the transaction has ended, belongs to another thread or to
 *       another database, when the key or the row is another table's, or when the table was
 *       dropped;
 *   <li>{@link DatabaseClosedException} when the database was closed;
 *   <li>{@link NullPointerException} for null.
 * </ul>
 *
 * <p>Reading, inserting, updating and deleting records of a table without an extracted index
 * allocates nothing.
 *
 * @since 0.1.0
 */
public final class RowTable extends OrderedRows {
  // The file has more than 600 lines because each method of the API has its contract here. Most of
  // them are Javadoc; what the methods do is in the rooms index and txn.

  private final Database database;
  private final TableCore core;
  private final TableSpec spec;

  /** Those of the specification's layout, for all rows; never written. */
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

  /** A row in scratch memory of a cursor. */
  Row row(MemorySegment memory) {
    return new Row(spec.layout(), fields, core.recordBytes(), core, memory, 0);
  }

  // ---------------------------------------------------------------------------------- description

  /**
   * The table's name.
   *
   * @return the name, unique in the database
   */
  public String name() {
    return core.name;
  }

  /**
   * The specification that the table was opened with.
   *
   * @return the specification
   */
  public TableSpec spec() {
    return spec;
  }

  /**
   * Makes a key of this table, to be set and used again and again.
   *
   * @return a new key without parts
   */
  public Key key() {
    database.requireServing();
    return new Key(spec.key(), core);
  }

  /**
   * Makes a row of this table, to be used again and again.
   *
   * @return a new row, zero and empty
   * @throws InvalidUseException if this is a table of byte strings
   */
  public Row row() {
    database.requireServing();
    requireRows();
    return new Row(spec.layout(), fields, core.recordBytes(), core, core.key.maxBytes());
  }

  /**
   * Makes a batch of this table, to be used again and again.
   *
   * @param capacity how many keys it takes, up to 16,777,216
   * @return a new batch without keys
   * @throws InvalidUseException if this is a table of byte strings
   * @throws IllegalArgumentException if the capacity is not positive, or is more than that
   */
  public Batch batch(int capacity) {
    database.requireServing();
    requireRows();
    return new Batch(this, capacity);
  }

  private void requireRows() {
    if (spec.isBytes()) {
      throw new InvalidUseException(
          "Table " + core.shown() + " holds byte strings: use bytes() instead of rows.");
    }
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Reads a record.
   *
   * @param tx the transaction
   * @param key the record's key, complete
   * @param out where the record goes; void if there is none
   * @return whether there is a record of that key
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public boolean get(Transaction tx, Key key, Row out) {
    return read(tx, key, out, core.recordBytes());
  }

  /**
   * Reads some fields of a record.
   *
   * @param tx the transaction
   * @param key the record's key, complete
   * @param out where the fields go, the others can't be used; void if there is no record
   * @param fields which fields, of this table's layout
   * @return whether there is a record of that key
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public boolean get(Transaction tx, Key key, Row out, Projection fields) {
    return read(tx, key, out, bytes(fields));
  }

  private int bytes(Projection fields) {
    if (spec.isBytes() || !fields.layout().equals(spec.layout())) { // the same list, mostly
      throw new InvalidUseException(
          "The projection is one of " + fields.layout() + ", not of table " + core.shown() + ".");
    }
    return fields.bytes();
  }

  /**
   * Reads a record that will be changed. Other transactions that read it by this method wait until
   * this one has ended, so that those which change a hot record come one after the other instead of
   * being aborted. They wait for a second at most, and go on then: what keeps changes apart is the
   * check at the commit, as always. {@link #get} and {@link #put} never wait. In a transaction that
   * only reads it is {@link #get}.
   *
   * <p>Whoever reads several records so had best do it in the same order everywhere.
   *
   * @param tx the transaction
   * @param key the record's key, complete
   * @param out where the record goes; void if there is none
   * @return whether there is a record of that key
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public boolean getForUpdate(Transaction tx, Key key, Row out) {
    lockForUpdate(tx, key);
    return read(tx, key, out, core.recordBytes());
  }

  /** Before {@link #get}: as {@link #getForUpdate}. */
  void lockForUpdate(Transaction tx, Key key) {
    Tx t = tx.enter(database, core);
    try {
      require(key);
      t.lockForUpdate(core.tree, key.segment(), key.base(), key.length());
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
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
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Whether there is a record of a key.
   *
   * @param tx the transaction
   * @param key the record's key, complete
   * @return true if there is
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public boolean exists(Transaction tx, Key key) {
    Tx t = tx.enter(database, core);
    try {
      require(key);
      MemorySegment k = key.segment();
      int n = t.getAlone(core.tree, k, key.base(), key.length(), k, key.base(), 0);
      return n >= 0
          && core.shows(tx.statementContext(), t, key.segment(), key.base(), key.length(), n);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Reads several records at once, which overlaps their cache misses and their I/O.
   *
   * @param tx the transaction
   * @param batch holds the keys, and then the rows
   * @return how many of the keys have a record
   */
  public int getAll(Transaction tx, Batch batch) {
    return getAll(tx, batch, core.recordBytes());
  }

  /**
   * Reads some fields of several records at once.
   *
   * @param tx the transaction
   * @param batch holds the keys, and then the rows
   * @param fields which fields, of this table's layout
   * @return how many of the keys have a record
   */
  public int getAll(Transaction tx, Batch batch, Projection fields) {
    return getAll(tx, batch, bytes(fields));
  }

  private int getAll(Transaction tx, Batch batch, int bytes) {
    batch.requireOf(core);
    Tx t = tx.enter(database, core);
    try {
      return batch.read(tx, t, bytes);
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
   * @param key its key, complete
   * @param row its fields
   * @throws DuplicateKeyException if there is a record of that key, or one with the same values in
   *     a unique index; nothing is changed then, and the transaction may go on
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
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Sets a record, whether it is there or not.
   *
   * @param tx the transaction
   * @param key its key, complete
   * @param row its fields
   * @throws DuplicateKeyException if there is another record with the same values in a unique
   *     index; nothing is changed then, and the transaction may go on
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
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Writes the fields of a row that were changed since it was read. Does nothing if none was.
   *
   * @param tx the transaction that the row was read in
   * @param row a row that was read from this table, by its key, in a batch or by a cursor
   * @throws InvalidUseException if it was not read in this transaction, or its record was deleted
   *     since
   * @throws DuplicateKeyException if there is another record with the same values in a unique
   *     index; nothing is changed then, and the transaction may go on
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
        } catch (TransactionAbortedException | InvalidUseException e) {
          throw e; // the transaction is doomed, or nothing was written
        } catch (Throwable e) {
          tx.statementContext().markRollbackOnly(e);
          throw e;
        }
      } else {
        IndexMaintenance.update(tx.statementContext(), t, core, indexes, record);
      }
      record.unchanged();
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Removes a record.
   *
   * @param tx the transaction
   * @param key its key, complete
   * @return whether there was one
   * @throws KeyTooLargeException if no key of that length can be in the table
   */
  public boolean delete(Transaction tx, Key key) {
    Tx t = tx.enter(database, core);
    try {
      require(key);
      core.requireChangeable();
      IndexCore[] indexes = core.indexes();
      return core.looks(indexes)
          ? IndexMaintenance.delete(
              tx.statementContext(), t, core, indexes, key.segment(), key.base(), key.length())
          : t.delete(core.tree, key.segment(), key.base(), key.length());
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Removes all records of a range, with their entries in indexes, in one pass: as if each of them
   * were scanned and deleted, without the cost of two calls a record. Safe from phantoms: what
   * others insert into the range comes before this transaction or after it. The transaction sees
   * nothing there afterwards, and may insert there.
   *
   * <p>A large range of a table without indexes goes as a whole, which aborts who uses the table.
   * Else each record counts against {@link TransactionOptions#maxBytes}: {@link
   * #deleteRange(Transaction, Range, long)} goes in steps. To empty a table, drop and make it anew.
   *
   * @param tx the transaction
   * @param range which keys
   * @return how many records there were
   * @throws InvalidUseException if a key of the range is another table's, or the transaction only
   *     reads
   */
  public long deleteRange(Transaction tx, Range range) {
    return deleteRange(tx, range, Long.MAX_VALUE);
  }

  /**
   * {@link #deleteRange(Transaction, Range)}, up to some number of records: the first ones in the
   * order of their keys. To be repeated, in transactions of their own, until it removes fewer.
   *
   * @param tx the transaction
   * @param range which keys
   * @param most how many records it removes at most
   * @return how many it has removed
   * @throws IllegalArgumentException if {@code most} is negative
   * @throws InvalidUseException if a key of the range is another table's, or the transaction only
   *     reads
   */
  public long deleteRange(Transaction tx, Range range, long most) {
    Objects.requireNonNull(range, "range");
    requireRows();
    RowCursor.checkMost(most);
    Tx t = tx.enter(database, core);
    try {
      core.requireThere();
      core.requireChangeable();
      t.requireWritable();
      return RowCursor.delete(tx, t, core, range, most);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  // -------------------------------------------------------------------------------------- loading

  /**
   * Loads records by {@link LoadOptions#defaults}: see {@link #load(LoadOptions, LoadSource)}.
   *
   * @param <X> what the source throws
   * @param source gives the records, in any order
   * @return what was done
   * @throws X if the source does
   */
  public <X extends Exception> LoadReport load(LoadSource<? super RowLoad, X> source) throws X {
    return load(LoadOptions.defaults(), source);
  }

  /**
   * Loads many records at once, all of them or none. {@link LoadOptions} says what it costs, and
   * what others notice.
   *
   * @param <X> what the source throws
   * @param options how
   * @param source gives the records, in this thread, outside of any transaction
   * @return what was done
   * @throws X if the source does; then nothing was loaded, as with any other exception
   * @throws DuplicateKeyException if the options say so, or a unique index has two of a value
   * @throws InvalidUseException in a transaction of this thread, if the table is being dropped, or
   *     this is one of byte strings
   * @throws TransactionAbortedException if those active at the begin don't end within a minute
   */
  public <X extends Exception> LoadReport load(
      LoadOptions options, LoadSource<? super RowLoad, X> source) throws X {
    Objects.requireNonNull(source, "source");
    requireRows();
    return LoadReport.of(
        database.schema().load(core, options.how(), sink -> source.run(new RowLoad(this, sink))));
  }

  // ---------------------------------------------------------------------------------- other views

  /**
   * Opens a scan.
   *
   * @param tx the transaction
   * @param range which keys
   * @param order in which direction
   * @return a cursor before the first record; to be closed, and closed with the transaction at last
   */
  @Override
  public RowCursor scan(Transaction tx, Range range, ScanOrder order) {
    Objects.requireNonNull(range, "range");
    Objects.requireNonNull(order, "order");
    requireRows();
    Tx t = tx.enter(database, core);
    try {
      core.requireThere();
      return RowCursor.open(tx, t, this, null, range, order);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Estimates how many records are in a range, and how large they are, without reading them: by the
   * shape of the table's tree, in some microseconds where its pages are in memory. Exact where the
   * range lies in one or two pages; of a large range within some percent as a rule. What other
   * transactions have committed is in it, whenever that was; what this one has written is not.
   * Nothing that it looks at counts as read: it causes no conflict, and is in none.
   *
   * <p>For progress, for a choice between two ways, for a first look at a size. To know, count in a
   * scan. Source of the method: D. E. Knuth, Estimating the Efficiency of Backtrack Programs,
   * Mathematics of Computation 29, 1975.
   *
   * @param tx the transaction
   * @param range which keys
   * @return the estimate, the same for the same range of the same table
   * @throws InvalidUseException if this is a table of byte strings, or a key of the range is
   *     another table's
   */
  public Estimate estimate(Transaction tx, Range range) {
    Objects.requireNonNull(range, "range");
    requireRows();
    tx.enter(database, core);
    try {
      core.requireThere();
      return RowCursor.estimate(tx.statementContext(), core, null, range);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * How many records the table has, in about a microsecond: as many as the transactions had left
   * that had committed, at one moment during the call. Those that have committed before the call
   * are in it, and so are rows that have expired, until the sweep removes them. It is there right
   * after a crash.
   *
   * <p>No transaction is needed. Inside the body of one the number is the same: what the
   * transaction has written itself is not in it, and the number does not count as read, so that a
   * commit does not depend on it. For a number that belongs together with what else is read, take
   * that of the table in a {@linkplain Database#snapshot snapshot}.
   *
   * <p>A file that an earlier version has written does not say how many records there are; nor does
   * one after a crash while its disk was full. Then the first call counts them, which takes as long
   * as a scan and holds nobody up, and the next close or checkpoint writes it down.
   *
   * @return the number of records
   * @throws InvalidUseException if the table was dropped; inside the body of a transaction, if they
   *     have to be counted first
   * @throws OperationInterruptedException if the thread is interrupted while it counts
   * @throws DatabaseClosedException if the database was closed
   */
  public long count() {
    return counts().records();
  }

  /**
   * How many bytes the keys and values of all records have, as they are stored: without the space
   * between them in their pages, and without indexes. Otherwise as {@link #count}.
   *
   * @return bytes
   */
  public long dataBytes() {
    return counts().bytes();
  }

  private TreeCounts counts() {
    core.requireThere();
    return database.counts(core.tree);
  }

  /**
   * A secondary index.
   *
   * @param name its name
   * @return the index
   * @throws IllegalArgumentException if the table was opened without an index of that name
   */
  public RowIndex index(String name) {
    Objects.requireNonNull(name, "name");
    database.requireServing();
    IndexCore found = core.index(name);
    if (found == null) {
      throw new IllegalArgumentException(
          "Table " + core.shown() + " has no index \"" + name + "\".");
    }
    for (IndexSpec i : spec.indexes()) {
      if (i.name().equals(name)) {
        return new RowIndex(this, found, i);
      }
    }
    throw new IllegalArgumentException(
        "Table " + core.shown() + " was opened without its index \"" + name + "\".");
  }

  /**
   * A view of the table as Java objects, which are made and thrown away: the pleasant form, not the
   * fast one.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the records
   * @param keys turns objects into keys and back
   * @param values turns objects into rows and back
   * @return the view; any thread
   * @throws InvalidUseException if this is a table of byte strings
   */
  public <K, V> Table<K, V> as(KeyCodec<K> keys, Codec<V> values) {
    requireRows();
    return new CodedRows<>(
        this, Objects.requireNonNull(keys, "keys"), Objects.requireNonNull(values, "values"));
  }

  /**
   * A view of a table of byte strings.
   *
   * @return the view; any thread
   * @throws InvalidUseException if this is a table of rows
   */
  public Table<byte[], byte[]> bytes() {
    return byteTable();
  }

  /**
   * A view of a table of byte strings as Java objects.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param keys turns objects into keys and back
   * @param values turns objects into values and back
   * @return the view; any thread
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
      throw new InvalidUseException("Table " + core.shown() + " holds rows, not byte strings.");
    }
    return new ByteTable(this);
  }

  // -------------------------------------------------------------------------------------- checks

  void require(Key key) {
    if (core.isDropped()) {
      core.requireThere();
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
      core.requireThere();
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
