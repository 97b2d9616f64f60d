package io.fovea.txn;

import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Blocks;
import io.fovea.memory.Waits;
import io.fovea.wal.Log;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * All transactions of one database: their contexts, the timestamps, and what they share.
 *
 * <p>A transaction is one of a fixed number of {@link Tx} objects. {@link Admission} says who gets
 * one and who waits. One that is aborted again and again becomes the pessimistic one, beside all
 * others ({@link Attempts}, {@link Reservations}).
 */
public final class TxEngine {
  private final TxShared shared;
  private final EngineHealth health;
  private final CommitDurability durable;
  private final Tx[] contexts;
  private final Admission admitted;

  /**
   * Makes the engine of a database without a log.
   *
   * @param config its settings
   * @param pageSize of the trees that its transactions use, in bytes
   */
  public TxEngine(TxConfig config, int pageSize) {
    this(config, pageSize, null);
  }

  /**
   * Makes the engine of a database.
   *
   * @param config its settings
   * @param pageSize of the trees that its transactions use, in bytes
   * @param log where commits are appended, which outlives the engine; null for none
   */
  public TxEngine(TxConfig config, int pageSize, @Nullable Log log) {
    this(config, pageSize, log, check -> {}, null);
  }

  /**
   * Makes the engine of a database.
   *
   * @param config its settings
   * @param pageSize of the trees that its transactions use, in bytes
   * @param log where commits are appended, which outlives the engine; null for none
   * @param admission called by each commit that writes, before it takes any lock of the commit:
   *     waits while the log that a crash would need is too long
   * @param pages the timestamps that are not in memory, see {@link Timestamps}; null for none
   */
  public TxEngine(
      TxConfig config,
      int pageSize,
      @Nullable Log log,
      Consumer<Waits.Check> admission,
      @Nullable TimestampPages pages) {
    this.durable = new CommitDurability(log, config.durability());
    this.health = new EngineHealth(log, durable.waits());
    this.shared = new TxShared(config, pageSize, log, admission, pages, health, durable.waits());
    this.contexts = new Tx[config.contexts()];
    for (int i = 0; i < contexts.length; i++) {
      contexts[i] = new Tx(this, shared, i);
    }
    this.admitted = new Admission(health, contexts);
    health.wakes(admitted::wake);
    shared.timestamps.whileWaiting(this::checkWaiting);
    shared.onWantOfPages(this::releasePages);
  }

  /**
   * The working memory of transactions: what they write, copies of what they scan. Given back when
   * the engine is closed.
   */
  public Blocks memory() {
    return shared.memory;
  }

  TxConfig config() {
    return shared.config;
  }

  ProtocolMemory protocolMemory() {
    return shared.protocolMemory;
  }

  UpdateLocks updateLocks() {
    return shared.updateLocks;
  }

  /** How many update locks transactions hold now. */
  public int heldUpdateLocks() {
    return shared.updateLocks.held();
  }

  Reservations reservations() {
    return shared.reservations;
  }

  /** The timestamps of every item, for the meters. */
  public Timestamps timestamps() {
    return shared.timestamps;
  }

  /**
   * Begins a transaction for the calling thread, waiting for a context where all are taken. Those
   * who wait are served in the order in which they came.
   *
   * @param readOnly refuse to write
   * @param timeoutNanos the greatest age it may reach, and how long it may wait to begin; 0 for
   *     none
   * @param attempts whose attempt it is, which says whether it is pessimistic; null for a first one
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
   * The same for a first attempt, or for one that runs while no other does.
   *
   * @param alone wait until no other transaction is active, and let none begin until it has ended
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
        for (int attempt = 0; other != mine && other.claimed(); attempt++) {
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
   * Does something at a moment at which the trees hold all changes of the transactions that have
   * committed, and no others. Transactions that go on afterwards commit behind that moment; one
   * that has read what was changed since may be aborted for that, once.
   *
   * @param work is quick, and waits for nobody
   * @param timeoutNanos how long such a moment is waited for
   * @throws TransactionAbortedException with cause ADMISSION if none came in time
   * @throws OperationInterruptedException if the thread was interrupted meanwhile
   */
  public void atQuiescentPoint(Runnable work, long timeoutNanos) {
    health.checkUsable(false);
    shared.gate.atQuiescentPoint(work, timeoutNanos, () -> health.checkUsable(false));
  }

  /**
   * Notes that tables are not to be used any more, which they know themselves. Under the lock of
   * the schema. {@link CommitGate#dropping} has the reason.
   *
   * @param bits of the tables
   */
  public void dropping(long bits) {
    shared.gate.dropping(bits);
  }

