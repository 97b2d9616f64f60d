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
 * Manages the tables whose records expire, and the sweep that removes expired records.
 *
 * <pre>
 *   index by time:   0 and less │ 1 ... now − after │ later
 *                    never      │ expired           │ visible
 *                               ▼
 *   one piece, one transaction: some entries, oldest first ─► each record is read ─► deleted with
 *   all its entries, if the record itself says that it has expired
 * </pre>
 *
 * <p><b>Pieces are ordinary transactions</b>: the log, indexes, snapshots and backups need no
 * special case, and correctness follows from serializability ({@link RecordExpiry}). A piece that
 * conflicts is repeated at half the size.
 *
 * <p><b>The thread</b> {@code fovea-sweep} exists while there are tables with expiry. It runs once
 * per interval, continues while there is something to remove, and retries after an interval if it
 * fails. It ends when the last of these tables is gone or the database closes. A read-only database
 * is not swept.
 *
 * <p><b>A clock that jumps ahead</b> hides rows while it is ahead, but the thread does not remove
 * them: see {@link io.fovea.index.ClockGuard}. An explicitly requested sweep does.
 *
 * <p><b>A piece uses its table</b> as a statement does ({@link TableCore#use}), so a drop or an
 * evolution need not know about sweeps. While the table is being loaded, a piece does nothing; the
 * load waits for a piece that started earlier.
 *
 * <p><b>A change of the expiry</b> is either one catalog record, written while no transaction is
 * active, or part of an evolution, after which no transaction uses the old table. So no transaction
 * sees two rules.
 *
 * <p>Safe for use by any thread; {@link #work} is held during the sweep of a table.
 */
public final class Expirations {
  private static final System.Logger LOG = System.getLogger("io.fovea");

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
  private final LongAdder skipped = new LongAdder();

  /** Guarded by this object's monitor. */
  private @Nullable Thread thread;

  private volatile boolean stopped;

  /**
   * The clock, and the interval of the background sweep, or 0 for none.
   *
   * @param clock the clock
   * @param intervalNanos the interval
   */
  public record Timing(InstantSource clock, long intervalNanos) {
    /**
     * For a store opened for inspection, where no transactions run and no row is hidden or removed.
     */
    public static final Timing NONE = new Timing(InstantSource.system(), 0);
  }

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

  /**
   * Sets the expiry of a table that is being created or was found in the catalog; returns the
   * table.
   */
  TableCore expire(TableCore core, @Nullable Expiry expiry) {
    core.expire(expiry == null ? null : new RecordExpiry(core, expiry, timing.clock, skipped));
    return core;
  }

  /** Returns whether a table already has the expiry of a specification. */
  static boolean hasExpiryOf(TableCore core, TableSpec spec) {
    RecordExpiry known = core.expiry();
    return known == null ? spec.expiry() == null : known.is(spec.expiry(), core, spec.objects());
  }

  /** Sets the expiry of a table to that of a specification. The index by time must exist. */
  void adapt(TableCore core, TableSpec spec) {
    if (core.isDropped() || hasExpiryOf(core, spec)) {
      return;
    }
    Expiry expiry = spec.expiry();
    if (store.isReadOnly()) {
      throw new InvalidUseException(
          "Table "
              + core.displayName()
              + " of "
              + store.name()
              + ", which was opened read-only, can't be given the expiry: "
              + expiry
              + ".");
    }
    set(core, expiry, "change the expiry of table " + core.displayName());
  }

  boolean drop(TableCore core) {
    return core.expiry() != null
        && set(core, null, "change the expiry of table " + core.displayName());
  }

  private boolean set(TableCore core, @Nullable Expiry expiry, String what) {
    store.requireNoTransaction(what);
    store.willWrite();
    core.changing.lock(what, store::checkWaiting);
    long[] end = {-1};
    try {
      store.runAlone(what, () -> end[0] = changes.locked(what, () -> change(core, expiry)));
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
          "Table "
              + core.displayName()
              + " was opened before its expiry was changed: open it again.");
    }
    CatalogChange change = new CatalogChange(store);
    List<IndexCore> all = new ArrayList<>(core.readable());
    List<IndexCore> gone = new ArrayList<>();
    if (expiry == null) {
      gone.addAll(all.stream().filter(RecordExpiry::isExpiryIndex).toList());
      all.removeAll(gone);
    }
    SchemaChanges.saveExpiry(core, expiry, all, change);
    for (IndexCore i : gone) {
      change.dropLater(i.tree);
    }
    return change.run(
        () -> {
          expire(core, expiry);
          for (IndexCore i : gone) {
            core.remove(i.tree); // immediately: no statement uses it
            changes.drops.add(i.tree, null);
          }
        });
  }

  /** Throws if the expiry of the table needs an index that is to be dropped. */
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
              " first, or create another index that begins with " + rows.field().name();
          case Expiry.OfObjects objects ->
              " first, or create another index that begins with " + objects.component();
          case Expiry.OfBytes _ -> ", which also drops the index";
        };
    throw new InvalidUseException(
        "Index "
            + index.displayName()
            + " of table "
            + core.displayName()
            + " can't be dropped: the sweep finds expired records by it. Call dropExpiry"
            + other
            + ".");
  }

  // ----------------------------------------------------------------------------------- the sweep

  /** Removes all expired rows and returns their number. Call it without a transaction. */
  public long sweep() {
    store.requireNoTransaction("sweep expired rows");
    store.requireOpen();
    if (store.isReadOnly()) {
      throw new InvalidUseException(
          "Expired rows of " + store.name() + " can't be removed: it was opened read-only.");
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

  /** Sweeps a table. Ends early when the database closes or the table is dropped. */
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
    public void run(StatementContext context, Tx t, int attempt) {
      removed = 0;
      more = false;
      RecordExpiry expiry = core.expiry();
      IndexCore index = expiry == null ? null : expiry.index(core);
      if (expiry == null || index == null || core.isDropPending() || !mayChange(t)) {
        return;
      }
      for (IndexCore i : core.indexes()) {
        if (i.isExtracted() && i.maker == null) {
          return; // the extractor is unknown until the table is opened
        }
      }
      long upTo = guarded ? trustedUpTo(context, t, expiry, index) : expiry.hiddenUpTo(context, t);
      expiry.lagMillis = 0;
      if (upTo <= 0) {
        return;
      }
      int max = Math.max(1, PIECE_ROWS >> Math.min(30, attempt - 1));
      int bytes = expiry.entryBytes();
      MemorySegment key = context.take(core.keyBytesMax + 2L * bytes);
      try {
        expiry.lowestEntry(key, 0);
        expiry.upperBound(upTo, key, bytes);
        TxScan scan = t.scan(index.tree, key, 0, bytes, true, key, bytes, bytes, false, false);
        try {
          // Delete what the scan returned, without a separate read.
          scan.prepareForDeletes(true);
          more = remove(context, t, index, expiry, scan, key, max, upTo);
        } finally {
          scan.close();
        }
      } finally {
        context.releaseBlock(key);
      }
    }

    /**
     * Returns the time up to which rows may be removed, limited by how far {@link
     * io.fovea.index.ClockGuard} trusts the clock.
     */
    private long trustedUpTo(StatementContext context, Tx t, RecordExpiry expiry, IndexCore index) {
      long now = expiry.now(context, t);
      long newest = expiry.guard.isNew() ? newest(context, t, expiry, index) : 0;
      return expiry.hiddenUpTo(expiry.guard.trusted(now, newest, core.displayName()));
    }

    private long newest(StatementContext context, Tx t, RecordExpiry expiry, IndexCore index) {
      MemorySegment key = context.take(expiry.entryBytes());
      try {
        expiry.lowestEntry(key, 0);
        TxScan scan =
            t.scan(index.tree, key, 0, expiry.entryBytes(), true, key, 0, -1, false, true);
        try {
          return scan.next() ? expiry.entryMillis(scan.keySegment(), scan.keyOffset()) : 0;
        } finally {
          scan.close();
        }
      } finally {
        context.releaseBlock(key);
      }
    }

    private boolean mayChange(Tx t) {
      RuntimeException refusal = core.use(t) ? null : core.refusal(t, false);
      if (refusal instanceof TransactionAbortedException) {
        throw refusal; // the table is not being dropped
      }
      return refusal == null && !core.isLoading();
    }

    /** Removes the records of some entries; returns whether there may be more. */
    private boolean remove(
        StatementContext context,
        Tx t,
        IndexCore index,
        RecordExpiry expiry,
        TxScan scan,
        MemorySegment key,
        int max,
        long upTo) {
      for (int i = 0; i < max; i++) {
        if (!scan.next()) {
          return false;
        }
        int length = index.keyLength(core, scan.page(), scan.valueLength());
        if (i == 0) {
          long oldest = expiry.entryMillis(scan.keySegment(), scan.keyOffset());
          expiry.lagMillis = Math.max(0, upTo - oldest);
        }
        Mem.copy(scan.valueSegment(), scan.valueOffset(), key, 0, length);
        if (RecordExpiry.removeHidden(context, t, core, key, 0, length)) {
          removed++;
        }
      }
      return true;
    }
  }

  // -------------------------------------------------------------------------------- background

  /**
   * Starts the thread if it is needed and not running. Called when a table may have gained an
   * expiry.
   */
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
      // Expired rows are still hidden.
      Threads.logSafely(
          LOG,
          Level.WARNING,
          "Could not start the thread that removes expired rows of ",
          store.name(),
          "; it will be retried",
          none);
    }
  }

  /**
   * Returns whether the thread has nothing left to do. A table is registered before {@link #begin}
   * is called, so either {@code begin} finds no thread, or this method finds the table.
   */
  private synchronized boolean isOver() {
    if (stopped || !expiring.get().isEmpty()) {
      return stopped;
    }
    thread = null;
    return true;
  }

  private void background() {
    boolean logged = false;
    while (true) {
      try {
        Threads.beginIteration();
        if (isOver() || store.engine().poison() != null) {
          return;
        }
        sweepGuarded();
        logged = false;
      } catch (DurabilityLostException | DatabaseClosedException e) {
        return; // the next opening continues
      } catch (Throwable t) {
        // Catches exceptions of extractors too. The thread must survive: while it is registered, no
        // other thread is started.
        failures.incrementAndGet();
        if (!logged) {
          logged = true;
          Threads.logSafely(
              LOG,
              Level.WARNING,
              "Could not remove expired rows of ",
              store.name(),
              "; it will be retried",
              t);
        }
      }
      if (!stopped) {
        LockSupport.parkNanos(this, timing.intervalNanos);
      }
    }
  }

  /** Stops the sweep before its next piece, because the database closes. */
  public void cancel() {
    Thread t;
    synchronized (this) {
      stopped = true;
      t = thread;
    }
    LockSupport.unpark(t);
  }

  /** After {@link #cancel}, waits for the thread to end. An interrupt does not end the wait. */
  void join() {
    Thread t;
    synchronized (this) {
      t = thread;
    }
    Waits.join(t);
  }

  // ---------------------------------------------------------------------------------- statistics

  public long swept() {
    return swept.get();
  }

  /** Returns the number of transactions of the sweep, including those that found nothing. */
  public long pieces() {
    return pieces.get();
  }

  /** Returns how many times readers have skipped an expired row. */
  public long skipped() {
    return skipped.sum();
  }

  /** Counts expired rows that a load has omitted. */
  void countOmitted(long rows) {
    swept.addAndGet(rows);
  }

  public long failures() {
    return failures.get();
  }

  /** Returns the lag of the sweep at its last run, for the table with the largest lag. */
  public long lagMillis() {
    long max = 0;
    for (TableCore core : expiring.get()) {
      RecordExpiry by = core.expiry();
      max = by == null ? max : Math.max(max, by.lagMillis);
    }
    return max;
  }
}
