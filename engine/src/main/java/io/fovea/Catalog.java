package io.fovea;

import io.fovea.catalog.Description;
import io.fovea.catalog.Schema;
import io.fovea.catalog.SequenceCore;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.TableCore;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.TableSpec;
import io.fovea.store.Leaks;
import io.fovea.store.Store;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The part of a {@link Database} that opens, describes, renames and drops tables and sequences.
 *
 * <p>Safe for use by any thread.
 *
 * @since 0.1.0
 */
public abstract sealed class Catalog extends TransactionRunner permits Database {
  Catalog(Options options, Store store, Leaks leaks) {
    super(options, store, leaks);
  }

  /** Returns the schema of the database, once the database is open. */
  abstract Schema schema();

  /**
   * Opens a table, and creates it if it does not exist. An index that the table lacks is built from
   * its records before this method returns. Transactions continue and may change the records; the
   * method waits for active transactions to end, three times in all. While a unique index is built,
   * a change that would give two records the same values is rejected if the index already contains
   * the first of them. Otherwise the change succeeds and the build fails, unless one of the two
   * records changes first.
   *
   * <p>If the table has an older version than the specification, the missing {@link
   * io.fovea.schema.Step steps} are applied in one change of the catalog, whatever the size of the
   * table. Stored rows are converted when they are next written. Handles of the older version are
   * then rejected, and the method waits for transactions that may have used such a handle.
   *
   * <p>This method is not part of a transaction: its effect is complete when it returns. To open a
   * table as part of a transaction, use {@link Transaction#table}.
   *
   * @param spec the specification of the table
   * @return the table
   * @throws IncompatibleSchemaException if a table of that name differs from the specification and
   *     its steps do not lead to it, has a newer version, or has an index that the specification
   *     omits
   * @throws DuplicateKeyException if two records have the same values in a new unique index
   * @throws InvalidUseException if an index has to be built or the table evolves, and this thread
   *     has a transaction or another thread drops the table
   * @throws TransactionAbortedException if an index has to be built or the table evolves, and the
   *     active transactions don't end within a minute
   * @throws OperationInterruptedException if the thread is interrupted while it builds an index or
   *     waits for transactions to end
   * @throws DatabaseClosedException if the database was closed
   */
  public RowTable table(TableSpec spec) {
    Objects.requireNonNull(spec, "spec");
    return new RowTable((Database) this, schema().table(spec), spec);
  }

  /**
   * Opens a table of Java records, and creates it if it does not exist. If the stored objects have
   * an older version of the class, the table gets a new version as {@link ObjectSpec} describes,
   * without rewriting objects or waiting. A missing {@linkplain ObjectSpec#index index} is built as
   * {@link #table(TableSpec)} describes.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param spec the specification of the table
   * @return the table
   * @throws IncompatibleSchemaException if the table of that name does not hold objects, has other
   *     keys, or its objects can't be read with the present class; or if it has an index that the
   *     specification omits, or whose entries differ from those of the class
   * @throws DuplicateKeyException if two objects have the same values in a new unique index
   * @throws InvalidUseException if the table gets a new version or an index, and this thread has a
   *     transaction or another thread drops the table
   * @throws TransactionAbortedException if an index has to be built, and the active transactions
   *     don't end within a minute
   * @throws OperationInterruptedException if the thread is interrupted while it builds an index
   * @throws DatabaseClosedException if the database was closed
   */
  public <K, V> Table<K, V> table(ObjectSpec<K, V> spec) {
    Objects.requireNonNull(spec, "spec");
    return spec.on(table(spec.table()));
  }

  /**
   * Returns the names of all tables.
   *
   * @return a sorted list
   * @throws DatabaseClosedException if the database was closed
   */
  public List<String> tables() {
    return schema().names();
  }

