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
import org.jspecify.annotations.Nullable;

/**
 * What has tables and sequences: the part of a {@link Database} that opens, drops and renames them,
 * and says what they are.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public abstract sealed class Catalog extends TransactionRunner permits Database {
  Catalog(Options options, Store store, Leaks leaks) {
    super(options, store, leaks);
  }

  /** The schema of the database, once it is made. */
  abstract Schema schema();

  /**
   * Opens a table, creating it where it is not there. An index that the table does not have yet is
   * built from its records, while transactions go on, and change them. It is there when this
   * returns; this waits for transactions to end that were active, three times. While a unique index
   * is built, a change that makes a second record with the same values is refused if the index
   * knows the first one already. If it does not yet, the change is done and the index is refused,
   * unless one of the two records changes before.
   *
   * <p>A table of an older version than the specification becomes one of that version by the {@link
   * io.fovea.schema.Step steps} that are missing: at once, with one change of the catalog, whatever
   * its size. Rows stay as they are in the file until they are written next. Handles of the older
   * version are refused from then on, and this waits for transactions that may have used one.
   *
   * <p>This is no part of any transaction: it is done when it returns. {@link Transaction#table} is
   * a part of one.
   *
   * @param spec what the table is
   * @return the table
   * @throws IncompatibleSchemaException if there is a table of that name that is another one and
   *     does not become this one by the steps of the specification, is of a newer version, or has
   *     an index that the specification does not name
   * @throws DuplicateKeyException if a new unique index would have two records with the same values
   * @throws InvalidUseException if an index is to be built or the table evolves in a transaction of
   *     this thread, or while another thread drops the table
   * @throws TransactionAbortedException if an index is to be built or the table evolves, and
   *     transactions that were active don't end within a minute
   * @throws OperationInterruptedException if the thread is interrupted while it builds an index, or
   *     waits for transactions to end
   * @throws DatabaseClosedException if the database was closed
   */
  public RowTable table(TableSpec spec) {
    Objects.requireNonNull(spec, "spec");
    return new RowTable((Database) this, schema().table(spec), spec);
  }

  /**
   * Opens a table of Java records, creating it where it is not there. A table whose objects were
   * written by an older version of the class becomes one of a new version, as {@link ObjectSpec}
   * says; no object is written for that, and nobody waits. An {@linkplain ObjectSpec#index index}
   * that the table does not have yet is built, as {@link #table(TableSpec)} says.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param spec what the table is
   * @return the table
   * @throws IncompatibleSchemaException if there is a table of that name that is no table of
   *     objects, has other keys, or whose objects can't be read as the class is now; if it has an
   *     index that the specification does not name, or that has other entries than the class would
   *     give them
   * @throws DuplicateKeyException if a new unique index would have two objects with the same values
   * @throws InvalidUseException if the table gets a new version or an index in a transaction of
   *     this thread, or while another thread drops the table
   * @throws TransactionAbortedException if an index is to be built, and transactions that were
   *     active don't end within a minute
   * @throws OperationInterruptedException if the thread is interrupted while it builds an index
   * @throws DatabaseClosedException if the database was closed
   */
  public <K, V> Table<K, V> table(ObjectSpec<K, V> spec) {
    Objects.requireNonNull(spec, "spec");
    return spec.on(table(spec.table()));
  }

  /**
   * The names of its tables.
   *
   * @return a sorted list
   * @throws DatabaseClosedException if the database was closed
   */
  public List<String> tables() {
    return schema().names();
  }

  /**
   * Says what a table is, as the file knows it: its key, the layout and the version of its rows, or
   * the shapes of its objects, its indexes, and how its rows expire.
   *
   * <p>With the specification the table can be opened, by a program that knows nothing of it. An
   * index by a computed key is a {@linkplain io.fovea.schema.IndexSpec#described described} one:
   * such a table can be opened where nothing is changed, and where the program that made it has
   * opened it already. Its steps to its version are not known any more.
   *
   * @param name the table's name
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
   * Drops a table with its indexes. It is gone when this returns, durably: a transaction that is
   * active and uses it next gets an {@link InvalidUseException}, and what it has done to the table
   * so far commits as if before the drop. No thread waits.
   *
   * <p>The pages become free when the transactions that are active now have ended: at once where
   * there are none and the table is small, else in the background, some at a time, with pauses in
   * between. A close or a crash interrupts that; it goes on when the database is open again, with
   * the first change.
   *
   * <p>{@link Transaction#dropTable} does it as a part of a transaction.
   *
   * @param name its name
   * @return whether there was one
   * @throws InvalidUseException in a transaction of this thread
   * @throws OperationInterruptedException if the thread is interrupted while it waits for another
   *     that builds an index of the table; that one gives up
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean dropTable(String name) {
    Objects.requireNonNull(name, "name");
    return schema().dropTable(name);
  }

  /**
   * Drops an index. Waits until the active transactions, which may use the index, have ended.
   * Transactions that begin meanwhile do not use it. Its pages become free as those of a
   * {@linkplain #dropTable dropped table}.
   *
   * @param table the table's name
   * @param name the index's name
   * @return whether there was one
   * @throws InvalidUseException in a transaction of this thread, or while another thread drops the
   *     table
   * @throws TransactionAbortedException if transactions that were active don't end within a minute
   * @throws OperationInterruptedException if the thread is interrupted meanwhile; the index is
   *     still there
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean dropIndex(String table, String name) {
    Objects.requireNonNull(table, "table");
    Objects.requireNonNull(name, "name");
    return schema().dropIndex(table, name);
  }

  /**
   * Lets the records of a table stay: takes away what {@code expireAfter} said. Records that have
   * expired and were not removed yet are there again. The index by time stays, and can be dropped
   * then; that of byte strings is dropped with the option. Waits until no transaction is active,
   * and lets none begin meanwhile.
   *
   * @param table the table's name
   * @return whether there was a table of that name whose records expired
   * @throws InvalidUseException in a transaction of this thread
   * @throws TransactionAbortedException if transactions don't end within a minute
   * @throws OperationInterruptedException if the thread is interrupted meanwhile
   * @throws StorageException if the operating system refuses; then nothing has changed
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean dropExpiry(String table) {
    return schema().dropExpiry(Objects.requireNonNull(table, "table"));
  }

  /**
   * Removes all rows that have expired by now, of all tables, as the background does by itself
   * ({@link ExpiryOptions#sweepInterval}): in transactions of some rows each, oldest first. Does
   * not wait until they are durable: after a crash, rows that are there again stay hidden.
   *
   * @return how many rows were removed
   * @throws InvalidUseException in a transaction of this thread, or if the database was opened for
   *     reading only
   * @throws StorageException if the operating system refuses; what was removed stays removed
   * @throws DurabilityLostException if durability is or gets lost
   * @throws OperationInterruptedException if the thread is interrupted meanwhile
   * @throws DatabaseClosedException if the database was closed
   */
  public long sweepExpired() {
    return schema().expirations().sweep();
  }

  /**
   * Gives a table another name. It has it when this returns, durably; no thread waits. Handles of
   * the table, and transactions that use them, go on, and the handles tell the new name. A
   * specification with the old name is one of another table from then on. {@link
   * Transaction#renameTable} does it as a part of a transaction.
   *
   * @param from its name
   * @param to its new name, 1 to 255 characters
   * @return whether there was one
   * @throws InvalidUseException if there is a table of the new name, or in a transaction of this
   *     thread
   * @throws OperationInterruptedException if the thread is interrupted while it waits for another
   *     that changes the table
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean renameTable(String from, String to) {
    return schema().renameTable(Objects.requireNonNull(from, "from"), to);
  }

  /**
   * Gives an index another name, as {@link #renameTable} does a table. Handles of the index go on;
   * to ask a table for the index, open the table with a specification that has the new name.
   *
   * @param table the table's name
   * @param from the index's name
   * @param to its new name, 1 to 255 characters
   * @return whether there was one
   * @throws InvalidUseException if the table has an index of the new name, or in a transaction of
   *     this thread
   * @throws OperationInterruptedException as {@link #renameTable}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean renameIndex(String table, String from, String to) {
    Objects.requireNonNull(from, "from");
    return schema().renameIndex(Objects.requireNonNull(table, "table"), from, to);
  }

  /**
   * Opens a sequence, whatever it gives; one that is not there is created, as {@link
   * SequenceSpec#of} says: from 1 on, by 1.
   *
   * @param name its name, 1 to 255 characters
   * @return the sequence, of any thread
   * @throws InvalidUseException if there is none, and the database was opened for reading only
   * @throws TransactionAbortedException in a transaction of this thread, if there is none, and
   *     another thread changes the catalog for longer than a second
   * @throws OperationInterruptedException if the thread is interrupted while it waits for another
   *     that changes the catalog
   * @throws DatabaseClosedException if the database was closed
   */
  public Sequence sequence(String name) {
    return new Sequence(schema().sequences().open(SequenceSpec.of(name), false));
  }

  /**
   * Opens a sequence, creating it where it is not there, durably. This is no part of any
   * transaction; {@link Transaction#sequence} is a part of one.
   *
   * @param spec what it gives, and how many values are cached from now on
   * @return the sequence, of any thread
   * @throws IncompatibleSchemaException if there is one of that name that gives other values
   * @throws InvalidUseException as {@link #sequence(String)}; so with all other exceptions
   */
  public Sequence sequence(SequenceSpec spec) {
    Objects.requireNonNull(spec, "spec");
    return new Sequence(schema().sequences().open(spec, true));
  }

  /**
   * The names of its sequences.
   *
   * @return a sorted list
   * @throws DatabaseClosedException if the database was closed
   */
  public List<String> sequences() {
    return schema().sequences().names();
  }

  /**
   * Says what a sequence gives.
   *
   * @param name its name
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
   * Drops a sequence. It is gone when this returns, durably, and gives no value any more. {@link
   * Transaction#dropSequence} does it as a part of a transaction.
   *
   * @param name its name
   * @return whether there was one
   * @throws TransactionAbortedException as {@link #sequence(String)}
   * @throws OperationInterruptedException as {@link #sequence(String)}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean dropSequence(String name) {
    return schema().sequences().drop(Objects.requireNonNull(name, "name"));
  }

  /**
   * Gives a sequence another name. It has it when this returns, durably; its handles go on, and
   * tell it. {@link Transaction#renameSequence} does it as a part of a transaction.
   *
   * @param from its name
   * @param to its new name, 1 to 255 characters
   * @return whether there was one
   * @throws InvalidUseException if there is a sequence of the new name, or the database was opened
   *     for reading only
   * @throws TransactionAbortedException as {@link #sequence(String)}
   * @throws OperationInterruptedException as {@link #sequence(String)}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean renameSequence(String from, String to) {
    Objects.requireNonNull(to, "to");
    return schema().sequences().rename(Objects.requireNonNull(from, "from"), to);
  }

  /**
   * Lets a sequence give other values: those of a specification, from its first one on. It does so
   * when this returns, durably, and so do its handles. To begin anew at a value:
   *
   * <pre>{@code
   * db.alterSequence(db.describeSequence("orders").from(5_000));
   * }</pre>
   *
   * <p>What it gives from then on is unique among itself. Whoever lets it give values again that it
   * has given, with records that have them, has two of them. Other threads get values of the old
   * specification until this has been done. {@link Transaction#alterSequence} does it as a part of
   * a transaction.
   *
   * @param spec what it gives from then on; the name says which sequence that is
   * @return whether there was one
   * @throws InvalidUseException if the database was opened for reading only
   * @throws TransactionAbortedException as {@link #sequence(String)}
   * @throws OperationInterruptedException as {@link #sequence(String)}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean alterSequence(SequenceSpec spec) {
    return schema().sequences().alter(Objects.requireNonNull(spec, "spec")) != null;
  }

  /**
   * How much each table has, in about a microsecond a table: for meters, and for a first look. No
   * number is counted for it where a file does not say it.
   *
   * @return sizes by the names of the tables, in order; each number is that of a moment of its own
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