  /**
   * The same for an exchange of trees: transactions that are active, and have read something, are
   * aborted for it once, with a cause that is retryable. Waits as long as it takes; an interrupt
   * does not end the wait, and is kept.
   *
   * @param work is quick, and waits for nobody
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

  /** Begins to watch the transactions that are active now. */
  public GracePeriod gracePeriod() {
    return new GracePeriod(contexts);
  }

  private void waitToBegin(int attempt, boolean readOnly, long began, long timeoutNanos) {
    OperationInterruptedException.check("wait for transactions to end");
    admitted.toWait(System.nanoTime() - began, readOnly, timeoutNanos);
    if (attempt < 100) {
      Waits.giveWay();
    } else {
      Waits.sleep(50_000L);
    }
  }

  /** Gives back the pages of the file that idle contexts keep for their next commits. */
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
   * Begins to count the attempts to do one piece of work.
   *
   * @param pessimisticAfterAborts the number of aborts after which attempts are pessimistic; 0:
   *     from the first attempt, if no other transaction holds the ticket
   */
  public Attempts attempts(int pessimisticAfterAborts) {
    return new Attempts(shared.reservations, pessimisticAfterAborts);
  }

  /** How many transactions were pessimistic. */
  public long pessimistic() {
    return shared.reservations.begun();
  }

  /** How many threads wait for a context now. */
  public int waiting() {
    return admitted.waiting();
  }

  // ---------------------------------------------------------------- end and failure

  /** Begins nothing more. Transactions that are active may go on. */
  public void stopAdmission() {
    health.stopAdmission();
  }

  /**
   * Lets no commit wait any longer for what the device does not give: those that are in the log
   * already are found there when the database is opened again.
   */
  public void abortWaits() {
    health.abortWaits();
  }

  /**
   * For a commit, or a change of the schema, that is in the log already, before it waits for what
   * it lacks.
   *
   * @param lacking what it was told
   * @throws DatabaseClosedException where the database is being closed
   * @throws DurabilityLostException if nothing can become durable any more
   */
  public void requireWaits(RuntimeException lacking) {
    health.requireWaits(lacking);
  }

  /** Transactions that wait for a page and have not committed are told that it is over. */
  public void refuse() {
    health.refuse();
  }

  /**
   * A commit, or a change of the schema, failed in the middle: what it locked stays locked, and
   * nothing begins any more.
   *
   * @param cause why
   */
  public void poison(Throwable cause) {
    health.poison(cause);
  }

  /**
   * Pages may be half changed: as {@link #poison}, and what was read is not to be told any more. To
   * be called before anybody can see such a page.
   *
   * @param cause why
   */
  public void halt(Throwable cause) {
    health.halt(cause);
  }

  /** What broke the engine, or null while it works. */
  public @Nullable Throwable poison() {
    return health.poison();
  }

  /** Whether what broke the engine left every page as a whole change has left it. */
  public boolean leftPagesWhole() {
    return health.leftPagesWhole();
  }

  /**
   * Throws where a change that failed halfway has stopped the database.
   *
   * @param readOnly whether nothing will be changed, which whole pages are enough for
   */
  public void checkUsable(boolean readOnly) {
    health.checkUsable(readOnly);
  }

  /** Says what a write in a read-only transaction is told. */
  public void whyReadOnly(String why) {
    health.whyReadOnly(why);
  }

  /**
   * Begins nothing more and gives the memory of the timestamps back. Transactions that are active
   * all the same read zeros there: they can't commit what anybody keeps, and do no harm.
   */
  public void close() {
    stopAdmission();
    shared.timestamps.close();
    shared.protocolMemory.close();
    shared.memory.close();
  }

  /** How many transactions are active now. */
  public int active() {
    int n = 0;
    for (Tx tx : contexts) {
      if (tx.claimed()) {
        n++;
      }
    }
    return n;
  }

  /**
   * The working memory of transactions, that which waits for the next ones included; and what they
   * share under the protocol, {@link #timestamps} aside.
   *
   * @return bytes, a moment's truth
   */
  public long memoryBytes() {
    return shared.protocolMemory.bytes() + shared.memory.bytes();
  }

  /** The age of the oldest active transaction in nanoseconds, 0 where there is none. */
  public long oldestAgeNanos() {
    long now = System.nanoTime();
    long age = 0;
    for (Tx tx : contexts) {
      if (tx.claimed() && tx.active()) {
        age = Math.max(age, now - tx.life().beganNanos());
      }
    }
    return age;
  }

