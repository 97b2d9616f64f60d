package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.catalog.CatalogTransaction;
import io.fovea.catalog.RangeDeletion;
import io.fovea.config.Durability;
import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageFullException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.memory.Hash;
import io.fovea.txn.Attempts;
import io.fovea.txn.Tx;
import java.lang.System.Logger.Level;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A serializable transaction.
 *
 * <p>{@link Database#run}, {@link Database#call} and {@link Database#read} pass one to the body,
 * commit it when the body returns, and retry the body after a conflict. A transaction of {@link
 * Database#begin()} is ended by its caller. The changes of a transaction become visible to others
 * when it commits.
 *
 * <p>A transaction belongs to the thread that began it. Operations throw {@link
 * InvalidUseException} in another thread or after the transaction has ended, and {@link
 * DatabaseClosedException} if the database was closed.
 *
 * <p>After an operation has thrown {@link TransactionAbortedException}, the transaction can only be
 * rolled back. A body that swallows the exception does not change that.
 *
 * @since 0.1.0
 */
public final class Transaction extends TransactionCatalog implements AutoCloseable {
  private enum State {
    ACTIVE("is active"),
    COMMITTED("has committed"),
    ROLLED_BACK("was rolled back"),
    ABORTED("was aborted"),
    UNKNOWN("may have committed, but its durability was lost");

    final String words;

    State(String words) {
      this.words = words;
    }
  }

  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final byte[] NO_NAME = {};

  private final Database database;
  private final StatementContext statementContext;
  private final Tx tx;
  private final long epoch; // identifies this transaction among those that use the context
  private final Thread owner;
  private final int attempt;
  private final @Nullable AbortCause previousAbort;
  private final boolean readOnly;

  /** Whether {@code run}, {@code call} or {@code read} began it and may retry the body. */
  private final boolean managed;

  private State state = State.ACTIVE;

  /**
   * Why the transaction ended other than as its caller requested; null while active and after a
   * successful end. A body may swallow what {@link #rollback} throws, so the retry loop checks this
   * before it returns.
   */
  private @Nullable Throwable failure;

  /** The deleted ranges' part of {@link #changesDigest}; 0 if there are none. */
  private long rangesDigest;

  /** Whether it has changed anything; set by the commit. */
  private boolean wrote;

  /** The newest of its open cursors, head of a linked list. */
  private @Nullable RowCursor cursors;

  private @Nullable CatalogTransaction catalog;

  private @Nullable List<Runnable> afterCommit;

  /** Tells the leak detector that the transaction has ended; null if it is not watched. */
  @Nullable Runnable onEnd;

  /** Holds the ticket of an explicit pessimistic transaction; null for all others. */
  @Nullable Attempts attempts;

  Transaction(
      Database database,
      StatementContext statementContext,
      Tx tx,
      int attempt,
      @Nullable AbortCause previousAbort,
      boolean managed) {
    this.database = database;
    this.statementContext = statementContext;
    this.tx = tx;
    this.epoch = tx.epoch();
    this.readOnly = tx.isReadOnly();
    this.owner = Thread.currentThread();
    this.attempt = attempt;
    this.previousAbort = previousAbort;
    this.managed = managed;
  }

  // ------------------------------------------------------------------------------ for the engine

  Database database() {
    return database;
  }

  StatementContext statementContext() {
    return statementContext;
  }

  /** Returns the statement context, after checking that the calling thread may use it. */
  StatementContext requireContext() {
    if (!isOwnedByCurrentThread()) {
      requireOwner("The transaction can't be used");
    }
    return statementContext;
  }

  Tx context() {
    return tx;
  }

  boolean isOwnedByCurrentThread() {
    return state == State.ACTIVE && owner == Thread.currentThread();
  }

  /** Begins an operation of the calling thread; {@link #exit} must follow. */
  Tx enter(Database db) {
    if (!isOwnedByCurrentThread() || db != database || tx.epoch() != epoch) {
      requireOwner("The transaction can't be used");
      throw new InvalidUseException(
          db != database
              ? "The transaction belongs to another database."
              : "The transaction has ended.");
    }
    if (!statementContext.enter()) {
      throw refused();
    }
    return tx;
  }

  /** Begins a statement of the calling thread on a table; {@link #exit} must follow. */
  Tx enter(Database db, TableCore core) {
    Tx t = enter(db);
    if (!core.use(t)) {
      requireUsable(t, core);
    }
    return t;
  }

  /**
   * Handles the rare cases: a table is new, being dropped or gone, or shares its bit with such a
   * table.
   */
  private void requireUsable(Tx t, TableCore core) {
    CatalogTransaction c = catalog;
    boolean owned = c != null && c.drops(core);
    if (c != null && !owned && c.cuts(core)) {
      replaceByDeletes(t, core, c);
    }
    RuntimeException refusal = core.refusal(t, owned);
    if (refusal == null) {
      return;
    }
    if (!owned && c != null && !c.catalogReadsValid()) {
      refusal = c.stale(); // the transaction has read the catalog entry of a table dropped since
    }
    exit();
    throw refusal;
  }

  /** Replaces a pending deletion of the whole table with deletions of its individual records. */
  private void replaceByDeletes(Tx t, TableCore core, CatalogTransaction c) {
    boolean done = false;
    try {
      RangeDeletion.replaceByDeletes(statementContext, t, core, c);
      done = true;
    } catch (RuntimeException | Error e) {
      statementContext.markRollbackOnly(e); // its reads are no longer valid
      throw e;
    } finally {
      if (!done) {
        exit();
      }
    }
  }

  void exit() {
    statementContext.exit();
  }

  private DatabaseClosedException refused() {
    // The engine is shutting down: this thread must not access it again.
    state = State.ABORTED;
    DatabaseClosedException e = database.closedException();
    failure = e;
    ended(); // the exception reports the end, so this is no leak
    return e;
  }

  void opened(RowCursor cursor) {
    RowCursor next = cursors;
    cursor.newer = null;
    cursor.older = next;
    if (next != null) {
      next.newer = cursor;
    }
    cursors = cursor;
  }

  void closed(RowCursor cursor) {
    RowCursor newer = cursor.newer;
    RowCursor older = cursor.older;
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

  /** Throws {@link InvalidUseException} unless the transaction is active in the calling thread. */
  void requireOwner(String what) {
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
      throw new InvalidUseException(what + ": the transaction " + state.words + ".");
    }
  }

  /** Marks the transaction as rollback-only because a body that joined it has thrown. */
  void markRollbackOnly(Throwable t) {
    if (state == State.ACTIVE) { // after its end the context may belong to another transaction
      statementContext.markRollbackOnly(t);
    }
  }

  /** Returns the abort that an operation has thrown and the body may have swallowed, or null. */
  private @Nullable TransactionAbortedException ignoredAbort() {
    AbortCause cause = tx.abortCause(epoch);
    if (cause == null && statementContext.broken() instanceof TransactionAbortedException e) {
      cause = e.abortCause(); // of a wait that does not know the transaction
    }
    return cause == null
        ? null
        : new TransactionAbortedException(cause, "An earlier operation was aborted.");
  }

  // --------------------------------------------------------------------------------- description

  /** {@return the number of this attempt to run the body: 1 for the first} */
  public int attempt() {
    return attempt;
  }

  /** {@return the cause of the previous attempt's abort, or null in the first attempt} */
  public @Nullable AbortCause previousAbort() {
    return previousAbort;
  }

  /**
   * {@return whether the transaction is active and {@linkplain
   * TxOptions#pessimisticAfterAborts(int) pessimistic}, so that others wait for it}
   */
  public boolean isPessimistic() {
    return state == State.ACTIVE && tx.isPessimistic();
  }

  /** {@return whether the transaction was begun as read-only and refuses writes} */
  public boolean isReadOnly() {
    return readOnly;
  }

  /** {@return whether the transaction is active: false after a commit, a rollback or an abort} */
  public boolean isActive() {
    return state == State.ACTIVE;
  }

  /**
   * Returns a digest of the records and table names that this transaction has changed so far.
   *
   * <p>Two transactions in different databases have the same digest if they made the same changes
   * to the same records of tables with the same names, whatever the page layout. Replicas that run
   * the same procedure can thus compare their results. The digest is stable across releases. It
   * detects mistakes; it does not protect against an attacker.
   *
   * <p>For a deleted range, the digest covers the number of deleted records. In a transaction that
   * has deleted a range, individual deletions do not count. Indexes, sequences and layout changes
   * never count.
   *
   * <p>The cost is a pass over all bytes written.
   *
   * @return 64 bits; 0 if nothing has changed
   * @since 0.1.0
   */
  public long changesDigest() {
    Tx t = enter(database);
    try {
      Map<BTree, byte[]> names = new IdentityHashMap<>();
      long[] sum = {rangesDigest};
      CatalogTransaction c = catalog;
      if (c != null) {
        c.forEachChange(
            (name, present) -> sum[0] += digest(present ? 1 : 2, name),
            core -> names.put(core.tree, utf8(core)));
      }
      return sum[0] + t.digest(tree -> names.computeIfAbsent(tree, this::name), rangesDigest == 0);
    } finally {
      exit();
    }
  }

  private byte[] name(BTree tree) {
    for (TableCore core : database.schema().tables()) {
      if (core.tree == tree) {
        return utf8(core);
      }
    }
    return NO_NAME;
  }

  private static byte[] utf8(TableCore core) {
    return core.name.getBytes(StandardCharsets.UTF_8);
  }

  /** Relies on {@link String#hashCode}, which is the same on every JVM. */
  private static long digest(int what, String name) {
    return Hash.spread((long) what << 32 | name.hashCode() & 0xFFFF_FFFFL);
  }

  /**
   * Adds a range deletion to the digest. How the range is deleted depends on the leaves, so the
   * digest contains the number of records instead of the records.
   */
  void deletedRange(String table, long records) {
    rangesDigest = Hash.spread(rangesDigest + digest(3, table) + records);
  }

  // ------------------------------------------------------------------------------ the catalog

  @Override
  <T extends @Nullable Object> T catalog(Function<CatalogTransaction, T> what) {
    enter(database);
    try {
      return what.apply(catalogChanges());
    } catch (TransactionAbortedException | Error e) {
      statementContext.markRollbackOnly(e); // after an error, the change may be incomplete
      throw e;
    } finally {
      exit();
    }
  }

  /** Returns the catalog changes; to be called within an operation. */
  CatalogTransaction catalogChanges() {
    CatalogTransaction c = catalog;
    if (c == null) {
      c = database.schema().begin(tx);
      catalog = c;
    }
    return c;
  }

  // -------------------------------------------------------------------------------------- the end

  /**
   * Commits a transaction of {@link Database#begin()}. A body of {@link Database#run} and its
   * variants must return instead; then its transaction commits.
   *
   * <p>With {@link Durability#SYNC} this returns when everything that the transaction has changed
   * or read is on stable storage. An interrupt does not end the wait; the flag stays set.
   *
   * @throws TransactionAbortedException if it was aborted, now or earlier; nothing was changed
   * @throws DurabilityLostException if the log could not be written or synced; {@link
   *     DurabilityLostException#mayHaveCommitted} tells whether the commit may exist at the next
   *     open
   * @throws StorageFullException if there is no space for the log; nothing was changed
   * @throws InvalidUseException if called in a body; the transaction stays active
   */
  public void commit() {
    requireExplicit(
        "A body can't commit its transaction: it commits when the body returns. Return"
            + " instead, or use Database.begin.");
    commitAndWait();
    runAll(takeAfterCommit());
  }

  void commitAndWait() {
    long lsn = commitTx();
    try {
      tx.engine().await(lsn, wrote);
    } catch (Throwable e) {
      notDurable(e);
      throw e;
    }
  }

  /** Records that the commit is in the log, but not known to be durable. */
  private void notDurable(Throwable e) {
    failure = e;
    if (e instanceof DurabilityLostException) {
      state = State.UNKNOWN;
    }
  }

  /**
   * Commits without waiting for durability. Throws the exceptions of {@link #commit}, and {@link
   * InvalidUseException} if there are {@linkplain #afterCommit actions}. For a body see {@link
   * Database#runPipelined}.
   *
   * @return the handle; wait for it, or query it, before you disclose the commit or its reads
   */
  public CommitHandle commitPipelined() {
    requireExplicit("A body can't commit ahead of the log: run it with Database.runPipelined.");
    return commitForHandle();
  }

  /**
   * Throws {@link InvalidUseException} in a body, whose transaction only the retry loop may end.
   */
  private void requireExplicit(String otherwise) {
    if (managed) {
      requireOwner("The transaction can't be committed");
      throw new InvalidUseException(otherwise);
    }
  }

  CommitHandle commitForHandle() {
    if (afterCommit != null) {
      throw new InvalidUseException(
          "A transaction with afterCommit can't commit ahead of the log, because its"
              + " actions must not run before it is durable. Use run, call or submit.");
    }
    long lsn = commitTx();
    try {
      return new CommitHandle(tx.engine(), tx.engine().request(lsn, wrote), wrote);
    } catch (Throwable e) {
      notDurable(e);
      throw e;
    }
  }

  /** Commits, and returns the LSN whose durability remains to be awaited. */
  private long commitTx() {
    Tx t = enter(database);
    CatalogTransaction c = catalog;
    try {
      wrote = t.hasWrites();
      state = State.ABORTED;
      requireCommittable(t);
      if (c != null) {
        c.lock();
      }
      long lsn = t.commit(epoch);
      state = State.COMMITTED;
      // Both contexts are released: the wait for durability blocks no other transaction.
      return lsn;
    } catch (DurabilityLostException e) {
      state = e.mayHaveCommitted() ? State.UNKNOWN : State.ABORTED;
      failure = e;
      throw e;
    } catch (Throwable e) {
      failure = e;
      throw e;
    } finally {
      try {
        if (t.epoch() == epoch) { // otherwise it has ended
          t.rollback(epoch);
        }
      } finally {
        end();
      }
    }
  }

  /**
   * Throws why the transaction can't commit, if it is rollback-only. If its reads are invalid, the
   * failure itself may rest on an inconsistent state, so that is reported first.
   */
  private void requireCommittable(Tx t) {
    TransactionAbortedException abort = ignoredAbort();
    if (abort != null) {
      throw abort;
    }
    Throwable broken = statementContext.broken();
    if (broken != null) {
      t.requireReadsValid();
      throw new TransactionAbortedException(
          AbortCause.USER, "An earlier statement or joining body failed halfway (" + broken + ").");
    }
  }

  /**
   * Discards all changes and ends the transaction. In a body of {@link Database#run} and its
   * variants this is not an error: the body's result is returned, and nothing is committed.
   *
   * @throws TransactionAbortedException in a body, if its reads do not belong to a single state of
   *     the database, so that its decision to roll back is unfounded, or if an operation was
   *     aborted earlier. The body is retried if that can help, whether or not it lets the exception
   *     propagate
   * @throws DurabilityLostException in a body, if what it has read can't become durable any more
   */
  public void rollback() {
    Tx t = enter(database);
    afterCommit = null;
    long lsn = 0;
    try {
      boolean valid = false;
      TransactionAbortedException abort = null;
      try {
        abort = ignoredAbort(); // before another transaction may use the context
        valid = !managed || t.readsValid();
        lsn = managed ? t.readLsn() : 0;
      } finally {
        state = valid ? State.ROLLED_BACK : State.ABORTED;
        t.rollback(epoch);
      }
      if (!valid) {
        throw abort != null ? abort : new TransactionAbortedException(AbortCause.VALIDATION);
      }
    } catch (Throwable e) {
      failure = e;
      throw e;
    } finally {
      end();
    }
    try {
      tx.engine().await(lsn, false); // the body's next steps may depend on what it has read
    } catch (Throwable e) {
      failure = e;
      throw e;
    }
  }

  /**
   * Rolls back if the transaction is active; otherwise does nothing. In a body of {@link
   * Database#run} and its variants this calls {@link #rollback} and throws its exceptions.
   *
   * @throws InvalidUseException if it is active and belongs to another thread
   */
  @Override
  public void close() {
    if (state == State.ACTIVE) {
      requireOwner("The transaction can't be closed");
      if (managed) {
        rollback();
      } else {
        abandon();
      }
    }
  }

  /**
   * Adds an action to run once after this transaction has committed, such as invalidating a cache
   * or sending a message. It never runs if the transaction does not commit. Each attempt of a body
   * begins without actions, so that an aborted attempt leaves none.
   *
   * <p>Actions run in the order in which they were added, on the committing thread, before {@link
   * Database#run} and its variants, or {@link #commit}, return. With {@link Durability#SYNC}
   * everything that the transaction has changed and read is on stable storage by then. Actions of
   * {@link Database#submit} run after the commit is durable, on the thread that completes the
   * stage, and before it is complete. The process may die before an action runs: if something must
   * not be lost, store it in a record.
   *
   * <p>The transaction has ended when its actions run. An action may begin another transaction, for
   * example with {@link Database#run}. An exception of an action is logged as a warning; the other
   * actions run, and the commit is not reported as failed.
   *
   * <p>A read-only transaction may have actions. The actions of a body that {@linkplain
   * TxOptions#joining joins} another transaction belong to that one. There is no limit on their
   * number; an action added twice runs twice. {@link Database#runPipelined} and {@link
   * #commitPipelined} refuse a transaction that has actions.
   *
   * @param action the action
   * @since 0.1.0
   */
  public void afterCommit(Runnable action) {
    Objects.requireNonNull(action, "action");
    requireOwner("An afterCommit action can't be added");
    List<Runnable> actions = afterCommit;
    if (actions == null) {
      actions = new ArrayList<>(2);
      afterCommit = actions;
    }
    actions.add(action);
  }

  /** Removes and returns the actions; null if there are none. */
  @Nullable List<Runnable> takeAfterCommit() {
    List<Runnable> actions = afterCommit;
    afterCommit = null;
    return actions;
  }

  /**
   * Runs the actions of a committed transaction. Throws nothing, not even a JVM error: the caller
   * would take it for a failure of the commit and do the work again.
   */
  static void runAll(@Nullable List<Runnable> actions) {
    if (actions == null) {
      return;
    }
    for (Runnable action : actions) {
      try {
        action.run();
      } catch (Throwable e) {
        try {
          LOG.log(Level.WARNING, "An afterCommit action failed; its transaction has committed", e);
        } catch (Throwable unlogged) {
          e.addSuppressed(unlogged); // there is no other way to report it
        }
      }
    }
  }

  // ------------------------------------------------------------------------ for the retry loop

  /** Throws why the transaction did not end as requested; the body may have swallowed it. */
  void throwIfFailed() {
    if (failure != null) {
      throw asUnchecked(failure);
    }
  }

  /**
   * Ends the transaction after its body or commit has thrown, and decides whether to retry:
   *
   * <ol>
   *   <li>A JVM error propagates.
   *   <li>The first abort thrown by an operation, the commit or the rollback decides, whether the
   *       body has swallowed, wrapped or replaced it. A {@linkplain AbortCause#retryable()
   *       retryable} abort is retried. Any other propagates, because the next attempt would be
   *       aborted for the same reason. Reads before an abort are never validated, so an exception
   *       that depends on them must not propagate alone: what the body throws is added as
   *       suppressed.
   *   <li>A retryable abort of any other origin is retried, unless the transaction has committed.
   *   <li>Any other exception propagates if all reads belong to one state and are durable. If the
   *       database was closed in the meantime, so that neither can be established, it is suppressed
   *       in a {@link DatabaseClosedException}.
   * </ol>
   *
   * @return why to retry the body; null if what was thrown propagates
   */
  @Nullable AbortCause failed(Throwable thrown) {
    if (thrown instanceof VirtualMachineError) {
      abandon();
      return null;
    }
    Throwable end = state == State.ACTIVE ? ignoredAbort() : failure;
    if (end != null) {
      abandon();
      return failed(thrown, end);
    }
    if (thrown instanceof TransactionAbortedException e && e.retryable()) {
      abandon();
      return state == State.COMMITTED ? null : e.abortCause();
    }
    return state != State.ACTIVE || mayPropagate(thrown) ? null : AbortCause.VALIDATION;
  }

  private static @Nullable AbortCause failed(Throwable thrown, Throwable end) {
    if (end instanceof TransactionAbortedException abort) {
      AbortCause cause = abort.abortCause();
      if (abort.retryable()) {
        return cause;
      }
      if (thrown instanceof TransactionAbortedException e && e.abortCause() == cause) {
        return null;
      }
      abort = new TransactionAbortedException(cause, "Its body then threw (" + thrown + ").");
      abort.addSuppressed(thrown);
      throw abort;
    }
    for (Throwable t = thrown; t != end; t = t.getCause()) {
      if (t == null) { // otherwise one has the other as its cause
        end.addSuppressed(thrown);
        break;
      }
    }
    if (thrown == end) {
      return null;
    }
    throw asUnchecked(end);
  }

  /** Casts a failure of a transaction, which is never a checked exception. */
  private static RuntimeException asUnchecked(Throwable t) {
    if (t instanceof Error e) {
      throw e;
    }
    return (RuntimeException) t;
  }

  /**
   * Ends an active transaction whose body has thrown.
   *
   * @return whether the exception may propagate: all reads belong to one state and are durable
   * @throws DurabilityLostException if they belong to one state, but can't become durable any more
   * @throws DatabaseClosedException if the database was closed
   */
  private boolean mayPropagate(Throwable thrown) {
    boolean valid = true;
    long lsn = 0;
    FoveaException refused = null;
    try {
      if (statementContext.enter()) {
        try {
          valid = tx.epoch() == epoch && tx.readsValid();
          lsn = valid ? tx.readLsn() : 0;
        } catch (FoveaException e) {
          refused = e;
        } finally {
          statementContext.exit();
        }
      } else if (!(thrown instanceof DatabaseClosedException)) {
        refused = database.closedException(); // the reads can't be validated any more
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

  /** Rolls back an active transaction, even if the database was closed. */
  void abandon() {
    if (state != State.ACTIVE) {
      return;
    }
    state = State.ROLLED_BACK;
    afterCommit = null;
    if (statementContext.enter()) {
      try {
        tx.rollback(epoch);
      } finally {
        end();
      }
    } else {
      ended(); // the close of the database ends it, so this is no leak
    }
  }

  /** Releases everything else within the last operation, even if a step fails. */
  private void end() {
    RowCursor open = cursors;
    cursors = null;
    try {
      RowCursor.abandonAll(open, statementContext);
    } finally {
      try {
        statementContext.release();
      } finally {
        endCatalog();
      }
    }
  }

  private void endCatalog() {
    CatalogTransaction c = catalog;
    try {
      if (c != null) {
        c.unlock();
      }
      if (c != null && c.leavesPages()) {
        database.schema().freeSome();
      }
    } finally {
      ended();
    }
  }

  private void ended() {
    if (attempts != null) {
      attempts.close();
    }
    Runnable r = onEnd;
    if (r != null) {
      onEnd = null;
      r.run();
      Reference.reachabilityFence(this); // reachable until its leak watch ends
    }
  }
}
