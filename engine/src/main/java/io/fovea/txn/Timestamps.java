package io.fovea.txn;

import io.fovea.config.TimestampStore;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Waits;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The timestamps of all items: exact for those in use; {@link TimestampStore} says where the others
 * are kept.
 *
 * <pre>
 *               pin                                           release (its slot is needed, a sweep)
 *  cold       ---------> exact table: item | stamp | word ------------------------------> cold
 *  (bound)     lock column; word := get(item)    |      lock column; stamp := 0 by CAS; put(item)
 *                                                |
 *                                 in use: word, tryLock, extend, publish
 * </pre>
 *
 * <b>Rule.</b> From {@code pin} to {@code exit} a transaction's slot belongs to its item, and only
 * transactions change the item's timestamps (Property 1 of the dissertation). The rule rests on the
 * <i>stamp</i>, on which pins and releases compete:
 *
 * <pre>
 *    63   62          43 42                          0
 *  +----+--------------+------------------------------+
 *  |live| references   | epoch of the last use        |      0 = the slot is free
 *  +----+--------------+------------------------------+
 * </pre>
 *
 * <ul>
 *   <li>Pin, by epoch: read the stamp; if it is live and below the transaction's epoch, CAS it up;
 *       <i>then</i> read the item again. Pin, by reference: add one reference by CAS; then read the
 *       item again.
 *   <li>Release: under the column's lock, if there are no references, the epoch is older than that
 *       of every running transaction and the word is not locked, CAS the stamp to 0.
 * </ul>
 *
 * <p>{@link Entries} creates and releases entries. No call allocates, except that a context's list
 * of pins grows. Only creating and releasing an entry takes a column's lock, briefly.
 *
 * <p><b>Why no slot in use is released.</b> Let T run in epoch e, not evicted, let its pin of x in
 * slot s succeed, and let t be when T read or wrote a stamp of at least e. No release of s after t
 * succeeds while T runs: it needs a stamp below {@code oldest}, which never exceeds e ({@link
 * Epochs}), and the stamp of a live slot only grows. A release that read a smaller stamp before t
 * fails its CAS. So the item in s does not change from t on, and T reads it after t. Without that
 * second read, the slot could have been released and given to y before t, with the same stamp
 * (ABA); T has then kept y's entry for a while, which is harmless, and continues its search. The
 * same holds for references, with "one reference of T" in place of "at least e"; there T drops the
 * reference again.
 *
 * <p><b>Order.</b> An entry's item and word are written before its stamp (release), and T reads
 * them after it (acquire). A release sees the last user's word: users leave by a release store of
 * their publication, read by the scan of {@code oldest}, or by the atomic add that drops the
 * reference, read by the CAS.
 *
 * <p><b>Misses.</b> Without the column's lock a search may miss an entry that is being created. So
 * a miss is repeated under the lock, where entries of the column do not change; an item never has
 * two entries.
 *
 * <p><b>Epoch or reference.</b> By epoch, a pin of an item that was used in this epoch stores
 * nothing, so readers of a hot item share its cache line. But a long transaction holds back the
 * epoch and with it all entries used meanwhile. A transaction that finds, while making an entry,
 * that it has run for {@link #LAG} epochs turns its pins into references and gives up its epoch:
 * {@link #convert}. An idle transaction can't. It is <i>evicted</i> if the whole budget is in use:
 * its slots may be released from then on, and {@link #holds} reports it after its validation and
 * before its effects become visible.
 */
public final class Timestamps {
  /** The epoch also advances after this many exits of a context, so that entries expire. */
  private static final int EXITS_PER_EPOCH = 1024;

  /** A context checks the size of the sketch after this many exits. */
  private static final int EXITS_PER_SIZING = 1024;

  /** The epoch of a context that counts references: above all stamps, for the slow path. */
  static final long COUNTING = Long.MAX_VALUE;

  /** The epoch if entries are never released: below all stamps, so the fast path always applies. */
  static final long FOR_EVER = 0;

  /** The number of epochs after which a transaction counts references. */
  static final long LAG = 8;

  private static final long EPOCH_MASK = Entries.EPOCH_MASK;
  private static final long REFERENCE = Entries.REFERENCE;
  private static final long REFERENCES_MASK = Entries.REFERENCES_MASK;

  /**
   * The epoch advances when one context has made this fraction of the first buckets' slots as new
   * entries. Each epoch costs a store per item in use.
   */
  private static final int EPOCHS_PER_TABLE = 16;

  /**
   * The epoch also advances when a context finds this many first buckets full of entries in use.
   */
  private static final int SPILLS_PER_EPOCH = 16;

  /** How often a pin that finds everything in use tries again, and how often per epoch. */
  private static final int ATTEMPTS_MAX = 256;

  private static final int ATTEMPTS_PER_EPOCH = 8;

  final TimestampStore kind;
  final TimestampTable table;
  final ColdTimestamps coldTimestamps;
  final Epochs epochs;
  private final Entries entries;
  private final SketchSizer sizer;
  private final AtomicBoolean sizing = new AtomicBoolean();
  final TimestampContext[] contexts;
  private final boolean byEpoch;
  private final boolean byReference;
  private final boolean immediate;
  private final boolean convertsPins;
  private final int madePerEpoch;
  private volatile long resizes;

  /**
   * Creates an empty Focus-Sketch of a fixed size: every item has the timestamps (0, 0). The
   * parameters are those of {@link TimestampConfig}.
   */
  public Timestamps(
      int maxContexts,
      long activeTimestampBytes,
      long budgetBytes,
      int sketchRows,
      int sketchColumns,
      TimestampConfig.Release release) {
    this(
        maxContexts,
        TimestampConfig.sketch(
            activeTimestampBytes, budgetBytes, sketchRows, sketchColumns, release),
        null);
  }

  /**
   * Creates an empty store: every item has the timestamps (0, 0). Contexts are numbered below
   * {@code maxContexts}; {@code pages} holds the timestamps that are not in memory, and belongs to
   * the caller.
   */
  public Timestamps(int maxContexts, TimestampConfig config, @Nullable TimestampPages pages) {
    if (maxContexts < 1) {
      throw new IllegalArgumentException(
          "Timestamps need at least one context, not " + maxContexts + ".");
    }
    kind = config.kind();
    TimestampConfig.Release release = config.effectiveRelease();
    boolean forEver = kind == TimestampStore.MEMORY;
    byEpoch = release == TimestampConfig.Release.EPOCH && !forEver;
    byReference = release != TimestampConfig.Release.EPOCH && !forEver;
    table = new TimestampTable(config.firstBytes(), config.budgetBytes(), config.wideBits());
    coldTimestamps = new ColdTimestamps(config, pages);
    epochs = new Epochs(maxContexts);
    entries = new Entries(table, coldTimestamps, epochs, kind, byEpoch);
    immediate = release == TimestampConfig.Release.IMMEDIATE && !forEver;
    convertsPins = byEpoch || TimestampConfig.isCache(kind);
    madePerEpoch =
        Math.max(1, table.columns() * TimestampTable.SLOTS_PER_BUCKET / EPOCHS_PER_TABLE);
    sizer = new SketchSizer(config.sketchColumns(), config.sketchColumnsMax());
    contexts = new TimestampContext[maxContexts];
    for (int i = 0; i < maxContexts; i++) {
      contexts[i] = new TimestampContext(i);
      contexts[i].sweepColumn = (int) ((long) i * table.columns() / maxContexts);
    }
  }

  void setWaitCheck(Runnable check) {
    table.setWaitCheck(check);
  }

  // ---------------------------------------------------------------- begin and end of a transaction

  /** Begins a transaction. Called before its first pin, by its thread. */
  public void enter(int ctx) {
    TimestampContext c = contexts[ctx];
    assert !c.entered : "context " + ctx + " was entered twice";
    c.entered = true;
    c.counts = byReference;
    c.epoch = byEpoch ? epochs.enter(ctx) : byReference ? COUNTING : FOR_EVER;
    c.approximateBefore = c.approximate;
  }

  /**
   * Begins to count references at once: the transaction holds back no epoch and is never evicted.
   * Called after {@link #enter}, before the first pin.
   */
  public void enterForLong(int ctx) {
    TimestampContext c = contexts[ctx];
    if (byEpoch && !c.counts) {
      convert(c);
    }
  }

  /** Ends a transaction, after it has unlocked its items, and before it waits for durability. */
  public void exit(int ctx) {
    TimestampContext c = contexts[ctx];
    assert c.entered : "context " + ctx + " was exited without enter";
    table.recover(c);
    if (c.counts) {
      dropPins(c);
    }
    if (byEpoch) {
      epochs.exit(ctx);
    }
    c.entered = false;
    c.removePins();
    long exits = ++c.exits;
    if (exits % EXITS_PER_EPOCH == 0) {
      periodicWork(exits);
    }
    entries.sweep(c);
  }

  private void periodicWork(long exits) {
    if (convertsPins) {
      epochs.advance(epochs.now());
    }
    if (exits % EXITS_PER_SIZING == 0 && sizer.adapts() && kind == TimestampStore.FOCUS_SKETCH) {
      adaptSize();
    }
  }

  private void adaptSize() {
    if (!sizing.compareAndSet(false, true)) {
      return;
    }
    try {
      long ended = 0;
      long suspected = 0;
      long released = 0;
      for (TimestampContext c : contexts) {
        ended += c.exits;
        suspected += c.suspectedFalseConflicts;
        released += c.released;
      }
      Sketch sketch = coldTimestamps.sketch();
      int columns = sizer.next(ended, suspected, released);
      if (columns != sketch.columns()) {
        resize(columns);
      }
    } finally {
      sizing.set(false);
    }
  }

  /** Resizes the sketch concurrently. One call at a time. */
  void resize(int columns) {
    coldTimestamps.sketch().resize(columns, table::quiesce);
    resizes++;
  }

  /** Reports an abort by a conflict, for the size of the sketch. Called once, before exit. */
  public void conflict(int ctx) {
    TimestampContext c = contexts[ctx];
    if (c.approximate != c.approximateBefore) {
      c.suspectedFalseConflicts++;
    }
  }

  /**
   * Returns whether the slots pinned since {@link #enter} have belonged to their items so far.
   * Every commit must call this <i>after</i> its validation. If true, all reads and changes of its
   * slots were right, and locked items stay its own. If false, the transaction must unlock and
   * abort.
   */
  public boolean holds(int ctx) {
    return !byEpoch || !epochs.isEvicted(ctx);
  }

  // ---------------------------------------------------------------- pins

  /**
   * Returns the slot of an item's entry in the exact table, which belongs to the item until {@link
   * #exit}. The item is not 0. Not to be called with a page latched, because it may wait.
   *
   * @throws TransactionAbortedException if entries in use take the whole budget
   */
  public int pin(int ctx, long item) {
    TimestampContext c = contexts[ctx];
    assert checkPinnable(c, item);
    int slot = table.firstSlot(item);
    // The common case of hold: the preferred slot, without reading the item first.
    long stamp = table.stampAcquire(slot);
    if (stamp < 0 && (stamp & EPOCH_MASK) >= c.epoch && table.item(slot) == item) {
      c.addPin(slot);
      return slot;
    }
    return pinInOtherSlot(c, slot, item);
  }

  /** Keeps a slot that held the item a moment ago; returns false if it no longer does. */
  private boolean hold(TimestampContext c, int slot, long item) {
    long stamp = table.stampAcquire(slot);
    if (stamp < 0 && (stamp & EPOCH_MASK) >= c.epoch) {
      return table.item(slot) == item;
    }
    return holdByStore(c, slot, item);
  }

  private boolean holdByStore(TimestampContext c, int slot, long item) {
    while (true) {
      long stamp = table.stampAcquire(slot);
      if (stamp >= 0) {
        return false;
      }
      long next = stamp;
      if (c.counts) {
        if (isFull(stamp)) {
          throw new TransactionAbortedException(
              AbortCause.TOO_LARGE,
              "Active transactions hold a million pins on one key, which is the limit.");
        }
        next = entries.referenced(stamp);
      } else if ((stamp & EPOCH_MASK) < c.epoch) {
        next = stamp & ~EPOCH_MASK | c.epoch;
      }
      if (next == stamp || table.casStamp(slot, stamp, next)) {
        if (table.item(slot) == item) {
          return true;
        }
        if (c.counts) {
          table.addStamp(slot, -REFERENCE);
        }
        return false;
      }
    }
  }

  /** Pins an item that is not in its preferred slot. */
  private int pinInOtherSlot(TimestampContext c, int first, long item) {
    int column = table.column(item);
    long version = table.version(column);
    int slot = holdInBucket(c, first, item);
    if (slot < 0) {
      slot = pinElsewhere(c, item, column, version);
    }
    c.addPin(slot);
    return slot;
  }

  /** Pins an item that is not in its first bucket, or has no entry. */
  private int pinElsewhere(TimestampContext c, long item, int column, long version) {
    long header = table.header(column);
    if (TimestampTable.spilled(header)) {
      for (int level = 1; level < table.levels(); level++) {
        if (TimestampTable.count(header, level) != 0) {
          int slot = holdInBucket(c, table.slotOf(item, level), item);
          if (slot >= 0) {
            return slot;
          }
        }
      }
    }
    if (byEpoch && !c.counts && epochs.now() - c.epoch >= LAG) {
      convert(c);
    }
    coldTimestamps.fetch(c.index, item);
    long spilled = c.spilled;
    int slot;
    // Entries behind its own bucket were not searched: if the version is unchanged, there are none.
    if ((TimestampTable.reach(header) == 0
            || table.bucketReach(table.slotOf(item, table.levels() - 1)) == 0)
        && table.tryLock(c, column, version)) {
      try {
        slot = entries.make(c, item, column);
      } finally {
        table.unlock(c, column);
      }
    } else {
      slot = pinUnderLock(c, item, column);
    }
    for (int attempt = 0; slot < 0; attempt++) {
      awaitFreeSlot(c, attempt);
      slot = pinUnderLock(c, item, column);
    }
    if (convertsPins) {
      countMade(c, c.spilled != spilled);
    }
    return slot;
  }

  private int pinUnderLock(TimestampContext c, long item, int column) {
    table.lock(c, column);
    try {
      int slot = holdInColumn(c, item, column);
      return slot >= 0 ? slot : entries.make(c, item, column);
    } finally {
      table.unlock(c, column);
    }
  }

  /** Advances the epoch if, in this one, many entries were made or found no space. */
  private void countMade(TimestampContext c, boolean spilled) {
    long now = epochs.now();
    if (c.madeIn != now) {
      c.madeIn = now;
      c.made = 0;
    }
    c.made += spilled ? madePerEpoch / SPILLS_PER_EPOCH + 1 : 1;
    if (c.made >= madePerEpoch) {
      epochs.advance(now);
      coldTimestamps.settle(c.releasedMost);
    }
  }

  private int holdInBucket(TimestampContext c, int first, long item) {
    for (int i = 0; i < TimestampTable.SLOTS_PER_BUCKET; i++) {
      if (table.item(first ^ i) == item && hold(c, first ^ i, item)) {
        return first ^ i;
      }
    }
    return -1;
  }

  /** Searches the whole column, under the lock, so a miss is certain. */
  private int holdInColumn(TimestampContext c, long item, int column) {
    long header = table.header(column);
    for (int level = 0; level < table.levels(); level++) {
      if (level == 0 || TimestampTable.count(header, level) != 0) {
        int slot = holdInBucket(c, table.slotOf(item, level), item);
        if (slot >= 0) {
          return slot;
        }
      }
    }
    int last = table.levels() - 1;
    int reach = TimestampTable.reach(header) == 0 ? 0 : table.bucketReach(table.slotOf(item, last));
    for (int distance = 1; distance <= reach; distance++) {
      c.walked++;
      int slot = holdInBucket(c, table.slotAfter(item, column, last, distance), item);
      if (slot >= 0) {
        return slot;
      }
    }
    if (reach > 0) {
      entries.releaseOverflow(c, item, column);
    }
    return -1;
  }

  /**
   * Turns a transaction's pins into references, and then gives up its epoch. If it is evicted
   * meanwhile, slots may be released: no reference is added to a free slot, and one added to
   * another item's slot keeps that entry for a while. One CAS of the publication decides whether it
   * was evicted; if not, all references are right.
   */
  private void convert(TimestampContext c) {
    int done = 0;
    while (done < c.pinned && addReference(c.pins[done])) {
      done++;
    }
    if (done < c.pinned || !epochs.leave(c.index)) {
      dropReferences(c, done);
      throw new TransactionAbortedException(
          AbortCause.TIMEOUT,
          "The transaction was idle too long and its timestamp memory was reclaimed.");
    }
    c.counts = true;
    c.epoch = COUNTING;
    c.converted++;
  }

  private boolean addReference(int slot) {
    while (true) {
      long stamp = table.stampAcquire(slot);
      if (stamp >= 0 || isFull(stamp)) {
        return false;
      }
      if (table.casStamp(slot, stamp, stamp + REFERENCE)) {
        return true;
      }
    }
  }

  private void dropReferences(TimestampContext c, int count) {
    for (int i = 0; i < count; i++) {
      int slot = c.pins[i];
      long item = table.item(slot);
      long before = table.addStamp(slot, -REFERENCE);
      if (immediate && (before & REFERENCES_MASK) == REFERENCE) {
        entries.settle(c, slot, item);
      }
    }
  }

  /** Drops the pins from last to first, each once: after an error another call drops the rest. */
  private void dropPins(TimestampContext c) {
    while (c.pinned > 0) {
      int last = c.pinned - 1;
      int slot = c.pins[last];
      long item = table.item(slot);
      long before = table.addStamp(slot, -REFERENCE);
      c.pinned = last;
      if (immediate && (before & REFERENCES_MASK) == REFERENCE) {
        entries.settle(c, slot, item);
      }
    }
  }

  private static boolean isFull(long stamp) {
    return (stamp & REFERENCES_MASK) == REFERENCES_MASK;
  }

  /**
   * Handles an item that finds all its slots in use: advances the epoch every few rounds, and waits
   * a little for running transactions. This transaction gives up its own epoch first, so it blocks
   * no other. A transaction that blocks after half of all rounds has had a dozen chances to end or
   * convert, and is evicted.
   */
  private void awaitFreeSlot(TimestampContext c, int attempt) {
    if (!byEpoch || attempt >= ATTEMPTS_MAX) {
      c.refused++;
      throw new TransactionAbortedException(
          AbortCause.TOO_LARGE,
          (kind == TimestampStore.MEMORY ? "Records" : "Active transactions")
              + " use all "
              + table.bytes()
              + (kind == TimestampStore.MEMORY
                  ? " bytes for timestamps, which stay in memory: raise "
                      + "MemoryOptions.timestampBytes."
                  : " bytes for timestamps: split this one, or raise "
                      + "MemoryOptions.timestampBytes."));
    }
    if (!c.counts) {
      convert(c);
    }
    if (attempt % ATTEMPTS_PER_EPOCH == 0) {
      epochs.advance(epochs.now());
    } else {
      Waits.yieldThread();
      epochs.scan();
    }
    if (attempt >= ATTEMPTS_MAX / 2 && epochs.evictOldest(LAG)) {
      c.evictions++;
      epochs.scan();
    }
  }

  /**
   * Returns whether an item is certainly not locked, without making an entry; otherwise it has to
   * be pinned.
   *
   * <p>Entries of a column are created and released under its lock, which changes its version. With
   * equal versions before and after, and the lock free, an entry that was found belonged to the
   * item throughout. If none was found, the item was not locked: a lock is a bit in an entry, and
   * no locked entry is released ({@link Entries#release}). The version's load acquires, so later
   * reads are not older; the fence keeps them before the second load.
   */
  boolean unlocked(long item) {
    int column = table.column(item);
    long version = table.version(column);
    long header = table.header(column);
    if (version < 0 || TimestampTable.spilled(header) || TimestampTable.reach(header) != 0) {
      return false;
    }
    int first = table.firstSlot(item);
    boolean locked = false;
    for (int i = 0; i < TimestampTable.SLOTS_PER_BUCKET; i++) {
      if (table.item(first ^ i) == item) {
        locked = TidWord.isLocked(table.word(first ^ i));
        break;
      }
    }
    VarHandle.acquireFence();
    return !locked && table.version(column) == version;
  }

  /**
   * Loads the cache lines that {@link #pin} will use. Loads overlap, whereas pins don't, because
   * each has an atomic instruction. The result only keeps the loads from being optimized away.
   */
  long load(long item) {
    return table.load(item);
  }

  private static boolean checkPinnable(TimestampContext c, long item) {
    if (item == 0 || !c.entered) {
      throw new AssertionError("item " + item + ", context entered: " + c.entered);
    }
    return true;
  }

  boolean isEntered(int ctx) {
    return contexts[ctx].entered;
  }

  // ---------------------------------------------------------------- an entry in use

  /** Returns the word of a pinned item. Volatile: not reordered before an earlier lock. */
  public long word(int slot) {
    return table.word(slot);
  }

  /** Returns the item of a slot. */
  public long item(int slot) {
    return table.item(slot);
  }

  /** Locks a pinned item for a commit; returns false if it is locked. */
  public boolean tryLock(int slot) {
    while (true) {
      long word = table.word(slot);
      if (TidWord.isLocked(word)) {
        return false;
      }
      if (table.casWord(slot, word, TidWord.withLock(word))) {
        return true;
      }
    }
  }

  /** Unlocks an item that the caller has locked; the timestamps stay. */
  public void unlock(int slot) {
    long word = table.word(slot);
    assert TidWord.isLocked(word) || table.closed() : "slot " + slot + " is not locked";
    table.wordRelease(slot, TidWord.withoutLock(word));
  }

  /**
   * Gives an item that the caller has locked the timestamps (commitTs, commitTs) and unlocks it.
   * Release, partner of {@link #word}: a thread that sees the new wts sees what was installed.
   */
  public void publish(int slot, long commitTs) {
    assert TidWord.isLocked(table.word(slot)) && commitTs > TidWord.rts(table.word(slot))
            || table.closed()
        : "publication of " + commitTs + " over " + TidWord.toString(table.word(slot));
    table.wordRelease(slot, TidWord.pack(commitTs, commitTs));
  }

  /**
   * Returns whether the version that was read is valid at {@code commitTs}, and stays so; raises a
   * smaller rts to {@code commitTs}. This is TicToc's validation of one read.
   *
   * <p>Up to the rts seen with the version, nothing is checked. Beyond it, the item must still have
   * the same wts, and
   *
   * <ul>
   *   <li>if the caller has locked it, no other can change it, and the caller's {@link #publish}
   *       will set it to {@code commitTs}.
   *   <li>if its rts is {@code commitTs} or later, the next writer, even one that has it locked
   *       now, writes at rts + 1 or later.
   *   <li>if another transaction has locked it, that transaction may have chosen its timestamp by
   *       the present rts, so raising it would be too late. Conflict.
   *   <li>otherwise the rts is raised by CAS, which fails if it is locked meanwhile.
   * </ul>
   *
   * <p><b>Overflow.</b> If rts - wts does not fit into 15 bits, {@link TidWord#extended} raises wts
   * as well, by a multiple of 2^15. Let the word be (w, r), unlocked, and become (w', c). Because r
   * - w &lt; 2^15, w' &gt; r. This equals a transaction D that writes, at w' &gt; r, the value
   * already there: no read value in a serial history depends on D.
   *
   * <ul>
   *   <li>The caller, which read the value of w and commits at c &gt;= w', counts as having read
   *       D's, valid until c.
   *   <li>A reader that saw (w, r) and commits at r or before is valid, before D. A reader that
   *       commits later, or validates the item again, finds w' and aborts needlessly.
   *   <li>Later readers see w' and commit at w' or later, after D.
   *   <li>A locked word is never raised, because the CAS expects an unlocked one. Its writer has
   *       chosen its timestamp by the old rts, which w' may reach or exceed (the counterexamples of
   *       the dissertation, 5.1). A writer that locks after the CAS takes its timestamp from c.
   * </ul>
   *
   * @param seen the unlocked word that was read together with the value
   * @param lockedByMe whether the caller has locked this item
   */
  public boolean extend(int slot, long seen, long commitTs, boolean lockedByMe) {
    if (TidWord.rts(seen) >= commitTs) {
      return true;
    }
    while (true) {
      long word = table.word(slot);
      if (TidWord.wts(word) != TidWord.wts(seen)) {
        return false;
      }
      if (lockedByMe || TidWord.rts(word) >= commitTs) {
        return true;
      }
      if (TidWord.isLocked(word)) {
        return false;
      }
      if (table.casWord(slot, word, TidWord.extended(word, commitTs))) {
        return true;
      }
    }
  }

  /** Returns statistics. */
  public TimestampStats stats() {
    long materialised = 0;
    long approximate = 0;
    long released = 0;
    long spilled = 0;
    long refused = 0;
    long converted = 0;
    long expelled = 0;
    long suspected = 0;
    for (TimestampContext c : contexts) {
      // Plain reads of other threads' counters.
      released += c.released;
      materialised += c.materialised;
      approximate += c.approximate;
      spilled += c.spilled;
      refused += c.refused;
      converted += c.converted;
      expelled += c.evictions;
      suspected += c.suspectedFalseConflicts;
    }
    return new TimestampStats(
        kind,
        Math.max(0, materialised - released),
        table.slots(),
        materialised,
        approximate,
        released,
        spilled,
        refused,
        converted,
        expelled,
        suspected,
        resizes,
        coldTimestamps.reads(),
        coldTimestamps.writes(),
        epochs.now(),
        coldTimestamps.sketchBytes(),
        table.bytes() + coldTimestamps.bytes());
  }

  /** Releases the memory. No transaction may begin; one that ends later reads zeros. */
  public void close() {
    table.close();
    coldTimestamps.close();
  }
}
