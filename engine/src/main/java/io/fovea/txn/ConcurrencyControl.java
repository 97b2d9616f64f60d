package io.fovea.txn;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import org.jspecify.annotations.Nullable;

/**
 * The decisions of an engine's protocol for one transaction. Everything else is the same under all
 * protocols: the workspace, which items a read or a change uses ({@link TxScan}, {@link Commit}),
 * the log, the install, durability, retries.
 *
 * <pre>
 *            TICTOC, SILO      STO               MVTO              2PL             OCC
 *   begin    pins              pins, number      pins, number      -               start of history
 *   touch    pin               pin               pin               shared lock     -
 *   readWord word              check, raise rts  the same, or old  -               -
 *   intend   -                 lock, check       -                 exclusive lock  -
 *   lock     items in order    already locked    in order, check   already locked  critical section
 *   gap      lock, recheck     lock, recheck     lock, recheck     lock, recheck   add the item
 *   decide   commitTs, reads   2t + 1            2t + 1            -               reads
 *   install  -                 -                 save versions     -               list write set
 *   publish  words             words             words             unlock all      end of section
 *   release  unlock            unlock            unlock            unlock all      end of section
 *   end      pins              pins              pins              -               -
 * </pre>
 *
 * <i>touch</i> is the first use of an item, <i>readWord</i> reads its word with its content,
 * <i>intend</i> announces a write; <i>lock</i> to <i>publish</i> are the commit; <i>release</i>
 * undoes it. The <i>pessimistic</i> transaction ({@link Reservations}) reserves each item that it
 * touches, and otherwise follows {@link PessimisticLocking}.
 *
 * <p>A switch on a final kind instead of an interface, as in docs/internals/buffer-pool.md. TicToc
 * is checked first, by one comparison, so that the other protocols cost it nothing.
 */
final class ConcurrencyControl {
  private static final String EVICTED =
      "the transaction was idle too long and its timestamp memory was reclaimed";
  private static final String LOCKED = "a key stayed locked by another transaction";
  private static final String RESERVED = "a key is reserved by a pessimistic transaction";
  private static final String CATALOG =
      "a table that the transaction used or looked up was created, dropped or renamed";
  private static final String TREES_SWAPPED =
      "a table was loaded, and the transaction must not see both states";
  private static final String CHANGED = "a key that was read has changed";

  /**
   * How often a locked item is checked before the abort: about 20 us, in which a running holder
   * finishes. A descheduled one may take milliseconds: by then the reads are stale, and spinning
   * uses the processor that the holder needs.
   */
  private static final int SPINS = 400;

  /** The number of checks if two transactions could wait for each other. */
  private static final int SPINS_OUT_OF_ORDER = 100;

  /** Used instead of a slot: the commit pins the item. */
  static final int LATER = -1;

  final Protocol kind;

  /** Whether items have entries in {@link Timestamps}. */
  final boolean stamped;

  /** Whether a read of the timestamps only reads the item's word. */
  final boolean plain;

  /** Whether a read may require an older version. */
  final boolean versioned;

  /** Whether a write locks its item during the body. */
  final boolean eager;

  final TxLife life;

  final ReadSet reads;

  private final LeafReads leaves;

  private final WriteSet writes;
  private final Workspace work;
  private final TxShared shared;
  private final int itemsMax;
  final Timestamps timestamps;

  /** Slots of {@link Timestamps} that this transaction has locked. */
  final SlotSet locked = new SlotSet();

  private final Reservations reservations;
  private final UpdateLocks.Held updateLocks;
  private final CommitGate gate;

  /** {@link CommitGate#pointCounter} when the transaction began. */
  private long pointCounter;

  /** {@link CommitGate#drops} when the transaction began. */
  private long drops;

  final PessimisticLocking pessimistic;

  private @Nullable Attempts attempts;

  private final TwoPhaseLocking locks;
  private final Occ occ;
  private final ProtocolMemory memory;

  /** Null unless {@link #versioned}. */
  final Mvto mvto;