  /**
   * For the thread of a transaction that waits for a page: whether it shall go on.
   *
   * @throws TransactionAbortedException if the transaction is too old, and may still be aborted
   * @throws DurabilityLostException if the engine has stopped
   */
  public void checkWaiting() {
    checkWaiting(() -> "a page");
  }

  /**
   * The same for another wait.
   *
   * @param waitsFor what for, and who has it: for messages
   */
  public void checkWaiting(Supplier<String> waitsFor) {
    long mine = Thread.currentThread().threadId();
    for (Tx tx : contexts) {
      if (tx.life().belongsTo(mine)) {
        tx.checkWaiting(waitsFor);
      }
    }
  }

  /** How long the transactions of the calling thread may wait still. */
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
   * Says what has threads look again whether they may wait any longer that wait in what was given
   * to the engine for their admission: called when the engine stops, and when it refuses to wait.
   * Before any transaction begins.
   *
   * @param waiters does not wait
   */
  public void wakes(Runnable waiters) {
    health.wakes(waiters);
  }

  /**
   * For a commit that is about to take locks of the catalog, and has none: waits until the log has
   * room. Who has such a lock must not wait for room, since a thread that holds the redo point back
   * may wait for the lock.
   *
   * @throws TransactionAbortedException if the transaction gets too old meanwhile
   * @throws DatabaseClosedException if the database is closed meanwhile
   */
  public void awaitRoom() {
    shared.awaitRoom(
        new Waits.Check() {
          @Override
          public void goOn(Supplier<String> waitsFor) {
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
   * Waits for what a transaction that has ended must wait for before anybody is told of it. The
   * caller holds nothing; an interrupt does not end the wait and is kept; a virtual thread parks.
   *
   * @param lsn what {@link Tx#commit} or {@link Tx#readLsn} returned
   * @param wrote whether it was a commit that changed something
   * @throws DurabilityLostException if it can't become durable any more
   */
  public void await(long lsn, boolean wrote) {
    durable.await(lsn, wrote);
  }

  /** The same for what {@link #request} has returned. */
  public void awaitRequested(long lsn, boolean wrote) {
    durable.awaitRequested(lsn, wrote);
  }

  /**
   * Asks for what a transaction that has ended must wait for, and does not wait for it.
   *
   * @param lsn what {@link Tx#commit} or {@link Tx#readLsn} returned
   * @param wrote whether it was a commit that changed something
   * @return what {@link #awaitRequested} is to be called with before anybody is told of it; 0 for
   *     nothing
   * @throws DurabilityLostException if it can't become durable any more
   */
  public long request(long lsn, boolean wrote) {
    return durable.request(lsn, wrote);
  }

  /**
   * Whether what was requested is there.
   *
   * @throws DurabilityLostException if it can't become durable any more
   */
  public boolean isDurable(long lsn, boolean wrote) {
    return durable.isDurable(lsn, wrote);
  }

  /**
   * Starts an action on a virtual thread once there is nothing left to wait for, or never will be:
   * {@link #awaitRequested} tells at once then.
   *
   * @param lsn what {@link #request} has returned
   */
  public void whenDurable(long lsn, Runnable action) {
    durable.whenDurable(lsn, action);
  }

  /** What all contexts have counted, a little behind for those at work. */
  public TxStats stats() {
    long commits = 0;
    long rollbacks = 0;
    long commitNanos = 0;
    long pageAccesses = 0;
    long childSteps = 0;
    long placesTried = 0;
    long placesStale = 0;
    long remembered = 0;
    long rememberedRight = 0;
    long[] aborts = new long[AbortCause.values().length];
    for (Tx tx : contexts) {
      TxCounters c = tx.life().counters;
      commits += c.commits;
      rollbacks += c.rollbacks;
      commitNanos += c.commitNanos;
      pageAccesses += c.pageAccesses;
      childSteps += c.childSteps;
      placesTried += c.placesTried;
      placesStale += c.placesStale;
      remembered += c.remembered;
      rememberedRight += c.rememberedRight;
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
        placesTried,
        placesStale,
        remembered,
        rememberedRight,
        durable.count(),
        durable.nanos());
  }

  /** What all contexts have counted of hints in entries of indexes, a little behind. */
  public HintCounters hintCounters() {
    HintCounters sum = new HintCounters();
    for (Tx tx : contexts) {
      sum.add(tx.hintCounters());
    }
    return sum;
  }
}
