package io.fovea;

import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.StatementContext;
import io.fovea.memory.Waits;
import io.fovea.store.Leaks;
import io.fovea.store.Store;
import io.fovea.txn.Attempts;
import io.fovea.txn.RetryWarning;
import io.fovea.txn.Tx;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * What runs transactions: the part of a {@link Database} that an application needs where it only
 * reads and writes.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public abstract sealed class TransactionRunner permits Catalog {
  private static final Executor ON_VIRTUAL_THREADS =
      body -> Thread.ofVirtual().name("fovea-submit").start(body);

  /** Where transactions come from. */
  final Source source;

  TransactionRunner(Options options, Store store, Leaks leaks) {
    source = new Source((Database) this, options, store, leaks);
  }

  /**
   * Does work in a transaction and commits it; does it again after a conflict.
   *
   * @param <X> what the body throws
   * @param task the body
   * @throws X what the body threw; the transaction was rolled back
   * @throws TransactionAbortedException if the transaction was aborted for a reason that doing it
   *     again does not mend, its limit on time or on size; also where the body has swallowed that
   *     abort, wrapped it or thrown something else: what the body threw is suppressed in the abort
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
    Source.<@Nullable Void, X>loop(source, txOptions, null, task, false);
  }

  /**
   * Does named work in a transaction and commits it; does it again after a conflict. Short for
   * {@link TxOptions#name}; a hot path keeps such options.
   *
   * @param <X> what the body throws
   * @param name what the work is, for the warnings of the log
   * @param task the body
   * @throws X what the body threw; the transaction was rolled back
   * @throws IllegalArgumentException if the name is blank
   * @throws TransactionAbortedException as {@link #run(Task)}
   * @throws InvalidUseException inside the body of another transaction of this database
   * @throws DatabaseClosedException if the database was closed
   */
  public <X extends Exception> void run(String name, Task<X> task) throws X {
    run(TxOptions.defaults().name(name), task);
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
  public <X extends Exception> CommitHandle runPipelined(Task<X> task) throws X {
    return runPipelined(TxOptions.defaults(), task);
  }

  /**
   * Does work in a transaction and commits it, ahead of the log: see {@link #runPipelined(Task)}.
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
  public <X extends Exception> CommitHandle runPipelined(TxOptions txOptions, Task<X> task)
      throws X {
    Objects.requireNonNull(task, "task");
    return Source.<CommitHandle, X>loop(source, txOptions, null, task, true);
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
    return Source.loop(source, txOptions, work, null, false);
  }

  /**
   * Does named work in a transaction, commits it and returns its result; does it again after a
   * conflict. Short for {@link TxOptions#name}; a hot path keeps such options.
   *
   * @param <R> the result
   * @param <X> what the body throws
   * @param name what the work is, for the warnings of the log
   * @param work the body
   * @return the result of the run that committed
   * @throws X what the body threw; the transaction was rolled back
   * @throws IllegalArgumentException if the name is blank
   * @throws TransactionAbortedException as {@link #run(Task)}
   * @throws InvalidUseException inside the body of another transaction of this database
   * @throws DatabaseClosedException if the database was closed
   */
  public <R extends @Nullable Object, X extends Exception> R call(String name, Work<R, X> work)
      throws X {
    return call(TxOptions.defaults().name(name), work);
  }

  /**
   * Does named work in a transaction that only reads, and returns its result: as {@link
   * #read(Work)}. Short for {@link TxOptions#name}; a hot path keeps such options.
   *
   * @param <R> the result
   * @param <X> what the body throws
   * @param name what the work is, for the warnings of the log
   * @param work the body
   * @return a result that belongs to one state of the database
   * @throws X what the body threw
   * @throws IllegalArgumentException if the name is blank
   * @throws TransactionAbortedException as {@link #run(Task)}
   * @throws InvalidUseException inside the body of another transaction of this database, and if the
   *     body writes
   * @throws DatabaseClosedException if the database was closed
   */
  public <R extends @Nullable Object, X extends Exception> R read(String name, Work<R, X> work)
      throws X {
    return call(TxOptions.forReading().name(name), work);
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
   * Does work in a transaction on a virtual thread of its own: see {@link #submit(TxOptions,
   * Executor, Work)}.
   *
   * @param <R> the result
   * @param <X> what the body throws
   * @param work the body
   * @return the stage that is completed with the result of the run that committed
   */
  public <R extends @Nullable Object, X extends Exception> CompletionStage<R> submit(
      Work<R, X> work) {
    return submit(TxOptions.defaults(), ON_VIRTUAL_THREADS, work);
  }

  /**
   * Does work in a transaction on a virtual thread of its own: see {@link #submit(TxOptions,
   * Executor, Work)}.
   *
   * @param <R> the result
   * @param <X> what the body throws
   * @param txOptions what is special about the transaction
   * @param work the body
   * @return the stage that is completed with the result of the run that committed
   */
  public <R extends @Nullable Object, X extends Exception> CompletionStage<R> submit(
      TxOptions txOptions, Work<R, X> work) {
    return submit(txOptions, ON_VIRTUAL_THREADS, work);
  }

  /**
   * Does work in a transaction on another thread, and completes a stage with its result when all
   * that it has changed and read is durable. Does it again after a conflict. No thread waits for
   * the device: the thread of the executor is free as soon as the transaction has committed, and a
   * virtual thread completes the stage then. What depends on the stage without an executor of its
   * own runs there, and may block; where nothing was to be waited for, on the thread of the body.
   *
   * <p>The stage is a {@link CompletableFuture}. If it is completed or cancelled before the body
   * began, the body is not run; later that changes nothing: the transaction commits. Where the body
   * throws, or what {@link #call(TxOptions, Work)} throws, the stage is completed with that: {@link
   * CompletableFuture#join} wraps it into a {@link java.util.concurrent.CompletionException}.
   *
   * <p>A body of a transaction must not wait for a stage: it might keep the place that the other
   * one needs.
   *
   * @param <R> the result
   * @param <X> what the body throws
   * @param txOptions what is special about the transaction
   * @param executor runs the body
   * @param work the body
   * @return the stage that is completed with the result of the run that committed
   * @throws java.util.concurrent.RejectedExecutionException if the executor does not take it
   */
  public <R extends @Nullable Object, X extends Exception> CompletionStage<R> submit(
      TxOptions txOptions, Executor executor, Work<R, X> work) {
    Objects.requireNonNull(txOptions, "options");
    Objects.requireNonNull(work, "work");
    CompletableFuture<R> stage = new CompletableFuture<>();
    executor.execute(() -> fulfil(stage, txOptions, work));
    return stage;
  }

  private <R extends @Nullable Object, X extends Exception> void fulfil(
      CompletableFuture<R> stage, TxOptions txOptions, Work<R, X> work) {
    if (stage.isDone()) {
      return;
    }
    try {
      Submitted<R, X> body = new Submitted<>(work);
      CommitHandle commitHandle = Source.<CommitHandle, X>loop(source, txOptions, null, body, true);
      commitHandle.whenDurable(stage, body.result, body.actions);
    } catch (Throwable t) {
      stage.completeExceptionally(t);
    }
  }

  /** A body whose result is kept until it is durable. */
  private static final class Submitted<R extends @Nullable Object, X extends Exception>
      implements Task<X> {
    final Work<R, X> work;

    /** Of the last run. */
    R result;

    /** What is to be done when that is durable; null for nothing. */
    @Nullable List<Runnable> actions;

    @SuppressWarnings("NullAway") // before the first run
    Submitted(Work<R, X> work) {
      this.work = work;
    }

    @Override
    public void run(Transaction tx) throws X {
      result = work.call(tx);
      actions = tx.takeAfterCommit();
    }
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

  // ---------------------------------------------------------------------------------- its source

  /** Begins the transactions of a database, and runs bodies in them. Any thread. */
  static final class Source {
    /** Where the transaction of the body is that a thread is in: with 128 bytes on each side. */
    private static final int CURRENT = 32;

    private final Database database;
    private final Store store;

    // What the options say, looked up once: each transaction asks.
    private final boolean readOnly;
    private final long timeoutNanos;
    private final int patience;

    private final Leaks leaks;

    /**
     * Marks the threads that are in a body, so that one in another is noticed. Each transaction
     * writes that of its thread.
     *
     * <p>An array, and not a class of the engine: a thread that outlives the database keeps the
     * value until its own table of values is tidied up, and a value of the engine would keep its
     * class loader.
     */
    private final ThreadLocal<@Nullable Object[]> nest =
        ThreadLocal.withInitial(() -> new @Nullable Object[2 * CURRENT]);

    private final LongAdder retries = new LongAdder();
    private final RetryWarning again = new RetryWarning();

    Source(Database database, Options options, Store store, Leaks leaks) {
      this.database = database;
      this.store = store;
      this.leaks = leaks;
      this.readOnly = options.readOnly();
      this.timeoutNanos = Waits.nanos(options.transactions().timeout());
      this.patience = options.transactions().pessimisticAfterAborts();
    }

    /** Whether the calling thread is in a body. */
    boolean isInBody() {
      return nest.get()[CURRENT] != null;
    }

    /** How many attempts there were after the first ones. */
    long retries() {
      return retries.sum();
    }

    /** One of {@code work} and {@code task} is the body; ahead of the log R is a receipt. */
    static <R extends @Nullable Object, X extends Exception> R loop(
        Source source,
        TxOptions txOptions,
        @Nullable Work<R, X> work,
        @Nullable Task<X> task,
        boolean ahead)
        throws X {
      Objects.requireNonNull(txOptions, "options");
      @Nullable Object[] nest = source.nest.get();
      Transaction outer = (Transaction) nest[CURRENT];
      if (outer != null) {
        return takePart(outer, txOptions, work, task, ahead);
      }
      AbortCause previous = null;
      Attempts attempts = source.patience(txOptions) == 0 ? source.attempts(txOptions) : null;
      try {
        for (int attempt = 1; ; attempt++) {
          Transaction tx = source.begin(txOptions, attempt, previous, true, attempts);
          nest[CURRENT] = tx;
          try {
            R result = null;
            if (work != null) {
              result = work.call(tx);
            } else if (task != null) {
              task.run(tx);
            }
            return ahead ? receipt(source, tx) : commit(tx, result, nest, attempts);
          } catch (Throwable t) {
            previous = tx.failed(t);
            if (previous == null) {
              throw t;
            }
            if (attempt == txOptions.attemptsMax()) {
              throw lastAttempt(previous, t);
            }
          } finally {
            nest[CURRENT] = null;
          }
          source.aborted(txOptions, work != null ? work : task, attempt, previous);
          if (attempts == null) {
            attempts = source.attempts(txOptions);
          }
          attempts.backOff();
        }
      } finally {
        if (attempts != null) {
          attempts.close();
        }
      }
    }

    // What is rare, or needed once in a while, is not in the loop: a method of more than 325
    // bytecodes would be a call from each place that runs a transaction.

    /** A body inside of another, which decides whether all of it commits. */
    @SuppressWarnings("NullAway") // R may be nullable, and is where there was no work
    private static <R extends @Nullable Object, X extends Exception> R takePart(
        Transaction outer,
        TxOptions txOptions,
        @Nullable Work<R, X> work,
        @Nullable Task<X> task,
        boolean ahead)
        throws X {
      if (!txOptions.isJoining() || ahead) {
        throw new InvalidUseException(
            "A transaction can't run inside another of the same database and thread. Pass the"
                + " transaction on instead, or take part in it: TxOptions.joining; what is ahead of"
                + " the log can't.");
      }
      outer.requireMine("A body can't take part in the transaction around it");
      try {
        if (work != null) {
          return work.call(outer);
        }
        if (task != null) {
          task.run(outer);
        }
        return null;
      } catch (Throwable t) {
        outer.markRollbackOnly(t);
        throw t;
      }
    }

    private static TransactionAbortedException lastAttempt(AbortCause cause, Throwable t) {
      if (t instanceof TransactionAbortedException e && e.retryable()) {
        return e;
      }
      TransactionAbortedException last = new TransactionAbortedException(cause);
      last.addSuppressed(t);
      return last;
    }

    /** After how many aborts a transaction becomes pessimistic. */
    private int patience(TxOptions txOptions) {
      int own = txOptions.pessimisticAfterAborts();
      return own < 0 ? patience : own;
    }

    private void aborted(
        TxOptions txOptions, @Nullable Object body, int attempt, @Nullable AbortCause cause) {
      retries.increment();
      again.aborted(
          txOptions.name(), body instanceof Submitted<?, ?> s ? s.work : body, attempt, cause);
    }

    /** Where the body has rolled the transaction back it has waited as well. */
    @SuppressWarnings("unchecked") // R is a receipt
    private static <R extends @Nullable Object> R receipt(Source source, Transaction tx) {
      if (tx.isActive()) {
        return (R) tx.commitForReceipt();
      }
      tx.requireEndedWell();
      return (R) new CommitHandle(source.store.engine(), 0, false);
    }

    @SuppressWarnings("NullAway") // R may be nullable, and is where there was no work
    private static <R extends @Nullable Object> R commit(
        Transaction tx, @Nullable R result, @Nullable Object[] nest, @Nullable Attempts attempts) {
      if (tx.isActive()) {
        tx.commitAndWait();
      } else {
        tx.requireEndedWell();
      }
      List<Runnable> actions = tx.takeAfterCommit();
      if (actions != null) {
        // They are outside of the body, so that they may run transactions of their own: one that
        // would be pessimistic must not wait for the turn of this one.
        nest[CURRENT] = null;
        if (attempts != null) {
          attempts.close();
        }
        Transaction.runAll(actions);
      }
      return result;
    }

    private Attempts attempts(TxOptions txOptions) {
      return store.engine().attempts(patience(txOptions));
    }

    /** Begins a transaction that its user ends. */
    Transaction begin(TxOptions txOptions) {
      if (isInBody()) {
        throw new InvalidUseException(
            "A transaction can't begin inside the body of another of the same database and"
                + " thread.");
      }
      Transaction tx = beginExplicitly(txOptions);
      boolean watched = false;
      try {
        tx.onEnd =
            leaks.watch(
                tx,
                described(txOptions) + " of " + store.name(),
                forgotten(tx.statementContext(), tx.context(), tx.attempts));
        watched = true;
        return tx;
      } finally {
        if (!watched) {
          tx.abandon(); // nobody has it
        }
      }
    }

    private static String described(TxOptions txOptions) {
      String name = txOptions.name();
      return name == null ? "A transaction" : "Transaction \"" + name + '"';
    }

    /**
     * Ends a transaction that its user has forgotten. Has no reference to the transaction itself,
     * which would keep that reachable.
     */
    private static Runnable forgotten(
        StatementContext statementContext, Tx context, @Nullable Attempts attempts) {
      long epoch = context.epoch();
      return () -> {
        // Unreachable, so that nobody else can use the context at the same time. The epoch has
        // moved where an error cut its end off: context and slot may be another's by then. The
        // collector that found the transaction unreachable ran after its last store to the epoch.
        try {
          if (context.epoch() == epoch && statementContext.enter()) {
            try {
              context.rollback(epoch);
            } finally {
              statementContext.release();
            }
          }
        } finally {
          if (attempts != null) {
            attempts.close(); // else nobody would be pessimistic any more
          }
        }
      };
    }

    private long timeoutNanos(TxOptions txOptions) {
      Duration timeout = txOptions.timeout();
      return timeout == null ? timeoutNanos : Waits.nanos(timeout);
    }

    /** A transaction of its user's; a pessimistic one keeps its turn until it ends. */
    private Transaction beginExplicitly(TxOptions txOptions) {
      if (txOptions.pessimisticAfterAborts() != 0) {
        return begin(txOptions, 1, null, false, null);
      }
      store.requireOpen();
      Attempts attempts = store.engine().attempts(0);
      boolean begun = false;
      try {
        long nanos = timeoutNanos(txOptions);
        if (!attempts.awaitTurn(nanos == 0 ? Long.MAX_VALUE : nanos)) {
          throw new TransactionAbortedException(
              AbortCause.ADMISSION, "Other pessimistic transactions took all of its time.");
        }
        Transaction tx = begin(txOptions, 1, null, false, attempts);
        tx.attempts = attempts;
        begun = true;
        return tx;
      } finally {
        if (!begun) {
          attempts.close();
        }
      }
    }

    private Transaction begin(
        TxOptions txOptions,
        int attempt,
        @Nullable AbortCause previous,
        boolean managed,
        @Nullable Attempts attempts) {
      store.requireOpen();
      boolean onlyReads = txOptions.readOnly() || readOnly;
      if (!onlyReads) {
        store.willWrite();
      }
      Tx tx = store.engine().begin(onlyReads, timeoutNanos(txOptions), attempts);
      StatementContext statementContext = null;
      boolean done = false;
      try {
        statementContext = store.claimSlot();
        Transaction t = new Transaction(database, statementContext, tx, attempt, previous, managed);
        if (onlyReads && managed && attempt == 1 && txOptions.attemptsMax() != 1) {
          tx.repeated();
        }
        done = true;
        return t;
      } finally {
        if (!done) {
          try {
            tx.rollback(tx.epoch()); // nobody else has had it
          } finally {
            if (statementContext != null) {
              statementContext.release();
            }
          }
        }
      }
    }
  }
}