  /** The timestamp at which the transaction reads, if it is fixed when the transaction begins. */
  long timestamp;

  @SuppressWarnings({"NullAway", "DataFlowIssue"}) // fields that the protocol does not use are null
  ConcurrencyControl(TxLife life, Workspace work) {
    this.life = life;
    this.reads = work.reads;
    this.leaves = work.leaves;
    this.writes = work.writes;
    this.work = work;
    this.shared = life.shared;
    this.itemsMax = shared.config.itemsMax();
    this.kind = shared.config.protocol();
    this.memory = shared.protocolMemory;
    this.timestamps = shared.timestamps;
    this.reservations = shared.reservations;
    this.updateLocks = new UpdateLocks.Held(shared.updateLocks);
    this.gate = shared.gate;
    this.plain = kind == Protocol.TICTOC || kind == Protocol.SILO;
    this.versioned = kind == Protocol.MVTO;
    this.stamped = plain || versioned || kind == Protocol.STO;
    this.eager = kind == Protocol.STO || kind == Protocol.TWO_PHASE_LOCKING;
    this.locks =
        kind == Protocol.TWO_PHASE_LOCKING ? new TwoPhaseLocking(this, memory.locks) : null;
    this.occ = kind == Protocol.OCC ? occ(memory.history) : null;
    this.mvto = versioned ? new Mvto(this, memory.versions) : null;
    this.pessimistic = new PessimisticLocking(this, locks, occ, memory);
  }

  private Occ occ(History history) {
    return shared.config.isolated() ? new Occ(this, history) : new NoIsolation(this, history);
  }

  // ---------------------------------------------------------------- the body

  void begin(@Nullable Attempts attempts, long timeoutNanos) {
    this.attempts = attempts;
    this.pointCounter =
        gate.pointCounter() & -2; // before any read; an odd number counts as before its point
    this.drops = gate.drops();
    if (stamped) {
      timestamps.enter(life.id);
    }
    drawTimestamp();
    if (attempts != null && shared.config.isolated()) {
      pessimistic.begin(attempts, timeoutNanos);
    }
  }

  /**
   * Draws the transaction's number if the serial order is the order of begins; under OCC, remembers
   * the start of the commits to check. Called before any read.
   */
  private void drawTimestamp() {
    switch (kind) {
      case STO -> timestamp = 2 * memory.clock.incrementAndGet();
      case MVTO -> {
        mvto.begin();
        timestamp = 2 * memory.clock.incrementAndGet();
      }
      case OCC -> occ.begin();
      case TICTOC, SILO, TWO_PHASE_LOCKING -> {}
    }
  }

  /**
   * Prepares a read of a key that will be written: waits for other such transactions ({@link
   * UpdateLocks}), and under eager protocols locks the key now, because two transactions that both
   * read it and then write it abort each other.
   *
   * <p>If this is the first operation, the transaction draws a new number (STO, MVTO, OCC): its old
   * number precedes those of the transactions that it waited for, which have read and written the
   * key.
   */
  void lockForUpdate(long item) {
    if (pessimistic.isOn()) {
      pessimistic.intend(item);
      return;
    }
    updateLocks.lock(item);
    if (life.isFirstOperation()) {
      drawTimestamp();
    }
    if (eager) {
      intend(item);
    }
  }

  /** Like {@link #touch}, within the limit of items per transaction. */
  int pin(long item) {
    if (reads.size() + writes.size() >= itemsMax) {
      handleFull();
    }
    return pinToLock(item);
  }

  /**
   * Pins the item of a key that is written but was not read, if necessary; otherwise returns {@link
   * #LATER}. TicToc and Silo do not use the item before the commit locks it. The commit pins such
   * items together, after loading all their cache lines at once.
   */
  int pinToWrite(long item) {
    if (!plain || pessimistic.isOn()) {
      return pin(item);
    }
    if (reads.size() + writes.size() >= itemsMax) {
      handleFull();
    }
    return LATER;
  }

