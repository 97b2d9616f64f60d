package io.fovea.txn;

import io.fovea.config.Durability;
import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Blocks;
import io.fovea.memory.Waits;
import io.fovea.wal.Log;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * All transactions of one database, and what they share. A transaction is one of a fixed number of
 * {@link Tx} objects, assigned by {@link Admission}. A transaction that is aborted again and again
 * becomes pessimistic ({@link Attempts}, {@link Reservations}).
 */
public final class TxEngine {
  final TxShared shared;
  private final EngineHealth health;
  private final @Nullable Log log;
  private final Durability durability;

  /** The waits for durability, and their total time in nanoseconds. */
  private final LongAdder durableWaits = new LongAdder();

  private final LongAdder durableNanos = new LongAdder();

  private final Tx[] contexts;
  private final Admission admitted;

  /** Creates the engine of a database without a log, for trees of this page size in bytes. */
  public TxEngine(TxConfig config, int pageSize) {
    this(config, pageSize, null);
  }

  /** Creates the engine of a database; the log outlives the engine, or is null. */
  public TxEngine(TxConfig config, int pageSize, @Nullable Log log) {
    this(config, pageSize, log, check -> {}, null);
  }

  /**
   * Creates the engine of a database.
   *
   * @param log receives commits and outlives the engine; null for none
   * @param admission called by each commit that writes, before any lock of the commit: waits while
   *     recovery would need too much log
   * @param pages holds the timestamps that are not in memory, see {@link Timestamps}; null for none
   */
  public TxEngine(
      TxConfig config,
      int pageSize,
      @Nullable Log log,
      Consumer<Waits.Check> admission,
      @Nullable TimestampPages pages) {
    this.log = log;
    this.durability = config.durability();
    boolean waits = log != null && durability == Durability.SYNC;
    this.health = new EngineHealth(log, waits);
    this.shared = new TxShared(config, pageSize, log, admission, pages, health, waits);
    this.contexts = new Tx[config.contexts()];
    for (int i = 0; i < contexts.length; i++) {
      contexts[i] = new Tx(this, shared, i);
    }
    this.admitted = new Admission(health, contexts);
    health.addWakeAction(admitted::wake);
    shared.timestamps.setWaitCheck(this::checkWaiting);
    shared.onPageShortage(this::releasePages);
  }

  /** Returns the memory of writes and scan copies; the close of the engine releases it. */
  public Blocks memory() {
    return shared.memory;
  }

  /** Returns the timestamps of all items. */
  public Timestamps timestamps() {
    return shared.timestamps;
  }

  /**
   * Begins a transaction for the calling thread; waits in a fair queue for a context.
   *
   * @param timeoutNanos the longest wait to begin, and the maximum age; 0: no limit
   * @param attempts determines whether it is pessimistic; null for a first attempt
   * @throws DatabaseClosedException after {@link #close}
   * @throws TransactionAbortedException with cause ADMISSION if it could not begin in time
   */
  public Tx begin(boolean readOnly, long timeoutNanos, @Nullable Attempts attempts) {
    health.checkBegin(readOnly);
    Tx tx = admitted.enter(readOnly, timeoutNanos);
    boolean begun = false;
    try {
      tx.start(readOnly, timeoutNanos, false, attempts);
      begun = true;
      return tx;
    } finally {
      if (!begun) {
        admitted.leave(tx);
      }
    }
  }

  /**
   * Begins a first attempt. If {@code alone}, waits until no other transaction is active, and lets
   * none begin until this one has ended.
   */
  public Tx begin(boolean readOnly, long timeoutNanos, boolean alone) {
    return alone ? beginAlone(readOnly, timeoutNanos) : begin(readOnly, timeoutNanos, null);
  }

  private Tx beginAlone(boolean readOnly, long timeoutNanos) {
    health.checkBegin(readOnly);
    long began = System.nanoTime();
    for (int attempt = 0; !admitted.close(); attempt++) {
      waitToBegin(attempt, readOnly, began, timeoutNanos);
    }
    Tx mine = null;
    boolean begun = false;
    try {
      for (int attempt = 0; mine == null; attempt++) {
        mine = admitted.tryEnter();
        if (mine == null) {
          waitToBegin(attempt, readOnly, began, timeoutNanos);
        }
      }
      for (Tx other : contexts) {
        for (int attempt = 0; other != mine && other.isClaimed(); attempt++) {
          waitToBegin(attempt, readOnly, began, timeoutNanos);
        }
      }
      mine.start(readOnly, timeoutNanos, true, null);
      begun = true;
      return mine;
    } finally {
      if (!begun) {
        if (mine != null) {
          mine.unclaim();
        }
        admitted.open();
      }
    }
  }