  /**
   * Returns the specification of a table as stored in the file: its key, the layout and version of
   * its rows or the shapes of its objects, its indexes, and its expiry.
   *
   * <p>A program that knows nothing else about the table can open it with this specification. An
   * index by a computed key is {@linkplain io.fovea.schema.IndexSpec#described described} only: a
   * table with such an index can be opened only for reading, unless a program with its extractor
   * has opened it in this process. The steps to the present version are not stored.
   *
   * @param name the name of the table
   * @return its specification; null if there is no such table
   * @throws DatabaseClosedException if the database was closed
   */
  public @Nullable TableSpec describe(String name) {
    Objects.requireNonNull(name, "name");
    ((Database) this).requireServing();
    TableCore core = schema().core(name);
    return core == null ? null : Description.of(core);
  }

  /**
   * Drops a table with its indexes, without waiting for transactions. The drop is durable when this
   * method returns. The next use of the table by an active transaction throws {@link
   * InvalidUseException}; its earlier writes to the table are committed as if before the drop.
   *
   * <p>The pages become free after the transactions now active have ended: immediately if there are
   * none and the table is small, otherwise in the background, in small steps. A close or a crash
   * interrupts this work; it resumes with the first change after the database is opened again.
   *
   * <p>{@link Transaction#dropTable} drops a table as part of a transaction.
   *
   * @param name the name of the table
   * @return whether the table existed
   * @throws InvalidUseException if this thread has a transaction
   * @throws OperationInterruptedException if the thread is interrupted while it waits for a thread
   *     that builds an index of the table; that build is canceled
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean dropTable(String name) {
    Objects.requireNonNull(name, "name");
    return schema().dropTable(name);
  }

  /**
   * Drops an index. Waits for the end of the active transactions, which may use the index; new ones
   * do not use it. Its pages become free like those of a {@linkplain #dropTable dropped table}.
   *
   * @param table the name of the table
   * @param name the name of the index
   * @return whether the index existed
   * @throws InvalidUseException if this thread has a transaction, or another thread drops the table
   * @throws TransactionAbortedException if the active transactions don't end within a minute
   * @throws OperationInterruptedException if the thread is interrupted; the index then still exists
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean dropIndex(String table, String name) {
    Objects.requireNonNull(table, "table");
    Objects.requireNonNull(name, "name");
    return schema().dropIndex(table, name);
  }

  /**
   * Refuses the older record classes of a table from now on. Until then, a class that the table was
   * opened with can open it again after a newer one, as {@link ObjectSpec} describes. Call this
   * once there is no way back to an older version of the application. Objects stay as they are, and
   * so do open handles. {@link #finishEvolution(ObjectSpec, Consumer)} also rewrites the objects.
   *
   * @param table the name of the table
   * @return whether there was a table of that name that an older class could open
   * @throws InvalidUseException if this thread has a transaction, or the database is read-only
   * @throws OperationInterruptedException if the thread is interrupted while it waits for another
   *     that changes the table
   * @throws DatabaseClosedException if the database was closed
   * @since 0.2.0
   */
  public boolean finishEvolution(String table) {
    return schema().finishEvolution(Objects.requireNonNull(table, "table"));
  }

  /**
   * Rewrites all objects of a table that have an older version, and refuses older record classes
   * from now on, as {@link #finishEvolution(String)} does. Afterwards no annotation or converter
   * for older objects is needed, except to read earlier changes and open snapshots; {@linkplain
   * ObjectSpec#convert converted} components can be in indexes, and names of dropped components are
   * free.
   *
   * <p>Opens the table, reads all of it, and rewrites objects in small transactions, while others
   * continue. First it refuses writes by handles of older classes. Twice it waits for active
   * transactions to end. Meanwhile the table can't be loaded, and its indexes and class can't
   * change.
   *
   * <p>If it ends early, by an exception of a converter, the record's constructor or the listener,
   * by a crash or by closing the database, rewritten objects stay so. Call it again to continue.
   *
   * @param spec the specification with the newest class
   * @param progress called in this thread after each transaction
   * @return how many objects were read and rewritten; none if there are no older versions
   * @throws IncompatibleSchemaException if the table can't be opened with the specification, or has
   *     been opened with a newer class
   * @throws InvalidUseException if a converter fails, the table is dropped meanwhile, this thread
   *     has a transaction, or the database is read-only
   * @throws TransactionAbortedException if the active transactions don't end within a minute
   * @throws OperationInterruptedException if the thread is interrupted
   * @throws DatabaseClosedException if the database was closed, also while this method runs
   * @since 0.2.0
   */
  public RewriteReport finishEvolution(
      ObjectSpec<?, ?> spec, Consumer<? super RewriteReport> progress) {
    Objects.requireNonNull(spec, "spec");
    Objects.requireNonNull(progress, "progress");
    return spec.on(table(spec.table())).finishEvolution(schema(), progress);
  }