  /** Pins an item that {@link #pinToWrite} left to the commit. */
  int pinToLock(long item) {
    try {
      return touch(item);
    } catch (TransactionAbortedException e) {
      throw life.counted(e);
    }
  }

  /** Handles the limit of items. Without writers, reads need not be remembered. */
  private void handleFull() {
    if (!shared.config.writers()) {
      reads.removeAll();
      return;
    }
    throw life.abort(
        AbortCause.TOO_LARGE,
        "The transaction reads or writes more than "
            + itemsMax
            + " records, which is the limit: split it into several transactions.");
  }

  /** Registers the first use of an item; returns the argument of {@link #readWord}. */
  int touch(long item) {
    if (pessimistic.isOn()) {
      return pessimistic.touch(item);
    }
    if (stamped) {
      return timestamps.pin(life.id, item);
    }
    return kind == Protocol.OCC ? 0 : locks.share(item);
  }

  /**
   * Checks an item between two equal versions of its leaf. Returns a word for the read set; if it
   * is locked, {@link #await} and read again.
   */
  long readWord(int slot) {
    if (plain) {
      return timestamps.word(slot);
    }
    if (pessimistic.isOn()) {
      return pessimistic.readWord(slot);
    }
    return switch (kind) {
      case STO -> Sto.readWord(this, slot);
      case MVTO -> Mvto.readWord(this, slot);
      default -> 0;
    };
  }

  /** Waits, outside of any latch, until another transaction has unlocked an item. */
  void await(int slot) {
    if (pessimistic.isOn()) {
      pessimistic.await(slot);
      return;
    }
    int max = checksPerLock();
    for (int attempt = 0; TidWord.isLocked(timestamps.word(slot)); attempt++) {
      if (attempt >= max) {
        life.health.requireHolder();
        throw life.abort(AbortCause.LOCK, LOCKED);
      }
      Thread.onSpinWait();
    }
  }

  /** Announces a write of an item; only if {@link #eager}. */
  void intend(long item) {
    if (pessimistic.isOn()) {
      pessimistic.intend(item);
    } else if (kind == Protocol.STO) {
      Sto.lock(this, item, pin(item), AbortCause.LOCK);
    } else {
      locks.exclude(item, AbortCause.LOCK);
    }
  }

  // ---------------------------------------------------------------- the commit

  void beginLocking() {
    if (kind == Protocol.OCC) {
      occ.lock();
    }
  }

  void lockWrite(long item, int slot) {
    if (pessimistic.isOn()) {
      pessimistic.lockWrite(item, slot);
    } else if (plain) {
      lock(item, slot, SPINS, AbortCause.LOCK);
    } else if (versioned) {
      Sto.lock(this, item, slot, AbortCause.LOCK);
    } else if (kind == Protocol.OCC) {
      wrote(item, AbortCause.LOCK);
    }
  }

  /** Returns whether the commit, not the body, locks the written items. */
  boolean locksWrites() {
    return !pessimistic.isOn() && kind != Protocol.TWO_PHASE_LOCKING;
  }

  private void wrote(long item, AbortCause cause) {
    occ.wrote(item);
    requireUnreserved(item, cause);
  }

  /**
   * Locks the item of the first key above one that appears or disappears; returns whether it was
   * not held before, so that the successor must be checked again.
   */
  boolean lockGap(long item) {
    if (pessimistic.isOn()) {
      return pessimistic.lockGap(item);
    }
    return switch (kind) {
      case TICTOC, SILO -> lock(item, pin(item), SPINS_OUT_OF_ORDER, AbortCause.PHANTOM);
      case STO, MVTO -> Sto.lock(this, item, pin(item), AbortCause.PHANTOM);
      case TWO_PHASE_LOCKING -> locks.exclude(item, AbortCause.PHANTOM);
      case OCC -> {
        wrote(item, AbortCause.PHANTOM);
        yield false; // no other transaction installs
      }
    };
  }

