package io.fovea;

import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageFullException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.Slot;
import io.fovea.memory.Waits;
import io.fovea.store.Leaks;
import io.fovea.store.Store;
import io.fovea.txn.Attempts;
import io.fovea.txn.RetryWarning;
import io.fovea.txn.Tx;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * A serializable transaction.
 *
 * <p>Given to the bodies of {@link Database#run}, {@link Database#call} and {@link Database#read},
 * which commit it and repeat it after a conflict; or begun by {@link Database#begin()}, and then
 * ended by its user. It sees its own changes; others see them when it has committed.
 *
 * <p>It belongs to the thread that began it; any other gets an {@link InvalidUseException}. After
 * an operation has thrown a {@link TransactionAbortedException}, the transaction can only be rolled
 * back: a body that swallows the exception does not commit all the same.
 *
 * @since 0.1.0
 */
public final class Transaction implements AutoCloseable {
  // The file has more than 600 lines because Source, which begins transactions and runs bodies in
  // them, is a part of it: what a body may do to its transaction, and what the loop around the body
  // does, are read together. A third of them are Javadoc.

  private enum State {
    ACTIVE,
    COMMITTED,
    ROLLED_BACK,
    ABORTED,
    UNKNOWN
  }

  private final Database database;
  private final Slot slot;
  private final Tx tx;
  private final Thread owner;
  private final int attempt;
  private final @Nullable AbortCause previousAbort;

  /** Whether a body of run, call or read has it, so that the loop around it can do it again. */
  private final boolean managed;

  private State state = State.ACTIVE;

  /** Whether it has changed anything; once it has committed. */
  private boolean wrote;

  /** The newest of its open cursors, which lead to the others. */
  private @Nullable Cursor cursors;

  /** Tells the leak detector that all is well; null where it does not watch. */
  @Nullable Runnable onEnd;

  /** Has the turn of a pessimistic transaction that its user ends; null for all others. */
  @Nullable Attempts attempts;

  Transaction(
      Database database,
      Slot slot,
      Tx tx,
      int attempt,
      @Nullable AbortCause previousAbort,
      boolean managed) {
    this.database = database;
    this.slot = slot;
    this.tx = tx;
    this.owner = Thread.currentThread();
    this.attempt = attempt;
    this.previousAbort = previousAbort;
    this.managed = managed;
  }

  // ------------------------------------------------------------------------------ for the engine

  Database database() {
    return database;
  }

  Slot slot() {
    return slot;
  }

  Tx context() {
    return tx;
  }

  /** Whether it is active and belongs to the calling thread. */
  boolean isMine() {
    return state == State.ACTIVE && owner == Thread.currentThread();
  }

  /**
   * Begins an operation of the calling thread on this database.
   *
   * @return the context; {@link #exit} must follow
   */
  Tx enter(Database db) {
    if (state != State.ACTIVE || owner != Thread.currentThread() || db != database) {
      requireMine("The transaction can't be used");
      throw new InvalidUseException("The transaction belongs to another database.");
    }
    if (!slot.enter()) {
      throw refused();
    }
    return tx;
  }

  void exit() {
    slot.exit();
  }

  private DatabaseClosedException refused() {
    // The engine is going away; whatever happens next, this thread must not touch it.
    state = State.ABORTED;
    return database.closedException();
  }

  void opened(Cursor cursor) {
    Cursor next = cursors;
    cursor.newer = null;
    cursor.older = next;
    if (next != null) {
      next.newer = cursor;
    }
    cursors = cursor;
  }

  void closed(Cursor cursor) {
    Cursor newer = cursor.newer;
    Cursor older = cursor.older;
    if (newer == null) {
      cursors = older;
    } else {
      newer.older = older;
    }
    if (older != null) {
      older.newer = newer;
    }
    cursor.newer = null;
    cursor.older = null;
  }

  /** Throws what is wrong with a use of it by the calling thread, if anything is. */
  void requireMine(String what) {
    if (owner != Thread.currentThread()) {
      throw new InvalidUseException(
          what
              + ": the transaction belongs to thread "
              + owner
              + ", this is "
              + Thread.currentThread()
              + ".");
    }
    if (state != State.ACTIVE) {
      if (!database.isOpen()) {
        throw database.closedException();
      }
      throw new InvalidUseException(
          what
              + ": the transaction "
              + switch (state) {
                case COMMITTED -> "has committed";
                case ROLLED_BACK -> "was rolled back";
                case ABORTED -> "was aborted";
                case UNKNOWN -> "may have committed, but its durability was lost";
                case ACTIVE -> "is active";
              }
              + ".");
    }
  }

  /**
   * An operation was aborted: whatever the program does with the exception, the transaction does
   * not commit any more.
   */
  TransactionAbortedException doom(TransactionAbortedException e) {
    slot.breakDown(e);
    return e;
  }

  // --------------------------------------------------------------------------------- description

  /**
   * Which attempt this is to do the work of a body.
   *
   * @return 1 for the first
   */
  public int attempt() {
    return attempt;
  }

  /**
   * Why the attempt before this one was aborted.
   *
   * @return the cause, or null in the first attempt
   */
  public @Nullable AbortCause previousAbort() {
    return previousAbort;
  }

  /**
   * Whether it is pessimistic: others that write what it reads or writes wait for it ({@link
   * TxOptions#abortsBeforeLocking(int)}).
   *
   * @return true while it is active and so
   */
  public boolean isPessimistic() {
    return state == State.ACTIVE && tx.pessimistic();
  }

  /**
   * Whether it refuses writes.
   *
   * @return true if it was begun for reading only
   */
  public boolean isReadOnly() {
    return tx.readOnly();
  }

  /**
   * Whether it has not ended.
   *
   * @return false after a commit, a rollback or an abort
   */
  public boolean isActive() {
    return state == State.ACTIVE;
  }

  // -------------------------------------------------------------------------------------- the end

  /**
   * Commits. In the body of {@link Database#run} and its like that happens by itself.
   *
   * <p>With {@link Durability#SYNC} it returns when all that the transaction has changed, and all
   * that it has read, is on stable storage. An interrupt does not end that wait; the flag is kept.
   *
   * @throws TransactionAbortedException if the transaction was aborted, now or before; then it has
   *     changed nothing
   * @throws DurabilityLostException if the log could not be written or synced; {@link
   *     DurabilityLostException#mayHaveCommitted} tells whether the transaction may be there when
   *     the database is opened again
   * @throws StorageFullException if there is no space for the log; then it has changed nothing
   * @throws InvalidUseException if it has ended, or belongs to another thread
   * @throws DatabaseClosedException if the database was closed
   */
  public void commit() {
    long lsn = commitTx();
    try {
      tx.engine().await(lsn, wrote);
    } catch (DurabilityLostException e) {
      state = State.UNKNOWN;
      throw e;
    }
  }

  /**
   * Commits, and does not wait until the commit is durable.
   *
   * @return the receipt, which waits or says whether there is something to wait for; ask it before
   *     the commit, or anything that was read, is told to anyone
   * @throws TransactionAbortedException if the transaction was aborted, now or before; then it has
   *     changed nothing
   * @throws DurabilityLostException if the log could not be written or synced; {@link
   *     DurabilityLostException#mayHaveCommitted} tells whether the transaction may be there when
   *     the database is opened again
   * @throws StorageFullException if there is no space for the log; then it has changed nothing
   * @throws InvalidUseException if it has ended, or belongs to another thread; and in the body of
   *     {@link Database#run} and its like, which return when all is durable: {@link
   *     Database#runAhead} does not
   * @throws DatabaseClosedException if the database was closed
   */
  public Receipt commitAhead() {
    if (managed) {
      requireMine("The transaction can't be committed");
      throw new InvalidUseException(
          "A body can't commit ahead of the log: run it by Database.runAhead.");
    }
    return commitForReceipt();
  }

  /** The same, for the loop around a body. */
  Receipt commitForReceipt() {
    long lsn = commitTx();
    try {
      return new Receipt(tx.engine(), tx.engine().request(lsn, wrote), wrote);
    } catch (DurabilityLostException e) {
      state = State.UNKNOWN;
      throw e;
    }
  }

  /** Commits up to where there is only the log to wait for, and returns what to wait for. */
  private long commitTx() {
    Tx t = enter(database);
    boolean ends = false;
    try {
      wrote = t.hasWrites();
      state = State.ABORTED;
      Throwable broken = slot.broken();
      if (broken != null) {
        throw broken instanceof TransactionAbortedException e
            ? new TransactionAbortedException(e.abortCause(), "An operation had been aborted.")
            : new TransactionAbortedException(
                AbortCause.USER, "A statement had failed halfway: " + broken);
      }
      ends = true; // whatever it throws
      long lsn = t.commit();
      state = State.COMMITTED;
      // Context and slot are given back: what is waited for now holds nobody up.
      return lsn;
    } catch (DurabilityLostException e) {
      state = e.mayHaveCommitted() ? State.UNKNOWN : State.ABORTED;
      throw e;
    } finally {
      if (!ends) {
        t.rollback();
      }
      end();
    }
  }

  /**
   * Ends the transaction; nothing of it remains. In the body of {@link Database#run} and its like
   * the body may go on, but can't use the transaction any more.
   *
   * @throws TransactionAbortedException in a body, if what it has read belongs to no state of the
   *     database, so that its decision rests on nothing: the body is then done again
   * @throws DurabilityLostException in a body, if what it has read can't be made durable any more
   * @throws InvalidUseException if it has ended, or belongs to another thread
   * @throws DatabaseClosedException if the database was closed
   */
  public void rollback() {
    Tx t = enter(database);
    long lsn = 0;
    try {
      boolean valid = false;
      try {
        valid = !managed || t.readsValid();
        lsn = managed ? t.readLsn() : 0;
      } finally {
        state = valid ? State.ROLLED_BACK : State.ABORTED;
        t.rollback();
      }
      if (!valid) {
        throw new TransactionAbortedException(AbortCause.VALIDATION);
      }
    } finally {
      end();
    }
    // What the body does from here on may rest on what it has read.
    tx.engine().await(lsn, false);
  }

  /**
   * Rolls back if the transaction is active, else does nothing.
   *
   * @throws InvalidUseException if it belongs to another thread
   */
  @Override
  public void close() {
    if (state == State.ACTIVE) {
      requireMine("The transaction can't be closed");
      abandon();
    }
  }

  /**
   * After a body has thrown something other than an abort: ends the transaction.
   *
   * @return whether the exception may leave, for all that was read belongs to one state, and is
   *     durable
   * @throws DurabilityLostException if it does, but can't be made durable any more
   */
  boolean failed(Throwable thrown) {
    if (state != State.ACTIVE) {
      return true;
    }
    boolean valid = true;
    long lsn = 0;
    FoveaException refused = null;
    try {
      if (!(thrown instanceof VirtualMachineError) && slot.enter()) {
        try {
          valid = tx.readsValid();
          lsn = valid ? tx.readLsn() : 0;
        } catch (FoveaException e) {
          refused = e;
        } finally {
          slot.exit();
        }
      }
    } finally {
      abandon();
    }
    if (refused != null) {
      refused.addSuppressed(thrown);
      throw refused;
    }
    try {
      tx.engine().await(lsn, false);
    } catch (DurabilityLostException e) {
      e.addSuppressed(thrown);
      throw e;
    }
    return valid;
  }

  /** Rolls back an active transaction, whatever became of the database. */
  void abandon() {
    if (state != State.ACTIVE) {
      return;
    }
    state = State.ROLLED_BACK;
    if (slot.enter()) {
      try {
        tx.rollback();
      } finally {
        end();
      }
    }
  }

  /** Within the last operation, after the context was given back. */
  private void end() {
    for (Cursor c = cursors; c != null; c = c.older) {
      c.abandon(slot);
    }
    cursors = null;
    slot.release();
    Attempts a = attempts;
    if (a != null) {
      a.close();
    }
    Runnable r = onEnd;
    if (r != null) {
      onEnd = null;
      r.run();
    }
  }

  // ---------------------------------------------------------------------------------- its source

  /** Begins the transactions of a database, and runs bodies in them. Any thread. */
  static final class Source {
    /** Marks the threads that are in a body, so that one in another is noticed. */
    private static final class Nest {
      boolean inBody;
    }

    private final Database database;
    private final Store store;

    // What the options say, looked up once: each transaction asks.
    private final boolean readOnly;
    private final long timeoutNanos;
    private final int patience;

    private final Leaks leaks;
    private final ThreadLocal<Nest> nest = ThreadLocal.withInitial(Nest::new);
    private final LongAdder retries = new LongAdder();
    private final RetryWarning again = new RetryWarning();

    Source(Database database, Options options, Store store, Leaks leaks) {
      this.database = database;
      this.store = store;
      this.leaks = leaks;
      this.readOnly = options.readOnly();
      this.timeoutNanos = Waits.nanos(options.transactions().timeout());
      this.patience = options.transactions().abortsBeforeLocking();
    }

    /** Whether the calling thread is in a body. */
    boolean isInBody() {
      return nest.get().inBody;
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
      Nest nest = source.nest.get();
      if (nest.inBody) {
        throw isInside();
      }
      AbortCause previous = null;
      Attempts attempts = source.patience(txOptions) == 0 ? source.attempts(txOptions) : null;
      try {
        for (int attempt = 1; ; attempt++) {
          Transaction tx = source.begin(txOptions, attempt, previous, true, attempts);
          nest.inBody = true;
          try {
            R result = null;
            if (work != null) {
              result = work.call(tx);
            } else if (task != null) {
              task.run(tx);
            }
            return ahead ? receipt(source, tx) : commit(tx, result);
          } catch (TransactionAbortedException e) {
            tx.abandon();
            if (!e.retryable() || attempt == txOptions.attemptsMax()) {
              throw e;
            }
            previous = e.abortCause();
          } catch (Throwable t) {
            if (tx.failed(t)) {
              throw t;
            }
            previous = AbortCause.VALIDATION;
            if (attempt == txOptions.attemptsMax()) {
              throw lastAttempt(previous, t);
            }
          } finally {
            nest.inBody = false;
          }
          source.aborted(work != null ? work : task, attempt, previous);
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

    private static InvalidUseException isInside() {
      return new InvalidUseException(
          "A transaction can't run inside another of the same database and thread. Pass the"
              + " transaction on instead.");
    }

    private static TransactionAbortedException lastAttempt(AbortCause cause, Throwable t) {
      TransactionAbortedException last = new TransactionAbortedException(cause);
      last.addSuppressed(t);
      return last;
    }

    /** After how many aborts a transaction becomes pessimistic. */
    private int patience(TxOptions txOptions) {
      int own = txOptions.abortsBeforeLocking();
      return own < 0 ? patience : own;
    }

    private void aborted(@Nullable Object body, int attempt, @Nullable AbortCause cause) {
      retries.increment();
      again.aborted(body, attempt, cause);
    }

    /** Where the body has ended the transaction itself it has waited as well. */
    @SuppressWarnings("unchecked") // R is a receipt
    private static <R extends @Nullable Object> R receipt(Source source, Transaction tx) {
      return (R)
          (tx.isActive() ? tx.commitForReceipt() : new Receipt(source.store.engine(), 0, false));
    }

    @SuppressWarnings("NullAway") // R may be nullable, and is where there was no work
    private static <R extends @Nullable Object> R commit(Transaction tx, @Nullable R result) {
      if (tx.isActive()) {
        tx.commit();
      }
      return result;
    }

    private Attempts attempts(TxOptions txOptions) {
      return store.engine().attempts(patience(txOptions));
    }

    /** Begins a transaction that its user ends. */
    Transaction begin(TxOptions txOptions) {
      if (nest.get().inBody) {
        throw new InvalidUseException(
            "A transaction can't begin inside the body of another of the same database and thread.");
      }
      Transaction tx = beginExplicitly(txOptions);
      Slot slot = tx.slot();
      Tx context = tx.context();
      tx.onEnd =
          leaks.watch(
              tx,
              "A transaction of " + store.name(),
              () -> {
                // Unreachable, so that nobody else can use the context at the same time.
                if (slot.enter()) {
                  context.rollback();
                  slot.release();
                }
              });
      return tx;
    }

    private long timeoutNanos(TxOptions txOptions) {
      Duration timeout = txOptions.timeout();
      return timeout == null ? timeoutNanos : Waits.nanos(timeout);
    }

    /** A transaction of its user's; a pessimistic one keeps its turn until it ends. */
    private Transaction beginExplicitly(TxOptions txOptions) {
      if (txOptions.abortsBeforeLocking() != 0) {
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
      boolean done = false;
      try {
        Slot slot = store.claimSlot();
        Transaction t = new Transaction(database, slot, tx, attempt, previous, managed);
        done = true;
        return t;
      } finally {
        if (!done) {
          tx.rollback();
        }
      }
    }
  }
}