  /**
   * Removes the expiry of a table, as set by {@code expireAfter}. Expired records that have not
   * been removed yet become visible again. The index by time remains and can then be dropped; in a
   * table of byte strings it is dropped together with the expiry. Waits until no transaction is
   * active, and blocks new ones meanwhile.
   *
   * @param table the name of the table
   * @return whether there was a table of that name with an expiry
   * @throws InvalidUseException if this thread has a transaction
   * @throws TransactionAbortedException if the active transactions don't end within a minute
   * @throws OperationInterruptedException if the thread is interrupted
   * @throws StorageException if an I/O operation fails; then nothing has changed
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean dropExpiry(String table) {
    return schema().dropExpiry(Objects.requireNonNull(table, "table"));
  }

  /**
   * Removes all expired records of all tables, as the background sweep ({@link
   * ExpiryOptions#sweepInterval}) does: oldest first, in small transactions. Does not wait for
   * durability: records that reappear after a crash are still hidden.
   *
   * @return the number of records removed
   * @throws InvalidUseException if this thread has a transaction, or the database is read-only
   * @throws StorageException if an I/O operation fails; records removed before stay removed
   * @throws DurabilityLostException if durability is lost
   * @throws OperationInterruptedException if the thread is interrupted
   * @throws DatabaseClosedException if the database was closed
   */
  public long sweepExpired() {
    return schema().expirations().sweep();
  }

  /**
   * Migrates the records of a table to a new table of Java records, usually with other keys, while
   * transactions use the old table. The new table appears when it is complete; in the same moment
   * the old one is gone, with its indexes. Its handles then throw {@link InvalidUseException}: use
   * those that {@link #table(ObjectSpec)} returns for the new specification.
   *
   * <pre>{@code
   * if (db.tables().contains("customers")) {
   *   db.migrate(
   *       db.table(CUSTOMERS), PEOPLE, (number, c, to) -> to.add(c.email(), Person.of(number, c)));
   * }
   * Table<String, Person> people = db.table(PEOPLE);
   * }</pre>
   *
   * <p>Records are copied in short transactions, and those that change meanwhile are copied again.
   * For the last of them, transactions that use the old table are aborted and retried ({@link
   * io.fovea.error.AbortCause#CATALOG}) until the new table has taken its place, usually for
   * milliseconds. Other active transactions that have read something are aborted once, as by a
   * {@linkplain RowTable#load load}.
   *
   * <p>If the method throws, and after a crash, nothing has changed: run it again. Change
   * subscribers receive changes of the old table up to the end, then {@link Change.Kind#DROPPED}
   * for it and {@link Change.Kind#LOADED} for the new one, or only the latter if both have the same
   * name.
   *
   * @param <K> the class of the old keys
   * @param <V> the class of the old values
   * @param <L> the class of the new keys
   * @param <W> the class of the new values
   * @param from the table to migrate
   * @param to the new table, which must not exist, but may have the name of the old one
   * @param mapper maps a record
   * @return a report of the migration
   * @throws DuplicateKeyException if two records have the same new key, or the same values in a
   *     unique index of the new table; the message names both
   * @throws InvalidUseException if a table of the new name exists, this thread has a transaction,
   *     another thread drops the table, or the database is read-only
   * @throws TransactionAbortedException if the transactions that are active at the start don't end
   *     within a minute, or if the last changes could not be copied in several attempts
   * @throws OperationInterruptedException if the thread is interrupted
   * @throws DatabaseClosedException if the database was closed
   * @since 0.2.0
   */
  public <K, V, L, W> MigrateReport migrate(
      Table<K, V> from,
      ObjectSpec<L, W> to,
      Mapper<? super K, ? super V, ? super TableLoad<L, W>> mapper) {
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(to, "to");
    return Migrator.run((Database) this, from, to.table(), to::on, mapper);
  }

