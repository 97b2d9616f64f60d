package io.fovea.txn;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import org.jspecify.annotations.Nullable;

/**
 * What the protocol of an engine decides for one transaction. All else is the same under all of
 * them: the workspace, which items a read or a change touches ({@link TxScan}, {@link Commit}), the
 * log, the install, durability, retries.
 *
 * <pre>
 *           TICTOC, SILO      STO               MVTO              2PL              OCC
 *   begin   pins              pins, number      pins, number      -                start of history
 *   touch   pin               pin               pin               shared lock      -
 *   look    word              check, raise rts  the same, or old  -                -
 *   intend  -                 lock, check       -                 exclusive lock   -
 *   lock    items in order    has them          in order, check   has them         the section
 *   gap     lock, look again  lock, look again  lock, look again  lock, look again note the item
 *   decide  commitTs, reads   2t + 1            2t + 1            -                reads
 *   install -                 -                 save versions     -                list write set
 *   publish words             words             words             unlock all       end of section
 *   release unlock            unlock            unlock            unlock all       end of section
 *   end     pins              pins              pins              -                -
 * </pre>
 *
 * <i>touch</i> is the first use of an item, <i>look</i> goes with its content, <i>intend</i> is a
 * write's request; <i>lock</i> to <i>publish</i> are the commit, <i>release</i> ends it and all
 * else without a trace.
 *
 * <p>The <i>pessimistic</i> transaction ({@link Reservations}) reserves each item that it touches,
 * and what it does otherwise is {@link PessimisticLocking}'s, under every protocol.
 *
 * <p>A switch on a final kind, not an interface: docs/internals/buffer-pool.md. The ways of TicToc
 * are asked for first and by one compare each, so that they are what they were without the others.
 */
final class ConcurrencyControl {
  private static final String EXPELLED =
      "it was idle for long while others needed all memory for timestamps";
  private static final String LOCKED = "a key stayed locked by another transaction";
  private static final String RESERVED =
      "a key is reserved by another transaction, which was aborted too often";
  private static final String CATALOG =
      "a table that it has used or looked for was created, dropped or renamed meanwhile";
  private static final String EXCHANGED =
      "a table was loaded meanwhile, and the state before is not to be mixed with the one after";
  private static final String CHANGED = "a key that was read has changed";

  /**
   * How often a locked item is looked at before the transaction aborts: some 20 us, twice as long
   * as a commit of 16 keys holds its locks. A holder that runs is done by then. One that has lost
   * its processor is not for milliseconds; a transaction that waited for that would find that what
   * it has read is stale, and would take the processor that the holder needs. It begins now
   * instead, after {@link Attempts#backOff}.
   */
  private static final int SPINS = 400;

  /** The same, where two could wait for each other. */
  private static final int SPINS_OUT_OF_ORDER = 100;

  /** Instead of a slot: the item is pinned by the commit. */
  static final int LATER = -1;

  final Protocol kind;

  /** Whether items have entries in {@link Timestamps}. */
  final boolean stamped;

  /** Whether a look at an item is its word, and no more. */
  final boolean plain;

  /** Whether a look may say that an older version is to be read. */
  final boolean versioned;

  /** Whether a write locks its item when the user asks for it. */
  final boolean eager;

  final TxLife life;

  /** What the transaction has read. */
  final ReadSet reads;

  /** What it has read leaf by leaf. */
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

  /** How many moments of snapshots there were when the transaction began. */
  private long moments;

  /** How many drops of tables there were. */
  private long drops;

  /** What this transaction does if it is the pessimistic one. */
  final PessimisticLocking pessimistic;

  private @Nullable Attempts attempts;

  private final TwoPhaseLocking locks;
  private final Occ occ;
  private final ProtocolMemory memory;

  /** Only where {@link #versioned}. */
  final Mvto mvto;

  /** At which the transaction reads, where that is known from the begin. */
  long timestamp;

  @SuppressWarnings({"NullAway", "DataFlowIssue"}) // what a protocol does not use is not there
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

