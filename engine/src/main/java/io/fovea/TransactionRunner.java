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
import io.fovea.txn.BodyCounters;
import io.fovea.txn.RetryWarning;
import io.fovea.txn.Tx;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Runs transactions: the part of a {@link Database} that an application needs to read and write.
 *
 * <p>{@code run}, {@code call}, {@code read} and {@code submit} run a body in a transaction, commit
 * it when the body returns, and retry the body after a conflict. An exception of the body rolls the
 * transaction back. These methods throw, or complete the stage with:
 *
 * <ul>
 *   <li>{@link TransactionAbortedException} if the transaction was aborted for a reason that a
 *       retry can't fix, such as its time or size limit. This holds even if the body has swallowed,
 *       wrapped or replaced that abort; what the body threw is then suppressed in it.
 *   <li>{@link InvalidUseException} if called inside a body of another transaction of this
 *       database, unless the options allow {@linkplain TxOptions#joining joining} it.
 *   <li>{@link DatabaseClosedException} if the database was closed.
 * </ul>
 *
 * <p>Safe for use by any thread.
 *
 * @since 0.1.0
 */
public abstract sealed class TransactionRunner permits Catalog {
  private static final Executor ON_VIRTUAL_THREADS =
      body -> Thread.ofVirtual().name("fovea-submit").start(body);

  final Source source;

  TransactionRunner(Options options, Store store, Leaks leaks) {
    source = new Source((Database) this, options, store, leaks);
  }

  /**
   * Runs a task in a transaction and commits it.
   *
   * @param <X> the exception that the task throws
   * @param task the body
   * @throws X if the task throws it; the transaction was rolled back
   */
  public <X extends Exception> void run(Task<X> task) throws X {
    run(TxOptions.defaults(), task);
  }

  /**
   * Runs a task in a transaction with options and commits it.
   *
   * @param <X> the exception that the task throws
   * @param txOptions the options of the transaction
   * @param task the body
   * @throws X if the task throws it; the transaction was rolled back
   */
  public <X extends Exception> void run(TxOptions txOptions, Task<X> task) throws X {
    Objects.requireNonNull(task, "task");
    Source.<@Nullable Void, X>loop(source, txOptions, null, task, false);
  }

  /**
   * Runs a named task in a transaction and commits it.
   *
   * @param <X> the exception that the task throws
   * @param name the {@linkplain TxOptions#name name} of the work; on hot paths reuse options
   * @param task the body
   * @throws X if the task throws it; the transaction was rolled back
   * @throws IllegalArgumentException if the name is blank
   */
  public <X extends Exception> void run(String name, Task<X> task) throws X {
    run(TxOptions.defaults().name(name), task);
  }

  /**
   * Runs a task in a transaction and commits it without waiting for durability. This lets a thread
   * that serves several clients work for one while the commit of another becomes durable.
   *
   * @param <X> the exception that the task throws
   * @param task the body
   * @return the handle; wait for it, or query it, before you disclose the task's reads or changes
   * @throws X if the task throws it; the transaction was rolled back
   */
  public <X extends Exception> CommitHandle runPipelined(Task<X> task) throws X {
    return runPipelined(TxOptions.defaults(), task);
  }

  /**
   * Runs a task in a transaction with options: see {@link #runPipelined(Task)}.
   *
   * @param <X> the exception that the task throws
   * @param txOptions the options of the transaction
   * @param task the body
   * @return the handle; wait for it, or query it, before you disclose the task's reads or changes
   * @throws X if the task throws it; the transaction was rolled back
   */
  public <X extends Exception> CommitHandle runPipelined(TxOptions txOptions, Task<X> task)
      throws X {
    Objects.requireNonNull(task, "task");
    return Source.<CommitHandle, X>loop(source, txOptions, null, task, true);
  }

  /**
   * Runs work in a transaction, commits it and returns its result.
   *
   * @param <R> the type of the result
   * @param <X> the exception that the work throws
   * @param work the body
   * @return the result of the attempt that committed
   * @throws X if the work throws it; the transaction was rolled back
   */
  public <R extends @Nullable Object, X extends Exception> R call(Work<R, X> work) throws X {
    return call(TxOptions.defaults(), work);
  }

  /**
   * Runs work in a transaction with options, commits it and returns its result.
   *
   * @param <R> the type of the result
   * @param <X> the exception that the work throws
   * @param txOptions the options of the transaction
   * @param work the body
   * @return the result of the attempt that committed
   * @throws X if the work throws it; the transaction was rolled back
   */
  public <R extends @Nullable Object, X extends Exception> R call(
      TxOptions txOptions, Work<R, X> work) throws X {
    Objects.requireNonNull(work, "work");
    return Source.loop(source, txOptions, work, null, false);
  }

  /**
   * Runs named work in a transaction, commits it and returns its result.
   *
   * @param <R> the type of the result
   * @param <X> the exception that the work throws
   * @param name the {@linkplain TxOptions#name name} of the work; on hot paths reuse options
   * @param work the body
   * @return the result of the attempt that committed
   * @throws X if the work throws it; the transaction was rolled back
   * @throws IllegalArgumentException if the name is blank
   */
  public <R extends @Nullable Object, X extends Exception> R call(String name, Work<R, X> work)
      throws X {
    return call(TxOptions.defaults().name(name), work);
  }

  /**
   * Runs named work in a read-only transaction and returns its result.
   *
   * @param <R> the type of the result
   * @param <X> the exception that the work throws
   * @param name the {@linkplain TxOptions#name name} of the work; on hot paths reuse options
   * @param work the body
   * @return a result that belongs to one state of the database
   * @throws X if the work throws it
   * @throws IllegalArgumentException if the name is blank
   * @throws InvalidUseException if the body writes
   */
  public <R extends @Nullable Object, X extends Exception> R read(String name, Work<R, X> work)
      throws X {
    return call(TxOptions.forReading().name(name), work);
  }

  /**
   * Runs work in a read-only transaction and returns its result.
   *
   * @param <R> the type of the result
   * @param <X> the exception that the work throws
   * @param work the body
   * @return a result that belongs to one state of the database
   * @throws X if the work throws it
   * @throws InvalidUseException if the body writes
   */
  public <R extends @Nullable Object, X extends Exception> R read(Work<R, X> work) throws X {
    return call(TxOptions.forReading(), work);
  }

  /**
   * Runs work in a transaction on a new virtual thread.
   *
   * @param <R> the type of the result
   * @param <X> the exception that the work throws
   * @param work the body
   * @return the stage of {@link #submit(TxOptions, Executor, Work)}
   */
  public <R extends @Nullable Object, X extends Exception> CompletionStage<R> submit(
      Work<R, X> work) {
    return submit(TxOptions.defaults(), ON_VIRTUAL_THREADS, work);
  }

  /**
   * Runs work in a transaction with options on a new virtual thread.
   *
   * @param <R> the type of the result
   * @param <X> the exception that the work throws
   * @param txOptions the options of the transaction
   * @param work the body
   * @return the stage of {@link #submit(TxOptions, Executor, Work)}
   */
  public <R extends @Nullable Object, X extends Exception> CompletionStage<R> submit(
      TxOptions txOptions, Work<R, X> work) {
    return submit(txOptions, ON_VIRTUAL_THREADS, work);
  }

  /**
   * Runs work in a transaction on a thread of an executor, and completes a stage with its result
   * when everything that it has changed and read is durable. No thread of the executor waits for
   * the device: it is free after the commit, and a virtual thread completes the stage. Dependent
   * actions without an executor run on that virtual thread and may block; if there was nothing to
   * wait for, they run on the thread of the body.
   *
   * <p>The stage is a {@link CompletableFuture}. Completing or cancelling it before the body has
   * begun prevents the body from running; later the transaction commits regardless. An exception of
   * the body, or one that {@link #call(TxOptions, Work)} would throw, completes the stage
   * exceptionally; {@link CompletableFuture#join} wraps it in a {@link
   * java.util.concurrent.CompletionException}.
   *
   * <p>A body must not wait for a stage: it may hold the transaction slot that the stage needs.
   *
   * @param <R> the type of the result
   * @param <X> the exception that the work throws
   * @param txOptions the options of the transaction
   * @param executor runs the body
   * @param work the body
   * @return a stage that completes with the result of the attempt that committed
   * @throws java.util.concurrent.RejectedExecutionException if the executor rejects the work
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

  private static final class Submitted<R extends @Nullable Object, X extends Exception>
      implements Task<X> {
    final Work<R, X> work;

    R result;

    @Nullable List<Runnable> actions;

    @SuppressWarnings("NullAway") // null until the first attempt
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
   * Begins a transaction that the caller ends, and that is not retried after a conflict.
   *
   * @return a transaction of the calling thread; commit it, roll it back or close it
   * @throws InvalidUseException inside a body of a transaction of this database
   * @throws TransactionAbortedException if too many transactions are active for it to begin in time
   * @throws DatabaseClosedException if the database was closed
   */
  public Transaction begin() {
    return begin(TxOptions.defaults());
  }

  /**
   * Begins a transaction with options; otherwise as {@link #begin()}.
   *
   * @param txOptions the options of the transaction
   * @return a transaction of the calling thread; commit it, roll it back or close it
   */
  public Transaction begin(TxOptions txOptions) {
    Objects.requireNonNull(txOptions, "options");
    return source.begin(txOptions);
  }

  /** Begins transactions and runs bodies in them. Safe for use by any thread. */
  static final class Source {
    /** The index of the calling thread's current transaction, padded by 128 bytes on each side. */
    private static final int CURRENT = 32;

    private final Database database;
    private final Store store;

    // Option values that every transaction needs.
    private final boolean readOnly;
    private final long timeoutNanos;
    private final int pessimisticAfter;

    private final Leaks leaks;

    /**
     * Holds each thread's current transaction, to detect a body inside another.
     *
     * <p>The value is an array and not an engine class: a thread may keep the value longer than the
     * database lives, and an engine class would retain its class loader.
     */
    private final ThreadLocal<@Nullable Object[]> nest =
        ThreadLocal.withInitial(() -> new @Nullable Object[2 * CURRENT]);

    private final BodyCounters bodies = new BodyCounters();
    private final RetryWarning retryWarning = new RetryWarning();

    Source(Database database, Options options, Store store, Leaks leaks) {
      this.database = database;
      this.store = store;
      this.leaks = leaks;
      this.readOnly = options.readOnly();
      this.timeoutNanos = Waits.nanos(options.transactions().timeout());
      this.pessimisticAfter = options.transactions().pessimisticAfterAborts();
    }

    boolean isInBody() {
      return nest.get()[CURRENT] != null;
    }

    /** Returns the counters of bodies. */
    BodyCounters bodies() {
      return bodies;
    }

    /** Runs a body in as many attempts as necessary, and measures it if it has a name. */
    static <R extends @Nullable Object, X extends Exception> R loop(
        Source source,
        TxOptions txOptions,
        @Nullable Work<R, X> work,
        @Nullable Task<X> task,
        boolean ahead)
        throws X {
      Objects.requireNonNull(txOptions, "options");
      String name = txOptions.name();
      if (name == null || source.isInBody()) { // a joining body is a part of the enclosing one
        return repeat(source, txOptions, work, task, ahead);
      }
      BodyCounters.Body body = source.bodies.of(name);
      long began = System.nanoTime();
      try {
        return repeat(source, txOptions, work, task, ahead);
      } finally {
        body.ended(System.nanoTime() - began);
      }
    }

    /** Runs a body until an attempt commits, or fails for a reason that a retry can't fix. */
    private static <R extends @Nullable Object, X extends Exception> R repeat(
        Source source,
        TxOptions txOptions,
        @Nullable Work<R, X> work,
        @Nullable Task<X> task,
        boolean ahead)
        throws X {
      @Nullable Object[] nest = source.nest.get();
      Transaction outer = (Transaction) nest[CURRENT];
      if (outer != null) {
        return join(outer, txOptions, work, task, ahead);
      }
      AbortCause previous = null;
      Attempts attempts =
          source.pessimisticAfter(txOptions) == 0 ? source.attempts(txOptions) : null;
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
            return ahead ? handle(source, tx) : commit(tx, result, nest, attempts);
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
      } catch (TransactionAbortedException e) { // without a retry
        source.bodies.of(txOptions.name()).aborted(e.abortCause(), false);
        throw e;
      } finally {
        if (attempts != null) {
          attempts.close();
        }
      }
    }

    // Rare paths are in methods outside of the loop: beyond 325 bytecodes (FreqInlineSize) the
    // JIT no longer inlines it into its callers.

    /** Runs a body inside another one, which decides whether all of it commits. */
    @SuppressWarnings("NullAway") // R may be nullable, and is null for a task
    private static <R extends @Nullable Object, X extends Exception> R join(
        Transaction outer,
        TxOptions txOptions,
        @Nullable Work<R, X> work,
        @Nullable Task<X> task,
        boolean ahead)
        throws X {
      if (!txOptions.isJoining() || ahead) {
        throw new InvalidUseException(
            "A transaction can't run inside another one of the same database and thread. Pass the"
                + " transaction to the inner code, or join it: TxOptions.joining. Commits ahead of"
                + " the log can't join.");
      }
      outer.requireOwner("A body can't join the enclosing transaction");
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

    private int pessimisticAfter(TxOptions txOptions) {
      int own = txOptions.pessimisticAfterAborts();
      return own < 0 ? pessimisticAfter : own;
    }

    private void aborted(
        TxOptions txOptions, @Nullable Object body, int attempt, AbortCause cause) {
      bodies.of(txOptions.name()).aborted(cause, true);
      retryWarning.aborted(
          txOptions.name(), body instanceof Submitted<?, ?> s ? s.work : body, attempt, cause);
    }

    /** Returns the commit handle. A rollback in the body has already waited for durability. */
    @SuppressWarnings("unchecked") // R is a commit handle
    private static <R extends @Nullable Object> R handle(Source source, Transaction tx) {
      if (tx.isActive()) {
        return (R) tx.commitForHandle();
      }
      tx.throwIfFailed();
      return (R) new CommitHandle(source.store.engine(), 0, false);
    }

    @SuppressWarnings("NullAway") // R may be nullable, and is null for a task
    private static <R extends @Nullable Object> R commit(
        Transaction tx, @Nullable R result, @Nullable Object[] nest, @Nullable Attempts attempts) {
      if (tx.isActive()) {
        tx.commitAndWait();
      } else {
        tx.throwIfFailed();
      }
      List<Runnable> actions = tx.takeAfterCommit();
      if (actions != null) {
        // Actions run outside of the body, so that they can run transactions. A pessimistic one
        // must not wait for the ticket that this one holds.
        nest[CURRENT] = null;
        if (attempts != null) {
          attempts.close();
        }
        Transaction.runAll(actions);
      }
      return result;
    }

    private Attempts attempts(TxOptions txOptions) {
      return store.engine().attempts(pessimisticAfter(txOptions));
    }

    /** Begins a transaction that the caller ends. */
    Transaction begin(TxOptions txOptions) {
      if (isInBody()) {
        throw new InvalidUseException(
            "A transaction can't begin inside a body of another one of the same database and"
                + " thread.");
      }
      Transaction tx = beginExplicitly(txOptions);
      boolean watched = false;
      try {
        tx.onEnd =
            leaks.watch(
                tx,
                describe(txOptions) + " of " + store.name(),
                leakCleanup(tx.statementContext(), tx.context(), tx.attempts));
        watched = true;
        return tx;
      } finally {
        if (!watched) {
          tx.abandon();
        }
      }
    }

    private static String describe(TxOptions txOptions) {
      String name = txOptions.name();
      return name == null ? "A transaction" : "Transaction \"" + name + '"';
    }

    /** Returns the cleanup of a leaked transaction, without a reference that keeps it reachable. */
    private static Runnable leakCleanup(
        StatementContext statementContext, Tx context, @Nullable Attempts attempts) {
      long epoch = context.epoch();
      return () -> {
        // The transaction is unreachable, so no other thread uses the context. The epoch has
        // changed if an error interrupted its end; both contexts may then belong to another
        // transaction. The collector found the transaction unreachable after its last store to the
        // epoch.
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
            attempts.close(); // otherwise no transaction could become pessimistic any more
          }
        }
      };
    }

    private long timeoutNanos(TxOptions txOptions) {
      Duration timeout = txOptions.timeout();
      return timeout == null ? timeoutNanos : Waits.nanos(timeout);
    }

    /** Begins a transaction that the caller ends; a pessimistic one keeps its ticket until then. */
    private Transaction beginExplicitly(TxOptions txOptions) {
      if (txOptions.pessimisticAfterAborts() != 0) {
        return begin(txOptions, 1, null, false, null);
      }
      store.requireOpen();
      Attempts attempts = store.engine().attempts(0);
      boolean begun = false;
      try {
        long nanos = timeoutNanos(txOptions);
        if (!attempts.awaitTicket(nanos == 0 ? Long.MAX_VALUE : nanos)) {
          throw new TransactionAbortedException(
              AbortCause.ADMISSION, "It timed out waiting for other pessimistic transactions.");
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
        statementContext = store.claimContext();
        Transaction t = new Transaction(database, statementContext, tx, attempt, previous, managed);
        if (onlyReads && managed && attempt == 1 && txOptions.attemptsMax() != 1) {
          tx.declareRetry();
        }
        done = true;
        return t;
      } finally {
        if (!done) {
          try {
            tx.rollback(tx.epoch()); // no other thread has seen it
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