  /**
   * Migrates the records of a table to a new table of rows or byte strings, seen as Java objects:
   * see {@link #migrate(Table, ObjectSpec, Mapper)}.
   *
   * <pre>{@code
   * db.migrate(old.bytes(), NEW, RowTable::bytes, (key, value, to) -> to.add(prefixed(key), value));
   * }</pre>
   *
   * @param <K> the class of the old keys
   * @param <V> the class of the old values
   * @param <L> the class of the new keys
   * @param <W> the class of the new values
   * @param from the table to migrate
   * @param to the new table
   * @param view returns the view through which records are added
   * @param mapper maps a record
   * @return a report of the migration
   * @since 0.2.0
   */
  public <K, V, L, W> MigrateReport migrate(
      Table<K, V> from,
      TableSpec to,
      Function<? super RowTable, ? extends Table<L, W>> view,
      Mapper<? super K, ? super V, ? super TableLoad<L, W>> mapper) {
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(to, "to");
    Objects.requireNonNull(view, "view");
    return Migrator.run((Database) this, from, to, view, mapper);
  }

  /**
   * Migrates the records of a table of rows to a new one: see {@link #migrate(Table, ObjectSpec,
   * Mapper)}. Key and row passed to the mapper are valid until it returns.
   *
   * @param from the table to migrate
   * @param to the new table
   * @param mapper maps a record; creates keys and rows of the new table by {@link RowLoad#key} and
   *     {@link RowLoad#row}
   * @return a report of the migration
   * @since 0.2.0
   */
  public MigrateReport migrate(
      RowTable from, TableSpec to, Mapper<? super Key, ? super Row, ? super RowLoad> mapper) {
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(to, "to");
    return Migrator.run((Database) this, from, to, mapper);
  }

  /**
   * Renames a table, without waiting for transactions. The change is durable when this method
   * returns. Handles and transactions of the table remain valid, and the handles return the new
   * name. From then on, a specification with the old name describes a different table. {@link
   * Transaction#renameTable} renames a table as part of a transaction.
   *
   * @param from the present name
   * @param to the new name, 1 to 255 characters
   * @return whether the table existed
   * @throws InvalidUseException if a table of the new name exists, or this thread has a transaction
   * @throws OperationInterruptedException if the thread is interrupted while it waits for another
   *     that changes the table
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean renameTable(String from, String to) {
    return schema().renameTable(Objects.requireNonNull(from, "from"), to);
  }

  /**
   * Renames an index, as {@link #renameTable} does a table. Handles of the index remain valid; to
   * get the index from a table, open the table with a specification that has the new name.
   *
   * @param table the name of the table
   * @param from the present name
   * @param to the new name, 1 to 255 characters
   * @return whether the index existed
   * @throws InvalidUseException if the table has an index of the new name, or this thread has a
   *     transaction
   * @throws OperationInterruptedException as {@link #renameTable}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean renameIndex(String table, String from, String to) {
    Objects.requireNonNull(from, "from");
    return schema().renameIndex(Objects.requireNonNull(table, "table"), from, to);
  }

  /**
   * Opens a sequence, whatever its values are. If it does not exist, it is created as {@link
   * SequenceSpec#of} describes, from 1 in steps of 1.
   *
   * @param name the name of the sequence, 1 to 255 characters
   * @return the sequence, safe for use by any thread
   * @throws InvalidUseException if it does not exist and the database is read-only
   * @throws TransactionAbortedException if it does not exist, this thread has a transaction, and
   *     another thread changes the catalog for longer than a second
   * @throws OperationInterruptedException if the thread is interrupted while it waits for another
   *     that changes the catalog
   * @throws DatabaseClosedException if the database was closed
   */
  public Sequence sequence(String name) {
    return new Sequence(schema().sequences().open(SequenceSpec.of(name), false));
  }

