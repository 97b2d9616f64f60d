package io.fovea.txn;

import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.HintCounters;
import io.fovea.memory.Blocks;
import io.fovea.memory.Waits;
import io.fovea.txn.TxConfig.Durability;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * All transactions of one database: their contexts, the timestamps, and what they share.
 *
 * <p>A transaction is one of a fixed number of {@link Tx} objects. {@link Admission} says who gets
 * one and who waits. One that is aborted again and again becomes the pessimistic one, beside all
 * others ({@link Attempts}, {@link Reservations}).
 */
public final class TxEngine {
  /** Aborts of a transaction after which it gives way, and does not sleep yet: decision 035. */
  private static final int YIELDS = 4;

  /** What a test has left out. */
  final TxSwitches switches;

  private final TxConfig config;
  private final int pageSize;
  private final Timestamps timestamps;
  private final ProtocolMemory protocolMemory;
  private final @Nullable Log log;
  private final Runnable admission;
  private final boolean waits;
  private final Tx[] contexts;
  private final Admission admitted;
  private final Reservations reservations = new Reservations();
  private final Blocks memory = new Blocks("working memory of transactions");
  private final LongAdder durableWaits = new LongAdder();
  private final LongAdder durableWaitNanos = new LongAdder();

  private volatile boolean closed;
  private volatile boolean stopping;
  private volatile String whyReadOnly = "A read-only transaction can't write.";
  private volatile @Nullable Throwable poison;

  /** Whether what a broken engine has not locked may be read. */
  private volatile boolean pagesWhole;

