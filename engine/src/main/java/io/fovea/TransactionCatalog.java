package io.fovea;

import io.fovea.catalog.CatalogTransaction;
import io.fovea.catalog.SequenceCore;
import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.TableSpec;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link Transaction} does with tables and sequences as a whole: opens, drops and renames
 * them. It is what {@link Catalog} does, as a part of the transaction: with its commit, or not at
 * all.
 *
 * <p>The transaction's thread.
 *
 * @since 0.1.0
 */
public abstract sealed class TransactionCatalog permits Transaction {
  TransactionCatalog() {}

  /** The database of the transaction. */
  abstract Database database();

  /** Does something to the catalog, as an operation of the transaction. */
  abstract <T extends @Nullable Object> T catalog(Function<CatalogTransaction, T> what);

  /**
   * Opens a table as a part of this transaction, creating it where it is not there. One that is
   * created, with its indexes, is used like any other at once, by this transaction; others see it
   * when the transaction has committed, with the records that the transaction has put into it. If
   * it does not commit, nothing remains.
   *
   * <p>Of two transactions that create a table of one name, the first one commits; the other is
   * aborted, and opens the table when its body is done again. A handle of an attempt that was
   * aborted can't be used any more: let the body open the table.
   *
   * <p>A table that is there is opened as {@link Database#table} does, but no index of it can be
   * built. That this transaction has found it is checked at the commit, as a record that was read.
   *
   * @param spec what the table is
   * @return the table; when the transaction has committed, of all threads
   * @throws IncompatibleSchemaException if there is a table of that name that is another one, or
   *     has an index that the specification does not name
   * @throws InvalidUseException if the transaction only reads and there is no such table, or if the
   *     table has not all indexes of the specification, or is of an older version
   * @throws TransactionAbortedException with cause {@link AbortCause#CATALOG} if another
   *     transaction changes the catalog, or another thread does so for longer than a second
   * @throws OperationInterruptedException if the thread is interrupted while it waits for another
   *     that changes the catalog
   * @throws DatabaseClosedException if the database was closed
   */
  public RowTable table(TableSpec spec) {
    Objects.requireNonNull(spec, "spec");
    return new RowTable(database(), catalog(c -> c.table(spec)), spec);
  }

  /**
   * Opens a table of Java records as a part of this transaction: as {@link #table(TableSpec)}.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param spec what the table is
   * @return the table; when the transaction has committed, of all threads
   * @throws IncompatibleSchemaException as {@link Database#table(ObjectSpec)}
   * @throws InvalidUseException if the transaction only reads and there is no such table, or if the
   *     class has changed, so that the table gets a new version
   * @throws TransactionAbortedException as {@link #table(TableSpec)}
   * @throws OperationInterruptedException as {@link #table(TableSpec)}
   * @throws DatabaseClosedException if the database was closed
   */
  public <K, V> Table<K, V> table(ObjectSpec<K, V> spec) {
    Objects.requireNonNull(spec, "spec");
    return spec.on(table(spec.table()));
  }

  /**
   * Drops a table with its indexes as a part of this transaction. Until the commit others use the
   * table as before. With the commit it is gone: a transaction that has used it, and did not commit
   * before, is aborted, and finds it gone when its body is done again. The name may be given to
   * another table, a new one or one that is {@linkplain #renameTable renamed}, by this transaction.
   *
   * <p>Pages become free as {@link Database#dropTable} says.
   *
   * @param name its name
   * @return whether there was one, which is checked at the commit
   * @throws InvalidUseException if the transaction only reads
   * @throws TransactionAbortedException as {@link #table}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean dropTable(String name) {
    Objects.requireNonNull(name, "name");
    return catalog(c -> c.dropTable(name));
  }

  /**
   * Gives a table another name as a part of this transaction. Handles of the table go on, and tell
   * the new name when the transaction has committed.
   *
   * @param from its name
   * @param to its new name, 1 to 255 characters
   * @return whether there was one, which is checked at the commit
   * @throws InvalidUseException if there is a table of the new name, or if the transaction only
   *     reads
   * @throws TransactionAbortedException as {@link #table}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean renameTable(String from, String to) {
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(to, "to");
    return catalog(c -> c.renameTable(from, to));
  }

  /**
   * The names of the tables as this transaction sees them: those that it has created and renamed
   * are among them. Which ones there are is checked at the commit.
   *
   * @return a sorted list
   * @throws TransactionAbortedException as {@link #table}
   * @throws DatabaseClosedException if the database was closed
   */
  public List<String> tables() {
    return catalog(CatalogTransaction::names);
  }

  /**
   * Opens a sequence as a part of this transaction, creating it where it is not there. One that is
   * created gives values at once, to the body alone; others see it when the transaction has
   * committed, and get higher ones. Taking a value is no part of a transaction, as {@link Sequence}
   * says.
   *
   * @param spec what it gives
   * @return the sequence; when the transaction has committed, of all threads
   * @throws IncompatibleSchemaException if there is one of that name that gives other values
   * @throws InvalidUseException if the transaction only reads and there is no such sequence
   * @throws TransactionAbortedException as {@link #table(TableSpec)}
   * @throws DatabaseClosedException if the database was closed
   */
  public Sequence sequence(SequenceSpec spec) {
    Objects.requireNonNull(spec, "spec");
    return new Sequence(catalog(c -> c.sequence(spec)));
  }

  /**
   * Drops a sequence as a part of this transaction. Its handles give values until that commits.
   *
   * @param name its name
   * @return whether there was one, which is checked at the commit
   * @throws InvalidUseException if the transaction only reads
   * @throws TransactionAbortedException as {@link #table(TableSpec)}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean dropSequence(String name) {
    Objects.requireNonNull(name, "name");
    return catalog(c -> c.dropSequence(name));
  }

  /**
   * Gives a sequence another name as a part of this transaction. Its handles go on, before and
   * after the commit.
   *
   * @param from its name
   * @param to its new name, 1 to 255 characters
   * @return whether there was one, which is checked at the commit
   * @throws InvalidUseException if there is a sequence of the new name, or if the transaction only
   *     reads
   * @throws TransactionAbortedException as {@link #table(TableSpec)}
   * @throws DatabaseClosedException if the database was closed
   */
  public boolean renameSequence(String from, String to) {
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(to, "to");
    return catalog(c -> c.renameSequence(from, to));
  }

  /**
   * Lets a sequence give other values as a part of this transaction: those of a specification, from
   * its first one on, as {@link Database#alterSequence} says. The transaction takes the new values
   * by the sequence that this returns, at once; others get the old ones until it has committed. All
   * handles give the new values then.
   *
   * @param spec what it gives from then on; the name says which sequence that is
   * @return the sequence; null if there is none of that name, which is checked at the commit
   * @throws InvalidUseException if the transaction only reads
   * @throws TransactionAbortedException as {@link #table(TableSpec)}
   * @throws DatabaseClosedException if the database was closed
   */
  public @Nullable Sequence alterSequence(SequenceSpec spec) {
    Objects.requireNonNull(spec, "spec");
    SequenceCore core = this.<@Nullable SequenceCore>catalog(c -> c.alterSequence(spec));
    return core == null ? null : new Sequence(core);
  }
}
