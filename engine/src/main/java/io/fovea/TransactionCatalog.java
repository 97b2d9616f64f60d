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
 * The catalog operations of a {@link Transaction}: like those of {@link Catalog}, but as part of
 * the transaction, which commits all of them or none.
 *
 * <p>Used by the transaction's thread. Every method may throw:
 *
 * <ul>
 *   <li>{@link TransactionAbortedException} with cause {@link AbortCause#CATALOG} if another
 *       transaction changes the catalog, or another thread does so for longer than a second.
 *   <li>{@link OperationInterruptedException} if the thread is interrupted while it waits for
 *       another thread that changes the catalog.
 *   <li>{@link InvalidUseException} if a read-only transaction would change the catalog.
 *   <li>{@link DatabaseClosedException} if the database was closed.
 * </ul>
 *
 * @since 0.1.0
 */
public abstract sealed class TransactionCatalog permits Transaction {
  TransactionCatalog() {}

  abstract Database database();

  abstract <T extends @Nullable Object> T catalog(Function<CatalogTransaction, T> what);

  /**
   * Opens a table, creating it if it does not exist. A new table, with its indexes, is usable at
   * once by this transaction. Others see it after the commit, with the records that this
   * transaction has put into it. If the transaction does not commit, nothing remains.
   *
   * <p>If two transactions create a table of the same name, the first commits. The other is
   * aborted, and opens the table when its body is retried. The handle of an aborted attempt is
   * invalid, so open the table in the body.
   *
   * <p>An existing table is opened as by {@link Database#table}, but without building indexes. The
   * commit validates its existence like a record that was read.
   *
   * @param spec the specification
   * @return the table, usable in all threads after the commit
   * @throws IncompatibleSchemaException if the table differs, or has an index that the
   *     specification lacks
   * @throws InvalidUseException if the table lacks a specified index, or is of an older version
   */
  public RowTable table(TableSpec spec) {
    Objects.requireNonNull(spec, "spec");
    return new RowTable(database(), catalog(c -> c.table(spec)), spec);
  }

  /**
   * Opens a table of Java records: see {@link #table(TableSpec)}.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param spec the specification
   * @return the table, usable in all threads after the commit
   * @throws IncompatibleSchemaException as {@link Database#table(ObjectSpec)}
   * @throws InvalidUseException if the class has changed, so that the table needs a new version
   */
  public <K, V> Table<K, V> table(ObjectSpec<K, V> spec) {
    Objects.requireNonNull(spec, "spec");
    return spec.on(table(spec.table()));
  }

  /**
   * Drops a table with its indexes. Other transactions can use the table until the commit. A
   * transaction that has used it and commits later is aborted, and finds the table gone in its
   * retry. This transaction may reuse the name for a new or {@linkplain #renameTable renamed}
   * table.
   *
   * <p>Pages become free as {@link Database#dropTable} describes.
   *
   * @param name its name
   * @return whether it existed, which the commit validates
   */
  public boolean dropTable(String name) {
    Objects.requireNonNull(name, "name");
    return catalog(c -> c.dropTable(name));
  }

  /**
   * Renames a table. Its handles stay valid, and return the new name after the commit.
   *
   * @param from its name
   * @param to its new name, 1 to 255 characters
   * @return whether it existed, which the commit validates
   * @throws InvalidUseException if there is a table of the new name
   */
  public boolean renameTable(String from, String to) {
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(to, "to");
    return catalog(c -> c.renameTable(from, to));
  }

  /**
   * Returns the names of the tables as this transaction sees them, including those that it has
   * created and renamed. The commit validates the list.
   *
   * @return a sorted list
   */
  public List<String> tables() {
    return catalog(CatalogTransaction::names);
  }

  /**
   * Opens a sequence, creating it if it does not exist. A new sequence is usable at once, but only
   * by the body. Others see it after the commit, and get higher values. Taking a value is
   * {@linkplain Sequence not part of the transaction}.
   *
   * @param spec the specification
   * @return the sequence, usable in all threads after the commit
   * @throws IncompatibleSchemaException if the sequence of that name generates other values
   */
  public Sequence sequence(SequenceSpec spec) {
    Objects.requireNonNull(spec, "spec");
    return new Sequence(catalog(c -> c.sequence(spec)));
  }

  /**
   * Drops a sequence. Its handles return values until the commit.
   *
   * @param name its name
   * @return whether it existed, which the commit validates
   */
  public boolean dropSequence(String name) {
    Objects.requireNonNull(name, "name");
    return catalog(c -> c.dropSequence(name));
  }

  /**
   * Renames a sequence. Its handles stay valid before and after the commit.
   *
   * @param from its name
   * @param to its new name, 1 to 255 characters
   * @return whether it existed, which the commit validates
   * @throws InvalidUseException if there is a sequence of the new name
   */
  public boolean renameSequence(String from, String to) {
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(to, "to");
    return catalog(c -> c.renameSequence(from, to));
  }

  /**
   * Changes the values of a sequence to those of a specification, starting at its first value: see
   * {@link Database#alterSequence}. The returned sequence takes the new values at once, for this
   * transaction. Others get the old values until the commit; then all handles return the new ones.
   *
   * @param spec the new values; its name identifies the sequence
   * @return the sequence; null if none has that name, which the commit validates
   */
  public @Nullable Sequence alterSequence(SequenceSpec spec) {
    Objects.requireNonNull(spec, "spec");
    SequenceCore core = this.<@Nullable SequenceCore>catalog(c -> c.alterSequence(spec));
    return core == null ? null : new Sequence(core);
  }
}
