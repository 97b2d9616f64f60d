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
public final class Transaction extends TransactionCatalog implements AutoCloseable {
  // The file has more than 600 lines because each method of the API has its contract here.

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
  private final long epoch; // the generation of the context that is this transaction
  private final Thread owner;
  private final int attempt;
  private final @Nullable AbortCause previousAbort;
  private final boolean readOnly;

  /** Whether a body of run, call or read has it, so that the loop around it can do it again. */
  private final boolean managed;

  private State state = State.ACTIVE;

  /**
   * Why it ended otherwise than its user wanted; null while it is active, and after an end that
   * succeeded. A body may swallow what its rollback throws. The loop around the body looks here
   * before it lets a result or an exception of that body leave.
   */
  private @Nullable Throwable failure;

  /** Of ranges that it has deleted, for {@link #changesDigest}; 0 for none. */
  private long rangesDigest;

  /** Whether it has changed anything; once it has committed. */
  private boolean wrote;

  /** The newest of its open cursors, which lead to the others. */
  private @Nullable RowCursor cursors;

  /** What it has looked for in the catalog, and changes there; null for nothing. */
  private @Nullable CatalogTransaction catalog;

  /** What is to be done when it has committed; null for nothing. */
  private @Nullable List<Runnable> afterCommit;

  /** Tells the leak detector that all is well; null where it does not watch. */
  @Nullable Runnable onEnd;

  /** Has the turn of a pessimistic transaction that its user ends; null for all others. */
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
    this.readOnly = tx.readOnly();
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