  private volatile boolean refuses;

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
    this(config, pageSize, log, () -> {}, null);
  }

  /**
   * Makes the engine of a database.
   *
   * @param config its settings
   * @param pageSize of the trees that its transactions use, in bytes
   * @param log where commits are appended, which outlives the engine; null for none
   * @param admission called by each commit that writes, before it locks anything: waits while the
   *     log that a crash would need is too long
   * @param pages the timestamps that are not in memory, see {@link Timestamps}; null for none
   */
  public TxEngine(
      TxConfig config,
      int pageSize,
      @Nullable Log log,
      Runnable admission,
      @Nullable TimestampPages pages) {
    this(config, pageSize, log, admission, pages, TxSwitches.NONE);
  }

  /**
   * The same for tests.
   *
   * @param switches what is broken on purpose
   */
  public TxEngine(
      TxConfig config,
      int pageSize,
      @Nullable Log log,
      Runnable admission,
      @Nullable TimestampPages pages,
      TxSwitches switches) {
    this.switches = switches;
    this.config = config;
    this.pageSize = pageSize;
    this.log = log;
    this.admission = admission;
    this.waits = log != null && config.durability() == Durability.SYNC;
    this.timestamps = new Timestamps(config.contexts(), config.timestamps(), pages);
    this.protocolMemory = new ProtocolMemory(config.protocol(), config.protocolBytes());
    this.contexts = new Tx[config.contexts()];
    for (int i = 0; i < contexts.length; i++) {
      contexts[i] = new Tx(this, i);
    }
    this.admitted = new Admission(this, contexts);
  }

  /**
   * The working memory of transactions: what they write, copies of what they scan. Given back when
   * the engine is closed.
   */
  public Blocks memory() {
    return memory;
  }

  TxConfig config() {
    return config;
  }

  int pageSize() {
    return pageSize;
  }

  ProtocolMemory protocolMemory() {
    return protocolMemory;
  }

  Reservations reservations() {
    return reservations;
  }

  /** A new session of the log, for a context. */
  LogSession session() {
    Log l = log;
    return l == null ? LogSession.unlogged() : l.session();
  }

  /** How large a part of a commit is at most: two of them fit into the largest record. */
  int partBytes() {
    Log l = log;
    int bytes = config.commitPartBytes();
    return l == null ? bytes : Math.min(bytes, l.recordMax() / 2);
  }

  /** A commit that holds nothing yet waits until it may append. */
  void admit() {
    admission.run();
  }

  /** Whether transactions that only read wait for what they read. */
  boolean waits() {
    return waits;
  }

  /** The timestamps of every item, for the meters. */
  public Timestamps timestamps() {
    return timestamps;
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
    checkBegin(readOnly);
    Tx tx = admitted.enter(readOnly, timeoutNanos);
    return start(tx, readOnly, timeoutNanos, false, attempts);
  }

  /**
   * The same for a first attempt, or for one that runs while no other does.
   *
   * @param alone wait until no other transaction is active, and let none begin until it has ended
   */
  public Tx begin(boolean readOnly, long timeoutNanos, boolean alone) {
    return alone ? beginAlone(readOnly, timeoutNanos) : begin(readOnly, timeoutNanos, null);
  }

  private Tx start(
      Tx tx, boolean readOnly, long timeoutNanos, boolean alone, @Nullable Attempts attempts) {
    boolean begun = false;
    try {
      tx.start(readOnly, timeoutNanos, alone, attempts);
      begun = true;
      return tx;
    } finally {
      if (!begun) {
        admitted.leave(tx);
      }
    }
  }

  private Tx beginAlone(boolean readOnly, long timeoutNanos) {
    checkBegin(readOnly);
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

  /** Begins to watch the transactions that are active now. */
  public Grace grace() {
    return new Grace(contexts);
  }

  private void waitToBegin(int attempt, boolean readOnly, long began, long timeoutNanos) {
    OperationInterruptedException.check("wait for transactions to end");
    toWait(System.nanoTime() - began, readOnly, timeoutNanos);
    if (attempt < 100) {
      Waits.giveWay();
    } else {
      Waits.sleep(50_000L);
    }
  }

  /** Says what a write in a read-only transaction is told. */
  public void whyReadOnly(String why) {
    whyReadOnly = why;
  }

  String whyReadOnly() {
    return whyReadOnly;
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

  /** How long a begin that has waited may wait still. */
  long toWait(long waitedNanos, boolean readOnly, long timeoutNanos) {
    checkBegin(readOnly);
    if (timeoutNanos > 0 && waitedNanos > timeoutNanos) {
      throw new TransactionAbortedException(
          AbortCause.ADMISSION,
          "It could not begin within "
              + timeoutNanos / 1_000_000
              + " ms: "
              + contexts.length
              + " transactions run at a time at most (option maxTransactions), and "
              + admitted.waiting()
              + " wait.");
    }
    return timeoutNanos > 0 ? timeoutNanos - waitedNanos + 1 : Long.MAX_VALUE;
  }

  void ended(Tx tx, boolean alone) {
    admitted.leave(tx);
    if (alone) {
      admitted.open();
    }
  }

  /** How many transactions were pessimistic. */
  public long pessimistic() {
    return reservations.begun();
  }

  /** How many threads wait for a context now. */
  public int waiting() {
    return admitted.waiting();
  }

  /**
   * Waits before another attempt: gives way a few times, then sleeps longer from attempt to attempt
   * and by a random share, so that those who collided do not meet again.
   *
   * @param attempt how often the transaction was aborted, from 1
   */
  public static void backOff(int attempt) {
    if (attempt <= YIELDS) {
      Thread.yield();
      return;
    }
    long limit = 1_000L << Math.min(attempt, 10);
    Waits.sleep(ThreadLocalRandom.current().nextLong(limit / 2, limit));
  }

  // ---------------------------------------------------------------- end and failure

  /** Begins nothing more. Transactions that are active may go on. */
  public void beginNoMore() {
    closed = true;
    admitted.wake();
  }

  /**
   * Lets no commit wait any longer for what the device does not give: those that are in the log
   * already are found there when the database is opened again.
   */
  public void waitNoMore() {
    stopping = true;
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
    if (stopping) {
      throw new DatabaseClosedException(
          "The database was closed while a commit waited for what it lacked: " + lacking, lacking);
    }
    requireLog();
  }

  /** Transactions that wait for a page and have not committed are told that it is over. */
  public void refuse() {
    refuses = true;
  }

  boolean refuses() {
    return refuses;
  }

  /**
   * Begins nothing more and gives the memory of the timestamps back. Transactions that are active
   * all the same read zeros there: they can't commit what anybody keeps, and do no harm.
   */
  public void close() {
    beginNoMore();
    timestamps.close();
    protocolMemory.close();
    memory.close();
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
    return protocolMemory.bytes() + memory.bytes();
  }

  /** The age of the oldest active transaction in nanoseconds, 0 where there is none. */
  public long oldestAgeNanos() {
    long now = System.nanoTime();
    long age = 0;
    for (Tx tx : contexts) {
      if (tx.claimed() && tx.active()) {
        age = Math.max(age, now - tx.beganNanos());
      }
    }
    return age;
  }

  /**
   * A commit, or a change of the schema, failed in the middle: what it locked stays locked, and
   * nothing begins any more.
   *
   * @param cause why
   */
  public void poison(Throwable cause) {
    poison(cause, false);
  }

  /**
   * A commit failed in the middle: what it locked stays locked, and nothing that writes begins any
   * more.
   *
   * @param cause why
   * @param whole whether every page is as a whole change has left it. Then transactions that only
   *     read go on: what the commit has changed, and was going to change, is locked.
   */
  void poison(Throwable cause, boolean whole) {
    pagesWhole = whole && (poison == null || pagesWhole);
    poison = cause;
    admitted.wake();
  }

  /**
   * Pages may be half changed: as {@link #poison}, and what was read is not to be told any more. To
   * be called before anybody can see such a page.
   *
   * @param cause why
   */
  public void halt(Throwable cause) {
    poison(cause, false);
  }

  boolean halted() {
    return poison != null && !pagesWhole;
  }

  /**
   * For the thread of a transaction that waits for a page: whether it shall go on.
   *
   * @throws TransactionAbortedException if the transaction is too old, and may still be aborted
   * @throws DurabilityLostException if the engine has stopped
   */
  public void checkWaiting() {
    Thread mine = Thread.currentThread();
    for (Tx tx : contexts) {
      if (tx.belongsTo(mine)) {
        tx.checkWaiting();
      }
    }
  }

  /** What broke the engine, or null while it works. */
  public @Nullable Throwable poison() {
    return poison;
  }

  /** Whether what broke the engine left every page as a whole change has left it. */
  public boolean leftPagesWhole() {
    return pagesWhole;
  }

  /**
   * Throws where a change that failed halfway has stopped the database.
   *
   * @param readOnly whether nothing will be changed, which whole pages are enough for
   */
  public void checkUsable(boolean readOnly) {
    if (poison != null && !(readOnly && pagesWhole)) {
      throw stopped();
    }
  }

  /** Says that the engine is broken. */
  private FoveaException stopped() {
    Throwable p = poison;
    if (log != null) {
      return new DurabilityLostException(
          "A change failed halfway, so the database stopped: "
              + p
              + ". What was acknowledged is found again when the database is opened anew.",
          p);
    }
    return new DatabaseClosedException(
        "A commit failed while it changed pages, so the database stopped: " + p, p);
  }

  /** For who meets a lock that stays: the holder may be the commit that broke the engine. */
  void requireHolder() {
    if (poison != null) {
      throw stopped();
    }
  }

  /**
   * A transaction that only reads needs no log, as long as it finds nothing that is not durable
   * yet: {@link #await} sees to that, where anybody waits at all.
   */
  private void checkBegin(boolean readOnly) {
    if (closed) {
      throw new DatabaseClosedException("The database is closed.");
    }
    checkUsable(readOnly);
    if (!(readOnly && waits)) {
      requireLog();
    }
  }

  /** Throws where nothing can become durable any more. */
  void requireLog() {
    Log l = log;
    if (l != null) {
      l.requireAlive();
    }
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
    await(lsn, wrote, false);
  }

  /** The same for what {@link #request} has returned. */
  public void awaitRequested(long lsn, boolean wrote) {
    await(lsn, wrote, true);
  }

  private void await(long lsn, boolean wrote, boolean requested) {
    Log l = log;
    if (l == null || lsn == 0 || config.durability() == Durability.NONE) {
      return;
    }
    if (!waits) {
      if (wrote) {
        awaitAll(l, 0, true, false);
      }
    } else if (l.durableLsn() < lsn) {
      long began = System.nanoTime();
      try {
        awaitAll(l, lsn, wrote, requested);
      } finally {
        durableWaits.increment();
        durableWaitNanos.add(System.nanoTime() - began);
      }
    }
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
    Log l = log;
    if (!waits || l == null || lsn == 0 || lsn > l.tail()) {
      await(lsn, wrote);
      return 0;
    }
    if (l.durableLsn() >= lsn) {
      return 0;
    }
    l.request(lsn);
    return lsn;
  }

  /**
   * Whether what was requested is there.
   *
   * @throws DurabilityLostException if it can't become durable any more
   */
  public boolean isDurable(long lsn, boolean wrote) {
    Log l = log;
    if (lsn == 0 || l == null || l.durableLsn() >= lsn) {
      return true;
    }
    if (l.isAlive()) {
      return false;
    }
    await(lsn, wrote); // throws, unless the last group was the one
    return true;
  }

  /** Waits for a position, or, for 0, until no more than the window is behind. */
  private static void awaitAll(Log l, long lsn, boolean wrote, boolean requested) {
    try {
      if (lsn == 0) {
        l.awaitWindow();
        return;
      }
      if (lsn > l.tail()) {
        // A page whose change of structure the log did not take any more.
        l.requireAlive();
      }
      if (requested) {
        l.awaitRequested(lsn);
      } else {
        l.awaitDurable(Math.min(lsn, l.tail()));
      }
    } catch (DurabilityLostException e) {
      throw wrote
          ? new DurabilityLostException(
              "The transaction is in the log, but that could not be made durable: it has committed"
                  + " if its record is found when the database is opened again.",
              e,
              true)
          : new DurabilityLostException(
              "What the transaction has read can't be made durable any more, so that its result"
                  + " might be undone: it is not given out.",
              e,
              false);
    }
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
    long[] aborts = new long[AbortCause.values().length];
    for (Tx tx : contexts) {
      TxCounters c = tx.counters;
      commits += c.commits;
      rollbacks += c.rollbacks;
      commitNanos += c.commitNanos;
      pageAccesses += c.pageAccesses;
      childSteps += c.childSteps;
      placesTried += c.placesTried;
      placesStale += c.placesStale;
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
        durableWaits.sum(),
        durableWaitNanos.sum());
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