  /** Locks an item until the end; returns false if this transaction already held it. */
  boolean lock(long item, int slot, int spins, AbortCause cause) {
    if (locked.size() > 0 && locked.contains(slot)) {
      return false; // two keys with one hash are one item
    }
    // Before the lock, so that the pessimistic transaction does not wait for latecomers.
    requireUnreserved(item, cause);
    SlotSet mine = locked;
    mine.stage(slot);
    for (int attempt = 0; !timestamps.tryLock(slot); attempt++) {
      if (attempt >= spins) {
        throw life.abort(cause, LOCKED);
      }
      Thread.onSpinWait();
    }
    mine.size++; // nothing can fail between the lock and this
    requireUnreserved(item, cause); // W2 of Reservations: against a reservation made meanwhile
    return true;
  }

  /** Aborts if the pessimistic transaction has reserved an item that this one writes. */
  private void requireUnreserved(long item, AbortCause cause) {
    Reservation r = reservations.current();
    if (r != null && r.refusesWriting(item) && !reservations.revokeIfExpired(r)) {
      throw refused(r, cause);
    }
  }

  /** Aborts because of a reservation; the next attempt waits for its end. */
  RuntimeException refused(Reservation r, AbortCause cause) {
    if (attempts != null) {
      attempts.setAborter(r);
    }
    return life.abort(cause, RESERVED);
  }

  /**
   * Returns how often to check a locked item: fewer times if the transaction's locks are out of
   * order.
   */
  int checksPerLock() {
    return locked.size() > 0 ? SPINS_OUT_OF_ORDER : SPINS;
  }

  /** Validates the reads and returns the commit timestamp or number, for {@link #publish}. */
  long decide() {
    if (treesSwapped()) {
      throw life.abort(AbortCause.VALIDATION, TREES_SWAPPED);
    }
    long ts = pessimistic.isOn() ? pessimistic.decide() : decideByTimestamps();
    if (catalogMayHaveChanged() && !catalogHolds()) {
      throw life.abort(AbortCause.CATALOG, CATALOG);
    }
    return ts;
  }

  /** Returns whether the catalog may have changed since it began. Costs two field reads. */
  private boolean catalogMayHaveChanged() {
    return gate.pointCounter() != pointCounter || work.catalog != null;
  }

  /**
   * Returns whether the tables that the transaction used still exist, and those that it looked up
   * are unchanged.
   */
  private boolean catalogHolds() {
    CatalogPart catalog = work.catalog;
    if (catalog != null && catalog.changes()) {
      return true; // checked before, under the schema lock
    }
    return !gate.isDropped(work.tables, drops) && (catalog == null || catalog.catalogReadsValid());
  }

  /** Aborts with {@link AbortCause#CATALOG} if a used table was dropped since it began. */
  void requireUsedTablesExist() {
    if (gate.isDropped(work.tables, drops)) {
      throw life.abort(AbortCause.CATALOG, CATALOG);
    }
  }

  private long decideByTimestamps() {
    long ts =
        switch (kind) {
          case TICTOC -> ticTocTimestamp();
          case SILO -> Silo.commitId(reads, locked, timestamps);
          case STO, MVTO -> Sto.commitTimestamp(this);
          case TWO_PHASE_LOCKING, OCC -> 0;
        };
    if (plain && !validate(ts, false)) {
      throw life.abort(AbortCause.VALIDATION, CHANGED);
    }
    if (!plain && stamped && spansSnapshot() && !Sto.unchanged(this)) {
      throw life.abort(AbortCause.ORDER, CHANGED);
    }
    if (kind == Protocol.OCC) {
      occ.validate();
    }
    if (stamped && !timestamps.holds(life.id)) {
      throw life.abort(AbortCause.TIMEOUT, EVICTED);
    }
    return ts;
  }

  private long ticTocTimestamp() {
    long ts = TicToc.commitTimestamp(reads, locked, timestamps);
    if (locked.size() > 0) {
      ts = Math.max(ts, mark() + 1);
    }
    return leaves.isEmpty() ? ts : leaves.timestamp(ts);
  }