  /** The slot, for what an operation of the calling thread keeps there. */
  StatementContext slotOfMine() {
    if (!isMine()) {
      requireMine("The transaction can't be used");
    }
    return statementContext;
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
    if (!isMine() || db != database || tx.epoch() != epoch) {
      requireMine("The transaction can't be used");
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

  /**
   * Begins a statement of the calling thread on a table of this database.
   *
   * @return the context; {@link #exit} must follow
   */
  Tx enter(Database db, TableCore core) {
    Tx t = enter(db);
    if (!core.use(t)) {
      requireUsable(t, core);
    }
    return t;
  }

  /** What is rare: the table is new, being dropped or gone, or shares its bit with one that is. */
  private void requireUsable(Tx t, TableCore core) {
    CatalogTransaction c = catalog;
    boolean mine = c != null && c.drops(core);
    if (c != null && !mine && c.cuts(core)) {
      spread(t, core, c);
    }
    RuntimeException refusal = core.refusal(t, mine);
    if (refusal == null) {
      return;
    }
    if (!mine && c != null && !c.catalogReadsValid()) {
      refusal = c.stale(); // it has looked for a table that has gone since
    }
    exit();
    throw refusal instanceof TransactionAbortedException e ? doom(e) : refusal;
  }

  /** Deletes one by one what was to be taken out of a table as a whole. */
  private void spread(Tx t, TableCore core, CatalogTransaction c) {
    boolean done = false;
    try {
      RangeDeletion.spread(statementContext, t, core, c);
      done = true;
    } catch (TransactionAbortedException e) {
      throw doom(e);
    } catch (RuntimeException | Error e) {
      statementContext.markRollbackOnly(e); // what it has read no longer holds
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
    // The engine is going away; whatever happens next, this thread must not touch it.
    state = State.ABORTED;
    DatabaseClosedException e = database.closedException();
    failure = e;
    ended(); // the user has been told, and has not forgotten it
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
      throw new InvalidUseException(what + ": the transaction " + state.words + ".");
    }
  }

  /**
   * An operation was aborted: whatever the program does with the exception, the transaction does
   * not commit any more.
   */
  TransactionAbortedException doom(TransactionAbortedException e) {
    statementContext.markRollbackOnly(e);
    return e;
  }

  /** A body that takes part has thrown: whatever becomes of that, nothing commits. */
  void markRollbackOnly(Throwable t) {
    if (state == State.ACTIVE) { // where it has ended, the slot may be another transaction's
      statementContext.markRollbackOnly(t);
    }
  }

  /** The abort that an operation was told of, and may have hidden; null for none. */
  private @Nullable TransactionAbortedException doomedBy() {
    return statementContext.broken() instanceof TransactionAbortedException e
        ? new TransactionAbortedException(e.abortCause(), "An operation had been aborted.")
        : null;
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
   * TxOptions#pessimisticAfterAborts(int)}).
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
    return readOnly;
  }

  /**
   * Whether it has not ended.
   *
   * @return false after a commit, a rollback or an abort
   */
  public boolean isActive() {
    return state == State.ACTIVE;
  }

  /**
   * Returns a digest of what this transaction has changed so far: records, and the names of tables.
   *
   * <p>Two transactions of two databases have the same digest if they have changed the same records
   * of tables with the same names in the same way, whatever the pages of the databases are like. So
   * replicas that run the same procedure compare what it did. The digest stays the same over
   * releases. It finds mistakes, and is no protection against an attacker.
   *
   * <p>A range that was deleted counts by its number of records. In a transaction that has deleted
   * one, records that were deleted one by one do not count. Indexes, sequences and changes of
   * layouts do not count.
   *
   * <p>Costs a pass over all bytes that it has written.
   *
   * @return 64 bits; 0 if it has changed nothing
   * @throws InvalidUseException if it has ended, or belongs to another thread
   * @throws DatabaseClosedException if the database was closed
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
            (name, there) -> sum[0] += digest(there ? 1 : 2, name),
            core -> names.put(core.tree, utf8(core)));
      }
      return sum[0] + t.digest(tree -> names.computeIfAbsent(tree, this::name), rangesDigest == 0);
    } finally {
      exit();
    }
  }

  /** Empty where the tree is no table's. */
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

  /** The hash of a string is the same everywhere. */
  private static long digest(int what, String name) {
    return Hash.spread((long) what << 32 | name.hashCode() & 0xFFFF_FFFFL);
  }

  /**
   * A range of a table was deleted. How that is done depends on the leaves, so its records are no
   * part of the digest, and their number is.
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
    } catch (TransactionAbortedException e) {
      throw doom(e);
    } catch (Error e) {
      statementContext.markRollbackOnly(e); // it may be done halfway
      throw e;
    } finally {
      exit();
    }
  }

  /** What it does to the catalog, within an operation. */
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
   * Commits a transaction of {@link Database#begin()}. Bodies of {@link Database#run} and its like
   * can't: what runs them commits when they return.
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
   * @throws InvalidUseException if it has ended, or belongs to another thread; and in the body of
   *     {@link Database#run} and its like: the transaction stays active, and the body may go on
   * @throws DatabaseClosedException if the database was closed
   */
  public void commit() {
    requireExplicit(
        "A body can't commit its transaction: that is done when it returns. Return from it"
            + " instead, or use Database.begin.");
    commitAndWait();
    runAll(takeAfterCommit());
  }

  /** The same, also for the loop around a body. */
  void commitAndWait() {
    long lsn = commitTx();
    try {
      tx.engine().await(lsn, wrote);
    } catch (Throwable e) {
      notDurable(e);
      throw e;
    }
  }

  /** The commit is in the log; that the log is durable was not learned. */
  private void notDurable(Throwable e) {
    failure = e;
    if (e instanceof DurabilityLostException) {
      state = State.UNKNOWN;
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
   * @throws InvalidUseException if it has ended, or belongs to another thread; if it has
   *     {@linkplain #afterCommit actions}; and in the body of {@link Database#run} and its like,
   *     which return when all is durable: {@link Database#runPipelined} does not
   * @throws DatabaseClosedException if the database was closed
   */
  public CommitHandle commitAhead() {
    requireExplicit("A body can't commit ahead of the log: run it by Database.runPipelined.");
    return commitForReceipt();
  }

  /** Refuses what only the loop around a body may do. */
  private void requireExplicit(String otherwise) {
    if (managed) {
      requireMine("The transaction can't be committed");
      throw new InvalidUseException(otherwise);
    }
  }

  /** The same, for the loop around a body. */
  CommitHandle commitForReceipt() {
    if (afterCommit != null) {
      throw new InvalidUseException(
          "A transaction with afterCommit can't commit ahead of the log, since nothing may be told"
              + " of it before its receipt says so. Use run, call or submit, or the receipt.");
    }
    long lsn = commitTx();
    try {
      return new CommitHandle(tx.engine(), tx.engine().request(lsn, wrote), wrote);
    } catch (Throwable e) {
      notDurable(e);
      throw e;
    }
  }

  /** Commits up to where there is only the log to wait for, and returns what to wait for. */
  private long commitTx() {
    Tx t = enter(database);
    CatalogTransaction c = catalog;
    try {
      wrote = t.hasWrites();
      state = State.ABORTED;
      if (statementContext.broken() != null) {
        throw brokenDown(t);
      }
      if (c != null) {
        c.lock();
      }
      long lsn = t.commit(epoch);
      state = State.COMMITTED;
      // Context and slot are given back: what is waited for now holds nobody up.
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
        if (t.epoch() == epoch) { // else it has ended
          t.rollback(epoch);
        }
      } finally {
        end();
      }
    }
  }

  /** What a commit throws instead of committing; the failure of a part may be a figment, too. */
  private TransactionAbortedException brokenDown(Tx t) {
    TransactionAbortedException abort = doomedBy();
    if (abort != null) {
      return abort;
    }
    t.requireReadsValid();
    return new TransactionAbortedException(
        AbortCause.USER,
        "A statement, or a body that takes part, had failed halfway ("
            + statementContext.broken()
            + ").");
  }

  /**
   * Ends the transaction; nothing of it remains. In the body of {@link Database#run} and its like
   * it gives up without an error: what the body returns is returned, and nothing is committed. The
   * body may go on, but can't use the transaction any more.
   *
   * @throws TransactionAbortedException in a body, if what it has read belongs to no state of the
   *     database, so that its decision rests on nothing, or an operation was aborted before. The
   *     loop around the body does with it what it does with every abort, whether the body lets it
   *     pass or not: it does the body again where that may help
   * @throws DurabilityLostException in a body, if what it has read can't be made durable any more
   * @throws InvalidUseException if it has ended, or belongs to another thread
   * @throws DatabaseClosedException if the database was closed
   */
  public void rollback() {
    Tx t = enter(database);
    afterCommit = null;
    long lsn = 0;
    try {
      boolean valid = false;
      try {
        valid = !managed || t.readsValid();
        lsn = managed ? t.readLsn() : 0;
      } finally {
        state = valid ? State.ROLLED_BACK : State.ABORTED;
        t.rollback(epoch);
      }
      if (!valid) {
        TransactionAbortedException abort = doomedBy();
        throw abort != null ? abort : new TransactionAbortedException(AbortCause.VALIDATION);
      }
    } catch (Throwable e) {
      failure = e;
      throw e;
    } finally {
      end();
    }
    try {
      tx.engine().await(lsn, false); // what the body does now may rest on what it has read
    } catch (Throwable e) {
      failure = e;
      throw e;
    }
  }

  /**
   * Rolls back if the transaction is active, else does nothing. In the body of {@link Database#run}
   * and its like it is {@link #rollback} then, and throws what that throws.
   *
   * @throws InvalidUseException if it belongs to another thread
   */
  @Override
  public void close() {
    if (state == State.ACTIVE) {
      requireMine("The transaction can't be closed");
      if (managed) {
        rollback();
      } else {
        abandon();
      }
    }
  }

  /**
   * Adds an action that is run once when this transaction has committed, and never if it does not:
   * for what others learn of it, such as an invalidated cache or a message. Each attempt of a body
   * begins without actions, so that one that is aborted leaves none.
   *
   * <p>Actions run in the order in which they were added, on the thread that commits, before {@link
   * Database#run} and its like, or {@link #commit}, return; with {@link Durability#SYNC} all that
   * the transaction has changed and read is on stable storage by then. Those of {@link
   * Database#submit} run when it is durable, on the thread that completes the stage, and before it
   * is complete. The process may die between the commit and an action: what must not be lost is a
   * record that the transaction writes.
   *
   * <p>The transaction has ended when its actions run. An action may begin another, by {@link
   * Database#run} for example. What an action throws is logged as a warning, and changes nothing:
   * the other actions run, and the commit is not reported as failed.
   *
   * <p>A transaction that only reads may have actions. Those of a body that {@linkplain
   * TxOptions#joining takes part} in another are the other's. There is no limit on their number;
   * one that was added twice runs twice.
   *
   * @param action what to do
   * @throws InvalidUseException if the transaction has ended, or belongs to another thread. {@link
   *     Database#runPipelined} and {@link #commitAhead} refuse a transaction that has actions
   * @throws DatabaseClosedException if the database was closed, and the transaction has ended
   * @since 0.1.0
   */
  public void afterCommit(Runnable action) {
    Objects.requireNonNull(action, "action");
    requireMine("No action can be added");
    List<Runnable> actions = afterCommit;
    if (actions == null) {
      actions = new ArrayList<>(2);
      afterCommit = actions;
    }
    actions.add(action);
  }

  /** What is to be done if it commits, for whoever sees to that; null for nothing. */
  @Nullable List<Runnable> takeAfterCommit() {
    List<Runnable> actions = afterCommit;
    afterCommit = null;
    return actions;
  }

  /**
   * Runs the actions of a transaction that has committed. Throws nothing, not even an error of the
   * JVM: whoever waits for the commit would take that for its failure, and do the work again.
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
          LOG.log(Level.WARNING, "An afterCommit action has failed; its transaction stands", e);
        } catch (Throwable unlogged) {
          e.addSuppressed(unlogged); // nobody is left to tell
        }
      }
    }
  }

  // ------------------------------------------------------------------------ for the loop around

  /**
   * After a body has ended the transaction and returned: throws why it did not end as the body
   * wanted, if so. The body may have swallowed that.
   */
  void requireEndedWell() {
    if (failure != null) {
      throw asUnchecked(failure);
    }
  }

  /**
   * After a body, or the commit behind it, has thrown: ends the transaction, and decides whether
   * the body is done again. In this order:
   *
   * <ol>
   *   <li>An error of the JVM leaves.
   *   <li>The first abort that an operation, the commit or the rollback has thrown decides,
   *       whatever the body has made of it: swallowed, wrapped, or thrown something else. The body
   *       is done again where the abort is {@linkplain AbortCause#retryable() retryable}. Where it
   *       is not, the next attempt would be aborted for the same reason, so the abort leaves. What
   *       the body has thrown in its place is suppressed in it: what was read before an abort is
   *       never validated, so an exception that rests on it must not leave by itself.
   *   <li>A retryable abort of whatever origin has the body done again, unless the transaction has
   *       committed.
   *   <li>Any other exception leaves if all that was read belongs to one state, and is durable. If
   *       the database was closed meanwhile, so that neither can be established, it is suppressed
   *       in a {@link DatabaseClosedException}.
   * </ol>
   *
   * @return why the body is done again; null where what was thrown leaves
   */
  @Nullable AbortCause failed(Throwable thrown) {
    if (thrown instanceof VirtualMachineError) {
      abandon();
      return null;
    }
    Throwable end = state == State.ACTIVE ? doomedBy() : failure;
    if (end != null) {
      abandon();
      return failed(thrown, end);
    }
    if (thrown instanceof TransactionAbortedException e && e.retryable()) {
      abandon();
      return state == State.COMMITTED ? null : e.abortCause();
    }
    return state != State.ACTIVE || leaves(thrown) ? null : AbortCause.VALIDATION;
  }

  /** The same where the transaction could not end as the body wanted. */
  private static @Nullable AbortCause failed(Throwable thrown, Throwable end) {
    if (end instanceof TransactionAbortedException abort) {
      AbortCause cause = abort.abortCause();
      if (abort.retryable()) {
        return cause;
      }
      if (thrown instanceof TransactionAbortedException e && e.abortCause() == cause) {
        return null;
      }
      abort = new TransactionAbortedException(cause, "Its body has then thrown (" + thrown + ").");
      abort.addSuppressed(thrown);
      throw abort;
    }
    for (Throwable t = thrown; t != end; t = t.getCause()) {
      if (t == null) { // else one of them has the other as its cause
        end.addSuppressed(thrown);
        break;
      }
    }
    if (thrown == end) {
      return null;
    }
    throw asUnchecked(end);
  }

  /** What ends a transaction is not checked. */
  private static RuntimeException asUnchecked(Throwable t) {
    if (t instanceof Error e) {
      throw e;
    }
    return (RuntimeException) t;
  }

  /**
   * Ends an active transaction whose body has thrown.
   *
   * @return whether the exception may leave, for all that was read belongs to one state, and is
   *     durable
   * @throws DurabilityLostException if it does, but can't be made durable any more
   * @throws DatabaseClosedException if the database was closed
   */
  private boolean leaves(Throwable thrown) {
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
        refused = database.closedException(); // what was read can't be validated any more
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
    afterCommit = null;
    if (statementContext.enter()) {
      try {
        tx.rollback(epoch);
      } finally {
        end();
      }
    } else {
      ended(); // by the close of its database; the user has not forgotten it
    }
  }

  /** Within the last operation, after the context was given back. Whatever fails, all goes. */
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
      Reference.reachabilityFence(this); // until here it is not forgotten
    }
  }
}