  /**
   * Opens a sequence, and creates it durably if it does not exist. This is not part of a
   * transaction; to open a sequence as part of one, use {@link Transaction#sequence}.
   *
   * @param spec its values, and the number of values to cache from now on
   * @return the sequence, safe for use by any thread
   * @throws IncompatibleSchemaException if a sequence of that name has other values
   * @throws InvalidUseException as {@link #sequence(String)}, like all other exceptions
   */
  public Sequence sequence(SequenceSpec spec) {
    Objects.requireNonNull(spec, "spec");
    return new Sequence(schema().sequences().open(spec, true));
  }

  /**
   * Returns the names of all sequences.
   *
   * @return a sorted list
   * @throws DatabaseClosedException if the database was closed
   */
  public List<String> sequences() {
    return schema().sequences().names();
  }

  /**
   * Returns the specification of a sequence.
   *
   * @param name the name of the sequence
   * @return its specification; null if there is no such sequence
   * @throws DatabaseClosedException if the database was closed
   */
  public @Nullable SequenceSpec describeSequence(String name) {
    Objects.requireNonNull(name, "name");
    ((Database) this).requireServing();
    SequenceCore core = schema().sequences().core(name);
    return core == null ? null : core.spec();
  }

  /**
   * Drops a sequence, which then returns no more values. The drop is durable when this method
   * returns. {@link Transaction#dropSequence} drops a sequence as part of a transaction.
   *
   * @param name the name of the sequence
   * @return whether the sequence existed
   * @throws TransactionAbortedException as {@link #sequence(String)}
   * @throws OperationInterruptedException as {@link #sequence(String)}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean dropSequence(String name) {
    return schema().sequences().drop(Objects.requireNonNull(name, "name"));
  }

  /**
   * Renames a sequence. The change is durable when this method returns. Handles remain valid and
   * return the new name. {@link Transaction#renameSequence} renames a sequence as part of a
   * transaction.
   *
   * @param from the present name
   * @param to the new name, 1 to 255 characters
   * @return whether the sequence existed
   * @throws InvalidUseException if a sequence of the new name exists, or the database is read-only
   * @throws TransactionAbortedException as {@link #sequence(String)}
   * @throws OperationInterruptedException as {@link #sequence(String)}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean renameSequence(String from, String to) {
    Objects.requireNonNull(to, "to");
    return schema().sequences().rename(Objects.requireNonNull(from, "from"), to);
  }

  /**
   * Changes the values of a sequence to those of a specification, beginning with the first. The
   * change is durable when this method returns, and applies to all handles. To restart at a value:
   *
   * <pre>{@code
   * db.alterSequence(db.describeSequence("orders").from(5_000));
   * }</pre>
   *
   * <p>Values are unique only from this change on: a restart may repeat earlier ones. Other threads
   * may get values of the old specification until the method returns. {@link
   * Transaction#alterSequence} alters a sequence as part of a transaction.
   *
   * @param spec the new values; its name identifies the sequence
   * @return whether the sequence existed
   * @throws InvalidUseException if the database is read-only
   * @throws TransactionAbortedException as {@link #sequence(String)}
   * @throws OperationInterruptedException as {@link #sequence(String)}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean alterSequence(SequenceSpec spec) {
    return schema().sequences().alter(Objects.requireNonNull(spec, "spec")) != null;
  }

  /**
   * Returns the size of each table, in about a microsecond per table, for meters and overviews.
   * Sizes that the file does not store are -1.
   *
   * @return sizes by table name, in order; each is taken at a different point in time
   * @throws DatabaseClosedException if the database was closed
   */
  public Map<String, TableSize> tableSizes() {
    ((Database) this).requireOpen();
    Map<String, TableSize> sizes = new LinkedHashMap<>();
    for (TableCore table : schema().tables()) {
      sizes.put(table.name, TableSize.of(table));
    }
    return Collections.unmodifiableMap(sizes);
  }
}