  /**
   * Runs work at a quiescent point, at which the trees contain exactly the committed transactions.
   * The work must be short and must not wait. Active transactions commit after it; a transaction
   * whose reads were changed meanwhile may be aborted.
   *
   * @throws TransactionAbortedException with cause ADMISSION after the timeout
   * @throws OperationInterruptedException if the thread was interrupted
   */
  public void atQuiescentPoint(Runnable work, long timeoutNanos) {
    health.checkUsable(false);
    shared.gate.atQuiescentPoint(work, timeoutNanos, () -> health.checkUsable(false));
  }

  /** Records drops of tables under the schema lock: {@link CommitGate#dropping}. */
  public void dropping(long bits) {
    shared.gate.dropping(bits);
  }

  /**
   * Runs work that swaps trees, short and without waits, at a quiescent point. Active transactions
   * that have read anything are aborted with a retryable cause. Waits without a limit; an interrupt
   * is kept and does not end the wait.
   *
   * @throws DurabilityLostException if the engine has stopped
   */
  public void exchange(Runnable work) {
    boolean interrupted = false;
    try {
      while (true) {
        health.checkUsable(false);
        try {
          shared.gate.atQuiescentPoint(true, work, Long.MAX_VALUE, () -> health.checkUsable(false));
          return;
        } catch (OperationInterruptedException e) {
          interrupted = true;
          Thread.interrupted();
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Begins to watch the currently active transactions. */
  public GracePeriod gracePeriod() {
    return new GracePeriod(contexts);
  }

  private void waitToBegin(int attempt, boolean readOnly, long began, long timeoutNanos) {
    OperationInterruptedException.check("wait for transactions to end");
    admitted.remainingWaitNanos(System.nanoTime() - began, readOnly, timeoutNanos);
    if (attempt < 100) {
      Waits.yieldThread();
    } else {
      Waits.sleep(50_000L);
    }
  }

  /** Releases the page reservations that idle contexts keep for their next commits. */
  void releasePages() {
    for (Tx tx : contexts) {
      if (tx.claim()) {
        try {
          tx.releasePages();
        } finally {
          admitted.leave(tx);
        }
      }
    }
  }

  void ended(Tx tx, boolean alone) {
    admitted.leave(tx);
    if (alone) {
      admitted.open();
    }
  }

  /**
   * Begins a piece of work whose attempts become pessimistic after this many aborts; with 0, from
   * the first attempt, unless another transaction holds the ticket.
   */
  public Attempts attempts(int pessimisticAfterAborts) {
    return new Attempts(shared.reservations, pessimisticAfterAborts);
  }

  /** Returns the number of pessimistic transactions so far. */
  public long pessimistic() {
    return shared.reservations.begun();
  }

  /** Returns the number of threads that wait for a context. */
  public int waiting() {
    return admitted.waiting();
  }

  // ---------------------------------------------------------------- end and failure

  /** Stops admission. Active transactions continue. */
  public void stopAdmission() {
    health.stopAdmission();
  }

  /** Ends the waits of commits for resources; the next opening recovers those in the log. */
  public void abortWaits() {
    health.abortWaits();
  }

  /**
   * Checks whether a commit or schema change in the log may wait for a resource.
   *
   * @throws DatabaseClosedException if the database is being closed
   * @throws DurabilityLostException if nothing can become durable any more
   */
  public void requireWaits(RuntimeException lacking) {
    health.requireWaits(lacking);
  }

  /** Ends the waits of uncommitted transactions for pages. */
  public void refuse() {
    health.refuse();
  }

  /** Stops the engine, because a commit or schema change failed halfway; its locks are kept. */
  public void poison(Throwable cause) {
    health.poison(cause);
  }

  /**
   * Stops the engine because pages may be half changed: no result of a read is returned after this.
   * Called before such a page can be seen.
   */
  public void halt(Throwable cause) {
    health.halt(cause);
  }

  /** Returns the failure that stopped the engine, or null while it works. */
  public @Nullable Throwable poison() {
    return health.poison();
  }

  /** Returns whether the failure has left no page with a partial change. */
  public boolean pagesAreConsistent() {
    return health.pagesAreConsistent();
  }

  /**
   * Throws if a failure has stopped the database; for {@code readOnly} only if it may have left a
   * page with a partial change.
   */
  public void checkUsable(boolean readOnly) {
    health.checkUsable(readOnly);
  }

  /** Sets the message for writes in read-only transactions. */
  public void whyReadOnly(String why) {
    health.whyReadOnly(why);
  }

  /**
   * Stops admission and releases the memory. Transactions that are still active read zeros and
   * can't commit durably.
   */
  public void close() {
    stopAdmission();
    shared.timestamps.close();
    shared.protocolMemory.close();
    shared.memory.close();
  }

  /** Returns the number of active transactions. */
  public int active() {
    int n = 0;
    for (Tx tx : contexts) {
      if (tx.isClaimed()) {
        n++;
      }
    }
    return n;
  }

  /** Returns the bytes of working memory, including free blocks, and of the protocol. */
  public long memoryBytes() {
    return shared.protocolMemory.bytes() + shared.memory.bytes();
  }

  /** Returns the age of the oldest active transaction in nanoseconds; 0 if there is none. */
  public long oldestAgeNanos() {
    long now = System.nanoTime();
    long age = 0;
    for (Tx tx : contexts) {
      if (tx.isClaimed() && tx.isActive()) {
        age = Math.max(age, now - tx.life().beganNanos());
      }
    }
    return age;
  }

  /**
   * Checks whether the calling thread's transactions may wait for a page any longer. Throws an
   * abort if one is too old, and {@link DurabilityLostException} if the engine has stopped.
   */
  public void checkWaiting() {
    checkWaiting(() -> "a page");
  }

  /** Checks during another wait; {@code waitsFor} describes it and its holder for messages. */
  public void checkWaiting(Supplier<String> waitsFor) {
    long mine = Thread.currentThread().threadId();
    for (Tx tx : contexts) {
      if (tx.life().belongsTo(mine)) {
        tx.checkWaiting(waitsFor);
      }
    }
  }

  private long nanosLeft() {
    long mine = Thread.currentThread().threadId();
    long left = Long.MAX_VALUE;
    for (Tx tx : contexts) {
      if (tx.life().belongsTo(mine)) {
        left = Math.min(left, tx.life().nanosLeft());
      }
    }
    return left;
  }

  /**
   * Adds an action that wakes the threads waiting in {@code admission}. It runs when the engine
   * stops or refuses waits, and must not wait. Call before any transaction begins.
   */
  public void addWakeAction(Runnable waiters) {
    health.addWakeAction(waiters);
  }

  /**
   * Waits for log space before a commit takes locks of the catalog. It must not wait with such
   * locks, because a thread that holds back the redo point may wait for one. Throws if the
   * transaction gets too old or the database is closed.
   */
  public void awaitLogSpace() {
    shared.awaitLogSpace(
        new Waits.Check() {
          @Override
          public void checkWait(Supplier<String> waitsFor) {
            checkWaiting(waitsFor);
          }

          @Override
          public long nanosLeft() {
            return TxEngine.this.nanosLeft();
          }
        });
  }

  // ---------------------------------------------------------------- durability

  /**
   * Waits for durability before an ended transaction is acknowledged. The caller holds nothing; an
   * interrupt is kept and does not end the wait; a virtual thread parks.
   *
   * @param lsn the result of {@link Tx#commit} or {@link Tx#readLsn}
   * @param wrote whether it was a commit that changed something
   * @throws DurabilityLostException if it can't become durable any more
   */
  public void await(long lsn, boolean wrote) {
    await(lsn, wrote, false);
  }

  /** Waits for durability, given the result of {@link #request}. */
  public void awaitRequested(long lsn, boolean wrote) {
    await(lsn, wrote, true);
  }

  private void await(long lsn, boolean wrote, boolean requested) {
    Log l = log;
    if (l == null || lsn == 0 || durability == Durability.NONE) {
      return;
    }
    if (!shared.waits) {
      if (wrote) {
        awaitAll(l, 0, true, false);
      }
    } else if (l.durableLsn() < lsn) {
      long began = System.nanoTime();
      try {
        awaitAll(l, lsn, wrote, requested);
      } finally {
        durableWaits.increment();
        durableNanos.add(System.nanoTime() - began);
      }
    }
  }

  /** Waits for a position; for 0, until the log is at most the flush window behind. */
  private static void awaitAll(Log l, long lsn, boolean wrote, boolean requested) {
    try {
      if (lsn == 0) {
        l.awaitWindow();
        return;
      }
      if (lsn > l.tail()) {
        // The log did not accept the structure change of a page that was read.
        l.requireAlive();
      }
      if (requested) {
        l.awaitRequested(lsn);
      } else {
        l.awaitDurable(Math.min(lsn, l.tail()));
      }
    } catch (DurabilityLostException | DatabaseClosedException e) {
      // A close that can't write the log abandons it, with the records of commits in it.
      if (!wrote && e instanceof DatabaseClosedException) {
        throw e;
      }
      throw wrote
          ? new DurabilityLostException(
              "The commit is in the log, which could not be made durable. The transaction has committed"
                  + " if its record is found when the database is opened again.",
              e,
              true)
          : new DurabilityLostException(
              "The data that the transaction has read can't become durable, so its result is"
                  + " withheld: a recovery may undo it.",
              e,
              false);
    }
  }

  /**
   * Requests durability without waiting; parameters and exceptions as for {@link #await}. Returns
   * the argument for {@link #awaitRequested}; 0: nothing to wait for.
   */
  public long request(long lsn, boolean wrote) {
    Log l = log;
    if (!shared.waits || l == null || lsn == 0 || lsn > l.tail()) {
      await(lsn, wrote);
      return 0;
    }
    if (l.durableLsn() >= lsn) {
      return 0;
    }
    l.request(lsn);
    return lsn;
  }

  /** Returns whether a requested position is durable; exceptions as for {@link #await}. */
  public boolean isDurable(long lsn, boolean wrote) {
    Log l = log;
    if (lsn == 0 || l == null || l.durableLsn() >= lsn) {
      return true;
    }
    if (l.isAlive()) {
      return false;
    }
    await(lsn, wrote); // throws, unless the last group made it durable
    return true;
  }

  /**
   * Runs an action on a virtual thread once a requested position is durable or never will be;
   * {@link #awaitRequested} then does not wait.
   */
  public void whenDurable(long lsn, Runnable action) {
    Log l = log;
    if (l == null || lsn == 0) {
      Thread.ofVirtual().name("fovea-durable").start(action);
    } else {
      l.whenDurable(lsn, action);
    }
  }

  /** Returns the sums of all contexts' statistics, slightly stale. */
  public TxStats stats() {
    long commits = 0;
    long rollbacks = 0;
    long commitNanos = 0;
    long pageAccesses = 0;
    long childSteps = 0;
    long positionHints = 0;
    long positionHintsStale = 0;
    long cachedLocations = 0;
    long cachedLocationsRight = 0;
    long[] aborts = new long[AbortCause.values().length];
    for (Tx tx : contexts) {
      TxCounters c = tx.life().counters;
      commits += c.commits;
      rollbacks += c.rollbacks;
      commitNanos += c.commitNanos;
      pageAccesses += c.pageAccesses;
      childSteps += c.childSteps;
      positionHints += c.positionHints;
      positionHintsStale += c.positionHintsStale;
      cachedLocations += c.cachedLocations;
      cachedLocationsRight += c.cachedLocationsRight;
      for (int i = 0; i < aborts.length; i++) {
        aborts[i] += c.aborts[i];
      }
    }
    return new TxStats(
        commits,
        rollbacks,
        aborts,
        commitNanos,
        pageAccesses,
        childSteps,
        positionHints,
        positionHintsStale,
        cachedLocations,
        cachedLocationsRight,
        durableWaits.sum(),
        durableNanos.sum());
  }

  /** Returns the sums of all contexts' statistics of hints, slightly stale. */
  public HintCounters hintCounters() {
    HintCounters sum = new HintCounters();
    for (Tx tx : contexts) {
      sum.add(tx.hintCounters());
    }
    return sum;
  }
}