  /** Returns the highest scan timestamp of the changed trees, inside the gate; negative: none. */
  long mark() {
    ScanTimestamps marks = shared.marks;
    return marks.isWatched() ? marks.highest(work.changed) : -1;
  }

  private boolean validate(long ts, boolean now) {
    return kind == Protocol.TICTOC
        ? TicToc.validate(
                reads,
                locked,
                timestamps,
                ts,
                now || shared.config.revalidateAll() || spansSnapshot())
            && (leaves.isEmpty() || leaves.hold(ts))
        : Silo.validate(reads, locked, timestamps);
  }

  /** Returns whether a snapshot began during the transaction, which then must not precede it. */
  private boolean spansSnapshot() {
    return gate.pointCounter() != pointCounter;
  }

  /**
   * Returns whether trees were swapped during the transaction, and it may have read the old ones.
   */
  private boolean treesSwapped() {
    return gate.pointCounter() != pointCounter
        && gate.lastExchange() > pointCounter
        && (reads.size() > 0 || work.singleRead || !leaves.isEmpty());
  }

  /** Returns whether the reads so far belong to one state. */
  boolean readsValid() {
    CatalogPart catalog = work.catalog;
    return readsHold(catalog != null && catalog.changes())
        && (catalog == null || catalog.lookupsStillValid());
  }

  /** Returns whether all reads hold, except the catalog's; {@code now}: in the present state. */
  private boolean readsHold(boolean now) {
    if (treesSwapped()) {
      return false;
    }
    if (catalogMayHaveChanged()) {
      CatalogPart catalog = work.catalog;
      if (gate.isDropped(work.tables, drops) || catalog != null && !catalog.catalogReadsValid()) {
        return false;
      }
    }
    if (pessimistic.isOn()) {
      return pessimistic.holds();
    }
    return switch (kind) {
      case TICTOC -> validate(ticTocTimestamp(), now) && timestamps.holds(life.id);
      case SILO -> validate(0, now) && timestamps.holds(life.id);
      case STO, MVTO ->
          timestamps.holds(life.id) && (!(now || spansSnapshot()) || Sto.unchanged(this));
      case TWO_PHASE_LOCKING -> true;
      case OCC -> occ.unchanged();
    };
  }

  /** Called after the append, before the install. */
  void installing() {
    if (kind == Protocol.OCC) {
      occ.list();
    } else if (versioned) {
      mvto.save();
    }
  }

  void publish(long ts) {
    if (stamped) {
      for (int i = 0, n = locked.size(); i < n; i++) {
        timestamps.publish(locked.get(i), ts);
      }
      locked.clear();
    } else if (kind == Protocol.OCC) {
      occ.installed();
    } else {
      locks.release();
    }
  }

  // ---------------------------------------------------------------- the end

  void release() {
    if (stamped) {
      // One by one, so that after an error the next call unlocks the rest.
      SlotSet mine = locked;
      while (mine.size > 0) {
        timestamps.unlock(mine.get(mine.size - 1));
        mine.size--;
      }
      mine.clear();
      if (versioned) {
        mvto.clear();
      }
    } else if (kind == Protocol.OCC) {
      occ.release();
    } else {
      locks.release();
    }
  }

  /** Keeps the locks: half of the changes are installed, and no more will be. */
  void abandonLocks() {
    locked.clear();
    if (kind == Protocol.OCC) {
      occ.abandonLocks();
    } else if (kind == Protocol.TWO_PHASE_LOCKING) {
      locks.abandonLocks();
    }
  }

  void end() {
    try {
      release();
    } finally {
      updateLocks.release(); // last: a thread that waited for one must not meet the item's lock
    }
    if (stamped && timestamps.isEntered(life.id)) {
      timestamps.exit(life.id);
    }
    if (pessimistic.isOn()) {
      pessimistic.end();
    }
  }
}