  /**
   * Begins.
   *
   * @param attempts whose attempt it is; null for a first one
   */
  void begin(@Nullable Attempts attempts, long timeoutNanos) {
    this.attempts = attempts;
    this.moments = gate.moments() & -2; // before anything is read; within a moment: before it
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
   * The place of the transaction in the order of begins, where there is such an order; under OCC,
   * where those begin that have committed since and are held against its reads. Before anything is
   * read.
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
   * A key is going to be read and then written: waits for others that do so ({@link UpdateLocks}),
   * and where writes lock, locks it now instead of after the read. Two transactions that both read
   * it and then both want to write it would abort each other.
   *
   * <p>Where the begin matters (STO, MVTO, OCC), and this is the first operation, the transaction
   * begins now, as if it had done so when its wait was over. Its old place is before those that it
   * has waited for, which have read and written the key.
   */
  void lockForUpdate(long item) {
    if (pessimistic.on()) {
      pessimistic.intend(item);
      return;
    }
    updateLocks.lock(item);
    if (life.first()) {
      drawTimestamp();
    }
    if (eager) {
      intend(item);
    }
  }

  /** {@link #touch}, within the limit of what a transaction may read and write. */
  int pin(long item) {
    if (reads.size() + writes.size() >= itemsMax) {
      full();
    }
    return pinToLock(item);
  }

  /**
   * A key is written that was not read: pins its item, where that has to be now.
   *
   * <p>Under timestamps it does not. Nobody looks at the item before the commit locks it, and a pin
   * promises nothing but that the slot stays the item's. So the commit pins it then, together with
   * the others, whose lines it loads at once ({@link #pinToLock}): most of what a pin of a key
   * costs that was not used lately is to wait for these lines.
   *
   * @return the slot, or {@link #LATER}
   */
  int pinToWrite(long item) {
    if (!plain || pessimistic.on()) {
      return pin(item);
    }
    if (reads.size() + writes.size() >= itemsMax) {
      full();
    }
    return LATER;
  }

  /** The slot of an item that was not pinned by {@link #pinToWrite}. */
  int pinToLock(long item) {
    try {
      return touch(item);
    } catch (TransactionAbortedException e) {
      throw life.counted(e);
    }
  }

  /** There are as many items as there may be. Where nobody writes, reads need not be remembered. */
  private void full() {
    if (!shared.config.writers()) {
      reads.forget();
      return;
    }
    throw life.abort(
        AbortCause.TOO_LARGE,
        "The transaction reads or writes more than "
            + itemsMax
            + " records, which is the limit: do it in several transactions, each of which goes on"
            + " where the last one ended.");
  }

  /**
   * The first use of an item.
   *
   * @return what {@link #look} takes
   */
  int touch(long item) {
    if (pessimistic.on()) {
      return pessimistic.touch(item);
    }
    if (stamped) {
      return timestamps.pin(life.id, item);
    }
    return kind == Protocol.OCC ? 0 : locks.share(item);
  }

  /**
   * A look at an item, between two equal looks at the version of the leaf that has its content.
   *
   * @return a word for the read set; a locked one means {@link #await}, and again
   */
  long look(int slot) {
    if (plain) {
      return timestamps.word(slot);
    }
    if (pessimistic.on()) {
      return pessimistic.look(slot);
    }
    return switch (kind) {
      case STO -> Sto.look(this, slot);
      case MVTO -> Mvto.look(this, slot);
      default -> 0;
    };
  }

  /** Waits, outside of any latch, until another has unlocked an item. */
  void await(int slot) {
    if (pessimistic.on()) {
      pessimistic.await(slot);
      return;
    }
    int most = patience();
    for (int attempt = 0; TidWord.isLocked(timestamps.word(slot)); attempt++) {
      if (attempt >= most) {
        life.health.requireHolder();
        throw life.abort(AbortCause.LOCK, LOCKED);
      }
      Thread.onSpinWait();
    }
  }

  /** An item is going to be written; where {@link #eager}. */
  void intend(long item) {
    if (pessimistic.on()) {
      pessimistic.intend(item);
    } else if (kind == Protocol.STO) {
      Sto.lock(this, item, pin(item), AbortCause.LOCK);
    } else {
      locks.exclude(item, AbortCause.LOCK);
    }
  }

  // ---------------------------------------------------------------- the commit

  /** Before the written items are locked, in order. */
  void beginLocking() {
    if (kind == Protocol.OCC) {
      occ.lock();
    }
  }

  /** One written item, in the order of their hashes. */
  void lockWrite(long item, int slot) {
    if (pessimistic.on()) {
      pessimistic.lockWrite(item, slot);
    } else if (plain) {
      lock(item, slot, SPINS, AbortCause.LOCK);
    } else if (versioned) {
      Sto.lock(this, item, slot, AbortCause.LOCK);
    } else if (kind == Protocol.OCC) {
      wrote(item, AbortCause.LOCK);
    }
  }

  /** Whether the commit locks what is written by {@link #lockWrite}, and not the body before it. */
  boolean locksWrites() {
    return !pessimistic.on() && kind != Protocol.TWO_PHASE_LOCKING;
  }

  /** Adds an item to the write set of the section. */
  private void wrote(long item, AbortCause cause) {
    occ.wrote(item);
    requireUnreserved(item, cause);
  }

  /**
   * The item of the first key above one that appears or disappears.
   *
   * @return whether that has to be looked for again, because it was not held before
   */
  boolean lockGap(long item) {
    if (pessimistic.on()) {
      return pessimistic.lockGap(item);
    }
    return switch (kind) {
      case TICTOC, SILO -> lock(item, pin(item), SPINS_OUT_OF_ORDER, AbortCause.PHANTOM);
      case STO, MVTO -> Sto.lock(this, item, pin(item), AbortCause.PHANTOM);
      case TWO_PHASE_LOCKING -> locks.exclude(item, AbortCause.PHANTOM);
      case OCC -> {
        wrote(item, AbortCause.PHANTOM);
        yield false; // nobody else installs
      }
    };
  }

  /**
   * Locks an item, and holds it until the end.
   *
   * @return false where this transaction had it before
   */
  boolean lock(long item, int slot, int spins, AbortCause cause) {
    if (locked.size() > 0 && locked.contains(slot)) {
      return false; // two keys of one hash are one item
    }
    // Before, so that the pessimistic transaction waits for none that comes later.
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
    // After, against a reservation that was made meanwhile: W2 of Reservations.
    requireUnreserved(item, cause);
    return true;
  }

  /** Aborts where the pessimistic transaction has reserved an item that is to be written. */
  private void requireUnreserved(long item, AbortCause cause) {
    Reservation r = reservations.current();
    if (r != null && r.refusesWriting(item) && !reservations.expelIfExpired(r)) {
      throw refused(r, cause);
    }
  }

  /** Aborts because of a reservation, whose end is to be waited for before the next attempt. */
  RuntimeException refused(Reservation r, AbortCause cause) {
    if (attempts != null) {
      attempts.met(r);
    }
    return life.abort(cause, RESERVED);
  }

  /** How often a locked item is looked at where the own ones were not locked in order. */
  int patience() {
    return locked.size() > 0 ? SPINS_OUT_OF_ORDER : SPINS;
  }

  /**
   * Where the transaction commits in the order of all, if what it read still holds.
   *
   * @return what {@link #publish} takes
   */
  long decide() {
    if (treesSwapped()) {
      throw life.abort(AbortCause.VALIDATION, EXCHANGED);
    }
    long ts = pessimistic.on() ? pessimistic.decide() : decideByTimestamps();
    if (catalogMatters() && !catalogHolds()) {
      throw life.abort(AbortCause.CATALOG, CATALOG);
    }
    return ts;
  }

  /** Whether the catalog may have changed beside this transaction: two looks at fields. */
  private boolean catalogMatters() {
    return gate.moments() != moments || work.catalog != null;
  }

  /**
   * Whether tables that it has used are there, and those that it has looked for are as they were.
   */
  private boolean catalogHolds() {
    CatalogPart catalog = work.catalog;
    if (catalog != null && catalog.changes()) {
      return true; // it has asked before, under the lock of the schema
    }
    return !gate.isGone(work.tables, drops) && (catalog == null || catalog.catalogReadsValid());
  }

  /**
   * Aborts where a table that this transaction has used was dropped since it began.
   *
   * @throws TransactionAbortedException with cause {@link AbortCause#CATALOG}
   */
  void requireUsedThere() {
    if (gate.isGone(work.tables, drops)) {
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
      throw life.abort(AbortCause.TIMEOUT, EXPELLED);
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

  /**
   * Up to when others have read leaves of the trees that are to be changed, as a whole. The commit
   * is inside the gate, and has all its locks.
   *
   * @return a timestamp; below 0 for none
   */
  long mark() {
    ScanMarks marks = shared.marks;
    return marks.watched() ? marks.highest(work.changed) : -1;
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

  /** Whether a snapshot began since this transaction did: it must not commit before that. */
  private boolean spansSnapshot() {
    return gate.moments() != moments;
  }

  /** Whether trees were exchanged since it began, and it may have read what was before. */
  private boolean treesSwapped() {
    return gate.moments() != moments
        && gate.lastExchange() > moments
        && (reads.size() > 0 || work.lone || !leaves.isEmpty());
  }

  /** Whether what was read until now belongs to one state. */
  boolean readsValid() {
    CatalogPart catalog = work.catalog;
    return readsHold(catalog != null && catalog.changes())
        && (catalog == null || catalog.stillHolds());
  }

  /**
   * Returns whether all reads hold, other than those of the catalog.
   *
   * @param now whether reads must hold now, not only at some earlier time; see {@link
   *     #spansSnapshot}
   */
  private boolean readsHold(boolean now) {
    if (treesSwapped()) {
      return false;
    }
    if (catalogMatters()) {
      CatalogPart catalog = work.catalog;
      if (gate.isGone(work.tables, drops) || catalog != null && !catalog.catalogReadsValid()) {
        return false;
      }
    }
    if (pessimistic.on()) {
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

  /** The commit has happened; its changes come next. */
  void installing() {
    if (kind == Protocol.OCC) {
      occ.list();
    } else if (versioned) {
      mvto.save();
    }
  }

  /** All changes are installed, or there are none. */
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

  /** Unlocks what is locked; nothing was written. */
  void release() {
    if (stamped) {
      // One by one, so that an error in between leaves the others to the next call.
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

  /** Half of the changes are installed, and no more will be: what is locked stays so. */
  void forget() {
    locked.clear();
    if (kind == Protocol.OCC) {
      occ.forget();
    } else if (kind == Protocol.TWO_PHASE_LOCKING) {
      locks.forget();
    }
  }

  void end() {
    try {
      release();
    } finally {
      updateLocks.release(); // last: whoever has waited for one must not meet the item's lock
    }
    if (stamped && timestamps.entered(life.id)) {
      timestamps.exit(life.id);
    }
    if (pessimistic.on()) {
      pessimistic.end();
    }
  }
}
