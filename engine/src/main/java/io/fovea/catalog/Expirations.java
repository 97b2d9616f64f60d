package io.fovea.catalog;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.IndexCore;
import io.fovea.index.RecordExpiry;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.memory.OperationLock;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import io.fovea.schema.Expiry;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Records that expire: which tables have them, and the sweep that removes them.
 *
 * <pre>
 *   index by time:   0 and less │ 1 ... now − after │ later
 *                    for ever   │ expired           │ there
 *                               ▼
 *   a piece, a transaction: some entries from the oldest on ─► each record read ─► deleted with all
 *   its entries, if the record itself says that it has expired
 * </pre>
 *
 * <p><b>Pieces are transactions</b> like any other: logs, indexes, snapshots and backups follow by
 * themselves, and serializability is all that is needed to see that they are right ({@link
 * RecordExpiry}). A piece that is in conflict is done again, and is half as large each time.
 *
 * <p><b>The thread</b> {@code fovea-sweep} is there while there are tables whose rows expire. It
 * looks once an interval, goes on while there is something to remove, and looks again later after
 * an error. It ends when the last of these tables goes, or the database closes. A database that is
 * only read is not swept.
 *
 * <p><b>A clock that jumps ahead</b> hides rows as long as it is ahead. The thread does not remove
 * them by that: {@link io.fovea.index.ClockGuard}. A sweep that is asked for does.
 *
 * <p><b>A piece uses its table</b> as a statement does ({@link TableCore#use}), so who drops the
 * table or lets it evolve need not know of sweeps. While the table is loaded it does nothing; the
 * load waits for the end of a piece that did not see that.
 *
 * <p><b>A change of the option</b> is one record of the catalog, made while no transaction is
 * active; or it is part of an evolution, behind which no transaction has used the table as it was.
 * So none sees two rules.
 *
 * <p>Threads: any; {@link #work} is held for a sweep of a table.
 */
public final class Expirations {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** How many rows a piece removes. */
  static final int PIECE_ROWS = 128;

  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final SchemaChanges changes;
  private final Supplier<List<TableCore>> expiring;
  private final Timing timing;
  private final OperationLock work = new OperationLock("the lock of sweeps");
  private final AtomicLong swept = new AtomicLong();
  private final AtomicLong pieces = new AtomicLong();
  private final AtomicLong failures = new AtomicLong();
  private final LongAdder passed = new LongAdder();

  /** Guarded by this object's monitor. */
  private @Nullable Thread thread;

  private volatile boolean stopped;

  /**
   * What time it is, and when the background works.
   *
   * @param clock what time it is
   * @param intervalNanos how often the background looks; 0 for never
   */
  public record Timing(InstantSource clock, long intervalNanos) {
    /** Of a store that is looked at: no transactions run, no row is hidden, none is removed. */
    public static final Timing NONE = new Timing(InstantSource.system(), 0);
  }

  /**
   * Those of a store.
   *
   * @param expiring the tables whose rows expire, none left out that is being renamed
   */
  Expirations(
      CatalogCallbacks catalogCallbacks,
      Store store,
      SchemaChanges changes,
      Supplier<List<TableCore>> expiring,
      Timing timing) {
    this.catalogCallbacks = catalogCallbacks;
    this.store = store;
    this.changes = changes;
    this.expiring = expiring;
    this.timing = timing;
  }

  // ---------------------------------------------------------------------------------- the option

  /** How records of a table expire that is made, or found in the catalog; returns it. */
  TableCore expire(TableCore core, @Nullable Expiry expiry) {
    core.expire(expiry == null ? null : new RecordExpiry(core, expiry, timing.clock, passed));
    return core;
  }

  /** Whether nothing is to be changed to open a table with a specification. */
  static boolean isAs(TableCore core, TableSpec spec) {
    RecordExpiry known = core.expiry();
    return known == null ? spec.expiry() == null : known.is(spec.expiry(), core, spec.objects());
  }

  /** Gives a table the option that a specification has; its index by time is there. */
  void adapt(TableCore core, TableSpec spec) {
    if (core.isDropped() || isAs(core, spec)) {
      return;
    }
    Expiry expiry = spec.expiry();
    if (store.isReadOnly()) {
      throw new InvalidUseException(
          "Table "
              + core.shown()
              + " of "
              + store.name()
              + ", which was opened for reading only, can't get the option that "
              + expiry
              + ".");
    }
    set(core, expiry, "let records of table " + core.shown() + " expire");
  }

  /** Lets the records of a table stay; false if they do already. */
  boolean drop(TableCore core) {
    return core.expiry() != null
        && set(core, null, "let records of table " + core.shown() + " stay");
  }

  private boolean set(TableCore core, @Nullable Expiry expiry, String what) {
    store.requireNoTransaction(what);
    store.willWrite();
    core.changing.lock(what, store::checkWaiting);
    long[] end = {-1};
    try {
      store.alone(what, () -> end[0] = changes.locked(what, () -> change(core, expiry)));
    } finally {
      core.changing.unlock();
    }
    if (end[0] >= 0) {
      store.awaitDurable(end[0]);
      changes.drops.run();
    }
    return end[0] >= 0;
  }

  private long change(TableCore core, @Nullable Expiry expiry) {
    if (core.isDropped() || expiry == null && core.expiry() == null) {
      return -1;
    }
    if (expiry instanceof Expiry.OfBytes by
        && core.readable().stream().noneMatch(i -> RecordExpiry.isBy(i, by))) {
      throw new InvalidUseException(
          "Table " + core.shown() + " has got another expiry meanwhile: open it again.");
    }
    CatalogChange change = new CatalogChange(store);
    List<IndexCore> all = new ArrayList<>(core.readable());
    List<IndexCore> gone = new ArrayList<>();
    if (expiry == null) {
      gone.addAll(all.stream().filter(RecordExpiry::isOwn).toList());
      all.removeAll(gone);
    }
    SchemaChanges.expiring(core, expiry, all, change);
    for (IndexCore i : gone) {
      change.drops(i.tree).put(DeferredDrops.key(i.tree.treeId()), DeferredDrops.value(i.tree));
    }
    return change.run(
        () -> {
          expire(core, expiry);
          for (IndexCore i : gone) {
            core.remove(i.tree); // at once: no statement knows it
            changes.drops.add(i.tree, null);
          }
        });
  }

  /**
   * Before an index is dropped.
   *
   * @throws InvalidUseException if it is the one by which expired rows are found
   */
  static void requireNotNeeded(TableCore core, IndexCore index) {
    RecordExpiry by = core.expiry();
    if (by == null || by.index(core) != index) {
      return;
    }
    for (IndexCore i : core.readable()) {
      if (i != index && by.isByTime(i)) {
        return;
      }
    }
    String other =
        switch (by.spec()) {
          case Expiry.OfRows rows ->
              " before, or make another index that begins with " + rows.field().name();
          case Expiry.OfObjects objects ->
              " before, or make another index that begins with " + objects.component();
          case Expiry.OfBytes _ -> ", which drops the index, too";
        };
    throw new InvalidUseException(
        "Index "
            + index.shown()
            + " of table "
            + core.shown()
            + " can't be dropped: what has expired is found by it. Let records stay with dropExpiry"
            + other
            + ".");
  }

  // ----------------------------------------------------------------------------------- the sweep

  /** Removes all rows that have expired now; returns how many. Without a transaction. */
  public long sweep() {
    store.requireNoTransaction("sweep expired rows");
    store.requireOpen();
    if (store.isReadOnly()) {
      throw new InvalidUseException(
          "Expired rows of " + store.name() + " can't be removed: it was opened for reading only.");
    }
    long n = 0;
    for (TableCore core : expiring.get()) {
      n += sweep(core, false);
    }
    return n;
  }

  private void sweepGuarded() {
    for (TableCore core : expiring.get()) {
      sweep(core, true);
    }
  }

  /** Removes those of a table; ends early when the database closes or the table goes. */
  private long sweep(TableCore core, boolean guarded) {
    work.lock("sweep expired rows of table " + NameText.of(core.name), store::checkWaiting);
    try {
      long n = 0;
      Piece piece = new Piece(core, guarded);
      do {
        catalogCallbacks.transact(piece);
        swept.addAndGet(piece.removed);
        pieces.incrementAndGet();
        n += piece.removed;
      } while (piece.more && !stopped);
      return n;
    } finally {
      work.unlock();
    }
  }

  /** A transaction of the sweep. */
  private static final class Piece implements CatalogCallbacks.Piece {
    private final TableCore core;
    private final boolean guarded;
    private int removed;
    private boolean more;

    Piece(TableCore core, boolean guarded) {
      this.core = core;
      this.guarded = guarded;
    }

    @Override
    public void run(StatementContext statementContext, Tx t, int attempt) {
      removed = 0;
      more = false;
      RecordExpiry expiry = core.expiry();
      IndexCore index = expiry == null ? null : expiry.index(core);
      if (expiry == null || index == null || core.isLeaving() || !mayChange(t)) {
        return;
      }
      for (IndexCore i : core.indexes()) {
        if (i.isExtracted() && i.maker == null) {
          return; // nobody can make its entries before the table was opened
        }
      }
      long upTo =
          guarded
              ? believed(statementContext, t, expiry, index)
              : expiry.hiddenUpTo(statementContext, t);
      expiry.lagMillis = 0;
      if (upTo <= 0) {
        return;
      }
      int most = Math.max(1, PIECE_ROWS >> Math.min(30, attempt - 1));
      int bytes = expiry.entryBytes();
      MemorySegment key = statementContext.take(core.keyBytesMax + 2L * bytes);
      try {
        expiry.oldest(key, 0);
        expiry.behind(upTo, key, bytes);
        TxScan scan = t.scan(index.tree, key, 0, bytes, true, key, bytes, bytes, false, false);
        try {
          // What the scan delivers is what is deleted, and nothing else is written ahead of it.
          scan.toDelete(true);
          more = remove(statementContext, t, index, expiry, scan, key, most, upTo);
        } finally {
          scan.close();
        }
      } finally {
        statementContext.give(key);
      }
    }

    /** Up to which time of a row it removes, by as much of the clock as is believed. */
    private long believed(
        StatementContext statementContext, Tx t, RecordExpiry expiry, IndexCore index) {
      long now = expiry.moment(statementContext, t);
      long newest = expiry.guard.isNew() ? newest(statementContext, t, expiry, index) : 0;
      return expiry.hiddenUpTo(expiry.guard.believed(now, newest, core.shown()));
    }

    /** The latest time of a row; 0 where there is none. */
    private long newest(
        StatementContext statementContext, Tx t, RecordExpiry expiry, IndexCore index) {
      MemorySegment key = statementContext.take(expiry.entryBytes());
      try {
        expiry.oldest(key, 0);
        TxScan scan =
            t.scan(index.tree, key, 0, expiry.entryBytes(), true, key, 0, -1, false, true);
        try {
          return scan.next() ? expiry.entryMillis(scan.keySegment(), scan.keyOffset()) : 0;
        } finally {
          scan.close();
        }
      } finally {
        statementContext.give(key);
      }
    }

    /** As a statement that changes records asks. */
    private boolean mayChange(Tx t) {
      RuntimeException refusal = core.use(t) ? null : core.refusal(t, false);
      if (refusal instanceof TransactionAbortedException) {
        throw refusal; // it is being dropped, or not
      }
      return refusal == null && !core.isLoading();
    }

    /** Removes the records of some entries; true if there may be more. */
    private boolean remove(
        StatementContext statementContext,
        Tx t,
        IndexCore index,
        RecordExpiry expiry,
        TxScan scan,
        MemorySegment key,
        int most,
        long upTo) {
      for (int i = 0; i < most; i++) {
        if (!scan.next()) {
          return false;
        }
        int length = index.hints.keyLength(scan.valueLength());
        if (length < 0 || length > core.keyBytesMax) {
          throw core.damaged(
              "length of a primary key in index " + index.shown() + " of table " + core.shown(),
              scan.page(),
              core.keyBytesMax,
              length);
        }
        if (i == 0) {
          long oldest = expiry.entryMillis(scan.keySegment(), scan.keyOffset());
          expiry.lagMillis = Math.max(0, upTo - oldest);
        }
        Mem.copy(scan.valueSegment(), scan.valueOffset(), key, 0, length);
        if (RecordExpiry.removeHidden(statementContext, t, core, key, 0, length)) {
          removed++;
        }
      }
      return true;
    }
  }

  // -------------------------------------------------------------------------------- background

  /** A table may have got the option: the thread begins, where there is none and one is needed. */
  synchronized void begin() {
    if (thread != null
        || stopped
        || timing.intervalNanos == 0
        || store.isReadOnly()
        || expiring.get().isEmpty()) {
      return;
    }
    try {
      thread = Threads.start("fovea-sweep " + store.name(), this::background);
    } catch (OutOfMemoryError none) {
      // The table has the option, and nobody sees what has expired.
      Threads.tell(
          LOG,
          Level.WARNING,
          "No thread could be started that removes expired rows of ",
          store.name(),
          "; it is tried again",
          none);
    }
  }

  /**
   * Whether the thread has nothing to do any more; then the next table starts another. Who makes
   * one does so before {@link #begin}, so either that finds no thread, or this finds the table.
   */
  private synchronized boolean isOver() {
    if (stopped || !expiring.get().isEmpty()) {
      return stopped;
    }
    thread = null;
    return true;
  }

  private void background() {
    boolean told = false;
    while (true) {
      try {
        Threads.turn();
        if (isOver() || store.engine().poison() != null) {
          return;
        }
        sweepGuarded();
        told = false;
      } catch (DurabilityLostException | DatabaseClosedException e) {
        return; // who opens the database again goes on
      } catch (Throwable t) {
        // An extractor's, too. The thread goes on: it is noted, so nobody would start another.
        failures.incrementAndGet();
        if (!told) {
          told = true;
          Threads.tell(
              LOG,
              Level.WARNING,
              "Expired rows of ",
              store.name(),
              " could not be removed; it is tried again",
              t);
        }
      }
      if (!stopped) {
        LockSupport.parkNanos(this, timing.intervalNanos);
      }
    }
  }

  /** No further piece begins: the database closes. */
  public void cancel() {
    Thread t;
    synchronized (this) {
      stopped = true;
      t = thread;
    }
    LockSupport.unpark(t);
  }

  /** Waits for the thread to end, after {@link #cancel}. An interrupt does not end the wait. */
  void join() {
    Thread t;
    synchronized (this) {
      t = thread;
    }
    Waits.join(t);
  }

  // ---------------------------------------------------------------------------------- statistics

  /** Rows that were removed since the opening. */
  public long swept() {
    return swept.get();
  }

  /** Transactions in which that was done, and those that found nothing. */
  public long pieces() {
    return pieces.get();
  }

  /** How often readers have passed over a row that had expired and was still there. */
  public long passed() {
    return passed.sum();
  }

  /** A load has left out rows that had expired. */
  void leftOut(long rows) {
    swept.addAndGet(rows);
  }

  /** How often the background has given up until later. */
  public long failures() {
    return failures.get();
  }

  /** How far the sweep was behind when it looked last, in the table where it was furthest. */
  public long lagMillis() {
    long most = 0;
    for (TableCore core : expiring.get()) {
      RecordExpiry by = core.expiry();
      most = by == null ? most : Math.max(most, by.lagMillis);
    }
    return most;
  }
}
