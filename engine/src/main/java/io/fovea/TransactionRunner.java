package io.fovea;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.store.Leaks;
import io.fovea.store.Store;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What runs transactions: the part of a {@link Database} that an application needs where it only
 * reads and writes.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public abstract sealed class TransactionRunner permits Database {
  /** Where transactions come from. */
  final Transaction.Source source;

  TransactionRunner(Options options, Store store, Leaks leaks) {
    source = new Transaction.Source((Database) this, options, store, leaks);
  }

  /**
   * Does work in a transaction and commits it; does it again after a conflict.
   *
   * @param <X> what the body throws
   * @param task the body
   * @throws X what the body threw; the transaction was rolled back
   * @throws TransactionAbortedException if the transaction was aborted for a reason that doing it
   *     again does not mend: its limit on time or on size
   * @throws InvalidUseException inside the body of another transaction of this database
   * @throws DatabaseClosedException if the database was closed
   */
  public <X extends Exception> void run(Task<X> task) throws X {
    run(TxOptions.defaults(), task);
  }

  /**
   * Does work in a transaction and commits it; does it again after a conflict.
   *
   * @param <X> what the body throws
   * @param txOptions what is special about the transaction
   * @param task the body
   * @throws X what the body threw; the transaction was rolled back
   * @throws TransactionAbortedException as {@link #run(Task)}
   * @throws InvalidUseException inside the body of another transaction of this database
   * @throws DatabaseClosedException if the database was closed
   */
  public <X extends Exception> void run(TxOptions txOptions, Task<X> task) throws X {
    Objects.requireNonNull(task, "task");
    Transaction.Source.<@Nullable Void, X>loop(source, txOptions, null, task, false);
  }

  /**
   * Does work in a transaction and commits it, ahead of the log: does not wait until it is durable.
   * For threads that serve several clients, and work for another while the commit of one becomes
   * durable. Does it again after a conflict.
   *
   * @param <X> what the body throws
   * @param task the body; what it has read and changed must not be told before the receipt says so
   * @return tells when all is durable
   * @throws X what the body threw; the transaction was rolled back
   * @throws TransactionAbortedException as {@link #run(Task)}
   * @throws InvalidUseException inside the body of another transaction of this database
   * @throws DatabaseClosedException if the database was closed
   */
  public <X extends Exception> Receipt runAhead(Task<X> task) throws X {
    return runAhead(TxOptions.defaults(), task);
  }

  /**
   * Does work in a transaction and commits it, ahead of the log: see {@link #runAhead(Task)}.
   *
   * @param <X> what the body throws
   * @param txOptions what is special about the transaction
   * @param task the body; what it has read and changed must not be told before the receipt says so
   * @return tells when all is durable
   * @throws X what the body threw; the transaction was rolled back
   * @throws TransactionAbortedException as {@link #run(Task)}
   * @throws InvalidUseException inside the body of another transaction of this database
   * @throws DatabaseClosedException if the database was closed
   */
  public <X extends Exception> Receipt runAhead(TxOptions txOptions, Task<X> task) throws X {
    Objects.requireNonNull(task, "task");
    return Transaction.Source.<Receipt, X>loop(source, txOptions, null, task, true);
  }

  /**
   * Does work in a transaction, commits it and returns its result; does it again after a conflict.
   *
   * @param <R> the result
   * @param <X> what the body throws
   * @param work the body
   * @return the result of the run that committed
   * @throws X what the body threw; the transaction was rolled back
   * @throws TransactionAbortedException as {@link #run(Task)}
   * @throws InvalidUseException inside the body of another transaction of this database
   * @throws DatabaseClosedException if the database was closed
   */
  public <R extends @Nullable Object, X extends Exception> R call(Work<R, X> work) throws X {
    return call(TxOptions.defaults(), work);
  }

  /**
   * Does work in a transaction, commits it and returns its result; does it again after a conflict.
   *
   * @param <R> the result
   * @param <X> what the body throws
   * @param txOptions what is special about the transaction
   * @param work the body
   * @return the result of the run that committed
   * @throws X what the body threw; the transaction was rolled back
   * @throws TransactionAbortedException as {@link #run(Task)}
   * @throws InvalidUseException inside the body of another transaction of this database
   * @throws DatabaseClosedException if the database was closed
   */
  public <R extends @Nullable Object, X extends Exception> R call(
      TxOptions txOptions, Work<R, X> work) throws X {
    Objects.requireNonNull(work, "work");
    return Transaction.Source.loop(source, txOptions, work, null, false);
  }

  /**
   * Does work in a transaction that only reads, and returns its result; does it again after a
   * conflict.
   *
   * @param <R> the result
   * @param <X> what the body throws
   * @param work the body
   * @return a result that belongs to one state of the database
   * @throws X what the body threw
   * @throws TransactionAbortedException as {@link #run(Task)}
   * @throws InvalidUseException inside the body of another transaction of this database, and if the
   *     body writes
   * @throws DatabaseClosedException if the database was closed
   */
  public <R extends @Nullable Object, X extends Exception> R read(Work<R, X> work) throws X {
    return call(TxOptions.forReading(), work);
  }

  /**
   * Begins a transaction that its user ends, and that is not done again after a conflict.
   *
   * @return the transaction, of the calling thread; to be committed, rolled back or closed
   * @throws InvalidUseException inside the body of a transaction of this database
   * @throws TransactionAbortedException if none could begin in time, for too many are active
   * @throws DatabaseClosedException if the database was closed
   */
  public Transaction begin() {
    return begin(TxOptions.defaults());
  }

  /**
   * Begins a transaction that its user ends, and that is not done again after a conflict.
   *
   * @param txOptions what is special about it
   * @return the transaction, of the calling thread; to be committed, rolled back or closed
   * @throws InvalidUseException inside the body of a transaction of this database
   * @throws TransactionAbortedException if none could begin in time, for too many are active
   * @throws DatabaseClosedException if the database was closed
   */
  public Transaction begin(TxOptions txOptions) {
    Objects.requireNonNull(txOptions, "options");
    return source.begin(txOptions);
  }
}
